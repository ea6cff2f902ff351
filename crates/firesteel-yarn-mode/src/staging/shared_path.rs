//! Paths on file systems that all nodes share.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{StagingError, hdfs, local};
use crate::blueprint::{LocalFile, LocalKind, Visibility};
use crate::hadoop_conf::HadoopConf;

/// The property with the default file system.
pub(super) const DEFAULT: &str = "fs.defaultFS";

/// A file or a directory on a shared file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedPath {
    pub system: FileSystem,
    pub path: String,
}

/// A file system that all nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// A file system that this machine and all nodes mount at the same path.
    Local,
    /// Hadoop's distributed file system.
    Hdfs(NameService),
}

/// An HDFS, and the user who calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameService {
    /// The NameNode, `host:port` or `host`, or the common name of several NameNodes.
    pub authority: String,
    pub user: String,
    /// The properties of HDFS in its configuration, which begin with `dfs.`.
    pub properties: BTreeMap<String, String>,
}

/// The description of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// The file's size in bytes.
    pub(super) size: u64,
    /// The file's modification time, in milliseconds since 1970, in the precision of Java.
    pub(super) timestamp: u64,
    pub(super) visibility: Visibility,
}

impl fmt::Display for SharedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.system {
            FileSystem::Local => f.write_str(&self.path),
            FileSystem::Hdfs(service) => write!(f, "hdfs://{}{}", service.authority, self.path),
        }
    }
}

impl SharedPath {
    /// A path on a file system that this machine and all nodes mount in the same place.
    #[must_use]
    pub fn local(path: &Path) -> Self {
        Self { system: FileSystem::Local, path: path.display().to_string() }
    }

    /// Parses the value of a property: `hdfs://HOST/PATH`, `file:///PATH`, or a path on the default file system, as
    /// this user. A relative path begins in the current directory. On HDFS, it begins in the user's home directory.
    ///
    /// # Errors
    /// The file system is not supported.
    pub fn parse(text: &str, key: &'static str, user: &str, conf: &HadoopConf) -> Result<Self, StagingError> {
        let Some((scheme, rest)) = scheme(text) else {
            return FileSystem::default_of(key, user, conf)?.location(text);
        };
        let (authority, path) = split(rest);
        match (scheme, authority) {
            // `hdfs:///PATH` is on the default HDFS.
            ("hdfs", "") => match FileSystem::default_of(key, user, conf)? {
                system @ FileSystem::Hdfs(_) => system.location(path),
                FileSystem::Local => {
                    Err(StagingError::NoNameNode { location: text.to_owned(), origin: key.to_owned(), key })
                }
            },
            (scheme, authority) => {
                let named = NamedFileSystem {
                    scheme,
                    authority,
                    text,
                    origin: key.to_owned(),
                    key,
                    with_hdfs: hdfs::IS_SPOKEN,
                };
                FileSystem::named(named, user, conf)?.location(path)
            }
        }
    }

    /// Like `parse`, except that a path without a scheme means a file on this machine.
    ///
    /// # Errors
    /// The file system is not supported.
    pub fn of_file(
        text: &str,
        key: &'static str,
        user: &str,
        conf: &HadoopConf,
    ) -> Result<Self, StagingError> {
        match scheme(text) {
            Some(_) => Self::parse(text, key, user, conf),
            None => FileSystem::Local.location(text),
        }
    }

