//! The notes of a driver, each a line of the log.

mod wording;

use std::fmt;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::machine::NoteLevel;
use firesteel_protocol::master_search::leadership::Dispute;
use firesteel_protocol::messages::{
    ExecutorState, LossReason, MOST_PROFILES, RefusedExecutor, UnsoundProfile,
};
use firesteel_protocol::process::StartFailure;

use super::{ExclusionCause, FailureCause, Replacement};
use crate::applicant::Patience;

/// A note for the log.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("driver note")]
pub enum Note {
    /// A Master could not be reached. The driver will try again.
    MasterUnreachable {
        /// The Master's address.
        master: Address,
        /// The error, in words for people.
        error: String,
        /// How long the driver will keep trying.
        patience: Patience,
    },
    /// A Master registered the application.
    Registered {
        /// The application's id there.
        app: AppId,
        /// The Master's address.
        master: Address,
    },
    /// The Master's connection ended. Tasks keep running, and the driver reconnects.
    MasterLost {
        /// The Master's address.
        master: Address,
    },
    /// Two Masters say that they lead.
    Dispute(Dispute),
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
    /// An executor has registered and is ready for tasks.
    ExecutorRegistered {
        /// The executor's number.
        executor: ExecutorId,
        /// The executor's resource profile.
        profile: ProfileId,
        /// The host's name.
        host: String,
        /// The number of cores.
        cores: Cores,
    },
    /// The driver refused an executor.
    ExecutorRefused {
        /// The executor's number.
        executor: ExecutorId,
        /// Why it is refused.
        reason: RefusedExecutor,
    },
    /// An executor with a running process did not register in time. It is ended, and another one asked for.
    ExecutorAbsent {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// How long the driver waited for it.
        waited: Duration,
    },
    /// An executor is lost, and its tasks run again.
    ExecutorLost {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// Why the executor is lost.
        loss: ExecutorLoss,
        /// The number of tasks that ran on it until then, with those that it ended because it was ending itself.
        tasks: usize,
    },
    /// An executor gave a task back, since its machine is short of something: it takes no more than it runs, until one ends.
    /// Noted once, until it has run as many as it has cores for.
    ExecutorShort {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// What the machine is short of.
        failure: StartFailure,
        /// The number of tasks that run on the executor.
        running: usize,
    },
    /// Executors were silent for too long, and so was the driver: it looked for signs of life later than it should have.
    ExecutorsExcused {
        /// The number of executors that get their time again.
        executors: usize,
        /// By how much the driver was late.
        late: Duration,
    },
    /// The number of executors wanted of a profile has changed.
    TargetSet {
        /// The number of the resource profile.
        profile: ProfileId,
        /// The number of executors wanted.
        total: u64,
    },
    /// A requested number of executors is ignored, since dynamic allocation decides it.
    TargetIsDynamic {
        /// The number that was requested.
        total: u64,
    },
    /// Executors that were idle for too long are ended.
    IdleExecutorsKilled {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// How long they were idle, at least.
        idle: Duration,
    },
    /// Executors without a task are given back, and the targets lowered for the time being: tasks of another profile wait, and
    /// there is no room for an executor of that.
    IdleExecutorsGivenBack {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// The profile that needs the room.
        to: ProfileId,
    },
    /// Executors are ended as requested.
    ExecutorsKilled {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
        /// Whether they are replaced.
        replacement: Replacement,
    },
    /// Executors that were to be ended do not exist, or are being ended already.
    KillUnknown {
        /// The numbers of the executors.
        executors: Vec<ExecutorId>,
    },
    /// There is no such resource profile.
    ProfileUnknown {
        /// The number of the resource profile.
        profile: ProfileId,
    },
    /// A resource profile is refused: no executor can have it, or its number is taken.
    ProfileRefused {
        /// The number of the resource profile.
        profile: ProfileId,
        /// Why it is refused.
        reason: RefusedProfile,
    },
    /// The Master refused a request: it does not know the application, or knows another driver for it.
    RequestRefused {
        /// What the driver requested.
        request: Request,
    },
    /// The Master lost a Worker.
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
        /// The number of attempts at the task that have failed.
        failures: u32,
        /// The number of failures at which the task has failed.
        limit: u32,
    },
    /// An executor or a host is excluded.
    Excluded {
        /// What is excluded, and why.
        cause: ExclusionCause,
        /// How long the exclusion lasts.
        timeout: Duration,
    },
    /// An excluded executor is readmitted.
    Readmitted {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// Why it is readmitted.
        why: Readmission,
    },
    /// Excluded hosts are readmitted, because no executor is left.
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
    /// No Worker is large enough for an executor, or all Workers together are too small for those that the
    /// application starts with. The application waits for other Workers.
    NeverFits {
        /// Executors of this profile.
        profile: ProfileId,
        /// What is missing, in the Master's numbers.
        shortfall: Shortfall,
    },
    /// Tasks wait, and the Master has assigned no executor yet. Noted once, soon after the start.
    StillWaiting {
        /// What is missing, and why.
        shortfalls: Vec<(ProfileId, Shortfall)>,
    },
    /// Tasks wait, and no executor has come for a while.
    NoExecutor {
        /// How long no executor has come.
        waited: Duration,
        /// Whether a Master has the application.
        master: MasterStatus,
    },
    /// An executor sent more output than it was granted. The driver gives it up.
    CreditExceeded {
        /// The executor's number.
        executor: ExecutorId,
        /// The attempt's id.
        attempt: AttemptId,
        /// The number of bytes that it sent.
        sent: u64,
        /// The number of bytes that it was granted.
        granted: u64,
    },
    /// A connection sent a message that is not valid now. The message is ignored and the connection closed.
    UnexpectedMessage {
        /// The connection's number.
        peer: PeerId,
    },
    /// The shell submitted a task out of order, or after the last one. The task is ignored.
    UnexpectedTask {
        /// The task's number.
        task: TaskId,
    },
}

