//! The files that an application brings, and how a Worker asks its driver for them.

use std::collections::BTreeSet;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::address::Address;

/// The most files that an application may bring. An archive counts as one.
pub const MOST_FILES: usize = 1_000;

/// The longest [`DriverToWorker::FileChunk`], in bytes.
pub const MAX_CHUNK: usize = 256 << 10;

/// The files that every executor of an application finds in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationFiles {
    /// Where Workers fetch them: the driver's machine.
    pub source: Address,
    /// The files, at most [`MOST_FILES`], no two of one name.
    pub files: Vec<FileDescription>,
}

/// One file, as it was when the application was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDescription {
    /// What it is called in the executors' directories: see [`is_file_name`]. An archive's is its directory's.
    pub name: String,
    /// What is made of it.
    pub kind: FileKind,
    /// Its length in bytes.
    pub length: u64,
    /// What it is asked for by, and held against.
    pub sha256: Sha256,
}

/// What a Worker makes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileKind {
    /// A file.
    Plain,
    /// A file that can be run.
    Executable,
    /// A directory with what was packed.
    Archive(ArchiveFormat),
}

/// How an archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArchiveFormat {
    /// `.tar`
    Tar,
    /// `.tar.gz`, `.tgz`
    TarGz,
    /// `.zip`, `.jar`
    Zip,
}

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sha256(pub [u8; 32]);

/// In hexadecimal, as `sha256sum` writes it.
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

/// A list of files that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundFiles {
    /// A name that cannot stand in an executor's directory.
    #[error("{name:?} cannot be the name of a file in an executor's directory")]
    Name {
        /// The name, as given.
        name: String,
    },
    /// One name twice.
    #[error("two files are called {name:?}")]
    Twice {
        /// The name, as given.
        name: String,
    },
    /// Too many.
    #[error("{found} files are more than the {MOST_FILES} that an application may bring")]
    TooMany {
        /// The number found.
        found: usize,
    },
}

/// Whether a file of an application may have the name: 1 to 255 bytes without `/` and control characters, neither
/// `.` nor `..`, nor one of the files that an executor writes to, `stdout` and `stderr`.
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && !name.chars().any(|c| c == '/' || c.is_control())
        && !matches!(name, "." | ".." | "stdout" | "stderr")
}

impl ApplicationFiles {
    /// Holds the names against what a directory can have.
    ///
    /// # Errors
    /// The first thing that is wrong with the list.
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

    /// Their names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    /// Their length in all, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.length))
    }
}

/// What a Worker asks a driver. One question after the other, each on the same connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToDriver {
    /// The bytes of a file from `offset` on: they come as chunks, in order, up to the file's end.
    RequestFile {
        /// The digest of the file.
        sha256: Sha256,
        /// Where to begin, at most its length.
        offset: u64,
    },
}

/// What a driver answers a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverToWorker {
    /// The next bytes, 1 to [`MAX_CHUNK`].
    FileChunk(Bytes),
    /// There will be no more of this file; asking again would not help.
    RequestFileFailed {
        /// The reason, in words for people.
        reason: String,
    },
    /// Others have their turn first, and the Worker has its own later. It comes as often as somebody who waits needs to
    /// know that he does not wait in vain.
    FileDelayed,
}

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
        ApplicationFiles { source: Address::new("me", 7100), files: names.into_iter().map(file).collect() }
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
