//! A task as its shell submits it.

use firesteel_placement::TaskResources;

use crate::ids::{ExecutorId, ProfileId};
use crate::messages::TaskSpec;

/// What to run, and what it needs beyond its cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    /// What to run, and on how many cores.
    pub spec: TaskSpec,
    /// The resource profile whose executors it runs on.
    pub profile: ProfileId,
    /// What it takes of its executor's custom resources.
    pub resources: TaskResources,
    /// Hosts where it would like to run, in the words of the Workers' own names. None: it does not matter.
    pub preferred_hosts: Vec<String>,
    /// The only executor, of its profile, that it may run on. Once that one has gone, so has the task.
    pub on: Option<ExecutorId>,
    /// How often it may fail before it is given up, at least 1. `None`: as often as the settings say.
    pub max_failures: Option<u32>,
}

/// A task of the default profile, with no wishes.
impl From<TaskSpec> for TaskRequest {
    fn from(spec: TaskSpec) -> Self {
        Self {
            spec,
            profile: ProfileId::DEFAULT,
            resources: TaskResources::new(),
            preferred_hosts: Vec::new(),
            on: None,
            max_failures: None,
        }
    }
}
