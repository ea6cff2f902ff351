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
        /// The error, in words for people.
        error: String,
    },
    /// A message came.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Inbound,
    },
    /// A connection ended, however.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// One more task to run. Tasks come in the order of their numbers.
    Submit {
        /// The task's number.
        task: TaskId,
        /// What to run, and where.
        request: TaskRequest,
    },
    /// No more tasks come: once all have ended, the application is done.
    InputEnded,
    /// The shell has put away so many bytes of output.
    OutputConsumed {
        /// The attempt's id.
        attempt: AttemptId,
        /// The number of bytes.
        bytes: u64,
    },
    /// A resource profile besides the default one, for tasks that need other executors. What it needs is fixed
    /// once it is known; its target can change.
    AddProfile {
        /// The number of its resource profile.
        profile: ProfileId,
        /// What its executors need.
        needs: ResourceProfile,
        /// How many of them there are to be in all.
        total: u64,
    },
    /// Sets how many executors of a profile there are to be in all. A lower number ends none.
    RequestExecutors {
        /// The number of its resource profile.
        profile: ProfileId,
        /// The number of executors wanted.
        total: u64,
    },
    /// Ends executors, busy ones too: their tasks run again elsewhere, and it is not their failure.
    KillExecutors {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// Whether others are to come in their place.
        replacement: Replacement,
    },
    /// The user gives up one task. Nothing if it has ended, or was given up before.
    CancelTask {
        /// The task's number.
        task: TaskId,
    },
    /// The shell wants to know something; `Answer` comes back.
    Ask {
        /// The question's number, which comes with the answer.
        number: QuestionId,
        /// The question that is asked.
        question: Question,
    },
    /// The Masters are others from now on: whoever manages the cluster has started the one anew, elsewhere. What it said
    /// before counts for nothing.
    MastersMoved {
        /// The addresses of the Masters.
        masters: Vec<Address>,
    },
    /// Whoever manages the cluster has ended the application, and no Master is left to say so.
    Removed {
        /// How the application ended.
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
