//! The files of an application. Each is opened and read once, to compute its length and digest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firesteel_protocol::address::Address;
use firesteel_protocol::byte_text;
use firesteel_protocol::messages::{
    ApplicationFiles, ArchiveFormat, FileDescription, FileKind, MOST_FILES, Sha256, is_file_name,
};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use sha2::Digest;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::server;
use super::unpack::{UnpackError, check_archive};
use firesteel_host::net::Listener;

const PIECE: usize = 1 << 20;

/// The files of an application on the machine where it is submitted. The files stay open. If a file is later replaced
/// by another file of the same name, an application that was already submitted still gets the old contents.
#[derive(Clone, Debug, Default)]
pub struct OfferedFiles {
    files: Arc<Vec<OfferedFile>>,
}

#[derive(Debug)]
pub(super) struct OfferedFile {
    pub(super) description: FileDescription,
    pub(super) file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    #[error("cannot read the file {path:?}: {error}")]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{path:?} is a directory: pack it and give the archive with --archives")]
    Directory { path: PathBuf },
    /// The path is a pipe or a device.
    #[error("{path:?} is not a regular file: give a regular file")]
    Irregular { path: PathBuf },
    /// The file is not on this machine.
    #[error("{text:?} is not a path on this machine: download the file and give its path")]
    Remote { text: String },
    #[error("cannot unpack {path:?}: the name of an archive must end with .tar, .tar.gz, .tgz, .zip or .jar")]
    Format { path: PathBuf },
    /// The archive is damaged, or its name does not match its format.
    #[error("cannot copy {path:?} to the executors: {error}")]
    Archive { path: PathBuf, error: UnpackError },
    /// The name cannot be used for a file in an executor's directory.
    #[error(
        "{name:?} cannot be the name of {text:?} in an executor's directory: set another one, as in PATH#NAME"
    )]
    Name { text: String, name: String },
    #[error("{first:?} and {second:?} would both have the name {name:?}: set another one, as in PATH#NAME")]
    Twice {
        /// The path, with any `#NAME`, of the first of two files with the same name.
        first: String,
        second: String,
        name: String,
    },
    #[error("too many files: {found} (at most {MOST_FILES}); pack them into an archive")]
    TooMany { found: usize },
    /// Reading was stopped, because its caller no longer waits.
    #[error("stopped")]
    Stopped,
}

/// A file to offer that has not been opened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UnopenedFile {
    path: PathBuf,
    name: String,
    archive: Option<ArchiveFormat>,
}

