//! Deliberate bugs: they change the events and effects of a session.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_engine::driver::TaskRequest;
use firesteel_engine::session::{Effect, Ending, Event, RunMode};
use firesteel_placement::Cores;
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::{TaskDirectory, TaskSpec};
use firesteel_protocol::process::Command;

/// A deliberate bug of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSabotage {
    DropWant,
    WantTwice,
    DropSubmit,
    SubmitTwice,
    /// Background tasks are submitted as foreground tasks.
    MisplaceTask,
    /// A task is submitted after the end of the application.
    SubmitAtEnd,
    DropAnswer,
    AnswerTwice,
    DropComplaint,
    MissTaskEnd,
    /// The session misses requests to end, other than ctrl-c.
    MissRequest,
    MissApplicationEnd,
    DropRecordEnd,
    DropSettle,
    DropUnmute,
    DropForget,
    DropCancel,
    DropEnd,
    DropFinish,
    FinishTwice,
    WrongCode,
}

impl SessionSabotage {
    /// The list of all bugs.
    #[rustfmt::skip]
    pub const ALL: [Self; 21] = [
        Self::DropWant, Self::WantTwice, Self::DropSubmit, Self::SubmitTwice, Self::MisplaceTask, Self::SubmitAtEnd,
        Self::DropAnswer, Self::AnswerTwice, Self::DropComplaint, Self::MissTaskEnd, Self::MissRequest,
        Self::MissApplicationEnd, Self::DropRecordEnd, Self::DropSettle, Self::DropUnmute, Self::DropForget,
        Self::DropCancel, Self::DropEnd, Self::DropFinish, Self::FinishTwice, Self::WrongCode,
    ];

    /// Whether the session misses this event.
    pub(super) fn misses(self, event: &Event) -> bool {
        match self {
            Self::MissTaskEnd => matches!(event, Event::TaskEnded(..)),
            Self::MissRequest => matches!(event, Event::EndRequested(EndRequest::Terminate)),
            Self::MissApplicationEnd => matches!(event, Event::ApplicationEnded(_)),
            _ => false,
        }
    }

    /// The effects of the session in place of this effect.
    pub(super) fn tamper(self, effect: Effect) -> Vec<Effect> {
        match (self, effect) {
            (Self::DropWant, Effect::WantLine)
            | (Self::DropSubmit, Effect::Submit(..))
            | (Self::DropAnswer, Effect::Print(_))
            | (Self::DropComplaint, Effect::Complain(..))
            | (Self::DropRecordEnd, Effect::CloseRecord(_))
            | (Self::DropSettle, Effect::Settle)
            | (Self::DropUnmute, Effect::Unmute)
            | (Self::DropForget, Effect::Forget)
            | (Self::DropCancel, Effect::CancelTasks(_))
            | (Self::DropEnd, Effect::EndApplication)
            | (Self::DropFinish, Effect::Finish(_)) => Vec::new(),
            (Self::WantTwice, effect @ Effect::WantLine)
            | (Self::SubmitTwice, effect @ Effect::Submit(..))
            | (Self::AnswerTwice, effect @ Effect::Print(_))
            | (Self::FinishTwice, effect @ Effect::Finish(_)) => vec![effect.clone(), effect],
            (Self::MisplaceTask, Effect::Submit(task, request, _)) => {
                vec![Effect::Submit(task, request, RunMode::Foreground)]
            }
            (Self::SubmitAtEnd, Effect::EndApplication) => {
                vec![
                    Effect::EndApplication,
                    Effect::Submit(TaskId(9_999), Box::new(task()), RunMode::Foreground),
                ]
            }
            (Self::WrongCode, Effect::Finish(Ending::Left(code))) => {
                vec![Effect::Finish(Ending::Left(code.wrapping_add(1)))]
            }
            (_, effect) => vec![effect],
        }
    }
}

fn task() -> TaskRequest {
    let command = Command { program: "true".to_owned(), arguments: Vec::new(), environment: BTreeMap::new() };
    let (directory, stdin, cores) = (TaskDirectory::Executor, Bytes::new(), Cores(1));
    TaskRequest::from(TaskSpec { command, directory, stdin, cores })
}
