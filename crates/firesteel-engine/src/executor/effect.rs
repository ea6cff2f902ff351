//! The effects of an executor, which its shell performs.

use std::time::Duration;

use firesteel_placement::Resources;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::messages::{ExecutorToDriver, RefusedExecutor, TaskSpec};
use firesteel_protocol::process::Signal;

use super::Note;

/// An effect of an executor, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("executor effect")]
pub enum Effect {
    /// Connect to the driver. Leads to `Connected` or `ConnectFailed`.
    Connect,
    /// Send a message to the driver. If the connection has ended, nothing happens.
    Send(ExecutorToDriver),
    /// Start a task's process. Leads to `TaskStarted` or `TaskNotStarted`, then to output, and in the end to
    /// `TaskExited`.
    StartTask {
        /// The attempt's id.
        attempt: AttemptId,
        /// The command and its settings.
        spec: TaskSpec,
        /// The addresses of custom resources that it may use.
        resources: Resources,
        /// The number of bytes of its output that may be read before more is allowed.
        allowed: u64,
    },
    /// Allow that many more bytes of a task's output to be read.
    AllowOutput {
        /// The attempt's id.
        attempt: AttemptId,
        /// The number of bytes.
        bytes: u64,
    },
    /// Read a task's output to its end and discard it.
    DrainOutput {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// Signal a task's process group. If it has ended, nothing happens.
    SignalTask {
        /// The attempt's id.
        attempt: AttemptId,
        /// The signal to send.
        signal: Signal,
    },
    /// End the executor's process.
    Exit(Exit),
    /// Write a line to the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// Why the executor's process ends.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("executor exit")]
pub enum Exit {
    /// The driver or the Worker told it to end.
    Stopped,
    /// The driver's connection ended after the driver had accepted the executor.
    DriverLost,
    /// Nothing arrived from the driver for this time, and the connection stayed open.
    DriverSilent {
        /// The length of the silence.
        patience: Duration,
    },
    /// The driver could not be reached.
    DriverUnreachable {
        /// What is wrong.
        trouble: ExecutorTrouble,
        /// The error, in words for people.
        error: String,
    },
    /// The driver refused it.
    Refused(RefusedExecutor),
    /// The driver's connection ended before the driver accepted the executor.
    DriverGone,
}

impl Exit {
    /// What went wrong before the driver accepted the executor. `None`: nothing did.
    #[must_use]
    pub fn trouble(&self) -> Option<ExecutorTrouble> {
        match self {
            Self::Stopped
            | Self::DriverLost
            | Self::DriverSilent { .. }
            | Self::Refused(RefusedExecutor::Stopping) => None,
            Self::DriverUnreachable { trouble, .. } => Some(*trouble),
            Self::DriverGone => Some(ExecutorTrouble::DriverGone),
            // A driver that knows nothing of the application has another secret.
            Self::Refused(RefusedExecutor::WrongSecret | RefusedExecutor::OtherApplication) => {
                Some(ExecutorTrouble::AnotherDriver)
            }
            Self::Refused(
                RefusedExecutor::NumberTaken
                | RefusedExecutor::TooManyAddresses
                | RefusedExecutor::Unannounced,
            ) => Some(ExecutorTrouble::Rejected),
        }
    }
}
