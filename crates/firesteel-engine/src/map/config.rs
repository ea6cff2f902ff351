//! The configuration of a map run.

use firesteel_placement::Cores;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whether the run owns its application.
    pub scope: Scope,
    /// The resource profile of the executors that run the tasks of this run.
    pub profile: ProfileId,
    /// The number of items, if it is known from the start.
    pub items: Option<u64>,
}

/// Whether a run owns its application, or only tasks in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The run owns the application, which ends together with the run.
    Application,
    /// The run owns only its tasks; the application outlives it. The owner of the application passes on the driver's
    /// reports about these tasks, and the run's requests to end them.
    Tasks {
        /// The number of the first item's task.
        first: TaskId,
        /// The executors that are ready when the run starts, with their hosts and cores.
        executors: Vec<(ExecutorId, String, Cores)>,
    },
}

impl Scope {
    pub(super) fn first(&self) -> TaskId {
        match self {
            Self::Application => TaskId::FIRST,
            Self::Tasks { first, .. } => *first,
        }
    }
}
