//! Places that all nodes have: a path, and the file system that it is on.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{StagingError, hdfs, local};
use crate::blueprint::{LocalFile, LocalKind, Visibility};
use crate::hadoop_conf::HadoopConf;

/// What names the file system of whatever names none.
pub(super) const DEFAULT: &str = "fs.defaultFS";

/// A file or a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// On which file system.
    pub system: FileSystem,
    /// From its root.
    pub path: String,
}

/// A file system that all nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSystem {
    /// One that is mounted at the same place on this machine and on all nodes.
    Local,
    /// Hadoop's.
    Hdfs(NameService),
}

/// Which HDFS, and as whom it is spoken with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameService {
    /// A NameNode, `host:port` or `host`, or what several of them are called together.
    pub authority: String,
    /// Who.
    pub user: String,
    /// What its configuration says of HDFS: the properties that begin with `dfs.`.
    pub properties: BTreeMap<String, String>,
}

/// What a file is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// Its size in bytes.
    pub(super) size: u64,
    /// When it was changed last, in milliseconds since 1970, as Java says it.
    pub(super) timestamp: u64,
    pub(super) visibility: Visibility,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.system {
            FileSystem::Local => f.write_str(&self.path),
            FileSystem::Hdfs(service) => write!(f, "hdfs://{}{}", service.authority, self.path),
        }
    }
}

impl Place {
    /// On this machine, and on all nodes at the same path.
    #[must_use]
    pub fn local(path: &Path) -> Self {
        Self { system: FileSystem::Local, path: path.display().to_string() }
    }

    /// What a person has written for that property: `hdfs://HOST/PATH`, `file:///PATH`, or a path of the default file
    /// system, as that user. A path that begins nowhere begins in the directory where one is, or on HDFS in one's home
    /// directory.
    ///
    /// # Errors
    /// It is on a file system that is not spoken with.
    pub fn parse(text: &str, key: &'static str, user: &str, conf: &HadoopConf) -> Result<Self, StagingError> {
        let Some((scheme, rest)) = scheme(text) else {
            return FileSystem::default_of(key, user, conf)?.place(text);
        };
        let (authority, path) = split(rest);
        match (scheme, authority) {
            // `hdfs:///PATH` is of the HDFS that is the default.
            ("hdfs", "") => match FileSystem::default_of(key, user, conf)? {
                system @ FileSystem::Hdfs(_) => system.place(path),
                FileSystem::Local => {
                    Err(StagingError::NoNameNode { place: text.to_owned(), origin: key.to_owned(), key })
                }
            },
            (scheme, authority) => {
                let named = Named { scheme, authority, text, origin: key.to_owned(), key };
                FileSystem::named(named, user, conf)?.place(path)
            }
        }
    }

    /// The same of a file, where a path alone is one of this machine.
    ///
    /// # Errors
    /// It is on a file system that is not spoken with.
    pub fn of_file(
        text: &str,
        key: &'static str,
        user: &str,
        conf: &HadoopConf,
    ) -> Result<Self, StagingError> {
        match scheme(text) {
            Some(_) => Self::parse(text, key, user, conf),
            None => FileSystem::Local.place(text),
        }
    }

    /// A place within it.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self { system: self.system.clone(), path: format!("{}/{name}", self.path.trim_end_matches('/')) }
    }

    /// Makes a directory for nobody but the user, with those that it is in.
    pub(super) fn make_directory(&self) -> Result<(), StagingError> {
        match &self.system {
            FileSystem::Local => local::make_directory(self.as_path()),
            FileSystem::Hdfs(service) => hdfs::make_directory(service, &self.path).map_err(self.failed()),
        }
    }

    /// Makes a file of all that can be read, which everybody may read who gets there.
    pub(super) fn write(&self, source: &mut (dyn Read + Send)) -> Result<(), StagingError> {
        match &self.system {
            FileSystem::Local => local::write(self.as_path(), source),
            FileSystem::Hdfs(service) => hdfs::write(service, &self.path, source).map_err(self.failed()),
        }
    }

    /// What a NodeManager is told of the file that is there now.
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

    /// Takes away a directory and all that is in it. What is gone already is no error.
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
        move |failure| StagingError::Hdfs { place: self.to_string(), failure }
    }
}

/// A file system as somebody names it.
struct Named<'a> {
    scheme: &'a str,
    authority: &'a str,
    /// All of it.
    text: &'a str,
    /// Where that was written.
    origin: String,
    /// The property that it is for.
    key: &'static str,
}

