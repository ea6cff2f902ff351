//! Where files are put for an application's containers: a directory that all nodes have.
//!
//! ```text
//! <spark.yarn.stagingDir>/<user>/.firesteelStaging/<application>/firesteel            this program
//!                                                                __firesteel__.json   the blueprint
//!                                                                0-NAME, 1-NAME, ..   what the application brings
//! ```
//!
//! A NodeManager fetches a file only if it is as old, and as long, as it was when it was staged.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use firesteel_core::messages::{ArchiveFormat, FileDescription, FileKind};
use firesteel_yarn::messages::records::ApplicationId;

use super::blueprint::{BINARY, FILE, LocalFile, LocalKind, Visibility};
use super::hadoop_conf::{HadoopConf, HadoopConfError};
use crate::files::OfferedFiles;
use crate::settings::variables::Environment;

/// The directory in which every application has one of its own. Spark's is `.sparkStaging`.
const PARENT: &str = ".firesteelStaging";

/// Why there is nowhere to put files, or one cannot be put there.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Conf(#[from] HadoopConfError),
    /// The place is on a file system that is not spoken with.
    #[error(
        "cannot stage files on {place} ({origin}), which is no file system of this machine: set \
         spark.yarn.stagingDir=file:///DIR, a directory that all nodes share"
    )]
    Remote {
        /// The place.
        place: String,
        /// Who says so.
        origin: String,
    },
    /// There is no home directory.
    #[error("there is no home directory to stage files in: set HOME or spark.yarn.stagingDir")]
    NoHome,
    /// The system does not let it be done.
    #[error("cannot stage {}: {error}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A name that is taken already.
    #[error(
        "a file cannot be called {name:?} on YARN, where that is Firesteel's own: give it another name, as in PATH#NAME"
    )]
    Reserved {
        /// The name.
        name: String,
    },
}

fn io(path: &Path) -> impl FnOnce(io::Error) -> StagingError {
    move |error| StagingError::Io { path: path.to_owned(), error }
}

/// The directory in which an application's directory is made: of the setting (`spark.yarn.stagingDir`), or the user's
/// home.
///
/// Source: Spark on YARN, 4.0.1.
///
/// # Errors
/// It is not on a file system of this machine.
pub fn base(
    setting: Option<&str>,
    user: &str,
    conf: &HadoopConf,
    environment: &Environment,
) -> Result<PathBuf, StagingError> {
    let remote = |place: &str, origin: String| StagingError::Remote { place: place.to_owned(), origin };
    if let Some(directory) = setting.and_then(local) {
        return Ok(directory.join(user).join(PARENT));
    }
    if let Some(place) = setting.filter(|place| place.contains("://")) {
        return Err(remote(place, "spark.yarn.stagingDir".to_owned()));
    }
    // Whatever names no file system is on the default one.
    let key = "fs.defaultFS";
    if let Some(place) = conf.get(key)?.filter(|place| local(place).is_none()) {
        return Err(remote(&place, format!("{key} in {}", conf.origin(key))));
    }
    match setting {
        Some(path) => Ok(std::path::absolute(path).map_err(io(Path::new(path)))?.join(user).join(PARENT)),
        None => {
            let home =
                environment.get("HOME").filter(|home| home.starts_with('/')).ok_or(StagingError::NoHome)?;
            Ok(Path::new(home).join(PARENT))
        }
    }
}

/// The path of `file:///x`, `file:/x`.
fn local(place: &str) -> Option<PathBuf> {
    let path = place.strip_prefix("file:")?;
    Some(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))
}

/// The staging directory of one application.
#[derive(Debug)]
pub struct Staging {
    directory: PathBuf,
}

