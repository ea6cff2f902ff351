//! The files of a journal, and the locks that let only one process write the journal.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::frame::Damage;
use super::writer::{END_MARK, Storage};

#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// The locks, held until the process ends or crashes. `None` if the journal is only read.
    lock: Option<Lock>,
    current: Option<Generation>,
}

/// The locks of a directory. Who removes the file in it does not remove the lock of the directory.
#[derive(Debug)]
struct Lock {
    /// The directory itself, locked where the file system can lock directories: NFS cannot.
    directory: File,
    /// The file that earlier versions lock, and NFS.
    file: File,
}

/// The generation that is being written.
#[derive(Debug)]
struct Generation {
    number: u64,
    file: File,
    /// The position of the end mark, which the next batch replaces.
    end: u64,
    /// The unused space from there on.
    room: u64,
}

/// A file grows by this number of bytes at a time. A write that does not make the file longer needs a third less
/// processor time to be durable, since the file system need not update the file's metadata.
const ROOM: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {action} {path}: {error}")]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// An earlier write has failed, so it is unknown which records are durable.
    #[error("cannot write to the journal: an earlier write has failed")]
    FailedBefore,
    #[error("{path} is in use by another Master")]
    InUse { path: PathBuf },
    /// Another directory, with a journal of its own, has taken the path of this one.
    #[error(
        "{path} was replaced by a directory with another state while this Master ran, which is left as it is"
    )]
    Replaced { path: PathBuf },
    /// The directory or its file was removed again and again, while it was being written anew.
    #[error("{path} was removed while this Master wrote its state there")]
    Removed { path: PathBuf },
    #[error("{path} is damaged: {damage}")]
    Damaged { path: PathBuf, damage: Damage },
}

const NAME: &str = "journal-";
const LOCK: &str = "lock";

/// How often to begin a generation in a directory that somebody is removing.
const ATTEMPTS: u32 = 3;

impl Directory {
    /// Opens a journal to write it. Makes the directory if it is missing, with access for its owner only.
    ///
    /// # Errors
    /// The directory cannot be used, or another process is writing the journal.
    pub fn lock(path: &Path) -> Result<Self, JournalError> {
        let failed = |action| move |error| JournalError::Io { action, path: path.to_owned(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("make"))?;
        let directory = File::open(path).map_err(failed("open"))?;
        match directory.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(JournalError::InUse { path: path.to_owned() }),
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let file = lock_file(path)?;
        Ok(Self { path: path.to_owned(), lock: Some(Lock { directory, file }), current: None })
    }

    /// Opens a journal to read it, even while another process writes it.
    #[must_use]
    pub fn read_only(path: &Path) -> Self {
        Self { path: path.to_owned(), lock: None, current: None }
    }

    pub(super) fn file(&self, generation: u64) -> PathBuf {
        self.path.join(format!("{NAME}{generation:010}"))
    }

    /// The generations that have files, oldest first. The file of a new generation gets its final name only when it is
    /// complete.
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

    /// Reads the latest generation. `None` if no generation exists.
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

    /// Makes the directory again if it was removed, or replaced by an empty one. A directory with another journal is
    /// left alone.
    fn regain(&mut self) -> Result<(), JournalError> {
        let lock = self.lock.as_mut().expect("only who has the lock writes a journal");
        if is_at(&lock.directory, &self.path) {
            if !is_at(&lock.file, &self.path.join(LOCK)) {
                lock.file = lock_file(&self.path)?;
            }
            return Ok(());
        }
        let new = Self::lock(&self.path)?;
        // A directory into which this journal was moved has this journal.
        let is_own = self.current.as_ref().is_some_and(|own| is_at(&own.file, &self.file(own.number)));
        if !is_own && !new.generations()?.is_empty() {
            return Err(JournalError::Replaced { path: self.path.clone() });
        }
        self.lock = new.lock;
        Ok(())
    }

    /// Begins a generation after all others in the directory.
    fn write_generation(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.regain()?;
        let latest = self.generations()?.last().copied().max(self.current.as_ref().map(|own| own.number));
        let generation = latest.map_or(1, |latest| latest + 1);
        let path = self.file(generation);
        let written = self.write_whole(&path, bytes);
        let file = written.map_err(|error| JournalError::Io { action: "write", path, error })?;
        self.current =
            Some(Generation { number: generation, file, end: (bytes.len() - END_MARK) as u64, room: 0 });
        Ok(())
    }

    fn remove_earlier_generations(&self) -> Result<(), JournalError> {
        let current = self.current.as_ref().map(|own| own.number);
        for old in self.generations()?.into_iter().filter(|old| Some(*old) < current) {
            let path = self.file(old);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(JournalError::Io { action: "remove", path, error });
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Writes the file of a generation. The file gets its final name only when it is durable.
    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        let new = path.with_extension("new");
        let mut file = options().truncate(true).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        // The name must be durable, too.
        File::open(&self.path)?.sync_all()?;
        Ok(file)
    }
}

impl Storage for Directory {
    fn begin(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        for _ in 0..ATTEMPTS {
            match self.write_generation(bytes) {
                Ok(()) if self.is_in_place() => return self.remove_earlier_generations(),
                Ok(()) => {}
                Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(JournalError::Removed { path: self.path.clone() })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let generation = self.current.as_mut().expect("a generation has begun");
        let written = generation.append(bytes);
        let number = generation.number;
        written.map_err(|error| JournalError::Io { action: "write", path: self.file(number), error })
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_in_place(&self) -> bool {
        let has_lock = self.lock.as_ref().is_none_or(|lock| {
            is_at(&lock.directory, &self.path) && is_at(&lock.file, &self.path.join(LOCK))
        });
        has_lock && self.current.as_ref().is_none_or(|own| is_at(&own.file, &self.file(own.number)))
    }
}

impl Generation {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > self.room {
            self.lengthen(bytes)?;
        } else {
            self.file.write_all_at(bytes, self.end)?;
        }
        self.file.sync_data()?;
        let length = (bytes.len() - END_MARK) as u64;
        (self.end, self.room) = (self.end + length, self.room.saturating_sub(length));
        Ok(())
    }

    /// Writes bytes that do not fit into the unused space of the file. Then reserves new space after them, if the disk
    /// has enough.
    fn lengthen(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut roomy = bytes.to_vec();
        roomy.resize(bytes.len() + ROOM, 0);
        self.room = roomy.len() as u64;
        if self.file.write_all_at(&roomy, self.end).is_err() {
            // The end mark before is replaced, not cut off: a file without one would count as cut.
            self.room = 0;
            self.file.write_all_at(bytes, self.end)?;
            self.file.set_len(self.end + bytes.len() as u64)?;
        }
        Ok(())
    }
}

/// Makes and locks the file of this directory that only one Master has locked.
fn lock_file(directory: &Path) -> Result<File, JournalError> {
    let failed = |action| move |error| JournalError::Io { action, path: directory.to_owned(), error };
    let file = options().truncate(false).open(directory.join(LOCK)).map_err(failed("write in"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: directory.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed("lock")(error)),
    }
}

/// Whether this path still leads to this open file. Returns `true` if that cannot be found out.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(there)) => (own.dev(), own.ino()) == (there.dev(), there.ino()),
        (Ok(_), Err(error)) => {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
        (Err(_), _) => true,
    }
}

/// Opens files that only their owner can read, since they contain secrets of Workers and applications.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}
