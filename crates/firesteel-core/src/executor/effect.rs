//! What an executor has its shell do.

use firesteel_placement::Resources;

use super::Note;
use crate::ids::AttemptId;
use crate::messages::{ExecutorToDriver, RefusedExecutor, TaskSpec};
use crate::process::Signal;

/// What an executor has its shell do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Dial the driver: `Connected` or `ConnectFailed` comes back.
    Connect,
    /// Send a message to the driver. Silently nothing if the connection has ended.
    Send(ExecutorToDriver),
    /// Start a task's process: `TaskStarted` or `TaskNotStarted` comes back, in between output, and in the end
    /// `TaskExited`.
    StartTask {
        /// The attempt's id.
        attempt: AttemptId,
        /// The command and its settings.
        spec: TaskSpec,
        /// The addresses that it may use.
        resources: Resources,
        /// How many bytes of its output may be read before more is allowed.
        allowed: u64,
    },
    /// So many more bytes of a task's output may be read.
    AllowOutput {
        /// The attempt's id.
        attempt: AttemptId,
        /// The number of bytes.
        bytes: u64,
    },
    /// Read a task's output to its end and throw it away: nobody wants it any more.
    DrainOutput {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// Signal a task's process group. Silently nothing if it has ended.
    SignalTask {
        /// The attempt's id.
        attempt: AttemptId,
        /// The signal to send.
        signal: Signal,
    },
    /// End the process.
    Exit(Exit),
    /// Something worth a line in the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// Why the process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The driver said so, or the Worker.
    Stopped,
    /// The driver is gone.
    DriverLost,
    /// The driver could not be reached.
    DriverUnreachable {
        /// The error, in words for people.
        error: String,
    },
    /// The driver did not take it.
    Refused(RefusedExecutor),
}
