//! Work directories, which here have no content: only whose are removed is held against what is so.

use std::collections::BTreeSet;

use firesteel_core::ids::AppId;
use firesteel_core::worker::Event;

use super::world::{NodeIndex, World};

impl World {
    /// A Worker looks for old directories: some of those that it ever made are, and some of their
    /// applications have another executor there by the time that it knows.
    pub(crate) fn find_stale(&mut self, node: NodeIndex, keep: &BTreeSet<AppId>) {
        if let Some(app) = self.living_apps(node).difference(keep).next() {
            return self.violate(format!("application {app} is not kept though an executor of it lives"));
        }
        let made = self.executors.apps_of(node);
        let apps = made.into_iter().filter(|app| !keep.contains(app) && self.dice.one_in(2)).collect();
        let millis = self.dice.between(1, 5_000);
        self.tell_worker(millis, node, Event::StaleFound { apps });
    }

    /// A Worker removes an application's directory.
    pub(crate) fn remove_directory(&mut self, node: NodeIndex, app: &AppId) {
        if self.living_apps(node).contains(app) {
            self.violate(format!(
                "the directory of application {app} is removed though an executor of it lives"
            ));
        }
    }

    /// Applications with an executor that this Worker has started and that has not ended.
    fn living_apps(&self, node: NodeIndex) -> BTreeSet<AppId> {
        let own =
            |process: &&NodeIndex| self.process(**process).is_some_and(|process| process.worker == node);
        self.processes.iter().filter(|(_, process)| own(process)).map(|(key, _)| key.app.clone()).collect()
    }
}