impl Staging {
    /// Makes one for nobody but the user.
    ///
    /// # Errors
    /// The system does not let it be made.
    pub fn create(base: &Path, application: ApplicationId) -> Result<Self, StagingError> {
        let directory = base.join(application.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(io(&directory))?;
        Ok(Self { directory })
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Puts a copy of this program there, or names the one that the nodes have at that path already.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn add_program(&self, program: &Path, shared: Option<&str>) -> Result<LocalFile, StagingError> {
        if let Some(path) = shared {
            let path = local(path).unwrap_or_else(|| PathBuf::from(path));
            return described(BINARY, &path, LocalKind::File);
        }
        let path = self.directory.join(BINARY);
        fs::copy(program, &path).map_err(io(program))?;
        self.described(BINARY, BINARY, LocalKind::File)
    }

    /// Puts what the application brings there.
    ///
    /// # Errors
    /// Something cannot be read or written, or has a name of Firesteel's.
    pub fn add_files(&self, files: &OfferedFiles) -> Result<Vec<LocalFile>, StagingError> {
        let add = |(number, (description, file)): (usize, (&FileDescription, &File))| {
            let FileDescription { name, kind, .. } = description;
            // A NodeManager knows an archive by the end of its name.
            let (end, kind) = match kind {
                FileKind::Archive(ArchiveFormat::Tar) => (".tar", LocalKind::Archive),
                FileKind::Archive(ArchiveFormat::TarGz) => (".tar.gz", LocalKind::Archive),
                FileKind::Archive(ArchiveFormat::Zip) => (".zip", LocalKind::Archive),
                FileKind::Plain | FileKind::Executable => ("", LocalKind::File),
            };
            if [BINARY, FILE].contains(&name.as_str()) {
                return Err(StagingError::Reserved { name: name.clone() });
            }
            let staged = format!("{number}-{name}{end}");
            self.copy(file, &staged)?;
            self.described(name, &staged, kind)
        };
        files.each().enumerate().map(add).collect()
    }

    /// Puts a file of these bytes there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add_bytes(&self, name: &str, bytes: &[u8]) -> Result<LocalFile, StagingError> {
        let path = self.directory.join(name);
        fs::write(&path, bytes).map_err(io(&path))?;
        self.described(name, name, LocalKind::File)
    }

    /// Puts a copy of a file there.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn add_file(&self, name: &str, source: &Path) -> Result<LocalFile, StagingError> {
        self.add_all(name, &mut File::open(source).map_err(io(source))?)
    }

    /// Puts a file there of all that can be read.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn add_all(&self, name: &str, source: &mut dyn io::Read) -> Result<LocalFile, StagingError> {
        let path = self.directory.join(name);
        let done = File::create(&path).and_then(|mut file| io::copy(source, &mut file));
        done.map_err(io(&path))?;
        self.described(name, name, LocalKind::File)
    }

    fn copy(&self, mut source: &File, staged: &str) -> Result<(), StagingError> {
        let path = self.directory.join(staged);
        let done = source.rewind().and_then(|()| io::copy(&mut source, &mut File::create(&path)?));
        done.map(drop).map_err(io(&path))
    }

    /// What a NodeManager is told of a file that is there.
    fn described(&self, name: &str, staged: &str, kind: LocalKind) -> Result<LocalFile, StagingError> {
        let path = self.directory.join(staged);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).map_err(io(&path))?;
        described(name, &path, kind)
    }

    /// Takes it all away again. What is gone already is no error, and what cannot be taken away is worth a line.
    pub fn delete(&self) {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("cannot remove {}: {error}", self.directory.display());
            }
            Ok(()) | Err(_) => {}
        }
    }
}

fn described(name: &str, path: &Path, kind: LocalKind) -> Result<LocalFile, StagingError> {
    let path = path.canonicalize().map_err(io(path))?;
    let metadata = fs::metadata(&path).map_err(io(&path))?;
    if !metadata.is_file() {
        return Err(io(&path)(io::Error::other("it is not a regular file")));
    }
    Ok(LocalFile {
        name: name.to_owned(),
        url: format!("file://{}", path.display()),
        size: metadata.len(),
        timestamp: millis(&metadata).map_err(io(&path))?,
        kind,
        visibility: visibility(&path, &metadata),
    })
}

