//! The driver's reports to a map run.

use firesteel_placement::Cores;
use firesteel_protocol::ids::{ExecutorId, TaskId};
use firesteel_protocol::machine::NoteLevel;
use firesteel_protocol::messages::ExecutorState;
use firesteel_protocol::time::Timestamp;

use super::items::ItemResult;
use super::{Effect, Ending, Leave, MapRun, PATIENCE, Phase, Remark};
use crate::driver::{self, ExecutorLoss, Note, TaskOutcome};

impl MapRun {
    pub(super) fn on_task_ended(&mut self, task: TaskId, outcome: TaskOutcome) {
        let attempt = match &outcome {
            TaskOutcome::Succeeded { attempt, .. } | TaskOutcome::Failed { attempt, .. } => Some(*attempt),
            TaskOutcome::Cancelled | TaskOutcome::Unfit(_) => None,
        };
        if self.end_item(task, outcome) {
            self.effects.push(Effect::Print { task, attempt });
        }
    }

    /// Counts an item that has ended. Returns whether the item was open.
    pub(super) fn end_item(&mut self, task: TaskId, outcome: TaskOutcome) -> bool {
        let result = match &outcome {
            TaskOutcome::Succeeded { .. } => ItemResult::Succeeded,
            TaskOutcome::Failed { .. } | TaskOutcome::Cancelled | TaskOutcome::Unfit(_) => {
                ItemResult::NotDone
            }
        };
        let Some(item) = self.items.end(task, result) else { return false };
        self.tally.end(item.number, item.words, outcome);
        true
    }

    pub(super) fn add_executor(&mut self, now: Timestamp, executor: ExecutorId, host: String, cores: Cores) {
        self.first_executor.get_or_insert(now);
        self.tally.add_executor(executor, host, cores);
    }

    pub(super) fn on_note(&mut self, now: Timestamp, note: Note) {
        match &note {
            Note::Registered { app, .. } => self.tally.app = Some(app.clone()),
            // Executors of other profiles do not run these items.
            Note::ExecutorRegistered { profile, .. } if *profile != self.config.profile => {}
            Note::ExecutorRegistered { executor, host, cores, .. } => {
                self.add_executor(now, *executor, host.clone(), *cores);
            }
            Note::ExecutorLost { executor, loss, tasks, .. } => {
                self.tally.lose_executor(*executor, loss);
                let is_failure = matches!(loss, ExecutorLoss::Ended(ExecutorState::Failed(_)));
                if is_failure && *tasks == 0 && self.last_loss.replace(loss.clone()).as_ref() == Some(loss) {
                    return;
                }
            }
            Note::Excluded { cause, .. } => self.tally.exclude(cause),
            Note::MasterUnreachable { .. } | Note::LeaderConflict(_)
                if !self.on_masters.insert(note.to_string()) =>
            {
                return;
            }
            // Repeated attempts are only counted; the summary lists items that failed for good.
            Note::TaskFailed { attempt, host, .. } => {
                if let Some(number) = self.items.number(attempt.task) {
                    self.tally.fail_on(number, host);
                }
                return;
            }
            Note::MasterUnreachable { .. }
            | Note::MasterLost { .. }
            | Note::LeaderConflict(_)
            | Note::ExecutorAdded { .. }
            | Note::ExecutorRefused { .. }
            | Note::ExecutorAway { .. }
            | Note::ExecutorBack { .. }
            | Note::ExecutorEstranged { .. }
            | Note::ExecutorAbsent { .. }
            | Note::ExecutorShort { .. }
            | Note::ExecutorsExcused { .. }
            | Note::TargetSet { .. }
            | Note::TargetIsDynamic { .. }
            | Note::IdleExecutorsKilled { .. }
            | Note::IdleExecutorsGivenBack { .. }
            | Note::ExecutorsKilled { .. }
            | Note::KillUnknown { .. }
            | Note::ProfileUnknown { .. }
            | Note::ProfileRefused { .. }
            | Note::RequestRefused { .. }
            | Note::WorkerRemoved { .. }
            | Note::TaskTooLarge { .. }
            | Note::Readmitted { .. }
            | Note::HostsReadmitted { .. }
            | Note::NeverFits { .. }
            | Note::NoExecutor { .. }
            | Note::StillWaiting { .. }
            | Note::CreditExceeded { .. }
            | Note::UnexpectedMessage { .. }
            | Note::ApplicationReplaced { .. }
            | Note::UnexpectedTask { .. } => {}
        }
        match (note.level(), &self.ending) {
            (NoteLevel::Warn, Ending::Completed) => self.remark(Remark::Driver(note)),
            (NoteLevel::Info | NoteLevel::Warn, _) => {}
        }
    }

    pub(super) fn on_application_ended(&mut self, now: Timestamp, ending: driver::Ending) {
        match self.phase {
            Phase::Reading(_) | Phase::Draining | Phase::Finishing | Phase::Ending(_) => {}
            Phase::Closing { .. } | Phase::Saving | Phase::Ended => return,
        }
        match &ending {
            driver::Ending::Completed | driver::Ending::Cancelled => {}
            driver::Ending::Removed(_) | driver::Ending::NoMaster { .. } => {
                self.remark(Remark::ApplicationOver(ending.clone()));
                self.end_with(Ending::Over(ending));
            }
        }
        self.close(Leave::Until(now + PATIENCE));
    }

    pub(super) fn on_driver_ended(&mut self) {
        match &mut self.phase {
            Phase::Closing { driver, .. } => *driver = Leave::Taken,
            Phase::Reading(_) | Phase::Draining | Phase::Finishing | Phase::Ending(_) => {
                self.remark(Remark::DriverLost);
                self.end_with(Ending::DriverLost);
                self.close(Leave::Taken);
            }
            Phase::Saving | Phase::Ended => {}
        }
    }
}
