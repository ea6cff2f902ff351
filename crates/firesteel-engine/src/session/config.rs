//! What a session is told at its start.

use std::collections::BTreeMap;

use firesteel_protocol::ids::ProfileId;
use firesteel_protocol::messages::{ResourceProfile, TaskDirectory};

use super::TaskShare;
use crate::driver::{Allocation, TaskNeeds};

/// What a session is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where its commands come from.
    pub commands: Commands,
    /// What a script does after a command that failed.
    pub on_failure: OnFailure,
    pub defaults: Defaults,
    /// How the number of executors is decided.
    pub allocation: Allocation,
}

/// Where the commands of a session come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// A person types them at a prompt.
    Typed,
    /// A script has them.
    Script,
}

/// What a script does after a command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The script stops with the exit code of the command.
    Stops,
    /// The script continues, and ends with the exit code of the last command that failed.
    GoesOn,
}

/// The defaults that tasks run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// What a task needs of an executor of the default profile.
    pub needs: TaskNeeds,
    pub directory: TaskDirectory,
    pub environment: BTreeMap<String, String>,
}

/// A resource profile that the session added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedProfile {
    pub id: ProfileId,
    /// What each executor has.
    pub needs: ResourceProfile,
    pub task: TaskShare,
}
