//! The events of an executor.

use bytes::Bytes;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::{AttemptId, PeerId};
use firesteel_protocol::messages::{DriverToExecutor, Stream};
use firesteel_protocol::process::{ExitStatus, NotStarted};

/// An input of the executor from the process around it.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("executor event")]
pub enum Event {
    /// The process is ready. The first event, once.
    Start,
    Connected {
        peer: PeerId,
    },
    ConnectFailed {
        /// The kind of error, for the Worker.
        trouble: ExecutorTrouble,
        /// The error, as text for a human reader.
        error: String,
    },
    Received {
        #[kind(label)]
        message: DriverToExecutor,
    },
    /// The connection to the driver ended.
    Disconnected,
    TaskStarted {
        attempt: AttemptId,
        /// The id of the process, which is the leader of its own process group.
        pid: u32,
    },
    TaskNotStarted {
        attempt: AttemptId,
        /// Why the start failed, and whether the machine or the task is at fault.
        why: NotStarted,
    },
    /// A piece of a task's output was read, within the allowed number of bytes.
    TaskOutput {
        attempt: AttemptId,
        /// Standard output or standard error.
        stream: Stream,
        /// The bytes, in order.
        bytes: Bytes,
    },
    /// A task's process ended, all its output was read, and the other processes of its process group were killed.
    TaskExited {
        attempt: AttemptId,
        /// How the process ended.
        status: ExitStatus,
    },
    /// A SIGTERM told the executor to end, or the executor's Worker has ended.
    Shutdown,
    /// The time of the next deadline has come.
    Deadline,
}
