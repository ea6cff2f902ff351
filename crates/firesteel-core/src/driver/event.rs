//! What happens to a driver.

use super::{Question, QuestionId, TaskRequest};
use crate::address::Address;
use crate::ids::{AttemptId, ExecutorId, PeerId, ProfileId, TaskId};
use crate::messages::{ApplicationEnd, ExecutorToDriver, MasterToDriver, ResourceProfile};

/// What happens to a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The driver listens for executors. Comes once, first.
    Start,
    /// A connection that was asked for is open.
    Connected {
        /// Its number from now on.
        peer: PeerId,
        /// The Master that was dialled.
        master: Address,
    },
    /// A connection that was asked for could not be opened.
    ConnectFailed {
        /// The Master that was dialled.
        master: Address,
        /// Why.
        error: String,
    },
    /// A message came.
    Received {
        /// From this connection.
        peer: PeerId,
        /// The message.
        message: Inbound,
    },
    /// A connection ended, however.
    Disconnected {
        /// Which.
        peer: PeerId,
    },
    /// One more task to run. Tasks come in the order of their numbers.
    Submit {
        /// Its number.
        task: TaskId,
        /// What to run, and where.
        request: TaskRequest,
    },
    /// No more tasks come: once all have ended, the application is done.
    InputEnded,
    /// The shell has put away so many bytes of output.
    OutputConsumed {
        /// Of which attempt.
        attempt: AttemptId,
        /// How many.
        bytes: u64,
    },
    /// A resource profile besides the default one, for tasks that need other executors. What it needs is fixed
    /// once it is known; its target can change.
    AddProfile {
        /// Its number.
        profile: ProfileId,
        /// What its executors need.
        needs: ResourceProfile,
        /// How many of them there are to be in all.
        total: u64,
    },
    /// Sets how many executors of a profile there are to be in all. A lower number ends none.
    RequestExecutors {
        /// Which profile.
        profile: ProfileId,
        /// How many.
        total: u64,
    },
    /// Ends executors, busy ones too: their tasks run again elsewhere, and it is not their failure.
    KillExecutors {
        /// Which.
        executors: Vec<ExecutorId>,
        /// Whether others are to come in their place.
        replacement: Replacement,
    },
    /// The user gives up one task. Nothing if it has ended, or was given up before.
    CancelTask {
        /// Which.
        task: TaskId,
    },
    /// The shell wants to know something; `Answer` comes back.
    Ask {
        /// The question's number, which comes with the answer.
        number: QuestionId,
        /// What.
        question: Question,
    },
    /// The Masters are others from now on: whoever manages the cluster has started the one anew, elsewhere. What it said
    /// before counts for nothing.
    MastersMoved {
        /// Where they are.
        masters: Vec<Address>,
    },
    /// Whoever manages the cluster has ended the application, and no Master is left to say so.
    Removed {
        /// Why.
        end: ApplicationEnd,
    },
    /// The user gives up: end all tasks and the application.
    Cancel,
    /// The time of the next deadline has come.
    Deadline,
}

/// Whether others are to come in the place of executors that are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Others come: the target stays. Spark's `killAndReplaceExecutor`.
    Wanted,
    /// No others come: the target is lowered by so many. Spark's `killExecutors`.
    Unwanted,
}

/// A message to the driver. Which kind a connection may send was settled by its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// From a Master.
    Master(MasterToDriver),
    /// From an executor.
    Executor(ExecutorToDriver),
}