/// When it was changed last, in milliseconds since 1970, as Java says it.
fn millis(metadata: &Metadata) -> io::Result<u64> {
    let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Everybody may use what everybody may read, the directories on the way to it included.
///
/// Source: Spark on YARN, 4.0.1.
fn visibility(path: &Path, metadata: &Metadata) -> Visibility {
    let can = |metadata: &Metadata, bit: u32| metadata.permissions().mode() & bit != 0;
    let is_open = |directory: &Path| fs::metadata(directory).is_ok_and(|metadata| can(&metadata, 0o001));
    if can(metadata, 0o004) && path.ancestors().skip(1).all(is_open) {
        Visibility::Public
    } else {
        Visibility::Private
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(setting: Option<&str>, default: Option<&str>, home: Option<&str>) -> Result<String, String> {
        let conf = HadoopConf::of(default.map(|place| ("fs.defaultFS", place)));
        let environment = home.map(|home| ("HOME".to_owned(), home.to_owned())).into_iter().collect();
        let found = base(setting, "ann", &conf, &environment).map_err(|error| error.to_string())?;
        Ok(found.display().to_string())
    }

    #[test]
    fn files_are_staged_in_the_home_directory_or_where_one_says() {
        let home = Some("/home/ann");
        assert_eq!(place(None, None, home).as_deref(), Ok("/home/ann/.firesteelStaging"));
        assert_eq!(place(None, Some("file:///"), home).as_deref(), Ok("/home/ann/.firesteelStaging"));
        for setting in ["file:///shared", "file:/shared"] {
            let found = place(Some(setting), Some("hdfs://nn"), None);
            assert_eq!(found.as_deref(), Ok("/shared/ann/.firesteelStaging"), "{setting}");
        }
        assert_eq!(place(Some("/shared"), None, None).as_deref(), Ok("/shared/ann/.firesteelStaging"));
        assert!(
            place(None, None, None).expect_err("there is none").contains("set HOME or spark.yarn.stagingDir")
        );
    }

    #[test]
    fn a_place_that_is_not_a_file_system_of_this_machine_is_told() {
        let advice = "which is no file system of this machine: set spark.yarn.stagingDir=file:///DIR, a directory that \
                      all nodes share";
        assert_eq!(
            place(None, Some("hdfs://nn:8020"), Some("/home/ann")),
            Err(format!(
                "cannot stage files on hdfs://nn:8020 (fs.defaultFS in spark.hadoop.fs.defaultFS), {advice}"
            ))
        );
        assert!(
            place(Some("/shared"), Some("hdfs://nn"), None).is_err(),
            "that is a path of the default one"
        );
        assert_eq!(
            place(Some("hdfs://nn/x"), None, None),
            Err(format!("cannot stage files on hdfs://nn/x (spark.yarn.stagingDir), {advice}"))
        );
    }

    #[tokio::test]
    async fn what_is_staged_is_described_as_it_is_then() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("tool.sh");
        fs::write(&source, "echo hi\n").expect("written");
        let words = format!("{}#tool", source.display());
        let offered = OfferedFiles::open(&[words], &[]).await.expect("it is there");
        let staging =
            Staging::create(&directory.path().join("base"), ApplicationId::new(1, 2)).expect("a directory");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(staging.directory()), 0o700);
        assert!(staging.directory().ends_with("base/application_1_0002"));

        let files = staging.add_files(&offered).expect("there is room");
        let [file] = files.as_slice() else { panic!("{files:?}") };
        assert_eq!((file.name.as_str(), file.size, file.kind), ("tool", 8, LocalKind::File));
        assert_eq!(file.visibility, Visibility::Private, "the directory is nobody else's");
        let path = Path::new(file.url.strip_prefix("file://").expect("it is a file"));
        assert_eq!((mode(path), fs::read(path).expect("it is there").as_slice()), (0o644, &b"echo hi\n"[..]));
        assert_eq!(file.timestamp, millis(&fs::metadata(path).expect("it is there")).expect("it has a time"));

        let blueprint = staging.add_bytes(FILE, b"{}").expect("there is room");
        assert_eq!((blueprint.name.as_str(), blueprint.size), (FILE, 2));
        let program = staging.add_program(&source, None).expect("there is room");
        assert_eq!(program.name, BINARY);
        let shared = staging.add_program(&source, Some(&source.display().to_string())).expect("it is there");
        assert!(shared.url.ends_with("/tool.sh"), "{}", shared.url);
        staging.delete();
        assert!(!staging.directory().exists());
        staging.delete();
    }

    #[tokio::test]
    async fn firesteels_own_names_are_taken() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join(BINARY);
        fs::write(&source, "x").expect("written");
        let offered = OfferedFiles::open(&[source.display().to_string()], &[]).await.expect("it is there");
        let staging = Staging::create(directory.path(), ApplicationId::new(1, 2)).expect("a directory");
        let error = staging.add_files(&offered).expect_err("there is one already").to_string();
        assert!(error.starts_with("a file cannot be called \"firesteel\" on YARN"), "{error}");
    }

    #[test]
    fn what_everybody_can_read_is_for_everybody() {
        let of = |path: &str| visibility(Path::new(path), &fs::metadata(path).expect("it is there"));
        assert_eq!(of("/etc/passwd"), Visibility::Public);
    }
}
