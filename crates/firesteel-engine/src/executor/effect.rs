//! The effects of an executor.

use std::time::Duration;

use firesteel_placement::Resources;
use firesteel_protocol::exchange::ResumeError;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::messages::{ExecutorToDriver, RefusedExecutor, TaskSpec};
use firesteel_protocol::process::Signal;

use super::Note;

/// An action that the process around the executor's state machine performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("executor effect")]
pub enum Effect {
    /// Connect to the driver. Leads to `Connected` or `ConnectFailed`. An earlier connection has ended.
    Connect,
    /// Close the connection to the driver. Leads to `Disconnected`.
    HangUp,
    /// Send a message to the driver. If the connection has ended, nothing happens.
    Send(ExecutorToDriver),
    /// Start a task's process. Leads to `TaskStarted` or `TaskNotStarted`, then to `TaskOutput`, and at the end to
    /// `TaskExited`.
    StartTask {
        attempt: AttemptId,
        /// The command of the task, with its settings.
        spec: TaskSpec,
        /// The addresses of custom resources that the task may use.
        resources: Resources,
        /// How many bytes of the task's output may be read before `AllowOutput`.
        allowed: u64,
    },
    /// Allow the given number of further bytes of a task's output to be read.
    AllowOutput {
        attempt: AttemptId,
        bytes: u64,
    },
    /// Read a task's output to its end and discard it.
    DrainOutput {
        attempt: AttemptId,
    },
    /// Signal a task's process group. If the process has ended, nothing happens.
    SignalTask {
        attempt: AttemptId,
        signal: Signal,
    },
    Exit(Exit),
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
    /// The driver or the Worker told the executor to end.
    Stopped,
    /// The driver's connection ended after the driver had accepted the executor. The driver has ended, or could not be
    /// reached in time.
    DriverLost,
    /// The executor came back after its connection broke, and the driver no longer wants it.
    GivenUp(RefusedExecutor),
    /// The executor came back after its connection broke, and cannot go on with this driver.
    Estranged(ResumeError),
    /// The driver was silent for this time, although the connection stayed open, and no executor may return to it.
    DriverSilent {
        /// The length of the silence.
        patience: Duration,
    },
    DriverUnreachable {
        /// The kind of error, for the Worker.
        trouble: ExecutorTrouble,
        /// The error, as text for a human reader.
        error: String,
    },
    Refused(RefusedExecutor),
    /// The driver's connection ended before the driver accepted the executor.
    DriverGone,
}

impl Exit {
    /// The error before the driver accepted the executor. `None` if there was no error.
    #[must_use]
    pub fn trouble(&self) -> Option<ExecutorTrouble> {
        match self {
            Self::Stopped
            | Self::DriverLost
            | Self::GivenUp(_)
            | Self::Estranged(_)
            | Self::DriverSilent { .. }
            | Self::Refused(RefusedExecutor::Stopping) => None,
            Self::DriverUnreachable { trouble, .. } => Some(*trouble),
            Self::DriverGone => Some(ExecutorTrouble::DriverGone),
            // A driver that does not know the application has another secret.
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
