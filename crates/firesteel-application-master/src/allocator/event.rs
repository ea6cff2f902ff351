//! The events that an allocator is told.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::MiB;
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

use super::size::ExecutorNeeds;

/// An event for an allocator.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("allocator event")]
pub enum Event {
    /// The manager has registered the application, for the first time or after it forgot everything.
    Registered,
    /// The driver has registered. Comes before it asks for anything.
    DriverKnown {
        /// One more than the highest executor number that the driver has seen.
        first_executor: ExecutorId,
        /// What executors of the default profile need. Ignored once an executor was asked for.
        needs: ExecutorNeeds,
    },
    /// The driver sets the number of executors, and the hosts that its tasks prefer.
    RequestExecutors {
        /// The profiles whose targets change. An empty list means that no executor of any profile is wanted.
        targets: Vec<Target>,
        /// The hosts that the driver excludes.
        excluded: BTreeSet<String>,
    },
    /// The driver ends executors. The target stays.
    KillExecutors(Vec<ExecutorId>),
    /// The driver asks why an executor has ended or is about to.
    AskLoss {
        /// The number of the question, for the answer.
        question: u64,
        /// The executor's number.
        executor: ExecutorId,
    },
    /// The driver is ending: from now on ends of executors do not count as failures.
    DriverStopping,
    /// The manager answered a call.
    Allocated(Allocated),
    /// A call to the manager failed.
    AllocateFailed(AllocateFailure),
    /// A container's process was started.
    ContainerStarted {
        /// The container's id.
        container: ContainerId,
    },
    /// A container's process could not be started.
    ContainerStartFailed {
        /// The container's id.
        container: ContainerId,
        /// The error, in words for people.
        error: String,
    },
    /// The next deadline has passed.
    Deadline,
}

/// The number of executors wanted of one profile, and what is known of the tasks that wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The number of the resource profile.
    pub profile: ProfileId,
    /// What its executors need. Fixed when the profile is first named.
    pub needs: ExecutorNeeds,
    /// The number of executors wanted, including those that it has.
    pub total: u64,
    /// The number of tasks that an executor runs at once.
    pub tasks_per_executor: u64,
    /// The number of waiting tasks with preferred hosts.
    pub tasks: u64,
    /// The number of waiting tasks that prefer each host.
    pub on_hosts: BTreeMap<String, u64>,
}

/// What the manager has decided since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// The number of machines in the cluster.
    pub machines: u64,
    /// The new containers, in the order in which they were granted.
    pub granted: Vec<Granted>,
    /// The containers that have ended.
    pub completed: Vec<Completed>,
    /// The hosts that are being decommissioned.
    pub decommissioning: Vec<String>,
}

/// A container that was granted to the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The container's id.
    pub container: ContainerId,
    /// The host that it is on.
    pub host: String,
    /// For which profile it was asked.
    pub profile: ProfileId,
    /// Its memory; managers round up.
    pub memory: MiB,
}

/// A container that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The container's id.
    pub container: ContainerId,
    /// How its process ended, or why there is none: see [`Cause`](super::Cause).
    pub status: i32,
    /// What the manager says about it, in words.
    pub diagnostics: String,
}

/// Why a call to the manager failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, firesteel_protocol::Kind)]
#[kind("call failure")]
pub enum AllocateFailure {
    /// The manager was restarted and does not know this attempt.
    #[error("the manager does not know that the application is registered")]
    NotRegistered,
    /// The manager has ended this attempt, or has begun another one.
    #[error("the manager has given up this attempt")]
    Replaced,
    /// The call may or may not have arrived. Has the error.
    #[error("{0}")]
    Failed(String),
}
