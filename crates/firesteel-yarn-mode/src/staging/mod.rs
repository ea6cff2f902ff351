//! The staging directory: where files are put for an application's containers.
//!
//! All nodes share the directory. It is on a local file system (`local.rs`) or on HDFS (`hdfs.rs`, with the feature
//! `hdfs`; otherwise `without_hdfs.rs`). `shared_path.rs` parses the paths and calls one of these modules.
//!
//! ```text
//! <spark.yarn.stagingDir>/<user>/.firesteelStaging/<application>/firesteel            this program
//!                                                                __firesteel__.json   the blueprint
//!                                                                0-NAME, 1-NAME, ..   files of the application
//! ```
//!
//! Files that are already on HDFS stay where they are (`remote.rs`). A NodeManager fetches a file only if
//! its modification time and size are the same as when it was staged.

#[cfg(feature = "hdfs")]
mod hdfs;
#[cfg(not(feature = "hdfs"))]
#[path = "without_hdfs.rs"]
mod hdfs;
mod local;
mod remote;
mod shared_path;

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};

use firesteel_protocol::messages::{ArchiveFormat, FileDescription, FileKind};
use firesteel_yarn::messages::records::ApplicationId;

pub use self::hdfs::Failure as HdfsFailure;
pub use self::remote::{RemoteFile, is_remote};
pub use self::shared_path::{FileSystem, NameService, SharedPath};

use super::blueprint::{BINARY, FILE, LocalFile, LocalKind};
use super::hadoop_conf::{HadoopConf, HadoopConfError};
use firesteel_daemons::files::OfferedFiles;
use firesteel_settings::keys;
use firesteel_settings::variables::Environment;

/// The directory that contains the applications' staging directories. In Spark, its name is `.sparkStaging`.
const PARENT: &str = ".firesteelStaging";

#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    #[error(transparent)]
    Conf(#[from] HadoopConfError),
    /// The path is on a file system that is not supported.
    #[error(
        "cannot use {location} ({origin}), which is neither on this machine nor on HDFS: set {key}=file:///PATH, which all \
         nodes share, or {key}=hdfs://HOST:PORT/PATH"
    )]
    Unspoken { location: String, origin: String, key: &'static str },
    /// The path is on HDFS, and this program was built without HDFS.
    #[error(
        "cannot use {location} ({origin}): this firesteel was built without HDFS; use one that has it (cargo build \
         --features hdfs), or set {key}=file:///PATH, which all nodes share"
    )]
    WithoutHdfs { location: String, origin: String, key: &'static str },
    /// The path is on HDFS, but no NameNode is configured.
    #[error("cannot use {location} ({origin}), which names no NameNode: set {key}=hdfs://HOST:PORT/PATH")]
    NoNameNode { location: String, origin: String, key: &'static str },
    #[error("cannot stage {location}: {failure}")]
    Hdfs {
        /// The path of the file or directory on HDFS.
        location: String,
        failure: HdfsFailure,
    },
    /// The user has no home directory.
    #[error("no directory to stage files in: set HOME or spark.yarn.stagingDir")]
    NoHome,
    #[error("cannot stage {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// The name cannot be used for a file in a container.
    #[error("{word:?} cannot be called {name:?} in a container: give it another name, as in PATH#NAME")]
    Name {
        word: String,
        /// The name that was rejected.
        name: String,
    },
    /// The format of the archive is not supported.
    #[error("cannot unpack {word:?}: its name must end with .tar, .tar.gz, .tgz, .zip or .jar")]
    Format { word: String },
    #[error("two files would both be called {name:?}: give one another name, as in PATH#NAME")]
    Twice { name: String },
    #[error(
        "a file cannot be called {name:?} on YARN, where that is Firesteel's own: give it another name, as in PATH#NAME"
    )]
    Reserved { name: String },
}

fn unstaged(path: &Path) -> impl FnOnce(io::Error) -> StagingError {
    move |error| StagingError::Io { path: path.to_owned(), error }
}

