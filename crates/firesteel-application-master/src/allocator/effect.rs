//! The effects of an allocator, which the ApplicationMaster performs.

use std::fmt;
use std::sync::Arc;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

use super::event::AllocateFailure;
use super::loss::Loss;
use super::note::Note;
use super::size::ContainerSize;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("allocator effect")]
pub enum Effect {
    /// Call the manager. Leads to `Allocated` or `AllocateFailed`. At most one call is open at a time.
    Allocate(Call),
    /// Register with the manager again. Leads to `Registered`.
    Register,
    /// Inform the driver of a new executor, and start its container. Leads to `ContainerStarted` or
    /// `ContainerStartFailed`.
    Launch(Launch),
    /// Inform the driver that an executor has ended. Comes once for each executor.
    ExecutorEnded { executor: ExecutorId, host: Arc<str>, loss: Loss },
    /// Inform the driver that a host is being decommissioned.
    Decommission { host: String },
    AnswerLoss {
        question: u64,
        executor: ExecutorId,
        /// Why the executor has ended. `None`: unknown.
        loss: Option<Loss>,
    },
    /// The application has failed. No effect comes after this one.
    Fail(Failure),
    /// Write a line to the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// One call to the manager. Its numbers replace those of earlier calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The number of containers wanted at each location. For locations that are not named, the number stays the same.
    pub asks: Vec<Ask>,
    pub release: Vec<ContainerId>,
    /// The hosts to exclude from now on, in order.
    pub exclude: Vec<String>,
    /// The hosts to stop excluding, in order.
    pub include: Vec<String>,
}

/// The number of containers of a profile wanted at a location. If a container may be on any of three hosts, it counts
/// for each host, for each of their racks, and for any host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub profile: ProfileId,
    /// Where the containers are wanted.
    pub location: Location,
    /// The number of containers. 0 withdraws the number of an earlier call.
    pub containers: u64,
    pub size: Arc<ContainerSize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    Host(Arc<str>),
    Rack(Arc<str>),
    /// Any host: the total number of containers wanted.
    Any,
}

/// Formats the location as Hadoop does: the host's or the rack's name, or `*`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host(name) | Self::Rack(name) => name,
            Self::Any => "*",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub container: ContainerId,
    pub host: Arc<str>,
    pub executor: ExecutorId,
    pub profile: ProfileId,
    pub cores: Cores,
    /// The executor's own memory, without the overhead of the container.
    pub memory: MiB,
}

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("failure")]
pub enum Failure {
    #[display("too many executors failed: {failures}")]
    ExecutorsFailed { failures: u64 },
    #[display("all {machines} machines of the cluster are excluded")]
    AllExcluded { machines: u64 },
    /// The manager can no longer be reached.
    #[display(
        "{}{last}",
        if *errors == 1 { String::new() } else { format!("{errors} calls in a row failed, the last with: ") }
    )]
    Manager {
        errors: u32,
        /// The error of the last call.
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
