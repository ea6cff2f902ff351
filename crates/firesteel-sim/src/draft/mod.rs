//! A cluster on paper, as a file describes it or as a Master has it, and what a Master would decide over it.
//!
//! A [`Draft`] has Workers and applications; [`Draft::decide`] gives it to a real Master, whose one scheduling pass
//! makes the [`Outcome`]; [`Metrics`] sum it up, so that set-ups of a Master can be held against each other.

mod decide;
mod file;
mod metrics;
mod outcome;

use firesteel_core::ids::{ProfileId, WorkerId};
use firesteel_core::master::ProfileSnapshot;
use firesteel_core::messages::{ApplicationDescription, WorkerDescription};
use firesteel_core::queues::Queues;
use firesteel_core::scheduling::{Backfill, Preemption};
use firesteel_placement::{Cores, MiB, ResourceAmounts};

pub use file::{Fault, FileError, LONGEST_NAME, MOST_APPLICATIONS, MOST_EXECUTORS, MOST_WORKERS};
pub use metrics::Metrics;
pub use outcome::{ApplicationOutcome, Likeness, Outcome, Since, WorkerExecutor, WorkerOutcome};

/// A cluster on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Most cores of applications that set no maximum (`spark.deploy.defaultCores`).
    pub default_cores: Cores,
    /// The Master's queues (`firesteel.master.queues`).
    pub queues: Queues,
    /// Who is served behind a gang that waits (`firesteel.master.backfill`).
    pub backfill: Backfill,
    /// Whether executors end for others (`firesteel.master.preemption`).
    pub preemption: Preemption,
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
    /// Its profiles beside the default one, which the description has.
    pub profiles: Vec<ProfileSnapshot>,
    /// What it holds already.
    pub running: Vec<DraftExecutor>,
}

/// An executor that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftExecutor {
    /// Of which profile.
    pub profile: ProfileId,
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
