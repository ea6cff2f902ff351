//! Executors where one task after the other fails, before any of them has succeeded elsewhere.
//!
//! A failure says nothing of its executor as long as its task has not been tried elsewhere. Where good tasks take long, the other
//! executors have no room to try it, and one that fails at once would take task after task. So an executor is in doubt after
//! some failures in a row that no other host has confirmed or refuted. It takes no more tasks then, as long as another host
//! runs some, whose next free core goes to the tasks that failed. Each task that ends, or fails on another host, is one
//! doubt less. Nobody is excluded by doubt: that is left to the evidence, and so is its rate of false alarms.

use firesteel_protocol::ids::{ExecutorId, TaskId};

use crate::driver::Driver;
use crate::driver::config::Exclusion;
use crate::driver::executors::executor::Executor;

/// The number of tasks that fail in a row until an executor is in doubt.
pub(in crate::driver) const IN_DOUBT: usize = 8;

impl Driver {
    /// A task failed on an executor and will be tried again.
    pub(in crate::driver) fn doubt(&mut self, task: TaskId, executor: ExecutorId, host: &str) {
        let elsewhere = self.tasks.failed_on(task).into_iter().any(|(_, failed_at)| failed_at != host);
        if elsewhere {
            self.no_longer_doubt(task);
        } else if self.config.exclusion.exclusion == Exclusion::ByComparison
            && !self.tasks.is_bound(task)
            && self.executors.get(executor).is_some()
        {
            self.executors.doubt(executor, task);
        }
    }

    /// A task says nothing more of the executors where it failed: it has ended, or failed on several hosts.
    pub(in crate::driver) fn no_longer_doubt(&mut self, task: TaskId) {
        for (executor, _) in self.tasks.failed_on(task) {
            self.executors.no_longer_doubt(executor, task);
        }
    }

    /// Gives no tasks to executors in doubt while others take some.
    pub(in crate::driver) fn hold_doubtful(&mut self) {
        for id in self.executors.doubtful() {
            let held = self.others_of(id).next().is_some();
            self.executors.hold(id, held);
        }
    }

    /// Gives tasks to executors in doubt again where nothing runs on others. Returns whether there are any.
    pub(in crate::driver) fn release_doubtful(&mut self) -> bool {
        let alone = |id: &ExecutorId| {
            self.executors.live(*id).held
                && !self.others_of(*id).any(|other| other.running().next().is_some())
        };
        let alone: Vec<ExecutorId> = self.executors.doubtful().into_iter().filter(alone).collect();
        alone.iter().for_each(|id| self.executors.hold(*id, false));
        !alone.is_empty()
    }

    /// The executors on other hosts that can do the work of one in doubt.
    fn others_of(&self, id: ExecutorId) -> impl Iterator<Item = &Executor> {
        let doubted = self.executors.live(id);
        let enough = doubted.cores.min(self.tasks.largest(doubted.profile));
        self.executors.iter().map(|(_, row)| row).filter(move |row| {
            (row.profile == doubted.profile && row.host != doubted.host && row.cores >= enough)
                && (row.is_offering() && !row.is_in_doubt())
        })
    }
}
