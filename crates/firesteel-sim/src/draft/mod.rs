//! A cluster on paper, read from a file or from a Master, and what a Master would decide for it.
//!
//! A [`Draft`] has Workers and applications. [`Draft::decide`] gives it to a real Master; one scheduling pass makes the
//! [`Outcome`]. [`Metrics`] are its figures, by which set-ups of a Master can be compared.

mod cells;
mod decide;
mod figures;
mod file;
mod metrics;
mod outcome;
mod running;

use firesteel_master::{ApplicationCondition, DriverSnapshot, HeldResources, ProfileSnapshot};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ProfileId, WorkerId};
use firesteel_protocol::messages::{ApplicationDescription, WorkerView};
use firesteel_protocol::scheduling::SchedulingSettings;

pub use cells::{Cell, Cells, User};
pub use figures::{figures, has, used};
pub use file::{Fault, FileError, LONGEST_NAME, MOST_APPLICATIONS, MOST_EXECUTORS, MOST_WORKERS};
pub use metrics::Metrics;
pub use outcome::{ApplicationOutcome, GroupKey, Outcome, Since, WorkerExecutor, WorkerOutcome};

/// A cluster on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The settings of the Master's scheduler. Those that choose Workers are not used: a draft is decided by several rules.
    pub scheduling: SchedulingSettings,
    /// The Master's time. On paper nothing takes any time.
    pub now: Timestamp,
    /// The Workers in any order, each with its own id and address. What they use is that of the executors and cluster drivers below.
    pub workers: Vec<WorkerView>,
    /// The cluster drivers that run.
    pub drivers: Vec<DriverSnapshot>,
    /// The applications in order of submission.
    pub applications: Vec<DraftApplication>,
    /// The index of the first application for which room is reserved already: it is served before other queues.
    pub reserved: Option<usize>,
}

/// An application on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftApplication {
    /// What the application asks for. An estimate of how long it runs is a variable of its command.
    pub description: ApplicationDescription,
    /// When it registered.
    pub submitted: Timestamp,
    /// Its resource profiles, except the default one, which is part of the description.
    pub profiles: Vec<ProfileSnapshot>,
    /// Executors that it holds already.
    pub running: Vec<DraftExecutor>,
    /// When executors of other applications were ended for it, the earliest first.
    pub preempted: Vec<Timestamp>,
    /// What else limits its executors.
    pub condition: ApplicationCondition,
}

/// An executor that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftExecutor {
    /// Its resource profile.
    pub profile: ProfileId,
    /// The Worker that runs it.
    pub worker: WorkerId,
    /// Cores of the executor.
    pub cores: Cores,
    /// Memory of the executor.
    pub memory: MiB,
    /// What it holds of each resource.
    pub resources: HeldResources,
    /// When it was launched.
    pub launched: Timestamp,
}

impl DraftApplication {
    /// An application that registers at this time.
    #[must_use]
    pub fn new(description: ApplicationDescription, submitted: Timestamp) -> Self {
        let (profiles, running, preempted) = (Vec::new(), Vec::new(), Vec::new());
        let condition = ApplicationCondition::default();
        Self { description, submitted, profiles, running, preempted, condition }
    }

    /// Name of the application.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }
}
