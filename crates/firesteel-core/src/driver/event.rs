//! What happens to a driver.

use super::TaskRequest;
use crate::address::Address;
use crate::ids::{AttemptId, PeerId, TaskId};
use crate::messages::{ExecutorToDriver, MasterToDriver};

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
    /// The user gives up: end all tasks and the application.
    Cancel,
    /// The time of the next deadline has come.
    Deadline,
}

/// A message to the driver. Which kind a connection may send was settled by its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// From a Master.
    Master(MasterToDriver),
    /// From an executor.
    Executor(ExecutorToDriver),
}
