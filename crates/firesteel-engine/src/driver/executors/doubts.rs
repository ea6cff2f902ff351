//! The executors in doubt, and whether they are held back.

use std::collections::BTreeSet;

use firesteel_protocol::ids::{ExecutorId, TaskId};

use super::Executors;

impl Executors {
    /// The executors in doubt: many of their tasks failed in a row without a result from elsewhere.
    pub(in crate::driver) fn doubtful(&self) -> Vec<ExecutorId> {
        self.doubtful.iter().copied().collect()
    }

    /// A task failed on an executor, and has not been tried elsewhere.
    pub(in crate::driver) fn doubt(&mut self, id: ExecutorId, task: TaskId) {
        self.change_doubts(id, |doubts| {
            doubts.insert(task);
        });
    }

    /// A task no longer counts as a doubt about an executor. The executor may have ended.
    pub(in crate::driver) fn no_longer_doubt(&mut self, id: ExecutorId, task: TaskId) {
        if self.rows.get(&id).is_some_and(|row| row.doubts.contains(&task)) {
            self.change_doubts(id, |doubts| {
                doubts.remove(&task);
            });
        }
    }

    /// A task succeeded on an executor, which ends the doubt.
    pub(in crate::driver) fn believe(&mut self, id: ExecutorId) {
        if !self.live(id).doubts.is_empty() {
            self.change_doubts(id, BTreeSet::clear);
        }
    }

    fn change_doubts(&mut self, id: ExecutorId, change: impl FnOnce(&mut BTreeSet<TaskId>)) {
        let row = self.live_mut(id);
        change(&mut row.doubts);
        if row.is_in_doubt() {
            self.doubtful.insert(id);
        } else if self.doubtful.remove(&id) {
            self.hold(id, false);
        }
    }

    /// Gives no more tasks to an executor in doubt, or tasks again.
    pub(in crate::driver) fn hold(&mut self, id: ExecutorId, held: bool) {
        if self.live(id).held != held {
            self.change(id, |row| row.held = held);
            self.touched.insert(id);
        }
    }
}
