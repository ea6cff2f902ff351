//! The states of an executor, as Master, Worker and driver report them to each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::AppId;
use crate::process::{ExitStatus, StartFailure};

/// The states of an executor.
///
/// ```text
///              process started         process ended by itself
///  LAUNCHING ------------------> RUNNING ------------------------> EXITED
///      |                          |  |
///      | could not be started     |  | asked to end, and did
///      v                          |  v
///   FAILED                        |  KILLED
///                                 v
///                                LOST   (its Worker is gone, or it was preempted; from LAUNCHING too)
/// ```
///
/// Source: Spark Master and Worker, 4.0.1. Spark shows an end by signal n as exit code 128 + n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum ExecutorState {
    /// The executor is assigned to a Worker, but its process has not started.
    Launching,
    Running,
    /// The executor was ended on request. Contains the exit status if the process had started.
    Killed(Option<ExitStatus>),
    Failed(StartFailure),
    /// It is unknown how the executor ended: its Worker is lost, or the Master took the executor back for another
    /// application.
    Lost(LossReason),
    Exited(ExitStatus),
}

impl ExecutorState {
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Launching | Self::Running => false,
            Self::Killed(_) | Self::Failed(_) | Self::Lost(_) | Self::Exited(_) => true,
        }
    }

    /// How the executor's process ended, if it ran and that is known.
    #[must_use]
    pub fn exit_status(&self) -> Option<ExitStatus> {
        match self {
            Self::Exited(status) => Some(*status),
            Self::Killed(status) => *status,
            Self::Launching | Self::Running | Self::Failed(_) | Self::Lost(_) => None,
        }
    }

    /// The state's name in Spark, as tables show it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Launching => "LAUNCHING",
            Self::Running => "RUNNING",
            Self::Killed(_) => "KILLED",
            Self::Failed(_) => "FAILED",
            Self::Lost(_) => "LOST",
            Self::Exited(_) => "EXITED",
        }
    }
}

/// Formats a state as `EXITED (exit code 1)`.
impl fmt::Display for ExecutorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Launching | Self::Running | Self::Killed(None) => Ok(()),
            Self::Killed(Some(status)) | Self::Exited(status) => write!(f, " ({status})"),
            Self::Failed(failure) => write!(f, " ({failure})"),
            Self::Lost(reason) => write!(f, " ({reason})"),
        }
    }
}

/// Why an executor is lost, or a Worker and its executors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum LossReason {
    #[display("the Worker's connection ended")]
    Disconnected,
    /// The Master received nothing from the Worker for too long.
    #[display("no heartbeat from the Worker for {seconds} s")]
    HeartbeatTimeout {
        /// The timeout in seconds, as set by `spark.worker.timeout`.
        seconds: u64,
    },
    /// The Worker returned on a new connection and does not know the executor. The order to launch the executor was
    /// lost with the old connection.
    #[display("the request to launch it was lost with the Worker's old connection")]
    LaunchLost,
    /// The Master took the executor back for another application. This is not a failure, and the executor is replaced
    /// when there are free resources.
    #[display("preempted by {by}")]
    Preempted { by: AppId },
    /// The cluster manager ended the executor's container, for reasons outside of the executor.
    #[display("{why}")]
    Container { why: String },
    /// The executor was ended because it used more than its Worker or its container allows.
    #[display("{why}")]
    OverLimit {
        /// What the executor used, and what it may use.
        why: String,
    },
    #[display("the Worker did not answer the request to launch it")]
    Unanswered,
    /// The executor could not be started, and its Worker reports that it cannot start any executor.
    #[display("the Worker can start no executors: {why}")]
    CannotStart { why: String },
    /// The Master was restarted, and the Worker did not return in time.
    #[display("the Worker did not return after the Master was restarted")]
    NotBack,
}
