//! The configuration of a session.

use std::collections::BTreeMap;

use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::{ResourceProfile, TaskDirectory};

use super::TaskShare;
use crate::driver::{Allocation, TaskNeeds};

/// The configuration of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The source of the commands.
    pub commands: Commands,
    /// What a script does after a command that failed.
    pub on_failure: OnFailure,
    pub defaults: Defaults,
    /// How the number of executors is decided.
    pub allocation: Allocation,
}

/// The source of a session's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// A person types them at a prompt.
    Typed,
    /// A script contains the commands.
    Script,
}

/// The behaviour of a script after a command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The script stops with the exit code of the command.
    Stops,
    /// The script continues. It ends with the exit code of the last command that failed.
    GoesOn,
}

/// The defaults for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The needs of a task on an executor of the default profile.
    pub needs: TaskNeeds,
    pub directory: TaskDirectory,
    pub environment: BTreeMap<String, String>,
}

/// A resource profile that the session added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedProfile {
    pub id: ProfileId,
    /// The resources of each executor of the profile.
    pub needs: ResourceProfile,
    pub task: TaskShare,
}
