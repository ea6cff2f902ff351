//! A task as the shell submits it.

use firesteel_placement::advanced::resources::TaskResources;
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::TaskSpec;

/// A task with its needs and preferences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    /// The command to run, and its number of cores.
    pub spec: TaskSpec,
    /// The number of the resource profile of its executor.
    pub profile: ProfileId,
    /// The amounts that it takes of its executor's custom resources.
    pub resources: TaskResources,
    /// The hosts that it prefers, named as Workers name themselves. May be empty.
    pub preferred_hosts: Vec<String>,
    /// The only executor that it may run on, if it is bound to one. When that executor ends, so does the
    /// task.
    pub on: Option<ExecutorId>,
    /// The number of failures after which it has failed, at least 1. `None`: the limit of the settings.
    pub max_failures: Option<u32>,
}

/// A task of the default profile without preferences.
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
