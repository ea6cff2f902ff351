//! What an allocator asks its shell to do.

use std::fmt;
use std::sync::Arc;

use firesteel_placement::{Cores, MiB};

use super::event::AllocateFailure;
use super::loss::Loss;
use super::note::Note;
use super::size::ContainerSize;
use crate::ids::{ContainerId, ExecutorId, ProfileId};

/// What an allocator asks its shell to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Call the manager; `Allocated` or `AllocateFailed` must follow. There is one call at a time.
    Allocate(Call),
    /// Register with the manager again; `Registered` must follow.
    Register,
    /// Tell the driver of a new executor, and start its container; `ContainerStarted` or `ContainerStartFailed` should
    /// follow.
    Launch(Launch),
    /// Tell the driver that an executor is gone. Comes once for each that was launched.
    ExecutorEnded {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: Arc<str>,
        /// Why the executor is lost.
        loss: Loss,
    },
    /// Tell the driver that a host is being decommissioned.
    Decommission {
        /// The host's name.
        host: String,
    },
    /// Answer a question of the driver's.
    AnswerLoss {
        /// The number of the question.
        question: u64,
        /// The executor's number.
        executor: ExecutorId,
        /// Why it is gone; nothing if nobody knows.
        loss: Option<Loss>,
    },
    /// The application has failed. Nothing comes after that.
    Fail(Failure),
    /// Something worth a line in the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// What the manager is told in one call. All numbers are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// What is wanted where; what is not named is wanted as before.
    pub asks: Vec<Ask>,
    /// Containers that are given back.
    pub release: Vec<ContainerId>,
    /// Hosts to avoid from now on, in order.
    pub exclude: Vec<String>,
    /// Hosts to avoid no longer, in order.
    pub include: Vec<String>,
}

/// How many containers of a profile are wanted somewhere. One that is wanted on any of three hosts counts on each, in
/// each of their racks, and anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// Where containers are asked for.
    pub location: Location,
    /// How many; 0 takes an earlier number back.
    pub containers: u64,
    /// What each must have.
    pub size: Arc<ContainerSize>,
}

/// Where containers are wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// On this host.
    Host(Arc<str>),
    /// In this rack.
    Rack(Arc<str>),
    /// All of them, wherever.
    Any,
}

/// Hadoop's name for it: the host, the rack, or `*`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host(name) | Self::Rack(name) => name,
            Self::Any => "*",
        })
    }
}

/// A container that an executor is to be started in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The container's id.
    pub container: ContainerId,
    /// The host's name.
    pub host: Arc<str>,
    /// The executor's number.
    pub executor: ExecutorId,
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// The number of cores.
    pub cores: Cores,
    /// Its own memory, without what the container has beyond it.
    pub memory: MiB,
}

/// Why an application has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Too many executors failed.
    ExecutorsFailed {
        /// The number of failures.
        failures: u64,
    },
    /// There is no machine left that is not excluded.
    AllExcluded {
        /// How many machines there are.
        machines: u64,
    },
    /// The manager cannot be talked to any more.
    Manager {
        /// How many calls failed in a row.
        errors: u32,
        /// How the last one did.
        last: AllocateFailure,
    },
}

impl Failure {
    /// The exit code of an ApplicationMaster that ends for this reason.
    ///
    /// Source: Spark on YARN, 4.0.1.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::ExecutorsFailed { .. } | Self::AllExcluded { .. } => 11,
            Self::Manager { .. } => 12,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExecutorsFailed { failures } => write!(f, "{failures} executors failed, which is too many"),
            Self::AllExcluded { machines } => {
                write!(f, "all {machines} machines of the cluster are excluded")
            }
            Self::Manager { errors: 1, last } => last.fmt(f),
            Self::Manager { errors, last } => {
                write!(f, "{errors} calls in a row failed, the last with: {last}")
            }
        }
    }
}
