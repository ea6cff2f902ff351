//! Removes the directories of ended applications from the work directory.
//!
//! The cleanup touches only directories that are named like an application, `app-20261121003159-0000`, or a cluster
//! driver, because users may put other files into the work directory. The cleanup removes links and never follows them.
//! [`files`](crate::worker::directories::files) removes the files of applications. The cleanup removes only files of a
//! Worker that was killed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::AppId;

use crate::worker::directories::work_directory::WorkDirectory;
use crate::worker::reaper;

/// The prefix of the name of a directory that is being removed.
const REMOVED: &str = ".firesteel-removed-";

/// The maximum number of directories that are remembered as not removable.
const SAID: usize = 1_000;

/// The handle of the cleanup. Slow work runs on threads that may block.
#[derive(Clone, Debug)]
pub struct DirectoryCleanup {
    work: WorkDirectory,
    /// The directories that could not be removed. For each directory, this is logged only once.
    said: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl DirectoryCleanup {
    #[must_use]
    pub fn new(work: WorkDirectory) -> Self {
        Self { work, said: Arc::default() }
    }

    /// Lists the applications with directories in which nothing was written since this time. Applications in `keep` are
    /// left out. Blocks the thread.
    #[must_use]
    pub fn find_stale(&self, keep: &BTreeSet<AppId>, unwritten_since: Timestamp) -> Vec<AppId> {
        let mut stale = Vec::new();
        for (name, path) in self.directories(self.work.path()) {
            if name.starts_with(REMOVED) {
                // An earlier Worker did not finish the removal.
                self.remove(&path);
            } else if (is_applications(&name) || is_drivers(&name))
                && !keep.contains(&AppId::new(name.as_str()))
            {
                match last_written(&path, unwritten_since) {
                    Ok(time) if time < unwritten_since => stale.push(AppId::new(name)),
                    Ok(_) => {}
                    Err(error) => self.complain(&path, &error),
                }
            }
        }
        Self::without_live_processes(stale)
    }

    /// Drops applications that still have executors. Several Workers of a machine may share one work directory, and the
    /// executors of other Workers may have written nothing.
    fn without_live_processes(apps: Vec<AppId>) -> Vec<AppId> {
        if apps.is_empty() {
            return apps;
        }
        let alive: BTreeSet<String> =
            reaper::names().iter().filter_map(|name| Some(name.split('/').next()?.to_owned())).collect();
        apps.into_iter().filter(|app| !alive.contains(app.as_str())).collect()
    }

    /// Renames an application's directory at once. Then removes it on a separate thread.
    pub fn remove_application(&self, app: &AppId, now: Timestamp) {
        let path = self.work.of_app(app);
        let aside = self.work.path().join(format!("{REMOVED}{app}-{}", now.millis()));
        match fs::rename(&path, &aside) {
            Ok(()) => {
                let cleaner = self.clone();
                tokio::task::spawn_blocking(move || cleaner.remove(&aside));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.complain(&path, &error),
        }
    }

    /// The directories in a directory, with their names. Links are left out.
    fn directories(&self, directory: &Path) -> Vec<(String, PathBuf)> {
        let list = || -> io::Result<Vec<(String, PathBuf)>> {
            let mut found = Vec::new();
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                if entry.file_type()?.is_dir()
                    && let Ok(name) = entry.file_name().into_string()
                {
                    found.push((name, entry.path()));
                }
            }
            Ok(found)
        };
        match list() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                self.complain(directory, &error);
                Vec::new()
            }
        }
    }

    fn remove(&self, path: &Path) {
        match fs::remove_dir_all(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.complain(path, &error),
        }
    }

    fn complain(&self, path: &Path, error: &io::Error) {
        let mut said = self.said.lock().expect("no thread panics with the lock");
        if said.len() < SAID && said.insert(path.to_owned()) {
            tracing::warn!("cannot remove {}: {error}; retrying without further warnings", path.display());
        }
    }
}

/// Whether a name has the form of application ids: `app-`, a time of 14 digits, and a number of at least 4 digits.
pub(super) fn is_applications(name: &str) -> bool {
    is_numbered(name, "app-")
}

/// Whether a name has the form of cluster drivers' ids, which begin with `driver-`.
fn is_drivers(name: &str) -> bool {
    is_numbered(name, "driver-")
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    let Some((time, number)) = name.strip_prefix(prefix).and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    time.len() == 14 && (4..=20).contains(&number.len()) && digits(time) && digits(number)
}

/// The time of the last write in the directory. The search stops at a time later than `enough`.
fn last_written(directory: &Path, enough: Timestamp) -> io::Result<Timestamp> {
    let mut last = Timestamp::default();
    let mut left = vec![directory.to_owned()];
    while let Some(path) = left.pop() {
        let about = match fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let millis = about.mtime().saturating_mul(1000).saturating_add(about.mtime_nsec() / 1_000_000);
        last = last.max(Timestamp::from_millis(u64::try_from(millis).unwrap_or(0)));
        if last >= enough {
            break;
        }
        if about.is_dir() {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests;
