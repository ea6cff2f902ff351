//! What a map run is told at its start.

use firesteel_placement::Cores;

use crate::ids::{ExecutorId, ProfileId, TaskId};

/// What a map run is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What of the application is the run's.
    pub scope: Scope,
    /// The resource profile of the executors that run its tasks.
    pub profile: ProfileId,
    /// How many items the input has, if that is known from the start.
    pub items: Option<u64>,
}

/// What of an application is a run's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it: the application ends with the run.
    Application,
    /// Only its own tasks: the application goes on. Its owner passes on what the driver reports of them, and requests to
    /// end, which end these tasks alone.
    Tasks {
        /// The number of the first item's task.
        first: TaskId,
        /// The executors that are ready, with their hosts and cores.
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
