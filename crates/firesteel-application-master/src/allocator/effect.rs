//! The effects of an allocator, which its shell performs.

use std::fmt;
use std::sync::Arc;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};

use super::event::AllocateFailure;
use super::loss::Loss;
use super::note::Note;
use super::size::ContainerSize;

/// An effect of an allocator, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("allocator effect")]
pub enum Effect {
    /// Call the manager. Leads to `Allocated` or `AllocateFailed`. There is one call at a time.
    Allocate(Call),
    /// Register with the manager again. Leads to `Registered`.
    Register,
    /// Tell the driver of a new executor and start its container. Leads to `ContainerStarted` or
    /// `ContainerStartFailed`.
    Launch(Launch),
    /// Tell the driver that an executor has ended. Comes once for each executor.
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
    /// Answer a question of the driver.
    AnswerLoss {
        /// The number of the question.
        question: u64,
        /// The executor's number.
        executor: ExecutorId,
        /// Why it has ended. `None`: not known.
        loss: Option<Loss>,
    },
    /// The application has failed. Nothing comes after this.
    Fail(Failure),
    /// Write a line to the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// One call to the manager. All numbers replace earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The containers wanted at each location. Locations that are not named stay as they were.
    pub asks: Vec<Ask>,
    /// The containers to give back.
    pub release: Vec<ContainerId>,
    /// The hosts to exclude from now on, in order.
    pub exclude: Vec<String>,
    /// The hosts to exclude no longer, in order.
    pub include: Vec<String>,
}

/// The number of containers of a profile wanted at a location. A container that is wanted on any of three
/// hosts counts for each of these, for each of their racks, and for any host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// Where containers are asked for.
    pub location: Location,
    /// The number of containers. 0 takes an earlier number back.
    pub containers: u64,
    /// What each container must have.
    pub size: Arc<ContainerSize>,
}

/// A location where containers are wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// The host with this name.
    Host(Arc<str>),
    /// The rack with this name.
    Rack(Arc<str>),
    /// Any host: the total of containers wanted.
    Any,
}

/// The name in Hadoop: that of the host or the rack, or `*`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host(name) | Self::Rack(name) => name,
            Self::Any => "*",
        })
    }
}

/// A container in which an executor is to be started.
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
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("failure")]
pub enum Failure {
    /// Too many executors have failed.
    #[display("too many executors failed: {failures}")]
    ExecutorsFailed {
        /// The number of failures.
        failures: u64,
    },
    /// All machines are excluded.
    #[display("all {machines} machines of the cluster are excluded")]
    AllExcluded {
        /// The number of machines.
        machines: u64,
    },
    /// The manager cannot be reached any more.
    #[display(
        "{}{last}",
        if *errors == 1 { String::new() } else { format!("{errors} calls in a row failed, the last with: ") }
    )]
    Manager {
        /// The number of failed calls in a row.
        errors: u32,
        /// How the last call failed.
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
