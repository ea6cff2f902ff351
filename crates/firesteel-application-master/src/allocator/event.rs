//! The inputs of the allocator: targets, granted and ended containers, and deadlines.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::MiB;
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

use super::size::ExecutorNeeds;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("allocator event")]
pub enum Event {
    /// The manager has registered the application, for the first time, or again after it forgot everything.
    Registered,
    /// The driver has registered. This event comes before any of its requests.
    DriverKnown {
        /// One more than the highest executor number that the driver has seen.
        first_executor: ExecutorId,
        /// What executors of the default profile need. Ignored if an executor was already requested.
        needs: ExecutorNeeds,
    },
    /// The driver sets the number of executors, and the hosts that its tasks prefer.
    RequestExecutors {
        /// The profiles whose targets change. An empty list means that no executor of any profile is wanted.
        targets: Vec<Target>,
        /// The hosts that the driver excludes.
        excluded: BTreeSet<String>,
    },
    /// The driver ends executors. The target does not change.
    KillExecutors(Vec<ExecutorId>),
    /// The driver asks why an executor has ended or is about to end.
    AskLoss {
        question: u64,
        executor: ExecutorId,
    },
    /// The driver is ending. From now on, executors that end do not count as failed.
    DriverStopping,
    Allocated(Allocated),
    AllocateFailed(AllocateFailure),
    ContainerStarted {
        container: ContainerId,
    },
    ContainerStartFailed {
        container: ContainerId,
        error: String,
    },
    Deadline,
}

/// The number of executors wanted of one profile, and the tasks that wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub profile: ProfileId,
    /// What the executors of the profile need. Fixed when the profile is first named.
    pub needs: ExecutorNeeds,
    /// The number of executors wanted, including the executors that the profile already has.
    pub total: u64,
    /// The number of tasks that an executor runs at once.
    pub tasks_per_executor: u64,
    /// The number of waiting tasks with preferred hosts.
    pub tasks: u64,
    /// The number of waiting tasks that prefer each host.
    pub on_hosts: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    pub machines: u64,
    /// The new containers, in the order in which they were granted.
    pub granted: Vec<Granted>,
    pub completed: Vec<Completed>,
    pub decommissioning: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    pub container: ContainerId,
    pub host: String,
    pub profile: ProfileId,
    /// The container's memory. Managers round it up.
    pub memory: MiB,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    pub container: ContainerId,
    /// How the container's process ended, or why it never ran: see [`Cause`](super::Cause).
    pub status: i32,
    /// The manager's message about the end, in words.
    pub diagnostics: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, firesteel_protocol::Kind)]
#[kind("call failure")]
pub enum AllocateFailure {
    /// The manager was restarted, and does not know this attempt at the application.
    #[error("the manager does not know that the application is registered")]
    NotRegistered,
    /// The manager has ended this attempt at the application, or has begun another one.
    #[error("the ResourceManager has ended or replaced this attempt of the application")]
    Replaced,
    #[error("{0}")]
    Failed(String),
}
