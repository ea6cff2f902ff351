//! The tasks of `run`, from submission until the session forgets them.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::TaskEnd;
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;

use super::RunMode;
use crate::driver::{FailureCause, TaskOutcome};

/// Maximum number of ended tasks that are remembered.
const REMEMBERED: usize = 1000;

/// The tasks that the session remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    rows: BTreeMap<TaskId, Task>,
    ended: usize,
}

/// A task of `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The command as text for the user.
    pub words: String,
    /// Whether the session waited for the task.
    pub place: RunMode,
    /// Time of the submission.
    pub submitted: Timestamp,
    /// The outcome and the duration of the task, once it has ended.
    pub end: Option<(TaskOutcome, Duration)>,
}

impl Tasks {
    /// Adds a submitted task.
    pub(super) fn add(&mut self, id: TaskId, task: Task) {
        self.rows.insert(id, task);
    }

    /// Records the end of a task. If too many ended tasks are remembered, removes and returns the oldest.
    pub(super) fn end(&mut self, now: Timestamp, id: TaskId, outcome: TaskOutcome) -> Option<(TaskId, Task)> {
        let task = self.rows.get_mut(&id).filter(|task| task.end.is_none())?;
        task.end = Some((outcome, now.since(task.submitted)));
        self.ended += 1;
        if self.ended <= REMEMBERED {
            return None;
        }
        let oldest = self.iter().find(|(_, task)| task.end.is_some()).map(|(id, _)| id)?;
        self.ended -= 1;
        Some((oldest, self.rows.remove(&oldest)?))
    }

    /// The task with this number, if the session remembers it.
    #[must_use]
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.rows.get(&id)
    }

    /// All remembered tasks, by number.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TaskId, &Task)> {
        self.rows.iter().map(|(&id, task)| (id, task))
    }

    /// The tasks that have not ended.
    #[must_use]
    pub fn open(&self) -> Vec<TaskId> {
        self.iter().filter(|(_, task)| task.end.is_none()).map(|(id, _)| id).collect()
    }

    /// The exit code of a task that has ended.
    #[must_use]
    pub fn code_of(&self, id: TaskId) -> Option<u8> {
        self.get(id)?.end.as_ref().map(|(outcome, _)| exit_code(outcome))
    }

    /// Describes the first inconsistency in the table, if any.
    pub(super) fn contradiction(&self) -> Option<String> {
        let ended = self.iter().filter(|(_, task)| task.end.is_some()).count();
        let fits = ended == self.ended && ended <= REMEMBERED;
        (!fits).then(|| format!("{ended} tasks have ended, and {} are counted", self.ended))
    }

    /// The latest task that was started in the background.
    #[must_use]
    pub fn last_in_background(&self) -> Option<TaskId> {
        self.iter().rev().find(|(_, task)| task.place == RunMode::Background).map(|(id, _)| id)
    }
}

/// The exit code for this outcome: the command's own exit code, if it has one.
#[must_use]
pub fn exit_code(outcome: &TaskOutcome) -> u8 {
    match outcome {
        TaskOutcome::Succeeded { .. } => 0,
        TaskOutcome::Failed { cause: FailureCause::FatalExit(status), .. } => code_of(*status),
        TaskOutcome::Failed { cause: FailureCause::Ended(end), .. } => match end {
            TaskEnd::Exited(status) => code_of(*status),
            TaskEnd::NotStarted(_) => 127,
            TaskEnd::Killed => 1,
        },
        TaskOutcome::Failed { cause: FailureCause::StartsNowhere { .. }, .. } => 127,
        TaskOutcome::Failed { cause: FailureCause::ExecutorDied(_), .. } | TaskOutcome::Unfit(_) => 1,
        TaskOutcome::Cancelled => 130,
    }
}

fn code_of(status: ExitStatus) -> u8 {
    match status {
        ExitStatus::Code(code) => u8::try_from(code & 0xff).unwrap_or(1).max(1),
        ExitStatus::Signal(signal) => u8::try_from(128 + (signal & 0x7f)).unwrap_or(1),
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::{AttemptId, ExecutorId};

    use super::*;
    use crate::driver::Unfit;

    fn failed(cause: FailureCause) -> TaskOutcome {
        let attempt = AttemptId { task: TaskId(1), attempt: 0 };
        TaskOutcome::Failed { attempt, executor: ExecutorId(0), failures: 1, cause, locality: None }
    }

    #[test]
    fn a_commands_exit_code_is_the_shells() {
        let exited = |status| failed(FailureCause::Ended(TaskEnd::Exited(status)));
        for (outcome, code) in [
            (exited(ExitStatus::Code(3)), 3),
            (exited(ExitStatus::Code(256)), 1),
            (exited(ExitStatus::Signal(9)), 137),
            (failed(FailureCause::FatalExit(ExitStatus::Code(124))), 124),
            (TaskOutcome::Cancelled, 130),
            (TaskOutcome::Unfit(Unfit::TooLong { length: 2, limit: 1 }), 1),
        ] {
            assert_eq!(exit_code(&outcome), code, "{outcome:?}");
        }
    }

    #[test]
    fn tasks_that_ended_first_are_forgotten_and_open_ones_never() {
        let mut tasks = Tasks::default();
        for id in 0..1100 {
            let submitted = Timestamp::from_millis(id);
            let task = Task { words: "true".to_owned(), place: RunMode::Foreground, submitted, end: None };
            tasks.add(TaskId(id), task);
            if id > 0 {
                tasks.end(Timestamp::from_millis(id + 5), TaskId(id), TaskOutcome::Cancelled);
            }
        }
        assert_eq!((tasks.iter().count(), tasks.open()), (1001, vec![TaskId(0)]));
        assert!(tasks.get(TaskId(1)).is_none() && tasks.get(TaskId(1099)).is_some());
    }
}
