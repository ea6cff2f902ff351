//! Removes what applications that have ended leave in the work directory.
//!
//! Only what looks like an application's directory is touched, `app-20261121003159-0000`: people put other things
//! there. Links are removed, and never followed. What applications bring is removed by [files](super::files), and only
//! what a Worker that was killed had of it is left for here.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use firesteel_core::Timestamp;
use firesteel_core::ids::AppId;

use super::strays::{Marker, look};
use super::work_directory::WorkDirectory;

/// What the name of a directory begins with that is being removed.
const REMOVED: &str = ".firesteel-removed-";

/// Directories of which it was said that they cannot be removed, at most.
const SAID: usize = 1_000;

/// The handle of whom removes. What takes time is done on threads that may block.
#[derive(Clone, Debug)]
pub struct Cleaner {
    work: WorkDirectory,
    /// What was complained about: once is enough.
    said: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Cleaner {
    /// Cleans that directory.
    #[must_use]
    pub fn new(work: WorkDirectory) -> Self {
        Self { work, said: Arc::default() }
    }

    /// Applications, but for those in `keep`, in whose directories nothing was written since then. Blocks.
    #[must_use]
    pub fn find_stale(&self, keep: &BTreeSet<AppId>, unwritten_since: Timestamp) -> Vec<AppId> {
        let mut stale = Vec::new();
        for (name, path) in self.directories(self.work.path()) {
            if name.starts_with(REMOVED) {
                // A Worker before this one did not get to its end.
                self.remove(&path);
            } else if is_applications(&name) && !keep.contains(&AppId::new(name.as_str())) {
                match last_written(&path, unwritten_since) {
                    Ok(time) if time < unwritten_since => stale.push(AppId::new(name)),
                    Ok(_) => {}
                    Err(error) => self.complain(&path, &error),
                }
            }
        }
        Self::without_the_living(stale)
    }

    /// Several Workers of a machine may have one work directory, and executors of the others may write nothing.
    fn without_the_living(apps: Vec<AppId>) -> Vec<AppId> {
        if apps.is_empty() {
            return apps;
        }
        let markers: Vec<Marker> = apps.iter().map(Marker::of_application).collect();
        let bearers = look(&markers);
        apps.into_iter().zip(bearers).filter(|(_, bearers)| bearers.is_empty()).map(|(app, _)| app).collect()
    }

    /// Takes an application's directory out of the way at once, and then removes it on a thread of its own.
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

    /// The directories in a directory, by name. A link is none.
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
        let mut said = self.said.lock().expect("nobody panics with it");
        if said.len() < SAID && said.insert(path.to_owned()) {
            tracing::warn!("cannot remove {}: {error}; retrying without further warnings", path.display());
        }
    }
}

/// Whether the name is one that a Master gives: `app-`, 14 digits of a time, and a number of at least 4.
fn is_applications(name: &str) -> bool {
    let Some((time, number)) = name.strip_prefix("app-").and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    time.len() == 14 && (4..=20).contains(&number.len()) && digits(time) && digits(number)
}

/// When anything in the directory was written last, as far as it matters: later than `enough` is late enough.
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
