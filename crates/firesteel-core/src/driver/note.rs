//! What a driver remarks.

use std::fmt;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Shortfall};

use super::{ExclusionCause, FailureCause, Replacement};
use crate::address::Address;
use crate::applicant::Patience;
use crate::ids::{AppId, AttemptId, ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use crate::machine::NoteLevel;
use crate::messages::{ExecutorState, LossReason, MOST_PROFILES, RefusedExecutor, UnsoundProfile};

/// A remark for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A Master could not be reached; it will be tried again.
    MasterUnreachable {
        /// The Master's address.
        master: Address,
        /// The error, in words for people.
        error: String,
        /// How long it is tried.
        patience: Patience,
    },
    /// A Master took the application.
    Registered {
        /// The application's id there.
        app: AppId,
        /// The Master's address.
        master: Address,
    },
    /// The Master's connection ended. Tasks go on; it is dialled again.
    MasterLost {
        /// The Master's address.
        master: Address,
    },
    /// The Master assigned an executor.
    ExecutorAdded {
        /// The executor's number.
        executor: ExecutorId,
        /// The Worker that will run it.
        worker: WorkerId,
        /// The host's name.
        host: String,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
    },
    /// An executor is ready for tasks.
    ExecutorRegistered {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// The number of cores.
        cores: Cores,
    },
    /// An executor was turned away.
    ExecutorRefused {
        /// The executor's number.
        executor: ExecutorId,
        /// Why it is refused.
        reason: RefusedExecutor,
    },
    /// An executor's process runs, and it has not come to register. It is ended, and another one asked for.
    ExecutorAbsent {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// An executor is given up.
    ExecutorLost {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// Why the executor is lost.
        loss: ExecutorLoss,
        /// How many tasks ran on it.
        tasks: usize,
    },
    /// So many executors of a profile are wanted in all from now on.
    TargetSet {
        /// The number of its resource profile.
        profile: ProfileId,
        /// The number of executors wanted.
        total: u64,
    },
    /// Dynamic allocation decides how many executors there are; the wish for so many is ignored.
    TargetIsDynamic {
        /// How many were wished for.
        total: u64,
    },
    /// These executors had nothing to do for so long, and are to end.
    IdleExecutorsKilled {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// How long, at least.
        idle: Duration,
    },
    /// These executors are to end, as was asked.
    ExecutorsKilled {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// Whether others come in their place.
        replacement: Replacement,
    },
    /// There are no such executors, or they are to end already.
    KillUnknown {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
    },
    /// There is no such profile.
    ProfileUnknown {
        /// The number of its resource profile.
        profile: ProfileId,
    },
    /// No executor can be as that profile says, or the profile is another one already. It is ignored.
    ProfileRefused {
        /// The number of its resource profile.
        profile: ProfileId,
        /// Why it is refused.
        reason: RefusedProfile,
    },
    /// The Master did not do what it was asked: it knows the application not, or not as this driver's.
    RequestRefused {
        /// What it was asked.
        request: Request,
    },
    /// A Worker is gone.
    WorkerRemoved {
        /// The Worker's id.
        worker: WorkerId,
        /// The host's name.
        host: String,
        /// Why it is lost.
        reason: LossReason,
    },
    /// An attempt at a task failed.
    TaskFailed {
        /// The attempt's id.
        attempt: AttemptId,
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// Why the attempt failed.
        cause: FailureCause,
        /// How often the task has failed now.
        failures: u32,
        /// How often it may.
        limit: u32,
    },
    /// An executor or a host gets no more tasks for a while.
    Excluded {
        /// What is excluded, and why.
        cause: ExclusionCause,
        /// How long the exclusion lasts.
        timeout: Duration,
    },
    /// An excluded executor gets tasks again.
    Readmitted {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// Why it is readmitted.
        why: Readmission,
    },
    /// Excluded hosts may have executors again, because there is no executor at all.
    HostsReadmitted {
        /// The names of the hosts.
        hosts: Vec<String>,
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
    /// No Worker is large enough for an executor, or all together are not for those that it begins with. The
    /// application waits for others.
    NeverFits {
        /// Executors of this profile.
        profile: ProfileId,
        /// The Master's numbers.
        shortfall: Shortfall,
    },
    /// There are tasks, and no executor has come for so long.
    NoExecutor {
        /// How long it was waited for.
        waited: Duration,
        /// Whether a Master has the application.
        master: MasterStanding,
    },
    /// An executor sent more output than it had credit for. It is given up.
    CreditExceeded {
        /// The executor's number.
        executor: ExecutorId,
        /// The attempt's id.
        attempt: AttemptId,
        /// How many bytes it sent.
        sent: u64,
        /// How many it might have.
        granted: u64,
    },
    /// A connection brought a message that it may not bring now. The message is ignored and the connection
    /// closed.
    UnexpectedMessage {
        /// The connection's number.
        peer: PeerId,
    },
    /// The shell submitted a task out of order, or after the last one. It is ignored.
    UnexpectedTask {
        /// The task's number.
        task: TaskId,
    },
}

/// Why a profile is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedProfile {
    /// No executor can be like this.
    Unsound(UnsoundProfile),
    /// The number has another profile.
    Taken,
    /// There are as many as there may be.
    TooMany,
}

impl fmt::Display for RefusedProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsound(error) => write!(f, "{error}"),
            Self::Taken => f.write_str("its number has another profile"),
            Self::TooMany => write!(f, "an application has at most {MOST_PROFILES} profiles"),
        }
    }
}

/// What a driver asks of its Master about executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Other targets.
    Targets,
    /// The end of some.
    Kill,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Targets => "to change the number of executors",
            Self::Kill => "to end executors",
        })
    }
}

/// Why an excluded executor gets tasks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readmission {
    /// Its exclusion is over.
    TimeIsUp,
    /// There is no other executor.
    NoOtherLeft,
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
            Self::Ended(ExecutorState::Lost(reason)) => write!(f, "{reason}"),
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
        /// The Master's address.
        master: Address,
        /// What it says is missing, by profile; nothing if every executor that was asked for is assigned.
        shortfalls: Vec<(ProfileId, Shortfall)>,
        /// Profiles of which no executor is wanted, and tasks wait for one.
        unwanted: Vec<ProfileId>,
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
            | Self::TargetSet { .. }
            | Self::ExecutorsKilled { .. }
            | Self::IdleExecutorsKilled { .. }
            | Self::ExecutorLost { loss: ExecutorLoss::Ended(ExecutorState::Killed(_)), tasks: 0, .. } => {
                NoteLevel::Info
            }
            Self::MasterUnreachable { .. }
            | Self::MasterLost { .. }
            | Self::ExecutorRefused { .. }
            | Self::ExecutorAbsent { .. }
            | Self::ExecutorLost { .. }
            | Self::KillUnknown { .. }
            | Self::TargetIsDynamic { .. }
            | Self::ProfileUnknown { .. }
            | Self::ProfileRefused { .. }
            | Self::RequestRefused { .. }
            | Self::WorkerRemoved { .. }
            | Self::TaskFailed { .. }
            | Self::Excluded { .. }
            | Self::Readmitted { .. }
            | Self::HostsReadmitted { .. }
            | Self::TaskTooLarge { .. }
            | Self::NeverFits { .. }
            | Self::NoExecutor { .. }
            | Self::CreditExceeded { .. }
            | Self::UnexpectedMessage { .. }
            | Self::UnexpectedTask { .. } => NoteLevel::Warn,
        }
    }
}
