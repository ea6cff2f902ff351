//! What a driver has its shell do.

use std::fmt;

use bytes::Bytes;
use firesteel_placement::locality::Locality;

use super::{Answer, Note, QuestionId, Unfit};
use crate::address::Address;
use crate::ids::{AttemptId, ExecutorId, PeerId, TaskId};
use crate::messages::{ApplicationEnd, DriverToExecutor, DriverToMaster, ExecutorState, Stream, TaskEnd};
use crate::process::StartFailure;

/// What a driver has its shell do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Dial a Master: `Connected` or `ConnectFailed` comes back.
    Connect {
        /// The Master's address.
        master: Address,
    },
    /// Send a message. Silently nothing if the connection has ended.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// End a connection, after what was sent before. `Disconnected` comes back.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Put away a piece of an attempt's output; `OutputConsumed` comes back.
    Output {
        /// The attempt's id.
        attempt: AttemptId,
        /// Standard output or standard error.
        stream: Stream,
        /// The bytes, in order.
        bytes: Bytes,
    },
    /// An attempt is over and another one will be made: its output is worth nothing.
    DiscardOutput {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// A task is over for good. Comes once for each task that was submitted.
    TaskEnded {
        /// The task's number.
        task: TaskId,
        /// How the task ended.
        outcome: TaskOutcome,
    },
    /// The answer to a question. Comes once for each, unless the application ends first.
    Answer {
        /// The question's own number.
        number: QuestionId,
        /// What there is to say.
        answer: Answer,
    },
    /// The application is over; nothing but `NothingLeft` comes after it. Comes once.
    Done(Outcome),
    /// Nothing of the application is left, or nobody can say so any more. Comes where the Master's connection is kept
    /// after `Done`.
    NothingLeft,
    /// Something worth a line in the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// A message from the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// To a Master.
    Master(DriverToMaster),
    /// To an executor.
    Executor(DriverToExecutor),
}

/// How a task ended for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// It succeeded in this attempt, whose output counts.
    Succeeded {
        /// The attempt's id.
        attempt: AttemptId,
        /// The executor's number.
        executor: ExecutorId,
        /// How near that is to the hosts that it prefers, if it prefers any.
        locality: Option<Locality>,
    },
    /// It failed as often as it may. The last attempt's output counts.
    Failed {
        /// The attempt's id.
        attempt: AttemptId,
        /// The executor's number.
        executor: ExecutorId,
        /// How near that is to the hosts that it prefers, if it prefers any.
        locality: Option<Locality>,
        /// How often it failed in all.
        failures: u32,
        /// How the last attempt ended.
        cause: FailureCause,
    },
    /// It was given up, or the application ended first. Nothing of it runs on an executor that is connected.
    Cancelled,
    /// No executor could ever run it, or none can any more.
    Unfit(Unfit),
}

/// Why an attempt counts as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// The task itself ended so.
    Ended(TaskEnd),
    /// Its executor died under it, by its own fault or the task's.
    ExecutorDied(ExecutorState),
    /// It could not be started on any host that has executors: other attempts would fail alike.
    StartsNowhere {
        /// How it failed on the last of them.
        failure: StartFailure,
        /// How many hosts that was tried on.
        hosts: usize,
    },
}

/// `exit code 3`, `its executor died: EXITED (signal 9 (SIGKILL))`,
/// `cannot start the program: nonesuch: not found, on 3 hosts, and no other has executors`.
impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(end) => write!(f, "{end}"),
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
pub enum Outcome {
    /// Every task that was submitted ended, well or not.
    Completed,
    /// The user gave up.
    Cancelled,
    /// The Master ended it.
    Removed(ApplicationEnd),
    /// No Master took it in time.
    NoMaster {
        /// The last error of each Master that was dialled.
        errors: Vec<(Address, String)>,
    },
}
