//! What happens to an allocator.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::MiB;

use super::size::ExecutorNeeds;
use crate::ids::{ContainerId, ExecutorId, ProfileId};

/// What happens to an allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The manager has the application: for the first time, or again after it had forgotten all that it was told.
    Registered,
    /// The driver is known. Comes before it asks for anything.
    DriverKnown {
        /// One more than the highest number of an executor that it has seen.
        first_executor: ExecutorId,
        /// What executors of the default profile need; nothing changes once one was asked for.
        needs: ExecutorNeeds,
    },
    /// The driver says how many executors there are to be, and where they would be welcome.
    RequestExecutors {
        /// The profiles whose targets change. None at all: no executor is wanted any more, of any profile.
        targets: Vec<Target>,
        /// Hosts where no executor is wanted, in the driver's opinion.
        excluded: BTreeSet<String>,
    },
    /// The driver wants executors ended. The target stays.
    KillExecutors(Vec<ExecutorId>),
    /// The driver asks why an executor is gone, or will be.
    AskLoss {
        /// The question, for the answer.
        question: u64,
        /// The executor's number.
        executor: ExecutorId,
    },
    /// The driver ends; what becomes of executors from now on is nobody's fault.
    DriverStopping,
    /// The manager answers a call.
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
    /// The time of the next deadline has come.
    Deadline,
}

/// How many executors of one profile there are to be, and what is known of the tasks that wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// What its executors need; fixed when the profile is first seen.
    pub needs: ExecutorNeeds,
    /// How many, absolute.
    pub total: u64,
    /// How many of an executor's tasks run at once.
    pub tasks_per_executor: u64,
    /// Waiting tasks that would like to run somewhere.
    pub tasks: u64,
    /// How many of them would like to run on each host.
    pub on_hosts: BTreeMap<String, u64>,
}

/// What the manager has decided since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// How many machines the cluster has.
    pub machines: u64,
    /// New containers, in the order in which they were granted.
    pub granted: Vec<Granted>,
    /// Containers that are gone.
    pub completed: Vec<Completed>,
    /// Hosts that are being decommissioned.
    pub decommissioning: Vec<String>,
}

/// A container that may be used.
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

/// A container that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The container's id.
    pub container: ContainerId,
    /// How its process ended, or why there is none: see [`Cause`](super::Cause).
    pub status: i32,
    /// What the manager says about it.
    pub diagnostics: String,
}

/// Why a call to the manager failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocateFailure {
    /// It was restarted and knows nothing of this attempt's registration.
    #[error("the manager does not know that the application is registered")]
    NotRegistered,
    /// It knows nothing of this attempt, or has begun another one.
    #[error("the manager has given up this attempt")]
    Replaced,
    /// Nobody knows whether it took the call.
    #[error("{0}")]
    Failed(String),
}
