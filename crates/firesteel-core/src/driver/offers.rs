//! Who runs what: free cores are offered to the tasks that wait.

use super::Driver;
use crate::ids::{ExecutorId, TaskId};
use crate::messages::DriverToExecutor;

impl Driver {
    /// Launches what can be launched: first the tasks that have failed before, each where it has not failed;
    /// then all others in their order, the executors taking turns with one task each.
    ///
    /// A small task is not held back for a larger one that waits for more cores.
    pub(super) fn offer(&mut self) {
        while let Some((task, executor)) = self.next_retry().or_else(|| self.next_fresh()) {
            self.launch_task(task, executor);
        }
    }

    fn next_retry(&self) -> Option<(TaskId, ExecutorId)> {
        let retries = self.tasks.waiting().filter(|(needs, _)| !needs.is_fresh());
        retries.filter_map(|(needs, task)| Some((task, self.executors.for_retry(needs)?))).min()
    }

    fn next_fresh(&self) -> Option<(TaskId, ExecutorId)> {
        let fresh = || self.tasks.waiting().filter(|(needs, _)| needs.is_fresh());
        let smallest = fresh().map(|(needs, _)| needs.cores).min()?;
        let (executor, free) = self.executors.in_turn(smallest)?;
        let task = fresh().filter(|(needs, _)| needs.cores <= free).map(|(_, task)| task).min()?;
        Some((task, executor))
    }

    fn launch_task(&mut self, task: TaskId, executor: ExecutorId) {
        let credit = self.config.output_credit.max(1);
        let (attempt, spec) = self.tasks.launch(task, executor, credit);
        let peer = self.executors.occupy(executor, task, spec.cores_taken());
        self.send_executor(peer, DriverToExecutor::LaunchTask { attempt, spec, credit });
    }
}
