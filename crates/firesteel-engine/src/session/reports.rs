//! What the driver reports.

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::machine::NoteLevel;
use firesteel_protocol::messages::ExecutorState;

use super::wait::{Inquiry, Question, Wait};
use super::{Commands, Effect, Ending, Missing, Phase, Place, Remark, Session};
use crate::driver::{self, ExecutorLoss, Note, TaskOutcome};

impl Session {
    /// Whether the session is over, or about to be: it hears no more of tasks and executors.
    fn is_leaving(&self) -> bool {
        match self.phase {
            Phase::Leaving { .. } | Phase::Closing { .. } | Phase::Ended => true,
            Phase::Connecting | Phase::Gathering { .. } | Phase::Prompting | Phase::Busy(_) => false,
        }
    }

    pub(super) fn on_output_discarded(&mut self, task: TaskId) {
        if self.is_leaving() {
            return;
        }
        match self.tasks.get(task).map(|row| row.place) {
            Some(Place::Background) => self.effects.push(Effect::RestartRecord { task }),
            Some(Place::Foreground) if self.is_shown(task) => {
                self.effects.push(Effect::Remark(Remark::OutputStartsOver(task)));
            }
            Some(Place::Foreground) | None => {}
        }
    }

    /// Whether the command at hand shows this task's output.
    fn is_shown(&self, task: TaskId) -> bool {
        match &self.phase {
            Phase::Busy(Wait::Task(shown)) => *shown == task,
            Phase::Busy(Wait::Piece(watch) | Wait::More { watch, .. }) => watch.task == task,
            _ => false,
        }
    }

    pub(super) fn on_task_ended(&mut self, task: TaskId, outcome: TaskOutcome) {
        if self.is_leaving() {
            return;
        }
        if self.config.commands == Commands::Typed && !self.is_shown(task) {
            let outcome = outcome.clone();
            self.effects.push(Effect::Remark(Remark::TaskEnded { task, outcome }));
        }
        match self.tasks.get(task).map(|row| row.place) {
            Some(Place::Background) => self.effects.push(Effect::CloseRecord { task }),
            Some(Place::Foreground) | None => {}
        }
        if let Some((task, forgotten)) = self.tasks.end(self.now, task, outcome) {
            match forgotten.place {
                Place::Background => self.effects.push(Effect::DropRecord { task }),
                Place::Foreground => {}
            }
        }
        self.wake(task);
    }

    pub(super) fn on_note(&mut self, note: Note) {
        if self.is_leaving() {
            return;
        }
        let is_worth_it = self.is_worth_a_remark(&note);
        if let Note::Registered { .. } = note {
            self.on_registered();
        }
        if is_worth_it {
            self.effects.push(Effect::Remark(Remark::Driver(note)));
        }
        self.look_for_first_executors();
    }

    fn is_worth_a_remark(&mut self, note: &Note) -> bool {
        if self.is_mapping() {
            // The map run remarks it.
            return false;
        }
        let is_typed = self.config.commands == Commands::Typed;
        match note {
            Note::Registered { .. } => !matches!(self.phase, Phase::Connecting),
            Note::ExecutorRegistered { .. } => is_typed && self.missing != Missing::Settled,
            Note::RequestRefused { .. } | Note::TargetIsDynamic { .. } | Note::ProfileRefused { .. } => {
                !self.takes_refusal(note)
            }
            Note::MasterUnreachable { .. } => self.unreachable.insert(note.to_string()),
            // The last failure of a task is reported when the task ends.
            Note::TaskFailed { failures, limit, .. } => failures < limit,
            // The user ended this executor and knows about it.
            Note::ExecutorLost { loss: loss @ ExecutorLoss::Ended(state), tasks: 0, .. } => match state {
                ExecutorState::Killed(_) => is_typed,
                ExecutorState::Failed(_) => self.last_loss.replace(loss.clone()).as_ref() != Some(loss),
                ExecutorState::Launching
                | ExecutorState::Running
                | ExecutorState::Lost(_)
                | ExecutorState::Exited(_) => true,
            },
            Note::TargetSet { .. } | Note::ExecutorsKilled { .. } | Note::ExecutorAdded { .. } => false,
            _ => note.level() == NoteLevel::Warn,
        }
    }

    /// Whether a map run remarks what the driver does.
    fn is_mapping(&self) -> bool {
        matches!(self.phase, Phase::Busy(Wait::Map { .. } | Wait::Tables(Inquiry::Map(_))))
    }

    /// Whether the command at hand waits for a refusal, and this is the first.
    fn takes_refusal(&mut self, note: &Note) -> bool {
        match &mut self.phase {
            Phase::Busy(
                Wait::Tables(Inquiry::Requested { refusal: refusal @ None, .. })
                | Wait::Master { question: Question::Profile { refusal: refusal @ None, .. }, .. },
            ) => {
                *refusal = Some(note.clone());
                true
            }
            _ => false,
        }
    }

    pub(super) fn on_application_ended(&mut self, ended: driver::Ending) {
        match &mut self.phase {
            Phase::Leaving { over, .. } => *over = Some(ended),
            Phase::Closing { .. } | Phase::Ended => {}
            Phase::Connecting | Phase::Gathering { .. } | Phase::Prompting | Phase::Busy(_) => {
                self.end(Ending::Over(ended));
            }
        }
    }

    pub(super) fn on_driver_ended(&mut self) {
        match self.phase {
            Phase::Leaving { .. } => self.take_leave_of_driver(),
            Phase::Closing { .. } | Phase::Ended => {}
            Phase::Connecting | Phase::Gathering { .. } | Phase::Prompting | Phase::Busy(_) => {
                self.end(Ending::DriverLost);
            }
        }
    }
}
