//! The suspected executors, and whether they get tasks.

use std::collections::BTreeSet;

use firesteel_protocol::ids::{ExecutorId, TaskId};

use super::Executors;

impl Executors {
    /// The suspected executors, on which many tasks in a row failed without a result from another host.
    pub(in crate::driver) fn suspects(&self) -> Vec<ExecutorId> {
        self.suspects.iter().copied().collect()
    }

    /// A task failed on an executor, and has not been tried on another host.
    pub(in crate::driver) fn suspect(&mut self, id: ExecutorId, task: TaskId) {
        self.change_suspicions(id, |suspicions| {
            suspicions.insert(task);
        });
    }

    /// A task no longer causes doubt about an executor. The executor may already have ended.
    pub(in crate::driver) fn clear_suspicion(&mut self, id: ExecutorId, task: TaskId) {
        if self.rows.get(&id).is_some_and(|row| row.suspicions.contains(&task)) {
            self.change_suspicions(id, |suspicions| {
                suspicions.remove(&task);
            });
        }
    }

    /// A task succeeded on an executor, which ends the doubt.
    pub(in crate::driver) fn believe(&mut self, id: ExecutorId) {
        if !self.live(id).suspicions.is_empty() {
            self.change_suspicions(id, BTreeSet::clear);
        }
    }

    fn change_suspicions(&mut self, id: ExecutorId, change: impl FnOnce(&mut BTreeSet<TaskId>)) {
        let row = self.live_mut(id);
        change(&mut row.suspicions);
        if row.is_suspected() {
            self.suspects.insert(id);
        } else if self.suspects.remove(&id) {
            self.hold(id, false);
        }
    }

    /// Stops giving tasks to a suspected executor (`held`), or gives tasks to it again.
    pub(in crate::driver) fn hold(&mut self, id: ExecutorId, held: bool) {
        if self.live(id).held != held {
            self.change(id, |row| row.held = held);
            self.touched.insert(id);
        }
    }
}