    /// A file or directory below this path.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self { system: self.system.clone(), path: format!("{}/{name}", self.path.trim_end_matches('/')) }
    }

    /// Makes a directory that only the user can access. Makes its parents, too.
    pub(super) fn make_directory(&self) -> Result<(), StagingError> {
        match &self.system {
            FileSystem::Local => local::make_directory(self.as_path()),
            FileSystem::Hdfs(service) => hdfs::make_directory(service, &self.path).map_err(self.failed()),
        }
    }

    /// Writes a file with all data of the source. Everybody who can reach the file may read it.
    pub(super) fn write(&self, source: &mut (dyn Read + Send)) -> Result<(), StagingError> {
        match &self.system {
            FileSystem::Local => local::write(self.as_path(), source),
            FileSystem::Hdfs(service) => hdfs::write(service, &self.path, source).map_err(self.failed()),
        }
    }

    /// The description of this file for a NodeManager. The file must exist.
    pub(super) fn described(&self, name: &str, kind: LocalKind) -> Result<LocalFile, StagingError> {
        let (url, Described { size, timestamp, visibility }) = match &self.system {
            FileSystem::Local => {
                let (path, described) = local::described(self.as_path())?;
                (format!("file://{}", path.display()), described)
            }
            FileSystem::Hdfs(service) => {
                let described = hdfs::described(service, &self.path).map_err(self.failed())?;
                (self.to_string(), described)
            }
        };
        Ok(LocalFile { name: name.to_owned(), url, size, timestamp, kind, visibility })
    }

    /// Deletes a directory with its contents. Does nothing if the directory does not exist.
    pub(super) fn delete(&self) -> Result<(), StagingError> {
        match &self.system {
            FileSystem::Local => local::delete(self.as_path()),
            FileSystem::Hdfs(service) => hdfs::delete(service, &self.path).map_err(self.failed()),
        }
    }

    fn as_path(&self) -> &Path {
        Path::new(&self.path)
    }

    fn failed(&self) -> impl FnOnce(hdfs::Failure) -> StagingError {
        move |failure| StagingError::Hdfs { location: self.to_string(), failure }
    }
}

/// A file system, as a property names it.
struct NamedFileSystem<'a> {
    scheme: &'a str,
    authority: &'a str,
    text: &'a str,
    origin: String,
    key: &'static str,
    /// Whether this program was built with HDFS.
    with_hdfs: bool,
}

impl FileSystem {
    /// The default file system. Source: Hadoop 3.4.1.
    pub(super) fn default_of(key: &'static str, user: &str, conf: &HadoopConf) -> Result<Self, StagingError> {
        let Some(text) = conf.get(DEFAULT)? else { return Ok(Self::Local) };
        let origin = format!("{DEFAULT} in {}", conf.origin(DEFAULT));
        let (scheme, rest) = scheme(&text).unwrap_or((&text, ""));
        Self::named(
            NamedFileSystem {
                scheme,
                authority: split(rest).0,
                text: &text,
                origin,
                key,
                with_hdfs: hdfs::IS_SPOKEN,
            },
            user,
            conf,
        )
    }

    fn named(named: NamedFileSystem<'_>, user: &str, conf: &HadoopConf) -> Result<Self, StagingError> {
        let NamedFileSystem { scheme, authority, text, origin, key, with_hdfs } = named;
        let location = text.to_owned();
        match scheme {
            "file" => Ok(Self::Local),
            "hdfs" if authority.is_empty() => Err(StagingError::NoNameNode { location, origin, key }),
            "hdfs" if with_hdfs => {
                let mut properties = BTreeMap::new();
                for name in conf.names().filter(|name| name.starts_with("dfs.")) {
                    properties.extend(conf.get(name)?.map(|value| (name.to_owned(), value)));
                }
                let (authority, user) = (authority.to_owned(), user.to_owned());
                Ok(Self::Hdfs(NameService { authority, user, properties }))
            }
            "hdfs" => Err(StagingError::WithoutHdfs { location, origin, key }),
            _ => Err(StagingError::Unspoken { location, origin, key }),
        }
    }

    fn location(self, path: &str) -> Result<SharedPath, StagingError> {
        let path = match &self {
            Self::Local => {
                let path = std::path::absolute(path).map_err(super::unstaged(Path::new(path)))?;
                path.display().to_string()
            }
            Self::Hdfs(_) if path.starts_with('/') => path.to_owned(),
            Self::Hdfs(service) => format!("{}/{path}", service.home()),
        };
        Ok(SharedPath { system: self, path })
    }
}

