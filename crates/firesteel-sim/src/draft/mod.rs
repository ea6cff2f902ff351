//! A draft of a cluster, read from a file or from a Master, and a Master's decision about it.
//!
//! A [`Draft`] contains Workers and applications. [`Draft::decide`] gives the draft to a real Master, whose scheduling
//! pass produces the [`Outcome`]. [`Metrics`] are the figures of the outcome, by which set-ups can be compared.

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
    /// The settings of the Master's scheduler, except the rule that chooses Workers. A draft is decided with several
    /// rules.
    pub scheduling: SchedulingSettings,
    /// The Master's time. It does not pass during the decision.
    pub now: Timestamp,
    /// The Workers in any order, each with its own id and address. Exactly the executors and cluster drivers below use
    /// them.
    pub workers: Vec<WorkerView>,
    pub drivers: Vec<DriverSnapshot>,
    /// The applications in order of submission.
    pub applications: Vec<DraftApplication>,
    /// The index of the first application with a reservation. It is served before other queues.
    pub reserved: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftApplication {
    /// The application's request. An estimated run time is an environment variable of the command.
    pub description: ApplicationDescription,
    pub submitted: Timestamp,
    /// The application's resource profiles, except the default profile, which is part of the description.
    pub profiles: Vec<ProfileSnapshot>,
    /// The executors that the application already has.
    pub running: Vec<DraftExecutor>,
    /// When executors of other applications were ended for this application, the earliest first.
    pub preempted: Vec<Timestamp>,
    /// The excluded hosts and other limits for the application's executors.
    pub condition: ApplicationCondition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftExecutor {
    pub profile: ProfileId,
    pub worker: WorkerId,
    pub cores: Cores,
    pub memory: MiB,
    /// The addresses that the executor uses of each resource.
    pub resources: HeldResources,
    pub launched: Timestamp,
}

impl DraftApplication {
    /// An application that registers at the time `submitted`.
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
