//! Locked files by which a process shows that it is alive.
//!
//! A process holds the lock until it ends or crashes. The programs that the process starts do not inherit the lock. So
//! a file without a lock belongs to a process that was killed. The process that locks it next may remove everything
//! that the dead process left. This needs no process id, so it works across containers that share a directory. A
//! process that is merely stopped does not count as dead.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct LifeLock {
    path: PathBuf,
    locked: File,
}

impl LifeLock {
    /// Makes an empty file: see [`create_with`](Self::create_with).
    ///
    /// # Errors
    /// The file cannot be made, or the file system has no locks.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_with(path, "")
    }

    /// Makes the file, locked and with this text from the first moment at which it has this path. Replaces an abandoned
    /// file at the path.
    ///
    /// # Errors
    ///
    /// The file cannot be made, or the file system has no locks.
    pub fn create_with(path: &Path, text: &str) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let fresh = path.with_file_name(format!(".{name}.new"));
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&fresh)?;
        file.try_lock()?;
        file.set_len(0)?;
        (&file).write_all(text.as_bytes())?;
        fs::rename(&fresh, path)?;
        Ok(Self { path: path.to_owned(), locked: file })
    }

    /// Locks a file that a killed process left. `None` if the process still lives, or if another process is removing
    /// the file.
    ///
    /// # Errors
    ///
    /// The file does not exist, or cannot be used.
    pub fn take_over(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The file may have been removed, and made anew, since it was opened.
        Ok(is_same(path, &file)?.then(|| Self { path: path.to_owned(), locked: file }))
    }

    /// The text of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn text(&self) -> io::Result<String> {
        fs::read_to_string(&self.path)
    }

    #[must_use]
    pub fn is_in_place(&self) -> bool {
        is_same(&self.path, &self.locked).unwrap_or(false)
    }

    /// Removes the file, and then releases the lock.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn is_same(path: &Path, opened: &File) -> io::Result<bool> {
    let (there, opened) = (fs::symlink_metadata(path)?, opened.metadata()?);
    Ok((there.dev(), there.ino()) == (opened.dev(), opened.ino()))
}

impl Drop for LifeLock {
    fn drop(&mut self) {
        // Closing the file alone is not enough while a child that is being started has a copy of it.
        let _ = self.locked.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_nobody_holds_locked_can_be_taken_over() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("life");
        let take = || LifeLock::take_over(&path);
        assert_eq!(take().expect_err("there is none").kind(), io::ErrorKind::NotFound);
        let alive = LifeLock::create_with(&path, "a text").expect("it can be made");
        assert!(take().expect("it is there").is_none(), "its process lives");
        drop(alive);
        let taken = take().expect("it is there").expect("nobody holds it");
        assert!(take().expect("it is there").is_none(), "one takes it over");
        assert_eq!(taken.text().expect("it is there"), "a text");
        taken.remove().expect("it is ours");
        assert_eq!(take().expect_err("it is gone").kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_dir(scratch.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn a_file_that_was_made_anew_belongs_to_its_new_process() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("life");
        drop(LifeLock::create(&path).expect("it can be made"));
        let again = LifeLock::create(&path).expect("it replaces the other");
        assert!(LifeLock::take_over(&path).expect("it is there").is_none());
        again.remove().expect("it is ours");
    }
}
