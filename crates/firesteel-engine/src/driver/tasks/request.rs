//! A task as the driver's owner submits it.

use firesteel_placement::advanced::resources::TaskResources;
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::TaskSpec;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    pub spec: TaskSpec,
    pub profile: ProfileId,
    /// The amounts that the task takes of its executor's custom resources.
    pub resources: TaskResources,
    /// The preferred hosts, by the names that the Workers report. May be empty.
    pub preferred_hosts: Vec<String>,
    /// The only executor that the task may run on, if it is bound to one. The task ends with that executor.
    pub on: Option<ExecutorId>,
    /// How many failed attempts end the task, at least 1. `None`: the limit of the settings.
    pub max_failures: Option<u32>,
}

/// A task of the default profile without preferred hosts.
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
