//! What a task needs of an executor.

use bytes::Bytes;
use firesteel_core::driver::TaskRequest;
use firesteel_core::ids::ProfileId;
use firesteel_core::messages::{TaskDirectory, TaskSpec};
use firesteel_core::process::Command;
use firesteel_placement::{Cores, TaskResources};

/// What a task needs of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNeeds {
    /// That it is of this resource profile.
    pub profile: ProfileId,
    /// So many of its cores.
    pub cores: Cores,
    /// So much of its custom resources.
    pub resources: TaskResources,
}

/// One core of an executor of the default profile.
impl Default for TaskNeeds {
    fn default() -> Self {
        Self { profile: ProfileId::DEFAULT, cores: Cores(1), resources: TaskResources::new() }
    }
}

impl TaskNeeds {
    /// A task that runs that there, with no other wishes.
    #[must_use]
    pub fn request(self, command: Command, directory: TaskDirectory, stdin: Bytes) -> TaskRequest {
        let Self { profile, cores, resources } = self;
        let spec = TaskSpec { command, directory, stdin, cores };
        TaskRequest { profile, resources, ..spec.into() }
    }
}
