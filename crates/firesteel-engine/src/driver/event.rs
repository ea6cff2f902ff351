//! The events that a driver is told.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    ApplicationEnd, ExecutorToDriver, MasterToDriver, Outcome, ResourceProfile,
};

use super::{Question, QuestionId, TaskRequest};

/// An event for a driver.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("driver event")]
pub enum Event {
    /// The driver listens for executors. Comes once, first.
    Start,
    /// A requested connection is open.
    Connected {
        /// The number of the new connection.
        peer: PeerId,
        /// The address of the Master.
        master: Address,
        /// What it says of itself.
        leadership: Leadership,
    },
    /// A requested connection could not be opened.
    ConnectFailed {
        /// The address of the Master.
        master: Address,
        /// The error.
        error: ConnectError,
    },
    /// A message arrived on a connection.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        #[kind(label)]
        message: Inbound,
    },
    /// Everything that had arrived on a connection when `HandleArrived` came has been handled.
    ArrivedHandled {
        /// The connection's number.
        peer: PeerId,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The shell submits a task. Tasks come in the order of their numbers.
    Submit {
        /// The task's number.
        task: TaskId,
        /// The task, and where it may run.
        request: TaskRequest,
    },
    /// No more tasks will be submitted. When all have ended, the application is done.
    Finish {
        /// What the Master is told of the application's work.
        outcome: Option<Outcome>,
    },
    /// The shell has written output.
    OutputConsumed {
        /// The attempt's id.
        attempt: AttemptId,
        /// The number of bytes.
        bytes: u64,
    },
    /// Adds a resource profile for tasks that need other executors. What its executors need is fixed from
    /// then on; its target can change.
    AddProfile {
        /// The number of the resource profile.
        profile: ProfileId,
        /// What its executors need.
        needs: ResourceProfile,
        /// The number of its executors wanted.
        total: u64,
    },
    /// Sets the number of executors wanted of a profile. A lower number ends no executor.
    RequestExecutors {
        /// The number of the resource profile.
        profile: ProfileId,
        /// The number of executors wanted.
        total: u64,
    },
    /// Ends executors, including busy ones. Their tasks run again elsewhere, and this does not count as a
    /// failure.
    KillExecutors {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// Whether the executors are replaced.
        replacement: Replacement,
    },
    /// The user cancels one task. Has no effect if the task has ended or was cancelled before.
    CancelTask {
        /// The task's number.
        task: TaskId,
    },
    /// The shell asks a question. Leads to `Answer`.
    Ask {
        /// The question's number, which its answer repeats.
        number: QuestionId,
        /// The question that is asked.
        question: Question,
    },
    /// The cluster's manager has restarted the Master elsewhere. What the old one said no longer counts.
    MastersMoved {
        /// The addresses of the Masters.
        masters: Vec<Address>,
    },
    /// The cluster's manager has ended the application, and no Master is left to say so.
    Removed {
        /// How the application ended.
        end: ApplicationEnd,
    },
    /// The user cancels all tasks and the application.
    Cancel {
        /// What the Master is told of the application's work.
        outcome: Option<Outcome>,
        /// How long the driver stays after that.
        until: Until,
    },
    /// The next deadline has passed.
    Deadline,
}

/// Whether executors that are ended are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// They are replaced: the target stays. Spark's `killAndReplaceExecutor`.
    Wanted,
    /// They are not replaced: the target falls by their number. Spark's `killExecutors`.
    Unwanted,
}

/// How long a driver stays that ends its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until the Master is told.
    Told,
    /// Until the executors have ended, or no Master can tell any more.
    NothingLeft,
}

/// A message to the driver. The roles in the hello decide which kind a connection may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// A message from a Master.
    Master(MasterToDriver),
    /// A message from an executor.
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
