//! What a driver remarks.

use std::fmt;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Shortfall};

use super::FailureCause;
use crate::address::Address;
use crate::ids::{AppId, AttemptId, ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use crate::machine::NoteLevel;
use crate::messages::{ExecutorState, LossReason, RefusedExecutor};

/// A remark for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A Master could not be reached; it will be tried again.
    MasterUnreachable {
        /// Which.
        master: Address,
        /// Why.
        error: String,
    },
    /// A Master took the application.
    Registered {
        /// The application's id there.
        app: AppId,
        /// Which Master.
        master: Address,
    },
    /// The Master's connection ended. Tasks go on; it is dialled again.
    MasterLost {
        /// Which.
        master: Address,
    },
    /// The Master assigned an executor.
    ExecutorAdded {
        /// Its number.
        executor: ExecutorId,
        /// The Worker that will run it.
        worker: WorkerId,
        /// That Worker's host.
        host: String,
        /// Its cores.
        cores: Cores,
        /// Its memory.
        memory: MiB,
    },
    /// An executor is ready for tasks.
    ExecutorRegistered {
        /// Its number.
        executor: ExecutorId,
        /// Its host.
        host: String,
        /// Its cores.
        cores: Cores,
    },
    /// An executor was turned away.
    ExecutorRefused {
        /// Its number.
        executor: ExecutorId,
        /// Why.
        reason: RefusedExecutor,
    },
    /// An executor is given up.
    ExecutorLost {
        /// Its number.
        executor: ExecutorId,
        /// Its host.
        host: String,
        /// Why.
        loss: ExecutorLoss,
        /// How many tasks ran on it.
        tasks: usize,
    },
    /// A Worker is gone.
    WorkerRemoved {
        /// Which.
        worker: WorkerId,
        /// Its host.
        host: String,
        /// Why.
        reason: LossReason,
    },
    /// An attempt at a task failed.
    TaskFailed {
        /// Which attempt.
        attempt: AttemptId,
        /// On which executor.
        executor: ExecutorId,
        /// That executor's host.
        host: String,
        /// Why.
        cause: FailureCause,
        /// How often the task has failed now.
        failures: u32,
        /// How often it may.
        limit: u32,
    },
    /// A task takes more cores than any executor has. It waits for a larger one.
    TaskTooLarge {
        /// The first such task.
        task: TaskId,
        /// The cores that it takes.
        cores: Cores,
        /// The cores of the largest executor.
        largest: Cores,
    },
    /// No Worker is large enough for an executor. The application waits for one that is.
    NeverFits {
        /// Executors of this profile.
        profile: ProfileId,
        /// The Master's numbers.
        shortfall: Shortfall,
    },
    /// There are tasks, and no executor has come for so long.
    NoExecutor {
        /// How long.
        waited: Duration,
        /// Whether a Master has the application.
        master: MasterStanding,
    },
    /// An executor sent more output than it had credit for. It is given up.
    CreditExceeded {
        /// Which executor.
        executor: ExecutorId,
        /// Of which attempt.
        attempt: AttemptId,
        /// How many bytes it sent.
        sent: u64,
        /// How many it might have.
        granted: u64,
    },
    /// A connection brought a message that it may not bring now. The message is ignored and the connection
    /// closed.
    UnexpectedMessage {
        /// Which connection.
        peer: PeerId,
    },
    /// The shell submitted a task out of order, or after the last one. It is ignored.
    UnexpectedTask {
        /// Which.
        task: TaskId,
    },
}

/// Why an executor is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutorLoss {
    /// The Master says how it ended.
    Ended(ExecutorState),
    /// Its connection ended, and the Master had nothing to say.
    Disconnected,
    /// The application was registered anew, and the Master ends the executors of the old one.
    ApplicationReplaced,
    /// It did not keep to the protocol.
    Misbehaved,
}

impl fmt::Display for ExecutorLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(state) => write!(f, "{state}"),
            Self::Disconnected => f.write_str("its connection ended"),
            Self::ApplicationReplaced => f.write_str("the application was registered anew"),
            Self::Misbehaved => f.write_str("it did not keep to the protocol"),
        }
    }
}

