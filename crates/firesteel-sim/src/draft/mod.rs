//! A cluster on paper, as a file describes it or as a Master has it, and what a Master would decide over it.
//!
//! A [`Draft`] has Workers and applications; [`Draft::decide`] gives it to a real Master, whose one scheduling pass
//! makes the [`Outcome`]; [`Metrics`] sum it up, so that set-ups of a Master can be held against each other.

mod decide;
mod file;
mod metrics;
mod outcome;

use firesteel_core::ids::WorkerId;
use firesteel_core::master::Queues;
use firesteel_core::messages::{ApplicationDescription, WorkerDescription};
use firesteel_placement::{Cores, MiB, ResourceAmounts};

pub use file::{Fault, FileError, LONGEST_NAME, MOST_APPLICATIONS, MOST_EXECUTORS, MOST_WORKERS};
pub use metrics::Metrics;
pub use outcome::{ApplicationOutcome, Likeness, Outcome, Since, WorkerExecutor, WorkerOutcome};

/// A cluster on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Most cores of applications that set no maximum (`spark.deploy.defaultCores`).
    pub default_cores: Cores,
    /// The queues that share the cluster (`firesteel.master.queues`).
    pub queues: Queues,
    /// The Workers, each with an id and an address of its own, in any order.
    pub workers: Vec<WorkerDescription>,
    /// The applications in the order in which they came.
    pub applications: Vec<DraftApplication>,
}

/// An application on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftApplication {
    /// What it asks for.
    pub description: ApplicationDescription,
    /// What it holds already.
    pub running: Vec<DraftExecutor>,
    /// Whether it is given more.
    pub stake: Stake,
}

/// Whether an application takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stake {
    /// It asks for executors now.
    Asks,
    /// It keeps what it holds and is given nothing: what it waits for has no room, as its Master has found already.
    Stays,
}

/// An executor that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftExecutor {
    /// Where.
    pub worker: WorkerId,
    /// Its cores.
    pub cores: Cores,
    /// Its memory.
    pub memory: MiB,
    /// How many addresses it has of each resource.
    pub resources: ResourceAmounts,
}

impl DraftApplication {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }
}
