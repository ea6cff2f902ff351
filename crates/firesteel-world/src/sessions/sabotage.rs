//! Deliberate bugs: what a session is told or does is tampered with, as if it had erred.

use firesteel_engine::driver::TaskRequest;
use firesteel_engine::session::{Effect, Ending, Event, Place};
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::TaskDirectory;

use super::run::spec;

/// A bug of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSabotage {
    /// It wants no line.
    DropWant,
    /// It wants a line while it waits for one.
    WantTwice,
    /// It does not submit a task.
    DropSubmit,
    /// It submits a task twice.
    SubmitTwice,
    /// It submits tasks that run in the background as if they did not.
    MisplaceTask,
    /// It submits a task after it has ended the application.
    SubmitAtEnd,
    /// It does not answer.
    DropAnswer,
    /// It answers twice.
    AnswerTwice,
    /// It does not say that a command has failed.
    DropComplaint,
    /// It misses the end of a task.
    MissTaskEnd,
    /// It misses requests to end other than ctrl-c.
    MissRequest,
    /// It misses that the application is over.
    MissApplicationEnd,
    /// It does not complete a record.
    DropRecordEnd,
    /// It does not wait until everything is printed.
    DropSettle,
    /// It leaves outputs muted.
    DropUnmute,
    /// It waits for an answer and asks for another one.
    DropForget,
    /// It does not cancel tasks.
    DropCancel,
    /// It does not end the application.
    DropEnd,
    /// It does not finish.
    DropFinish,
    /// It finishes twice.
    FinishTwice,
    /// It finishes with another exit code.
    WrongCode,
}

impl SessionSabotage {
    /// The list of all bugs.
    pub const ALL: [Self; 21] = [
        Self::DropWant,
        Self::WantTwice,
        Self::DropSubmit,
        Self::SubmitTwice,
        Self::MisplaceTask,
        Self::SubmitAtEnd,
        Self::DropAnswer,
        Self::AnswerTwice,
        Self::DropComplaint,
        Self::MissTaskEnd,
        Self::MissRequest,
        Self::MissApplicationEnd,
        Self::DropRecordEnd,
        Self::DropSettle,
        Self::DropUnmute,
        Self::DropForget,
        Self::DropCancel,
        Self::DropEnd,
        Self::DropFinish,
        Self::FinishTwice,
        Self::WrongCode,
    ];

    /// Whether the session misses this event.
    pub(super) fn misses(self, event: &Event) -> bool {
        match self {
            Self::MissTaskEnd => matches!(event, Event::TaskEnded { .. }),
            Self::MissRequest => matches!(event, Event::EndRequested(EndRequest::Terminate)),
            Self::MissApplicationEnd => matches!(event, Event::ApplicationEnded(_)),
            _ => false,
        }
    }

    /// Whether this is the effect that the bug is about.
    fn is_about(self, effect: &Effect) -> bool {
        match (self, effect) {
            (Self::DropWant | Self::WantTwice, Effect::WantLine)
            | (Self::DropSubmit | Self::SubmitTwice, Effect::Submit { .. })
            | (Self::MisplaceTask, Effect::Submit { place: Place::Background, .. })
            | (Self::DropAnswer | Self::AnswerTwice, Effect::Print(_))
            | (Self::DropComplaint, Effect::Complain { .. })
            | (Self::DropRecordEnd, Effect::CloseRecord { .. })
            | (Self::DropSettle, Effect::Settle)
            | (Self::DropUnmute, Effect::Unmute)
            | (Self::DropForget, Effect::Forget)
            | (Self::DropCancel, Effect::CancelTasks { .. })
            | (Self::DropEnd | Self::SubmitAtEnd, Effect::EndApplication)
            | (Self::DropFinish | Self::FinishTwice, Effect::Finish(_))
            | (Self::WrongCode, Effect::Finish(Ending::Left(_))) => true,
            (_, _) => false,
        }
    }

    /// Changes the effects of the session.
    pub(super) fn effects(self, effects: Vec<Effect>) -> Vec<Effect> {
        effects.into_iter().flat_map(|effect| self.tamper(effect)).collect()
    }

    fn tamper(self, effect: Effect) -> Vec<Effect> {
        if !self.is_about(&effect) {
            return vec![effect];
        }
        match (self, effect) {
            (Self::WantTwice | Self::SubmitTwice | Self::AnswerTwice | Self::FinishTwice, effect) => {
                vec![effect.clone(), effect]
            }
            (Self::MisplaceTask, Effect::Submit { task, request, .. }) => {
                vec![Effect::Submit { task, request, place: Place::Foreground }]
            }
            (Self::SubmitAtEnd, effect) => {
                let request = Box::new(TaskRequest::from(spec(TaskDirectory::Executor)));
                vec![effect, Effect::Submit { task: TaskId(9_999), request, place: Place::Foreground }]
            }
            (Self::WrongCode, Effect::Finish(Ending::Left(code))) => {
                vec![Effect::Finish(Ending::Left(code.wrapping_add(1)))]
            }
            (_, _) => Vec::new(),
        }
    }
}