/// Whether a Master has the application at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterStanding {
    /// One has.
    Registered {
        /// Which.
        master: Address,
        /// What it says is missing, by profile; nothing if every executor that was asked for is assigned.
        shortfalls: Vec<(ProfileId, Shortfall)>,
    },
    /// None has.
    Lost,
}

impl Note {
    /// How loud the remark is.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::Registered { .. }
            | Self::ExecutorAdded { .. }
            | Self::ExecutorRegistered { .. }
            | Self::ExecutorLost { loss: ExecutorLoss::Ended(ExecutorState::Killed(_)), tasks: 0, .. } => {
                NoteLevel::Info
            }
            Self::MasterUnreachable { .. }
            | Self::MasterLost { .. }
            | Self::ExecutorRefused { .. }
            | Self::ExecutorLost { .. }
            | Self::WorkerRemoved { .. }
            | Self::TaskFailed { .. }
            | Self::TaskTooLarge { .. }
            | Self::NeverFits { .. }
            | Self::NoExecutor { .. }
            | Self::CreditExceeded { .. }
            | Self::UnexpectedMessage { .. }
            | Self::UnexpectedTask { .. } => NoteLevel::Warn,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MasterUnreachable { master, error } => {
                write!(f, "{} is not reached yet and tried again: {error}", master.url())
            }
            Self::Registered { app, master } => write!(f, "registered with {} as {app}", master.url()),
            Self::MasterLost { master } => {
                write!(f, "the connection to {} ended: tasks go on, and it is dialled again", master.url())
            }
            Self::ExecutorAdded { executor, worker, host, cores, memory } => {
                write!(f, "executor {executor} is assigned to {worker} on {host}: {cores} cores, {memory}")
            }
            Self::ExecutorRegistered { executor, host, cores } => {
                write!(f, "executor {executor} on {host} is ready: {cores} cores")
            }
            Self::ExecutorRefused { executor, reason } => {
                write!(f, "executor {executor} is refused: {reason}")
            }
            Self::ExecutorLost { executor, host, loss, tasks } => {
                write!(f, "executor {executor} on {host} is lost: {loss}; tasks that ran there: {tasks}")
            }
            Self::WorkerRemoved { worker, host, reason } => {
                write!(f, "{worker} on {host} is gone: {reason}")
            }
            Self::TaskFailed { attempt, executor, host, cause, failures, limit } => {
                write!(
                    f,
                    "task {attempt} failed on executor {executor} on {host}: {cause} ({failures} of {limit} failures)"
                )
            }
            Self::TaskTooLarge { task, cores, largest } => write!(
                f,
                "task {task} takes {cores} cores, and the largest executor has {largest}: it waits for a larger one"
            ),
            Self::NeverFits { profile: _, shortfall } => {
                write!(f, "{shortfall}; the application waits for a larger Worker")
            }
            Self::NoExecutor { waited, master: MasterStanding::Registered { master: _, shortfalls } } => {
                write!(f, "no executor has come for {} s: ", waited.as_secs())?;
                let Some((first, others)) = shortfalls.split_first() else {
                    return f.write_str("those assigned have not registered yet");
                };
                write!(f, "{}", first.1)?;
                others
                    .iter()
                    .try_for_each(|(profile, shortfall)| write!(f, "; profile {profile}: {shortfall}"))
            }
            Self::NoExecutor { waited, master: MasterStanding::Lost } => {
                write!(f, "no executor has come for {} s, and no Master is connected", waited.as_secs())
            }
            Self::CreditExceeded { executor, attempt, sent, granted } => write!(
                f,
                "executor {executor} sent {sent} bytes of task {attempt}'s output and might send {granted}: it is given up"
            ),
            Self::UnexpectedMessage { peer } => {
                write!(f, "connection {peer} sent a message that it may not send now: it is closed")
            }
            Self::UnexpectedTask { task } => write!(f, "task {task} came out of order: it is ignored"),
        }
    }
}
