//! A draft of a cluster, read from a file or from a Master, and what a Master would decide for it.
//!
//! A [`Draft`] has Workers and applications. [`Draft::decide`] gives it to a real Master, whose scheduling pass makes
//! the [`Outcome`]. [`Metrics`] are its figures, by which set-ups can be compared.

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

/// A draft of a cluster: Workers, cluster drivers and applications at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The settings of the Master's scheduler, except those that choose Workers: a draft is decided by several rules.
    pub scheduling: SchedulingSettings,
    /// The Master's time. A draft is decided in an instant.
    pub now: Timestamp,
    /// The Workers in any order, each with its own id and address. They are used by exactly the executors and cluster
    /// drivers below.
    pub workers: Vec<WorkerView>,
    pub drivers: Vec<DriverSnapshot>,
    /// The applications in order of submission.
    pub applications: Vec<DraftApplication>,
    /// The index of the first application with reserved room: it is served before other queues.
    pub reserved: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftApplication {
    /// What the application asks for. An estimated run time is a variable of its command.
    pub description: ApplicationDescription,
    pub submitted: Timestamp,
    /// Its resource profiles, except the default one, which is part of the description.
    pub profiles: Vec<ProfileSnapshot>,
    /// Executors that it holds already.
    pub running: Vec<DraftExecutor>,
    /// When executors of other applications were ended for this one, the earliest first.
    pub preempted: Vec<Timestamp>,
    /// Excluded hosts and other limits on its executors.
    pub condition: ApplicationCondition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftExecutor {
    pub profile: ProfileId,
    pub worker: WorkerId,
    pub cores: Cores,
    pub memory: MiB,
    /// The addresses that it uses of each resource.
    pub resources: HeldResources,
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

    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }
}
