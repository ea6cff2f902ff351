//! The events that an executor is told.

use bytes::Bytes;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::{AttemptId, PeerId};
use firesteel_protocol::messages::{DriverToExecutor, Stream};
use firesteel_protocol::process::{ExitStatus, NotStarted};

/// An event for an executor.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("executor event")]
pub enum Event {
    /// The process is ready. Comes once, first.
    Start,
    /// The connection to the driver is open.
    Connected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The driver could not be reached.
    ConnectFailed {
        /// What is wrong.
        trouble: ExecutorTrouble,
        /// The error, in words for people.
        error: String,
    },
    /// A message came from the driver.
    Received {
        /// The message itself.
        #[kind(label)]
        message: DriverToExecutor,
    },
    /// The connection to the driver ended.
    Disconnected,
    /// A task's process runs.
    TaskStarted {
        /// The attempt's id.
        attempt: AttemptId,
        /// The id of the process, which leads its own process group.
        pid: u32,
    },
    /// A task's process could not be started.
    TaskNotStarted {
        /// The attempt's id.
        attempt: AttemptId,
        /// Why the start failed, and whose fault that is.
        why: NotStarted,
    },
    /// A piece of a task's output was read, within what was allowed.
    TaskOutput {
        /// The attempt's id.
        attempt: AttemptId,
        /// Standard output or standard error.
        stream: Stream,
        /// The bytes, in order.
        bytes: Bytes,
    },
    /// A task's process ended, all of its output was read, and the rest of its process group was killed.
    TaskExited {
        /// The attempt's id.
        attempt: AttemptId,
        /// How the process ended.
        status: ExitStatus,
    },
    /// The process is asked to end (SIGTERM), or its Worker is gone.
    Shutdown,
    /// The next deadline has passed.
    Deadline,
}
