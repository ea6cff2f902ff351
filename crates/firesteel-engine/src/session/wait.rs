//! What the command at hand waits for.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;
use firesteel_protocol::time::Timestamp;

use super::{AddedProfile, Extent, Map, Run, Shortfalls, Surplus, TaskShare, Which};
use crate::driver::{ExecutorView, Note, Replacement};

/// What the command at hand waits for, with all that it needs to go on.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    /// There is no command: the next one begins at the end of the event.
    Nothing,
    /// Everything is being printed. A script that was interrupted does not wait for a blocked reader.
    Printing { until: Option<Timestamp>, then: Then },
    /// The driver's tables.
    Tables(Inquiry),
    /// To look at the driver's tables again.
    Again { at: Timestamp, inquiry: Inquiry },
    /// The Master's answer.
    Master { until: Timestamp, question: Question },
    /// The foreground task.
    Task(TaskId),
    /// A piece of a record that is being printed.
    Piece(Watch),
    /// More of a record.
    More { at: Timestamp, watch: Watch },
    /// Tasks, one after the other.
    Tasks(TasksWait),
    /// The items of a map run.
    Items(Box<Map>),
    /// The map run.
    Map { first: TaskId, interrupts: Interrupts },
    /// A file of commands.
    File(PathBuf),
}

/// What follows when everything is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The next line is wanted.
    Line,
    /// The command is over, with this exit code.
    Over(u8),
    /// The foreground task has ended, and how it did is said.
    Task(TaskId),
}

/// Why the driver's tables are wanted.
#[derive(Clone, Debug)]
pub(super) enum Inquiry {
    /// The names that the prompt completes.
    Names,
    /// The profile of the executor that a command runs on.
    RunOn(Run, ExecutorId),
    /// They are shown.
    Show(Show),
    /// Executors are waited for.
    Ready(ReadyWait),
    /// The profile of executors that are requested.
    Total(TotalRequest),
    /// Whether the request was refused, and the executors that were there before.
    Requested { request: TotalRequest, before: Vec<ExecutorView>, refusal: Option<Note> },
    /// Requested executors are waited for.
    Coming { request: TotalRequest, until: Timestamp },
    /// Whether the executors exist that are to be ended.
    Kill { executors: Vec<ExecutorId>, replacement: Replacement },
    /// The end of executors is waited for.
    Leaving { executors: Vec<ExecutorId>, replacement: Replacement, until: Timestamp },
    /// The number of the next profile.
    Profile { needs: ResourceProfile, task: TaskShare, total: u64 },
    /// What is there, beside what the Master says is missing.
    Why { shortfalls: Shortfalls, code: u8 },
    /// The executors that a map run begins with.
    Map(Box<Map>),
}

/// What is shown of the driver's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    Executors,
    Tasks(Which),
    Profiles,
    Status,
}

/// `wait --executors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadyWait {
    pub(super) count: usize,
    pub(super) limit: Duration,
    pub(super) until: Timestamp,
}

/// A number of executors that is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TotalRequest {
    pub(super) total: u64,
    pub(super) profile: ProfileId,
    pub(super) surplus: Surplus,
}

/// What the Master is asked for.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// Why executors are missing. The command has this exit code at least.
    Why { code: u8 },
    /// Whether a new profile is accepted, and the refusal if it is not.
    Profile { added: AddedProfile, total: u64, refusal: Option<Note> },
}

/// A record that is being printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watch {
    pub(super) task: TaskId,
    /// How complete the record was to be for the last piece.
    pub(super) extent: Extent,
    /// Why the record is incomplete, as far as it is known.
    pub(super) loss: Option<String>,
    /// Whether the user still wants it.
    pub(super) interest: Interest,
}

/// Whether the user still wants a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    Wanted,
    /// The user pressed ctrl-c.
    GivenUp,
}

/// Tasks that are waited for.
#[derive(Clone, Debug)]
pub(super) struct TasksWait {
    pub(super) left: VecDeque<TaskId>,
    /// The exit code of the last task that failed.
    pub(super) failure: u8,
    pub(super) then: AfterTasks,
}

/// What follows when tasks have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterTasks {
    /// The command is over.
    Over,
    /// The script ends.
    Leave,
}

/// How often ctrl-c came during a map run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupts {
    None,
    /// The run was told.
    Some,
}
