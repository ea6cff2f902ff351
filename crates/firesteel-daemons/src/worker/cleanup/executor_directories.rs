//! The directories of ended executors. They are measured, found by a later Worker, and removed.
//!
//! The [Worker](firesteel_worker)'s state machine decides which directories to remove. All functions here block.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_worker::EarlierDirectory;
use nix::dir::Dir;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::sys::stat::{Mode, SFlag, fstatat};

use super::application_directories::is_applications;
use crate::worker::directories::work_directory::WorkDirectory;
use crate::worker::reaper;

/// How deep below a directory files are counted. One descriptor is open for each level.
const DEEPEST: usize = 128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contents {
    bytes: u64,
    last_written: Timestamp,
}

/// The total length of the files in an executor's directory. `None` if the directory does not exist.
#[must_use]
pub fn measure(work: &WorkDirectory, executor: &ExecutorKey) -> Option<u64> {
    let directory = work.of_executor(executor);
    directory.is_dir().then(|| bytes_below(&directory))
}

/// The directories that executors of earlier Workers left. They have the names of applications' executors, and such
/// an executor has no reaper on this machine.
#[must_use]
pub fn find(work: &WorkDirectory) -> Vec<EarlierDirectory> {
    let mut found = Vec::new();
    for (app, directory) in directories(work.path()) {
        if is_applications(&app) {
            let executors = directories(&directory).into_iter().filter_map(|(name, path)| {
                let executor = ExecutorKey { app: AppId::new(app.as_str()), executor: executor_id(&name)? };
                let Contents { bytes, last_written } = contents(&path);
                Some(EarlierDirectory { executor, last_written, bytes })
            });
            found.extend(executors);
        }
    }
    let alive = if found.is_empty() { BTreeSet::new() } else { reaper::names() };
    found.retain(|directory| !alive.contains(&directory.executor.to_string()));
    found
}

/// Removes the directories of these executors. Then removes the directories of their applications that have become
/// empty.
pub fn remove(work: &WorkDirectory, executors: &[ExecutorKey]) {
    let mut failed = 0;
    let mut first = None;
    for executor in executors {
        let directory = work.of_executor(executor);
        if work.leads_out(&directory) {
            continue;
        }
        match fs::remove_dir_all(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                failed += 1;
                first.get_or_insert((directory, error));
            }
        }
    }
    if let Some((directory, error)) = first {
        tracing::warn!(
            "cannot remove {failed} directories of executors, first {}: {error}",
            directory.display()
        );
    }
    for app in executors.iter().map(|executor| &executor.app).collect::<BTreeSet<_>>() {
        // This fails if the directory is not empty.
        let _ = fs::remove_dir(work.of_app(app));
    }
}

/// The number in a directory's name, if the name is just this number.
fn executor_id(name: &str) -> Option<ExecutorId> {
    let executor = ExecutorId(name.parse().ok()?);
    (executor.to_string() == name).then_some(executor)
}

/// The directories in a directory, with their names. Links and unreadable entries are left out.
fn directories(directory: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let named = entries.filter(is_directory);
    named.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
}

/// The total length of the files in a directory. 0 if the directory does not exist.
#[must_use]
pub fn bytes_below(directory: &Path) -> u64 {
    contents(directory).bytes
}

/// The contents of a directory. Links are not followed, also if a program puts them there meanwhile. Unreadable entries
/// are left out.
fn contents(directory: &Path) -> Contents {
    let mut all = Contents::default();
    all.add(AT_FDCWD, directory.as_os_str(), 0);
    all
}

impl Contents {
    /// Adds the entry of an open directory, and what is below it.
    fn add(&mut self, directory: impl AsFd, name: &OsStr, depth: usize) {
        let Ok(about) = fstatat(&directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) else { return };
        let millis = about.st_mtime.saturating_mul(1000).saturating_add(about.st_mtime_nsec / 1_000_000);
        self.last_written = self.last_written.max(Timestamp::from_millis(u64::try_from(millis).unwrap_or(0)));
        match SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => {
                self.bytes = self.bytes.saturating_add(u64::try_from(about.st_size).unwrap_or(0));
            }
            SFlag::S_IFDIR if depth < DEEPEST => {
                let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                let Ok(mut inner) = Dir::openat(&directory, name, flags, Mode::empty()) else { return };
                let names: Vec<_> =
                    inner.iter().flatten().map(|entry| entry.file_name().to_owned()).collect();
                for name in names.iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
                    self.add(&inner, OsStr::from_bytes(name.to_bytes()), depth + 1);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = "app-20200101000000-0000";

    fn key(executor: u32) -> ExecutorKey {
        ExecutorKey { app: AppId::new(APP), executor: ExecutorId(executor) }
    }

    fn work_with(files: &[(&str, &str)]) -> (tempfile::TempDir, WorkDirectory) {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(scratch.path()).expect("it can be used");
        for (path, text) in files {
            let path = work.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        (scratch, work)
    }

    #[test]
    fn only_directories_of_executors_are_found_with_the_length_of_their_files() {
        let (_scratch, work) = work_with(&[
            ("app-20200101000000-0000/3/stdout", "123"),
            ("app-20200101000000-0000/3/deep/er", "45"),
            ("app-20200101000000-0000/0/stdout", ""),
            ("app-20200101000000-0000/files-worker/data", "kept"),
            ("app-20200101000000-0000/03/data", "kept"),
            ("app-20200101000000-0000/7", "a file"),
            ("mine/0/data", "kept"),
        ]);
        let target = work.path().join("mine");
        std::os::unix::fs::symlink(&target, work.of_executor(&key(8))).expect("it can be made");
        std::os::unix::fs::symlink(&target, work.of_executor(&key(3)).join("link")).expect("it can be made");
        let mut found = find(&work);
        found.sort_by(|a, b| a.executor.cmp(&b.executor));
        assert!(found.iter().all(|directory| directory.last_written > Timestamp::default()));
        let found: Vec<_> = found.into_iter().map(|found| (found.executor, found.bytes)).collect();
        assert_eq!(found, [(key(0), 0), (key(3), 5)]);
        assert_eq!((measure(&work, &key(3)), measure(&work, &key(9))), (Some(5), None));
    }

    #[test]
    fn an_application_goes_with_its_last_executor_and_nothing_else_does() {
        let (_scratch, work) = work_with(&[
            ("app-20200101000000-0000/0/stdout", "a"),
            ("app-20200101000000-0000/1/deep/er", "b"),
            ("mine/data", "kept"),
        ]);
        std::os::unix::fs::symlink(work.path().join("mine"), work.of_executor(&key(1)).join("link"))
            .expect("it can be made");
        remove(&work, &[key(0), key(5)]);
        assert!(!work.of_executor(&key(0)).exists() && work.of_executor(&key(1)).is_dir());
        remove(&work, &[key(1)]);
        assert!(!work.of_app(&AppId::new(APP)).exists());
        assert!(work.path().join("mine/data").is_file());
        remove(&work, &[key(1)]);
    }

    #[test]
    fn an_executor_with_a_reaper_on_this_machine_is_not_found() {
        let app = format!("app-20200101000000-{}", std::process::id() + 2_000);
        let (_scratch, work) =
            work_with(&[(&format!("{app}/0/stdout"), ""), (&format!("{app}/1/stdout"), "")]);
        let mut reaper = reaper::tests::posing_as(&format!("{app}/1"));
        let found: Vec<_> = find(&work).into_iter().map(|found| found.executor.executor).collect();
        reaper.kill().expect("it is ours");
        reaper.wait().expect("it is ours");
        assert_eq!(found, [ExecutorId(0)]);
    }
}