impl OfferedFiles {
    /// Opens and reads all files. `files` and `archives` are paths, each with an optional `#NAME`. An
    /// archive is unpacked into a directory of that name.
    ///
    /// Source: Spark 4.0.1 for the syntax. In Spark, `#NAME` works for `--archives`, and for `--files` only on YARN.
    ///
    /// # Errors
    /// Returns the error of the first file that cannot be offered.
    pub async fn open(files: &[String], archives: &[String]) -> Result<Self, OfferError> {
        let unopened_files = unopened_files(files, archives)?;
        // The digest of a large file takes long. If the caller stops waiting, the thread stops too.
        let stop = CancellationToken::new();
        let _stops_if_dropped = stop.clone().drop_guard();
        let reading = spawn_blocking(move || {
            unopened_files.into_iter().map(|unopened| read(unopened, &stop)).collect()
        });
        let files: Result<Vec<OfferedFile>, OfferError> =
            reading.await.expect("reading files does not panic");
        Ok(Self { files: Arc::new(files?) })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn each(&self) -> impl Iterator<Item = (&FileDescription, &File)> {
        self.files.iter().map(|file| (&file.description, &file.file))
    }

    /// The description of the files for Workers. `None` if there are no files. Workers fetch from `source`, with this
    /// secret if there is one.
    #[must_use]
    pub fn description(&self, source: &Address, secret: Option<Secret>) -> Option<ApplicationFiles> {
        let files = self.files.iter().map(|file| file.description.clone()).collect();
        (!self.is_empty()).then(|| ApplicationFiles { source: source.clone(), files, secret })
    }

    /// Also sends files to the Workers that dial this listener. The listener still serves its other peers.
    #[must_use]
    pub fn serve_on(&self, listener: Listener) -> Listener {
        if self.is_empty() {
            return listener;
        }
        listener.also_serve(Role::Worker, server::start(Arc::clone(&self.files)))
    }

    /// Like [`serve_on`](Self::serve_on), but serves at most this number of Workers at the same time.
    #[cfg(test)]
    pub(super) fn serve_some_on(&self, listener: Listener, at_once: usize) -> Listener {
        listener.also_serve(Role::Worker, server::start_with(Arc::clone(&self.files), at_once))
    }
}

fn unopened_files(files: &[String], archives: &[String]) -> Result<Vec<UnopenedFile>, OfferError> {
    let found = files.len() + archives.len();
    if found > MOST_FILES {
        return Err(OfferError::TooMany { found });
    }
    let mut taken: BTreeMap<String, &String> = BTreeMap::new();
    let mut unopened_files = Vec::with_capacity(found);
    let all = files.iter().map(|text| (text, false)).chain(archives.iter().map(|text| (text, true)));
    for (text, is_archive) in all {
        let (path, name) = path_and_name(text)?;
        if let Some(first) = taken.insert(name.clone(), text) {
            return Err(OfferError::Twice { first: first.clone(), second: text.clone(), name });
        }
        let archive = match is_archive {
            false => None,
            true => Some(format(&path).ok_or_else(|| OfferError::Format { path: path.clone() })?),
        };
        unopened_files.push(UnopenedFile { path, name, archive });
    }
    Ok(unopened_files)
}

/// The path and the name in an argument. The name of `dir/data.txt` is `data.txt`; the name of `dir/data.txt#input` is
/// `input`.
fn path_and_name(text: &str) -> Result<(PathBuf, String), OfferError> {
    let (path, name) = match text.rsplit_once('#') {
        Some((path, name)) => (path, Some(name)),
        None => (text, None),
    };
    let path = match path.strip_prefix("file:") {
        Some(path) => path.strip_prefix("//").unwrap_or(path),
        None if is_remote(path) => return Err(OfferError::Remote { text: text.to_owned() }),
        None => path,
    };
    let path = byte_text::path(path);
    let last = || path.file_name().map(byte_text::of_os).unwrap_or_default();
    let name = name.map_or_else(last, str::to_owned);
    if !is_file_name(&name) {
        return Err(OfferError::Name { text: text.to_owned(), name });
    }
    Ok((path, name))
}

/// Whether the path is a URL such as `hdfs://host/path`.
fn is_remote(path: &str) -> bool {
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn format(path: &Path) -> Option<ArchiveFormat> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let ends_with = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    match () {
        () if ends_with(&[".tar"]) => Some(ArchiveFormat::Tar),
        () if ends_with(&[".tar.gz", ".tgz"]) => Some(ArchiveFormat::TarGz),
        () if ends_with(&[".zip", ".jar"]) => Some(ArchiveFormat::Zip),
        () => None,
    }
}

fn read(unopened: UnopenedFile, stop: &CancellationToken) -> Result<OfferedFile, OfferError> {
    let UnopenedFile { path, name, archive } = unopened;
    let fail = |error| OfferError::Read { path: path.clone(), error };
    // Checked before opening, because opening a pipe would wait for a writer.
    let metadata = fs::metadata(&path).map_err(fail)?;
    if metadata.is_dir() {
        return Err(OfferError::Directory { path });
    }
    if !metadata.is_file() {
        return Err(OfferError::Irregular { path });
    }
    let mut file = File::open(&path).map_err(fail)?;
    let mut digest = sha2::Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut length: u64 = 0;
    loop {
        if stop.is_cancelled() {
            return Err(OfferError::Stopped);
        }
        match file.read(&mut piece).map_err(fail)? {
            0 => break,
            count => {
                digest.update(&piece[..count]);
                length += count as u64;
            }
        }
    }
    if let Some(format) = archive {
        // Checked here, it is one error. Checked by Workers, it would be one error for each executor.
        check_archive(&file, format, stop).map_err(|error| match error {
            UnpackError::Stopped => OfferError::Stopped,
            error => OfferError::Archive { path: path.clone(), error },
        })?;
    }
    let is_executable = metadata.permissions().mode() & 0o111 != 0;
    let kind = match archive {
        Some(format) => FileKind::Archive(format),
        None if is_executable => FileKind::Executable,
        None => FileKind::Plain,
    };
    let sha256 = Sha256(digest.finalize().into());
    Ok(OfferedFile { description: FileDescription { name, kind, length, sha256 }, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn parse(files: &[&str], archives: &[&str]) -> Result<Vec<UnopenedFile>, String> {
        unopened_files(&texts(files), &texts(archives)).map_err(|error| error.to_string())
    }

    fn unopened(path: &str, name: &str, archive: Option<ArchiveFormat>) -> UnopenedFile {
        UnopenedFile { path: path.into(), name: name.to_owned(), archive }
    }

    #[test]
    fn files_are_called_after_their_path_or_as_one_says() {
        let expected = vec![
            unopened("a.txt", "a.txt", None),
            unopened("/srv/b c.txt", "b c.txt", None),
            unopened("../x/tool-1.2", "tool", None),
            unopened("/abs/y", "y", None),
            unopened("/abs/z", "z", None),
            unopened("env.TAR.GZ", "env.TAR.GZ", Some(ArchiveFormat::TarGz)),
            unopened("d/env.tgz", "env", Some(ArchiveFormat::TarGz)),
            unopened("p.tar", "p.tar", Some(ArchiveFormat::Tar)),
            unopened("q.zip", "q.zip", Some(ArchiveFormat::Zip)),
            unopened("q.jar", "q.jar", Some(ArchiveFormat::Zip)),
        ];
        let files = ["a.txt", "/srv/b c.txt", "../x/tool-1.2#tool", "file:/abs/y", "file:///abs/z"];
        let archives = ["env.TAR.GZ", "d/env.tgz#env", "p.tar", "q.zip", "q.jar"];
        assert_eq!(parse(&files, &archives), Ok(expected));
    }

    #[test]
    fn what_cannot_have_its_name_is_named() {
        let said = |files: &[&str], archives: &[&str]| parse(files, archives).expect_err("it cannot be");
        assert_eq!(
            said(&["a/x", "b/y", "b/x"], &[]),
            "\"a/x\" and \"b/x\" would both have the name \"x\": set another one, as in PATH#NAME"
        );
        assert_eq!(
            said(&["a.zip"], &["b.zip#a.zip"]),
            "\"a.zip\" and \"b.zip#a.zip\" would both have the name \"a.zip\": set another one, as in PATH#NAME"
        );
        for bad in ["a/..", "/", "a#b/c", "a#", "a#..", "stdout", "x#stderr", ""] {
            assert!(said(&[bad], &[]).contains("as in PATH#NAME"), "{bad:?}");
        }
        assert_eq!(
            said(&["hdfs://host/x"], &[]),
            "\"hdfs://host/x\" is not a path on this machine: download the file and give its path"
        );
        assert_eq!(
            said(&[], &["x.rar"]),
            "cannot unpack \"x.rar\": the name of an archive must end with .tar, .tar.gz, .tgz, .zip or .jar"
        );
        let many: Vec<String> = (0..1001).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(said(&many, &[]).starts_with("too many files: 1001 (at most 1000)"));
    }

    #[tokio::test]
    async fn length_digest_and_mode_are_those_of_the_file() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("tool");
        fs::write(&path, "abc").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let text = path.to_str().expect("UTF-8").to_owned();
        let offered = OfferedFiles::open(&[text], &[]).await.expect("it can be read");
        let source = Address::new("me", 1);
        let described = offered.description(&source, None).expect("there is one");
        let [file] = &described.files[..] else { panic!("{described:?}") };
        assert_eq!((file.name.as_str(), file.kind, file.length), ("tool", FileKind::Executable, 3));
        assert!(file.sha256.to_string().starts_with("ba7816bf8f01cfea414140de5dae2223b00361a396177a9c"));
        assert_eq!(OfferedFiles::default().description(&source, None), None);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_named() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let open = async |name: &str| {
            let text = scratch.path().join(name).to_str().expect("UTF-8").to_owned();
            OfferedFiles::open(&[text], &[]).await.expect_err("it cannot be brought along")
        };
        let missing = open("missing").await;
        assert!(matches!(missing, OfferError::Read { .. }), "{missing}");
        assert!(missing.to_string().contains("missing\""), "{missing}");
        fs::create_dir(scratch.path().join("directory")).expect("a directory");
        assert!(matches!(open("directory").await, OfferError::Directory { .. }));
        for name in ["bad.tar", "bad.tgz", "bad.zip"] {
            let path = scratch.path().join(name);
            fs::write(&path, [b'x'; 2000]).expect("a file");
            let text = path.to_str().expect("UTF-8").to_owned();
            let error = OfferedFiles::open(&[], &[text]).await.expect_err("it is no archive");
            assert!(matches!(error, OfferError::Archive { .. }), "{error}");
        }
        nix::unistd::mkfifo(&scratch.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        assert!(matches!(open("pipe").await, OfferError::Irregular { .. }));
    }
}
