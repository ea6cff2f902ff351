//! Executors where one task after the other fails, before any of these tasks has succeeded elsewhere.
//!
//! A failure says nothing about its executor until the task has been tried elsewhere. If good tasks take long, the
//! other executors have no free cores to try the task. Then an executor that fails every task immediately would take
//! all tasks. So an executor is suspected after several failures in a row that no other host has confirmed or refuted.
//! It then takes no more tasks while another host runs some; the next free core there goes to the tasks that failed.
//! The doubt about a task ends when the task ends, or fails on another host. Doubt does not exclude an executor. Only
//! evidence does, so the rate of false alarms stays bounded.

use firesteel_protocol::ids::{ExecutorId, TaskId};

use crate::driver::Driver;
use crate::driver::config::Exclusion;
use crate::driver::executors::executor::Executor;

/// How many tasks must fail in a row before the driver suspects an executor.
pub(in crate::driver) const SUSPECTED: usize = 8;

impl Driver {
    /// A task failed on an executor and will be retried.
    pub(in crate::driver) fn suspect(&mut self, task: TaskId, executor: ExecutorId, host: &str) {
        let elsewhere = self.tasks.failed_on(task).into_iter().any(|(_, failed_at)| failed_at != host);
        if elsewhere {
            self.clear_suspicion(task);
        } else if self.config.exclusion.exclusion == Exclusion::ByComparison
            && !self.tasks.is_bound(task)
            && self.executors.get(executor).is_some()
        {
            self.executors.suspect(executor, task);
        }
    }

    /// A task no longer causes doubt about executors: the task has ended, or has failed on several hosts.
    pub(in crate::driver) fn clear_suspicion(&mut self, task: TaskId) {
        for (executor, _) in self.tasks.failed_on(task) {
            self.executors.clear_suspicion(executor, task);
        }
    }

    /// Gives no tasks to suspected executors while other executors take tasks.
    pub(in crate::driver) fn hold_suspects(&mut self) {
        for id in self.executors.suspects() {
            let held = self.others_of(id).next().is_some();
            self.executors.hold(id, held);
        }
    }

    /// Lets suspected executors take tasks again if executors on other hosts run no tasks. Returns whether any executor
    /// was released.
    pub(in crate::driver) fn release_suspects(&mut self) -> bool {
        let alone = |id: &ExecutorId| {
            self.executors.live(*id).held
                && !self.others_of(*id).any(|other| other.running().next().is_some())
        };
        let alone: Vec<ExecutorId> = self.executors.suspects().into_iter().filter(alone).collect();
        alone.iter().for_each(|id| self.executors.hold(*id, false));
        !alone.is_empty()
    }

    /// The executors on other hosts that can do the work of a suspected executor.
    fn others_of(&self, id: ExecutorId) -> impl Iterator<Item = &Executor> {
        let suspect = self.executors.live(id);
        let enough = suspect.cores.min(self.tasks.largest(suspect.profile));
        self.executors.iter().map(|(_, row)| row).filter(move |row| {
            (row.profile == suspect.profile && row.host != suspect.host && row.cores >= enough)
                && (row.is_offering() && !row.is_suspected())
        })
    }
}
