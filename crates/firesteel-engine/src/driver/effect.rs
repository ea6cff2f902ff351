//! The effects of a driver, which its shell performs.

use std::fmt;

use bytes::Bytes;
use firesteel_placement::advanced::locality::Locality;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId, TaskId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{
    ApplicationEnd, DriverToExecutor, DriverToMaster, ExecutorState, Stream, TaskEnd,
};
use firesteel_protocol::process::{ExitStatus, StartFailure};

use super::{Answer, Note, QuestionId, Unfit};

/// An effect of a driver, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect {
        /// The Master's address.
        master: Address,
    },
    /// Send a message. If the connection has ended, nothing happens.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// Say when everything that has arrived on a connection is handled. Leads to `ArrivedHandled`, or to nothing if the
    /// connection has ended.
    HandleArrived {
        /// The connection's number.
        peer: PeerId,
    },
    /// Close a connection, after sending what was sent before. Leads to `Disconnected`.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Write a piece of an attempt's output. Leads to `OutputConsumed`.
    Output {
        /// The attempt's id.
        attempt: AttemptId,
        /// Standard output or standard error.
        stream: Stream,
        /// The bytes, in order.
        bytes: Bytes,
    },
    /// Discard the output of an attempt, since another attempt will be made.
    DiscardOutput {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// A task has ended for good. Comes once for each submitted task.
    TaskEnded {
        /// The task's number.
        task: TaskId,
        /// How the task ended.
        outcome: TaskOutcome,
    },
    /// Answer a question. Comes once for each question, unless the application ends first.
    Answer {
        /// The question's own number.
        number: QuestionId,
        /// The answer to the question.
        answer: Answer,
    },
    /// The application has ended. Comes once, and only `Exit` comes after it.
    Done(Ending),
    /// The driver ends once everything is sent. Comes once, last: right after `Done`, or, if the driver was told to stay,
    /// when the executors have ended or no Master can tell any more.
    Exit,
    /// Write a line to the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// A message from the driver to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// A message to a Master.
    Master(DriverToMaster),
    /// A message to an executor.
    Executor(DriverToExecutor),
}

/// How a task ended for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// The task succeeded in this attempt, whose output counts.
    Succeeded {
        /// The attempt's id.
        attempt: AttemptId,
        /// The executor's number.
        executor: ExecutorId,
        /// How near the executor is to the preferred hosts, if the task has any.
        locality: Option<Locality>,
    },
    /// The task reached its limit of failures. The last attempt's output counts.
    Failed {
        /// The attempt's id.
        attempt: AttemptId,
        /// The executor's number.
        executor: ExecutorId,
        /// How near the executor is to the preferred hosts, if the task has any.
        locality: Option<Locality>,
        /// The number of attempts that failed.
        failures: u32,
        /// How the last attempt ended.
        cause: FailureCause,
    },
    /// The task was cancelled, or the application ended first. It runs on no connected executor any more.
    Cancelled,
    /// No executor can ever run the task.
    Unfit(Unfit),
}

/// Why an attempt counts as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// The attempt itself ended this way.
    Ended(TaskEnd),
    /// The task returned an exit code after which it is not retried, and could have been.
    FatalExit(ExitStatus),
    /// The executor died while the attempt ran, by its own fault or the task's.
    ExecutorDied(ExecutorState),
    /// The task could not be started on any host with executors, so other attempts would fail, too.
    StartsNowhere {
        /// How the start failed on the last host.
        failure: StartFailure,
        /// The number of hosts on which it was tried.
        hosts: usize,
    },
}

/// Written as `exit code 3`, `exit code 124, which is not retried`, `its executor died: EXITED (signal 9 (SIGKILL))`, or
/// `cannot start the program: nonesuch: not found, on 3 hosts, and no other has executors`.
impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(end) => write!(f, "{end}"),
            Self::FatalExit(status) => write!(f, "{status}, which is not retried"),
            Self::ExecutorDied(state) => write!(f, "its executor died: {state}"),
            Self::StartsNowhere { failure, hosts: 1 } => write!(f, "{failure}"),
            Self::StartsNowhere { failure, hosts } => {
                write!(f, "{failure}, on {hosts} hosts, and no other has executors")
            }
        }
    }
}

/// How an application ended, as its driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every submitted task has ended, successfully or not.
    Completed,
    /// The user cancelled the application.
    Cancelled,
    /// The Master ended the application.
    Removed(ApplicationEnd),
    /// No Master registered the application in time.
    NoMaster {
        /// The last error of each Master.
        errors: Vec<(Address, ConnectError)>,
    },
}

firesteel_protocol::kinds!("driver effect", Effect: Connect Send HandleArrived Close Output DiscardOutput TaskEnded Answer Done
    Exit Note);
firesteel_protocol::kinds!("task outcome", TaskOutcome: Succeeded Failed Cancelled Unfit);
firesteel_protocol::kinds!("application ending", Ending: Completed Cancelled Removed NoMaster);
