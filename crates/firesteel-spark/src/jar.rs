//! The place from which a Worker gets the jar of a cluster driver.

use thiserror::Error;

/// The place from which a Worker gets the jar of a cluster driver, and the jar's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jar {
    /// No jar: the class comes with Spark, such as `org.apache.spark.deploy.SparkSubmit`.
    None,
    /// A file at the same path on every Worker.
    File {
        /// The absolute path of the file.
        path: String,
        /// The last part of the path. The Worker's copy has this name.
        name: String,
    },
    /// A file that an HTTP server offers.
    Http {
        /// The URL with scheme `http` or `https`.
        url: String,
        /// The last part of the URL's path. The Worker's copy has this name.
        name: String,
    },
}

/// Why a Worker cannot get a jar.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfetchable {
    /// Workers do not support the URL's scheme.
    #[error(
        "the driver's jar cannot be fetched from {scheme}: Workers copy it from file: or http: only. Put it at the same path on \
         every Worker or on an HTTP server, and name it with file:/PATH or http://HOST/PATH"
    )]
    Scheme {
        /// The scheme, such as `hdfs`.
        scheme: String,
    },
    /// The URL has no absolute path.
    #[error("the driver's jar needs an absolute path, such as file:/PATH or http://HOST/PATH, not {url:?}")]
    Path {
        /// The URL as submitted.
        url: String,
    },
}

impl Jar {
    /// Parses the URL of a jar.
    ///
    /// Source: Spark Worker, 4.0.1 (`DriverRunner`), which uses Hadoop for all other schemes.
    ///
    /// # Errors
    /// The scheme is not supported, or the path has no file name.
    pub fn of(url: &str) -> Result<Self, Unfetchable> {
        if url.is_empty() {
            return Ok(Self::None);
        }
        let no_path = || Unfetchable::Path { url: url.to_owned() };
        let (scheme, rest) = match url.split_once(':') {
            Some((scheme, rest)) if !scheme.contains('/') => (scheme.to_ascii_lowercase(), rest),
            Some(_) | None => ("file".to_owned(), url),
        };
        match scheme.as_str() {
            // `local:` is Spark's scheme for a file that exists on every machine.
            "file" | "local" => {
                let path = match rest.strip_prefix("//") {
                    Some(rest) => &rest[rest.find('/').ok_or_else(no_path)?..],
                    None => rest,
                };
                let path = percent_decoded(path).filter(|path| path.starts_with('/')).ok_or_else(no_path)?;
                let name = last_part(&path).ok_or_else(no_path)?.to_owned();
                Ok(Self::File { path, name })
            }
            "http" => {
                let (_, path) =
                    rest.strip_prefix("//").and_then(|rest| rest.split_once('/')).ok_or_else(no_path)?;
                let path = path.split(['?', '#']).next().unwrap_or_default();
                let name = percent_decoded(path).and_then(|path| last_part(&path).map(str::to_owned));
                Ok(Self::Http { url: url.to_owned(), name: name.ok_or_else(no_path)? })
            }
            _ => Err(Unfetchable::Scheme { scheme: format!("{scheme}:") }),
        }
    }
}

/// The last part of a path, if it is a valid file name.
fn last_part(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    (!["", ".", ".."].contains(&name) && !name.contains('\0')).then_some(name)
}

/// Replaces escapes such as `%41`. `None` if the result is not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_http_are_fetched() {
        let file = |path: &str, name: &str| Ok(Jar::File { path: path.to_owned(), name: name.to_owned() });
        assert_eq!(Jar::of(""), Ok(Jar::None));
        for url in [
            "file:/a/x.jar",
            "file:///a/x.jar",
            "file://host/a/x.jar",
            "local:/a/x.jar",
            "/a/x.jar",
            "FILE:/a/x.jar",
        ] {
            assert_eq!(Jar::of(url), file("/a/x.jar", "x.jar"), "{url}");
        }
        assert_eq!(Jar::of("file:/my%20jars/%C3%A9.jar"), file("/my jars/é.jar", "é.jar"));
        let http = |url: &str, name: &str| Ok(Jar::Http { url: url.to_owned(), name: name.to_owned() });
        assert_eq!(Jar::of("http://h:80/a/x.jar?b=/c"), http("http://h:80/a/x.jar?b=/c", "x.jar"));
    }

    #[test]
    fn others_are_refused_with_what_to_do() {
        for url in
            ["hdfs://n:8020/x.jar", "s3a://bucket/x.jar", "s3://b/x.jar", "https://h/x.jar", "ftp://h/x.jar"]
        {
            let refused = Jar::of(url).expect_err(url).to_string();
            let scheme = url.split_once("//").expect("a scheme").0;
            assert!(refused.contains(&format!("cannot be fetched from {scheme}: ")), "{refused}");
            assert!(refused.contains("Put it at the same path on every Worker"), "{refused}");
        }
        for url in [
            "x.jar",
            "file:x.jar",
            "file:/a/",
            "file://host",
            "file:/a/..",
            "http://h",
            "http://h/",
            "file:/%zz",
        ] {
            assert!(matches!(Jar::of(url), Err(Unfetchable::Path { .. })), "{url}");
        }
    }
}
