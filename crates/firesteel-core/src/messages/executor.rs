//! The life of an executor, as Master, Worker and driver speak of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::AppId;
use crate::process::{ExitStatus, StartFailure};

/// Where an executor stands.
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
/// Source: Spark Master and Worker, 4.0.1. There a signal shows as code 128 + n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorState {
    /// Assigned to a Worker, not yet a process.
    Launching,
    /// Its process runs.
    Running,
    /// Its process was ended on request; how, if it was one already.
    Killed(Option<ExitStatus>),
    /// It never became a process.
    Failed(StartFailure),
    /// Its Worker is gone, so nobody knows; or the Master took it back for another application.
    Lost(LossReason),
    /// Its process ended by itself.
    Exited(ExitStatus),
}

impl ExecutorState {
    /// Whether this is an end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Launching | Self::Running => false,
            Self::Killed(_) | Self::Failed(_) | Self::Lost(_) | Self::Exited(_) => true,
        }
    }

    /// How the process ended, where there was one and it is known.
    #[must_use]
    pub fn exit_status(&self) -> Option<ExitStatus> {
        match self {
            Self::Exited(status) => Some(*status),
            Self::Killed(status) => *status,
            Self::Launching | Self::Running | Self::Failed(_) | Self::Lost(_) => None,
        }
    }

    /// The state's name in Spark, for tables.
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

/// `EXITED (exit code 1)`.
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

/// Why a Worker, and with it an executor, is taken for lost, or an executor was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LossReason {
    /// The Worker's connection ended.
    Disconnected,
    /// Nothing was heard from the Worker for that many seconds.
    HeartbeatTimeout {
        /// The Master's `spark.worker.timeout`.
        seconds: u64,
    },
    /// The Worker came back on a new connection and does not know the executor: the order to launch it was
    /// lost with the old connection.
    LaunchLost,
    /// The Master took it back for an application of higher priority. It did not fail, and is replaced when there is
    /// room.
    Preempted {
        /// The application that gets the room.
        by: AppId,
    },
    /// Whoever manages the cluster took its container, for reasons that are not the executor's.
    Container {
        /// The reason, in words for people.
        why: String,
    },
    /// It was ended because it used more memory than its container has.
    OverMemory {
        /// What is known of that, for people.
        why: String,
    },
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => f.write_str("the Worker's connection ended"),
            Self::HeartbeatTimeout { seconds } => write!(f, "no heartbeat from the Worker for {seconds} s"),
            Self::LaunchLost => {
                f.write_str("the order to launch it was lost with the Worker's old connection")
            }
            Self::Preempted { by } => write!(f, "preempted by {by}"),
            Self::Container { why } | Self::OverMemory { why } => f.write_str(why),
        }
    }
}
