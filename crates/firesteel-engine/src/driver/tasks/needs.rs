//! The needs of a task: profile, cores and custom resources.

use bytes::Bytes;
use firesteel_placement::Cores;
use firesteel_placement::advanced::resources::TaskResources;
use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::{TaskDirectory, TaskSpec};
use firesteel_protocol::process::Command;

use crate::driver::TaskRequest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNeeds {
    pub profile: ProfileId,
    pub cores: Cores,
    pub resources: TaskResources,
}

/// The default is one core of an executor of the default profile.
impl Default for TaskNeeds {
    fn default() -> Self {
        Self { profile: ProfileId::DEFAULT, cores: Cores(1), resources: TaskResources::new() }
    }
}

impl TaskNeeds {
    /// The request for a task with these needs that runs this command in this directory. The task has no preferred
    /// hosts and no limit of failures of its own.
    #[must_use]
    pub fn request(self, command: Command, directory: TaskDirectory, stdin: Bytes) -> TaskRequest {
        let Self { profile, cores, resources } = self;
        let spec = TaskSpec { command, directory, stdin, cores };
        TaskRequest { profile, resources, ..spec.into() }
    }
}