impl NameService {
    /// The home directory of the user of this HDFS. Source: Hadoop 3.4.1.
    pub(super) fn home(&self) -> String {
        let parent = self.properties.get("dfs.user.home.dir.prefix").map_or("/user", String::as_str);
        format!("{}/{}", parent.trim_end_matches('/'), self.user)
    }
}

/// Splits a URL into a scheme such as `hdfs` and the rest `//host/path`; `None` for a plain path.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then_some((scheme, rest))
}

/// Splits `//host:8020/path` into `host:8020` and `/path`.
fn split(rest: &str) -> (&str, &str) {
    match rest.strip_prefix("//") {
        None => ("", rest),
        Some(rest) => rest.find('/').map_or((rest, "/"), |at| rest.split_at(at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_and_authorities_are_read() {
        assert_eq!(scheme("hdfs://nn:8020/a:b"), Some(("hdfs", "//nn:8020/a:b")));
        assert_eq!((scheme("/a/b"), scheme("a/b:c"), scheme("")), (None, None, None));
        assert_eq!(split("//nn:8020/a/b"), ("nn:8020", "/a/b"));
        assert_eq!((split("//nn"), split("///a"), split("/a")), (("nn", "/"), ("", "/a"), ("", "/a")));
    }

    #[test]
    fn a_program_without_hdfs_says_what_to_do() {
        let key = "spark.yarn.stagingDir";
        for origin in [key, "fs.defaultFS in core-site.xml"] {
            let text = "hdfs://nn:8020/x";
            let named = NamedFileSystem {
                scheme: "hdfs",
                authority: "nn:8020",
                text,
                origin: origin.to_owned(),
                key,
                with_hdfs: false,
            };
            let refused =
                FileSystem::named(named, "ann", &HadoopConf::default()).expect_err("it has no HDFS");
            assert_eq!(
                refused.to_string(),
                format!(
                    "cannot use {text} ({origin}): this firesteel was built without HDFS; use one that has it (cargo build \
                     --features hdfs), or set {key}=file:///PATH, which all nodes share"
                )
            );
        }
    }

    #[cfg(feature = "hdfs")]
    #[test]
    fn places_on_hdfs_are_found() {
        let conf = HadoopConf::of([
            ("fs.defaultFS", "hdfs://nn:9000"),
            ("dfs.user.home.dir.prefix", "/homes"),
            ("yarn.x", "y"),
        ]);
        let found = |text: &str| {
            SharedPath::parse(text, "x.y", "ann", &conf)
                .map(|location| location.to_string())
                .expect("it is one")
        };
        assert_eq!(found("hdfs://other/a b#c"), "hdfs://other/a b#c");
        assert_eq!(found("hdfs:///a"), "hdfs://nn:9000/a");
        assert_eq!(found("/a"), "hdfs://nn:9000/a");
        assert_eq!(found("a/b"), "hdfs://nn:9000/homes/ann/a/b");
        assert_eq!(found("file:///a"), "/a");
        let file = SharedPath::of_file("/a", "x.y", "ann", &conf).expect("it is one");
        assert_eq!(file, SharedPath::local(Path::new("/a")), "a file alone is one of this machine");
        let location = SharedPath::parse("/a", "x.y", "ann", &conf).expect("it is one");
        let FileSystem::Hdfs(service) = &location.system else { panic!("{location:?}") };
        assert_eq!(service.properties.keys().collect::<Vec<_>>(), ["dfs.user.home.dir.prefix"]);
        assert_eq!(location.join("x").to_string(), "hdfs://nn:9000/a/x");
        let nowhere = SharedPath::parse("hdfs:///a", "x.y", "ann", &HadoopConf::default());
        assert_eq!(
            nowhere.expect_err("there is none").to_string(),
            "cannot use hdfs:///a (x.y), which names no NameNode: set x.y=hdfs://HOST:PORT/PATH"
        );
    }
}
