//! Work directories. In this world they have no content. The world only checks which directories are removed.

use std::collections::BTreeSet;

use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_worker::{EarlierDirectory, Event};

use crate::cluster::world::{NodeIndex, World};

impl World {
    /// A Worker searches for old directories. A random part of its directories counts as old. When the Worker receives
    /// the result, some of the applications have new executors.
    pub(crate) fn find_stale(&mut self, node: NodeIndex, keep: &BTreeSet<AppId>) {
        if let Some(app) = self.living_apps(node).difference(keep).next() {
            return self.violate(format!("application {app} is not kept though an executor of it lives"));
        }
        let made = self.executors.apps_of(node);
        let apps = made.into_iter().filter(|app| !keep.contains(app) && self.dice.one_in(2)).collect();
        let millis = self.dice.between(1, 5_000);
        self.tell_worker(millis, node, Event::StaleFound { apps });
    }

    pub(crate) fn remove_directory(&mut self, node: NodeIndex, app: &AppId) {
        if self.living_apps(node).contains(app) {
            self.violate(format!(
                "the directory of application {app} is removed though an executor of it lives"
            ));
        }
    }

    /// A directory that a Worker finds at its start, from an executor of an earlier Worker.
    pub(crate) fn earlier_directories() -> Event {
        let executor = ExecutorKey { app: AppId::new("app-20200101000000-0000"), executor: ExecutorId(0) };
        let last_written = Timestamp::default();
        Event::EarlierFound { directories: vec![EarlierDirectory { executor, last_written, bytes: 1 }] }
    }

    pub(crate) fn remove_executor_directories(&mut self, node: NodeIndex, executors: &[ExecutorKey]) {
        let lives = |key: &&ExecutorKey| {
            self.processes
                .get(key)
                .and_then(|process| self.process(*process))
                .is_some_and(|it| it.worker == node)
        };
        if let Some(executor) = executors.iter().find(lives) {
            let words = format!("the directory of executor {executor} is removed though it lives");
            self.violate(words);
        }
    }

    /// The applications of which this Worker has started an executor that has not ended.
    fn living_apps(&self, node: NodeIndex) -> BTreeSet<AppId> {
        let own =
            |process: &&NodeIndex| self.process(**process).is_some_and(|process| process.worker == node);
        self.processes.iter().filter(|(_, process)| own(process)).map(|(key, _)| key.app.clone()).collect()
    }
}
