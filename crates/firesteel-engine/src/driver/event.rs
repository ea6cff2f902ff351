//! The events of a driver.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    ApplicationEnd, ExecutorToDriver, MasterToDriver, Outcome, ResourceProfile,
};

use super::{Question, QuestionId, TaskRequest};

/// An input of the driver from the daemon around it.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("driver event")]
pub enum Event {
    /// The driver can accept executors. The first event, once.
    Start,
    /// A requested connection is open.
    Connected {
        peer: PeerId,
        master: Address,
        /// Whether this Master leads or stands by.
        leadership: Leadership,
    },
    /// A requested connection could not be opened.
    ConnectFailed { master: Address, error: ConnectError },
    /// A message arrived on a connection.
    Received {
        peer: PeerId,
        /// The message from a Master or an executor.
        #[kind(label)]
        message: Inbound,
    },
    /// The driver has received every message that had arrived on a connection when `HandleArrived` was performed.
    ArrivedHandled { peer: PeerId },
    /// A connection ended, for any reason.
    Disconnected { peer: PeerId },
    /// The application submits a task. Tasks come in the order of their numbers.
    Submit {
        task: TaskId,
        /// The task's command, needs and preferred hosts.
        request: TaskRequest,
    },
    /// No more tasks will be submitted. When all tasks have ended, the application is done.
    Finish {
        /// The result of the application's work, for the Master.
        outcome: Option<Outcome>,
    },
    /// Output was written. The executor may send more.
    OutputConsumed { attempt: AttemptId, bytes: u64 },
    /// Adds a resource profile for tasks that need other executors. The needs of its executors are then fixed, but the
    /// target can change.
    AddProfile { profile: ProfileId, needs: ResourceProfile, total: u64 },
    /// Sets the number of executors that are wanted for a profile. A lower number ends no executor.
    RequestExecutors { profile: ProfileId, total: u64 },
    /// Ends executors, including busy ones. The tasks on them run again elsewhere. This does not count as a failure.
    KillExecutors { executors: Vec<ExecutorId>, replacement: Replacement },
    /// The user cancels one task. This has no effect if the task has ended or was cancelled before.
    CancelTask { task: TaskId },
    /// The owner asks a question. Leads to `Answer`.
    Ask {
        /// The question's number, which the answer repeats.
        number: QuestionId,
        question: Question,
    },
    /// The cluster's manager has restarted the Master elsewhere. Answers of the old Master no longer count.
    MastersMoved { masters: Vec<Address> },
    /// The cluster's manager has ended the application, and no Master can report its end.
    Removed { end: ApplicationEnd },
    /// The user cancels all tasks and the application.
    Cancel {
        /// The result of the application's work, for the Master.
        outcome: Option<Outcome>,
        /// How long the driver stays after the application has ended.
        until: Until,
    },
    /// The time of the next deadline has come.
    Deadline,
}

/// Whether the Master replaces executors that the driver ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The executors are replaced: the target stays the same. Spark's `killAndReplaceExecutor`.
    Wanted,
    /// The executors are not replaced: the target falls by their number. Spark's `killExecutors`.
    Unwanted,
}

/// How long a driver stays after it has ended its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until the Master has received the end of the application.
    Notified,
    /// Until the executors have ended, or no Master is left to report the executors' ends.
    NothingLeft,
}

/// A message to the driver. The roles in the connection's first message decide which kind of message it may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    Master(MasterToDriver),
    Executor(ExecutorToDriver),
}

impl Inbound {
    fn label(&self) -> Label {
        match self {
            Self::Master(message) => message.label().from("Master"),
            Self::Executor(message) => message.label().from("Executor"),
        }
    }
}
