//! What happens to an executor.

use bytes::Bytes;

use crate::ids::{AttemptId, PeerId};
use crate::messages::{DriverToExecutor, Stream};
use crate::process::{ExitStatus, StartFailure};

/// What happens to an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The process is ready. Comes once, first.
    Start,
    /// The connection to the driver is open.
    Connected {
        /// Its number.
        peer: PeerId,
    },
    /// The driver could not be reached.
    ConnectFailed {
        /// Why.
        error: String,
    },
    /// A message came from the driver.
    Received {
        /// The message.
        message: DriverToExecutor,
    },
    /// The connection to the driver ended.
    Disconnected,
    /// A task's process runs.
    TaskStarted {
        /// Which attempt's.
        attempt: AttemptId,
        /// The process, which leads a process group of its own.
        pid: u32,
    },
    /// A task's process could not be started.
    TaskNotStarted {
        /// Which attempt's.
        attempt: AttemptId,
        /// Why.
        failure: StartFailure,
    },
    /// A piece of a task's output was read, within what was allowed.
    TaskOutput {
        /// Which attempt's.
        attempt: AttemptId,
        /// From which stream.
        stream: Stream,
        /// The bytes.
        bytes: Bytes,
    },
    /// A task's process ended, all of its output was read, and what it left in its process group was killed.
    TaskExited {
        /// Which attempt's.
        attempt: AttemptId,
        /// How.
        status: ExitStatus,
    },
    /// The process is asked to end (SIGTERM), or its Worker is gone.
    Shutdown,
    /// The time of the next deadline has come.
    Deadline,
}