/// Rejects file names that Firesteel uses itself.
fn taken(name: &str) -> Result<(), StagingError> {
    match [BINARY, FILE].contains(&name) {
        true => Err(StagingError::Reserved { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// The directory that contains the applications' directories. It comes from the setting `spark.yarn.stagingDir`. If
/// that is not set, it is the user's home directory on the default file system.
///
/// Source: Spark on YARN, 4.0.1.
///
/// # Errors
/// The file system is not supported.
pub fn base(
    setting: Option<&str>,
    user: &str,
    conf: &HadoopConf,
    environment: &Environment,
) -> Result<SharedPath, StagingError> {
    if let Some(location) = setting {
        return Ok(SharedPath::parse(location, keys::YARN_STAGING, user, conf)?.join(user).join(PARENT));
    }
    let system = FileSystem::default_of(keys::YARN_STAGING, user, conf)?;
    let path = match &system {
        FileSystem::Hdfs(service) => service.home(),
        FileSystem::Local => {
            let home = environment.get("HOME").filter(|home| home.starts_with('/'));
            home.ok_or(StagingError::NoHome)?.to_owned()
        }
    };
    Ok(SharedPath { system, path }.join(PARENT))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staging {
    directory: SharedPath,
}

impl Staging {
    /// Makes a staging directory that only the user can access.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn create(base: &SharedPath, application: ApplicationId) -> Result<Self, StagingError> {
        let directory = base.join(&application.to_string());
        directory.make_directory()?;
        Ok(Self { directory })
    }

    /// A staging directory that already exists.
    #[must_use]
    pub fn at(directory: SharedPath) -> Self {
        Self { directory }
    }

    #[must_use]
    pub fn directory(&self) -> &SharedPath {
        &self.directory
    }

    /// Stages a copy of this program, or uses the program at `shared`, which all nodes already have.
    ///
    /// # Errors
    /// The program cannot be read or written.
    pub fn add_program(
        &self,
        program: &Path,
        shared: Option<&SharedPath>,
    ) -> Result<LocalFile, StagingError> {
        match shared {
            Some(location) => location.described(BINARY, LocalKind::File),
            None => self.add_file(BINARY, program),
        }
    }

    /// Stages the application's files.
    ///
    /// # Errors
    /// A file cannot be read or written, or has a name that Firesteel uses itself.
    pub fn add_files(&self, files: &OfferedFiles) -> Result<Vec<LocalFile>, StagingError> {
        let add = |(number, (description, mut file)): (usize, (&FileDescription, &File))| {
            let FileDescription { name, kind, .. } = description;
            // A NodeManager recognises an archive by the suffix of its name.
            let (end, kind) = match kind {
                FileKind::Archive(ArchiveFormat::Tar) => (".tar", LocalKind::Archive),
                FileKind::Archive(ArchiveFormat::TarGz) => (".tar.gz", LocalKind::Archive),
                FileKind::Archive(ArchiveFormat::Zip) => (".zip", LocalKind::Archive),
                FileKind::Plain | FileKind::Executable => ("", LocalKind::File),
            };
            taken(name)?;
            file.rewind().map_err(unstaged(Path::new(name)))?;
            self.add(name, &format!("{number}-{name}{end}"), kind, &mut file)
        };
        files.each().enumerate().map(add).collect()
    }

    /// Stages a file with these bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_bytes(&self, name: &str, mut bytes: &[u8]) -> Result<LocalFile, StagingError> {
        self.add_all(name, &mut bytes)
    }

    /// Stages a copy of a file.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn add_file(&self, name: &str, source: &Path) -> Result<LocalFile, StagingError> {
        self.add_all(name, &mut File::open(source).map_err(unstaged(source))?)
    }

    /// Stages a file with everything that the source contains.
    ///
    /// # Errors
    /// The source cannot be read, or the file cannot be written.
    pub fn add_all(&self, name: &str, source: &mut (dyn Read + Send)) -> Result<LocalFile, StagingError> {
        self.add(name, name, LocalKind::File, source)
    }

    fn add(
        &self,
        name: &str,
        staged: &str,
        kind: LocalKind,
        source: &mut (dyn Read + Send),
    ) -> Result<LocalFile, StagingError> {
        let location = self.directory.join(staged);
        location.write(source)?;
        location.described(name, kind)
    }

    /// Deletes the directory with its files. Does nothing if the directory does not exist. A failure is logged.
    pub fn delete(&self) {
        match self.directory.delete() {
            Ok(()) => tracing::info!("deleted {}", self.directory),
            Err(error) => tracing::warn!("cannot delete the staged files: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::UNIX_EPOCH;

    use super::super::blueprint::Visibility;
    use super::*;

    fn location(setting: Option<&str>, default: Option<&str>, home: Option<&str>) -> Result<String, String> {
        let conf = HadoopConf::of(default.map(|location| ("fs.defaultFS", location)));
        let environment = home.map(|home| ("HOME".to_owned(), home.to_owned())).into_iter().collect();
        let found = base(setting, "ann", &conf, &environment).map_err(|error| error.to_string())?;
        Ok(found.to_string())
    }

    #[test]
    fn files_are_staged_in_the_home_directory_or_where_one_says() {
        let home = Some("/home/ann");
        assert_eq!(location(None, None, home).as_deref(), Ok("/home/ann/.firesteelStaging"));
        assert_eq!(location(None, Some("file:///"), home).as_deref(), Ok("/home/ann/.firesteelStaging"));
        for setting in ["file:///shared", "file:/shared"] {
            let found = location(Some(setting), Some("hdfs://nn"), None);
            assert_eq!(found.as_deref(), Ok("/shared/ann/.firesteelStaging"), "{setting}");
        }
        assert_eq!(location(Some("/shared"), None, None).as_deref(), Ok("/shared/ann/.firesteelStaging"));
        assert!(
            location(None, None, None)
                .expect_err("there is none")
                .contains("set HOME or spark.yarn.stagingDir")
        );
    }

    #[test]
    fn a_file_system_that_is_not_spoken_with_is_told() {
        assert_eq!(
            location(None, Some("viewfs://all"), Some("/home/ann")),
            Err("cannot use viewfs://all (fs.defaultFS in spark.hadoop.fs.defaultFS), which is neither on this machine \
                 nor on HDFS: set spark.yarn.stagingDir=file:///PATH, which all nodes share, or \
                 spark.yarn.stagingDir=hdfs://HOST:PORT/PATH"
                .to_owned())
        );
        assert!(location(Some("/x"), Some("s3a://b"), None).is_err(), "that is a path of the default one");
        let found = location(Some("s3a://b/x"), None, None).expect_err("nobody speaks that");
        assert!(found.starts_with("cannot use s3a://b/x (spark.yarn.stagingDir), "), "{found}");
    }

    #[cfg(feature = "hdfs")]
    #[test]
    fn files_are_staged_on_hdfs_where_that_is_the_default_or_where_one_says() {
        let on_hdfs = |setting| location(setting, Some("hdfs://nn:9000"), None).expect("there is one");
        assert_eq!(on_hdfs(None), "hdfs://nn:9000/user/ann/.firesteelStaging");
        assert_eq!(on_hdfs(Some("/tmp")), "hdfs://nn:9000/tmp/ann/.firesteelStaging");
        assert_eq!(on_hdfs(Some("hdfs://other/tmp")), "hdfs://other/tmp/ann/.firesteelStaging");
    }

    #[tokio::test]
    async fn what_is_staged_is_described_as_it_is_then() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("tool.sh");
        fs::write(&source, "echo hi\n").expect("written");
        let words = format!("{}#tool", source.display());
        let offered = OfferedFiles::open(&[words], &[]).await.expect("it is there");
        let base = SharedPath::local(&directory.path().join("base"));
        let staging = Staging::create(&base, ApplicationId::new(1, 2)).expect("a directory");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        let staged = Path::new(&staging.directory().path);
        assert_eq!(mode(staged), 0o700);
        assert!(staged.ends_with("base/application_1_0002"));

        let files = staging.add_files(&offered).expect("there is room");
        let [file] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!((file.name.as_str(), file.size, file.kind), ("tool", 8, LocalKind::File));
        assert_eq!(file.visibility, Visibility::Private, "the directory is nobody else's");
        let path = Path::new(file.url.strip_prefix("file://").expect("it is a file"));
        assert_eq!((mode(path), fs::read(path).expect("it is there").as_slice()), (0o644, &b"echo hi\n"[..]));
        let changed = fs::metadata(path).and_then(|metadata| metadata.modified()).expect("it has a time");
        let since = changed.duration_since(UNIX_EPOCH).expect("that is long ago");
        assert_eq!(u128::from(file.timestamp), since.as_millis());

        let blueprint = staging.add_bytes(FILE, b"{}").expect("there is room");
        assert_eq!((blueprint.name.as_str(), blueprint.size), (FILE, 2));
        let program = staging.add_program(&source, None).expect("there is room");
        assert_eq!(program.name, BINARY);
        let shared = staging.add_program(&source, Some(&SharedPath::local(&source))).expect("it is there");
        assert!(shared.url.ends_with("/tool.sh"), "{}", shared.url);
        staging.delete();
        assert!(!staged.exists());
        staging.delete();
    }

    #[tokio::test]
    async fn firesteels_own_names_are_taken() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join(BINARY);
        fs::write(&source, "x").expect("written");
        let offered = OfferedFiles::open(&[source.display().to_string()], &[]).await.expect("it is there");
        let staging = Staging::create(&SharedPath::local(directory.path()), ApplicationId::new(1, 2))
            .expect("a directory");
        let error = staging.add_files(&offered).expect_err("there is one already").to_string();
        assert!(error.starts_with("a file cannot be called \"firesteel\" on YARN"), "{error}");
    }
}
