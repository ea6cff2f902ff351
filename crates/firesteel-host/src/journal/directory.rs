//! The files of a journal, and the lock that lets one process write it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::frame::Damage;

/// The files of a journal.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Held until the process ends, however that happens. `None` if the journal is only read.
    lock: Option<File>,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or the directory cannot be used.
    #[error("cannot {action} {path}: {error}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why that failed.
        error: io::Error,
    },
    /// Another process writes the journal.
    #[error("{path} is in use by another Master")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A file is damaged.
    #[error("{path} is damaged: {damage}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        damage: Damage,
    },
}

const NAME: &str = "journal-";

impl Directory {
    /// Opens a journal to write it. Makes the directory if it is not there; nobody else can read it then.
    ///
    /// # Errors
    /// The directory cannot be used, or another process writes the journal.
    pub fn lock(path: &Path) -> Result<Self, JournalError> {
        let failed = |action| move |error| JournalError::Io { action, path: path.to_owned(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("make"))?;
        let lock = options().truncate(false).open(path.join("lock")).map_err(failed("write in"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(failed("lock")(error)),
        }
    }

    /// Opens a journal to read it, whether or not another process writes it.
    #[must_use]
    pub fn read_only(path: &Path) -> Self {
        Self { path: path.to_owned(), lock: None }
    }

    /// Whether this process may write.
    pub(super) fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The path of a generation's file.
    pub(super) fn file(&self, generation: u64) -> PathBuf {
        self.path.join(format!("{NAME}{generation:010}"))
    }

    /// The generations whose files are there, oldest first. A new generation is there only as a whole.
    pub(super) fn generations(&self) -> Result<Vec<u64>, JournalError> {
        let failed = |error| JournalError::Io { action: "list", path: self.path.clone(), error };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let generation: Option<u64> =
                name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse().ok());
            found.extend(generation);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Reads the latest generation. `None` if there is none.
    ///
    /// # Errors
    /// Its file cannot be read, or is damaged.
    pub fn read(&self) -> Result<Option<(PathBuf, Contents)>, JournalError> {
        let Some(latest) = self.generations()?.pop() else { return Ok(None) };
        let path = self.file(latest);
        let file = fs::read(&path).map_err(|error| JournalError::Io {
            action: "read",
            path: path.clone(),
            error,
        })?;
        match Contents::of(file) {
            Ok(contents) => Ok(Some((path, contents))),
            Err(damage) => Err(JournalError::Damaged { path, damage }),
        }
    }

    /// Makes the names in the directory durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

/// How files are opened that only their owner can read: they have secrets of Workers and applications.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}
