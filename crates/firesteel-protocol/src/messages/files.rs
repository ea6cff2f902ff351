//! The files of an application, and how Workers fetch them from the driver.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::byte_text;
use crate::secret::Secret;
use crate::wire::Message;

/// The maximum number of files of an application. An archive counts as one.
pub const MOST_FILES: usize = 1_000;

/// The maximum length of a [`DriverToWorker::FileChunk`], in bytes.
pub const MAX_CHUNK: usize = 256 << 10;

/// The files that are put into the directory of every executor of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationFiles {
    /// The address on the driver's machine from which Workers fetch the files.
    pub source: Address,
    /// The files, at most [`MOST_FILES`], with distinct names.
    pub files: Vec<FileDescription>,
    /// The application's secret, with which Workers fetch the files. `None`: they are fetched in the clear.
    #[serde(default)]
    pub secret: Option<Secret>,
}

/// One file, as it was when the application was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDescription {
    /// The file's name in the executors' directories: see [`is_file_name`]. For an archive, the name of its directory.
    pub name: String,
    pub kind: FileKind,
    pub length: u64,
    /// The file's digest. Workers use it to request the file and to verify it.
    pub sha256: Sha256,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileKind {
    /// A file that is copied without changes.
    Plain,
    Executable,
    /// A directory with the contents of an archive.
    Archive(ArchiveFormat),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArchiveFormat {
    /// A tar archive: `.tar`.
    Tar,
    /// A tar archive compressed by gzip: `.tar.gz`, `.tgz`.
    TarGz,
    /// A zip archive: `.zip`, `.jar`.
    Zip,
}

/// The SHA-256 digest of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sha256(pub [u8; 32]);

/// Formats the digest in hexadecimal, as `sha256sum` does.
impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundFiles {
    /// A file in an executor's directory cannot have this name.
    #[error("{name:?} cannot be the name of a file in an executor's directory")]
    Name { name: String },
    #[error("two files are called {name:?}")]
    Twice { name: String },
    /// There are more than [`MOST_FILES`] files.
    #[error("{found} files are more than the {MOST_FILES} that an application may bring")]
    TooMany { found: usize },
}

/// Whether a file of an application may have this name: 1 to 255 bytes without `/` and control characters. `.`, `..`,
/// `stdout` and `stderr` are not allowed; executors write to the latter two.
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    (1..=255).contains(&byte_text::bytes(name).len())
        && !name.chars().any(|c| c == '/' || c.is_control())
        && !matches!(name, "." | ".." | "stdout" | "stderr")
}

impl ApplicationFiles {
    /// Checks the names and the number of the files.
    ///
    /// # Errors
    /// The first invalid name, or the number of files if there are too many.
    pub fn check(&self) -> Result<(), UnsoundFiles> {
        if self.files.len() > MOST_FILES {
            return Err(UnsoundFiles::TooMany { found: self.files.len() });
        }
        let mut names = BTreeSet::new();
        for FileDescription { name, .. } in &self.files {
            if !is_file_name(name) {
                return Err(UnsoundFiles::Name { name: name.clone() });
            }
            if !names.insert(name) {
                return Err(UnsoundFiles::Twice { name: name.clone() });
            }
        }
        Ok(())
    }

    /// The names of the files, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// The total length of the files, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.length))
    }
}

/// A message from a Worker to a driver. The Worker waits for the answer before it sends the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum WorkerToDriver {
    /// Asks for the bytes of a file from `offset` to its end. They come in order, as several `FileChunk` messages.
    RequestFile {
        sha256: Sha256,
        /// The position of the first byte; at most the file's length.
        offset: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum DriverToWorker {
    /// The next bytes of the file: from 1 byte to [`MAX_CHUNK`].
    FileChunk(Bytes),
    /// The driver cannot send the rest of this file, and a repeated request would not help.
    RequestFileFailed { reason: String },
    /// The driver serves other Workers first, and this one later. The driver repeats the message often enough to show
    /// the Worker that it is alive.
    FileDelayed,
}

impl Message for DriverToWorker {}
impl Message for WorkerToDriver {}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<'a>(names: impl IntoIterator<Item = &'a str>) -> ApplicationFiles {
        let file = |name: &str| FileDescription {
            name: name.to_owned(),
            kind: FileKind::Plain,
            length: u64::MAX,
            sha256: Sha256([7; 32]),
        };
        ApplicationFiles {
            source: Address::new("me", 7100),
            files: names.into_iter().map(file).collect(),
            secret: None,
        }
    }

    #[test]
    fn a_name_that_could_leave_the_directory_or_take_anothers_place_is_unsound() {
        for bad in ["", ".", "..", "a/b", "/", "a\nb", "\0", "\u{85}", "stdout", "stderr", &"x".repeat(256)] {
            assert_eq!(files([bad]).check(), Err(UnsoundFiles::Name { name: bad.to_owned() }));
        }
        for good in ["a", ".netrc", "two words.txt", "Überblick", "...", "stdout.txt", &"x".repeat(255)] {
            assert_eq!(files([good]).check(), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn two_files_of_one_name_and_too_many_files_are_refused() {
        assert_eq!(files(["a", "b", "a"]).check(), Err(UnsoundFiles::Twice { name: "a".to_owned() }));
        let names: Vec<String> = (0..=MOST_FILES).map(|number| number.to_string()).collect();
        let names = names.iter().map(String::as_str);
        assert_eq!(files(names.clone()).check(), Err(UnsoundFiles::TooMany { found: 1001 }));
        assert_eq!(files(names.skip(1)).check(), Ok(()));
    }

    #[test]
    fn a_digest_reads_as_sha256sum_writes_it() {
        let mut digest = [0; 32];
        digest[0] = 0xab;
        assert_eq!(Sha256(digest).to_string(), format!("ab{}", "0".repeat(62)));
        assert_eq!(files(["a", "b"]).bytes(), u64::MAX, "lengths of strangers do not overflow");
    }
}
