//! The temporary directories of commands, including those that a killed command left behind.
//!
//! ```text
//! <temporary directory>/firesteel-cluster-XXXXXX/.lock    held locked while the command lives
//!                                                key, master.log, worker-0.log, worker-0/..
//!                       firesteel-map-XXXXXX/.lock, ..
//!                       firesteel-shell-XXXXXX/.lock, ..
//! ```
//!
//! A command that is killed cannot remove its directories. The next command that uses the same temporary directory
//! removes these directories, once the killed command and the Workers of its local cluster have ended. Directories of
//! other users are not touched.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use firesteel_daemons::life_lock::LifeLock;
use firesteel_daemons::worker::dead_workers;
use firesteel_daemons::worker::scratch_directories::ScratchRoots;
use tempfile::TempDir;

/// The beginning of the name of a local cluster's directory.
pub(crate) const CLUSTER: &str = "firesteel-cluster-";

/// The beginning of the name of a directory for the outputs of a map.
pub(crate) const MAP: &str = "firesteel-map-";

/// The beginning of the name of a directory for the outputs of a shell's tasks.
pub(crate) const SHELL: &str = "firesteel-shell-";

const PREFIXES: [&str; 3] = [CLUSTER, MAP, SHELL];

/// The number of random characters at the end of a directory's name.
const RANDOM: usize = 6;

/// The file that the command keeps locked.
const LOCK: &str = ".lock";

/// How many times to create another directory if a directory is removed before it is locked.
const ATTEMPTS: usize = 10;

/// A temporary directory with a lock, removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Fields are dropped in this order: the lock is held until the directory is gone.
    directory: TempDir,
    _lock: Option<LifeLock>,
}

impl Scratch {
    /// Creates a directory that only this user can access. `prefix` is one of this file's constants. Also removes
    /// directories that killed commands left in the same parent directory.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub(crate) fn new(prefix: &str, parent: &Path) -> io::Result<Self> {
        remove_abandoned(parent);
        let mut attempts = (0..ATTEMPTS).map(|_| {
            let mut named = tempfile::Builder::new();
            named.prefix(prefix).rand_bytes(RANDOM).permissions(Permissions::from_mode(0o700));
            let directory = named.tempdir_in(parent)?;
            let lock = match LifeLock::create(&directory.path().join(LOCK)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                // Some file systems have no locks. Then no command removes the directory of another one.
                made => made.ok(),
            };
            Ok(Self { directory, _lock: lock })
        });
        // Another command may mistake an empty directory for an abandoned one, and remove it.
        let is_gone = |made: &io::Result<Self>| {
            made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        let first = attempts.find(|made| !is_gone(made));
        first.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of commands that were killed.
fn remove_abandoned(parent: &Path) {
    // If the parent cannot be read, creating the directory reports that.
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_one = entry.file_name().to_str().is_some_and(is_name);
        let is_ours = entry
            .metadata()
            .is_ok_and(|about| about.is_dir() && about.uid() == nix::unistd::geteuid().as_raw());
        if is_one && is_ours {
            remove_if_abandoned(&entry.path());
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut random = PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix));
    random.any(|random| random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn remove_if_abandoned(directory: &Path) {
    let lock = match LifeLock::take_over(&directory.join(LOCK)) {
        Ok(Some(lock)) => lock,
        Ok(None) => return,
        Err(error) => {
            if error.kind() == io::ErrorKind::NotFound {
                // Its command was killed before it locked the directory. This call only removes an empty directory.
                let _ = fs::remove_dir(directory);
            }
            return;
        }
    };
    // In the directory of a local cluster, these are work directories. Workers outlive their command by a moment. If
    // one is alive, a later command removes the directory.
    let entries = || fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    if entries().any(|work| dead_workers::is_in_use(&work)) {
        return;
    }
    entries().for_each(|work| dead_workers::end_leftovers(&work, &ScratchRoots::of(&[])));
    if let Err(error) = fs::remove_dir_all(directory) {
        tracing::debug!("cannot remove {}, which a killed command left: {error}", directory.display());
    }
    drop(lock);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_command_left_is_removed_by_the_next_one_and_nothing_else_is() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let parent = parent.path();
        let alive = Scratch::new(CLUSTER, parent).expect("it can be made");
        let dead = Scratch::new(CLUSTER, parent).expect("it can be made");
        fs::create_dir_all(dead.path().join("worker-0/app-1/0")).expect("it can be made");
        let Scratch { directory, _lock: lock } = dead;
        let dead = directory.keep();
        let empty = parent.join("firesteel-cluster-abcdef");
        fs::create_dir(&empty).expect("it can be made");
        let others = ["firesteel-abcdef", "firesteel-cluster-123456", "firesteel-cluster-mine", "x"];
        for other in others {
            fs::create_dir(parent.join(other)).expect("it can be made");
            fs::write(parent.join(other).join("kept"), "").expect("it can be written");
        }
        let target = parent.join("x");
        std::os::unix::fs::symlink(&target, parent.join("firesteel-cluster-linked")).expect("it can be made");

        let second = Scratch::new(MAP, parent).expect("it can be made");
        assert!(dead.is_dir() && !empty.exists(), "its command lives; nobody needs an empty one");
        drop(lock);
        let third = Scratch::new(SHELL, parent).expect("it can be made");
        assert!(!dead.exists(), "its command is dead");
        for living in [&alive, &second, &third] {
            assert!(living.path().join(LOCK).is_file());
        }
        drop((alive, second, third));
        let mut left: Vec<_> =
            fs::read_dir(parent).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, [&others[..2], &["firesteel-cluster-linked"], &others[2..]].concat());
        assert!(others.iter().all(|other| parent.join(other).join("kept").is_file()));
    }
}
