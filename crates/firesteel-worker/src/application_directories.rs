//! Removes directories of ended applications in which nothing was written for a while.
//!
//! The daemon searches for these directories, which takes time. Then the Worker decides which to remove, because an
//! executor may have been launched meanwhile. Source: Spark Worker, 4.0.1, which removes every old directory in its
//! work directory, whatever program made it.

use std::collections::BTreeSet;

use firesteel_protocol::ids::AppId;
use firesteel_protocol::time::Timestamp;

use super::tables::{DirectorySearch, ShutdownPhase};
use super::{Effect, Note, Worker};

impl Worker {
    pub(super) fn plan_directory_search(&mut self, now: Timestamp) {
        self.directory_search = match self.config.cleanup {
            Some(cleanup) => DirectorySearch::Planned { at: now + cleanup.interval },
            None => DirectorySearch::Never,
        };
    }

    pub(super) fn clean_if_due(&mut self, now: Timestamp) {
        let Some(cleanup) = self.config.cleanup else { return };
        if !matches!(self.directory_search, DirectorySearch::Planned { at } if at <= now) {
            return;
        }
        if self.shutdown == ShutdownPhase::Serving {
            let unwritten_since = now - cleanup.keep;
            self.directory_search = DirectorySearch::Looking;
            self.effects.push(Effect::FindStale { keep: self.living_apps(), unwritten_since });
        } else {
            self.directory_search = DirectorySearch::Never;
        }
    }

    /// The applications with a live executor on this Worker, or with files for the next one. Includes the live cluster
    /// drivers, because their directories are beside those of applications.
    fn living_apps(&self) -> BTreeSet<AppId> {
        let drivers = self.drivers.ids().map(|driver| AppId::new(driver.as_str()));
        self.executors.apps().chain(self.files.apps()).cloned().chain(drivers).collect()
    }

    pub(super) fn on_stale_found(&mut self, now: Timestamp, apps: Vec<AppId>) {
        // The Worker did not ask for a search, or the daemon is ending.
        let (DirectorySearch::Looking, Some(cleanup)) = (&self.directory_search, self.config.cleanup) else {
            return;
        };
        self.plan_directory_search(now);
        let living = self.living_apps();
        let over: BTreeSet<AppId> = apps.into_iter().filter(|app| !living.contains(app)).collect();
        if !over.is_empty() {
            let note = Note::DirectoriesRemoved { directories: over.len(), unwritten_for: cleanup.keep };
            self.effects.note(note);
            over.iter().for_each(|app| self.forget_directories(app));
            self.effects.extend(over.into_iter().map(|app| Effect::RemoveDirectory { app }));
        }
    }
}