/// Why a resource profile is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedProfile {
    /// No executor can have this profile.
    Unsound(UnsoundProfile),
    /// Its number belongs to another profile.
    Taken,
    /// The application has the maximum number of profiles.
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

/// A request to the Master about executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To change the numbers of executors wanted.
    Targets,
    /// To end certain executors.
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

/// Why an excluded executor is readmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readmission {
    /// Its exclusion has expired.
    TimeIsUp,
    /// There is no other executor.
    NoOtherLeft,
    /// Its exclusion has expired, and it gets one task.
    OnTrial,
    /// A task succeeded there, or runs for long.
    Proven,
}

/// Why an executor is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutorLoss {
    /// The Master reported how it ended.
    Ended(ExecutorState),
    /// Its connection ended, and the Master reported nothing.
    Disconnected,
    /// Nothing arrived from it for this time. The Master is asked to end it.
    HeartbeatTimeout {
        /// The length of the silence.
        timeout: Duration,
    },
    /// The application was registered anew, and the Master ends the executors of the old one.
    ApplicationReplaced,
    /// It violated the protocol.
    Misbehaved,
}

impl fmt::Display for ExecutorLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(ExecutorState::Lost(reason)) => write!(f, "{reason}"),
            Self::Ended(state) => write!(f, "{state}"),
            Self::Disconnected => f.write_str("its connection ended"),
            Self::HeartbeatTimeout { timeout } => {
                write!(f, "no heartbeat for {} s", timeout.as_secs_f64())
            }
            Self::ApplicationReplaced => f.write_str("the restarted Master did not know this application"),
            Self::Misbehaved => f.write_str("it did not keep to the protocol"),
        }
    }
}

/// Whether a Master has the application at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterStatus {
    /// A Master has it.
    Registered {
        /// The Master's address.
        master: Address,
        /// What is missing, by profile, as the Master says. Empty if every executor that was asked for is
        /// assigned.
        shortfalls: Vec<(ProfileId, Shortfall)>,
        /// Profiles that tasks wait for and of which no executor is wanted.
        unwanted: Vec<ProfileId>,
    },
    /// No Master has it.
    Lost,
}

impl Note {
    /// The level at which the note is logged.
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
            | Self::Dispute(_)
            | Self::ExecutorRefused { .. }
            | Self::ExecutorAbsent { .. }
            | Self::ExecutorLost { .. }
            | Self::ExecutorShort { .. }
            | Self::ExecutorsExcused { .. }
            | Self::IdleExecutorsGivenBack { .. }
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
            | Self::StillWaiting { .. }
            | Self::NoExecutor { .. }
            | Self::CreditExceeded { .. }
            | Self::UnexpectedMessage { .. }
            | Self::UnexpectedTask { .. } => NoteLevel::Warn,
        }
    }
}