impl FileSystem {
    /// The one of whatever names none. Source: Hadoop 3.4.1.
    pub(super) fn default_of(key: &'static str, user: &str, conf: &HadoopConf) -> Result<Self, StagingError> {
        let Some(text) = conf.get(DEFAULT)? else { return Ok(Self::Local) };
        let origin = format!("{DEFAULT} in {}", conf.origin(DEFAULT));
        let (scheme, rest) = scheme(&text).unwrap_or((&text, ""));
        Self::named(Named { scheme, authority: split(rest).0, text: &text, origin, key }, user, conf)
    }

    fn named(named: Named<'_>, user: &str, conf: &HadoopConf) -> Result<Self, StagingError> {
        let Named { scheme, authority, text, origin, key } = named;
        let place = text.to_owned();
        match scheme {
            "file" => Ok(Self::Local),
            "hdfs" if authority.is_empty() => Err(StagingError::NoNameNode { place, origin, key }),
            "hdfs" if hdfs::IS_SPOKEN => {
                let mut properties = BTreeMap::new();
                for name in conf.names().filter(|name| name.starts_with("dfs.")) {
                    properties.extend(conf.get(name)?.map(|value| (name.to_owned(), value)));
                }
                let (authority, user) = (authority.to_owned(), user.to_owned());
                Ok(Self::Hdfs(NameService { authority, user, properties }))
            }
            "hdfs" => Err(StagingError::WithoutHdfs { place, origin, key }),
            _ => Err(StagingError::Unspoken { place, origin, key }),
        }
    }

    /// A path on it.
    fn place(self, path: &str) -> Result<Place, StagingError> {
        let path = match &self {
            Self::Local => {
                let path = std::path::absolute(path).map_err(super::unstaged(Path::new(path)))?;
                path.display().to_string()
            }
            Self::Hdfs(_) if path.starts_with('/') => path.to_owned(),
            Self::Hdfs(service) => format!("{}/{path}", service.home()),
        };
        Ok(Place { system: self, path })
    }
}

impl NameService {
    /// The home directory of its user. Source: Hadoop 3.4.1.
    pub(super) fn home(&self) -> String {
        let parent = self.properties.get("dfs.user.home.dir.prefix").map_or("/user", String::as_str);
        format!("{}/{}", parent.trim_end_matches('/'), self.user)
    }
}

/// `hdfs` and `//host/path`; `None` of what is a path alone.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then_some((scheme, rest))
}

/// `//host:8020/path` is `host:8020` and `/path`.
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

    #[cfg(feature = "hdfs")]
    #[test]
    fn places_on_hdfs_are_found() {
        let conf = HadoopConf::of([
            ("fs.defaultFS", "hdfs://nn:9000"),
            ("dfs.user.home.dir.prefix", "/homes"),
            ("yarn.x", "y"),
        ]);
        let found = |text: &str| {
            Place::parse(text, "x.y", "ann", &conf).map(|place| place.to_string()).expect("it is one")
        };
        assert_eq!(found("hdfs://other/a b#c"), "hdfs://other/a b#c");
        assert_eq!(found("hdfs:///a"), "hdfs://nn:9000/a");
        assert_eq!(found("/a"), "hdfs://nn:9000/a");
        assert_eq!(found("a/b"), "hdfs://nn:9000/homes/ann/a/b");
        assert_eq!(found("file:///a"), "/a");
        let file = Place::of_file("/a", "x.y", "ann", &conf).expect("it is one");
        assert_eq!(file, Place::local(Path::new("/a")), "a file alone is one of this machine");
        let place = Place::parse("/a", "x.y", "ann", &conf).expect("it is one");
        let FileSystem::Hdfs(service) = &place.system else { panic!("{place:?}") };
        assert_eq!(service.properties.keys().collect::<Vec<_>>(), ["dfs.user.home.dir.prefix"]);
        assert_eq!(place.join("x").to_string(), "hdfs://nn:9000/a/x");
        let nowhere = Place::parse("hdfs:///a", "x.y", "ann", &HadoopConf::default());
        assert_eq!(
            nowhere.expect_err("there is none").to_string(),
            "cannot use hdfs:///a (x.y), which names no NameNode: set x.y=hdfs://HOST:PORT/PATH"
        );
    }
}
