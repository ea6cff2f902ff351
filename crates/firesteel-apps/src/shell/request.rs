//! What a command of the shell wants.

use std::path::PathBuf;
use std::time::Duration;

use firesteel_core::driver::Replacement;
use firesteel_core::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_core::messages::ResourceProfile;
use firesteel_placement::{Cores, TaskResources};

use super::commands::Command;
use super::words::{Place, quote};
use crate::map::items::Separator;
use crate::map::spool::Order;

/// What a command of the shell wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Run a command as one task.
    Run(Run),
    /// Run a command once for each item.
    Map(Map),
    /// List the executors.
    Executors,
    /// List tasks.
    Tasks(Which),
    /// Show a background task's output; the last one's if none is named.
    Watch(Option<TaskId>),
    /// Wait for background tasks; for all if none is named.
    Wait(Vec<TaskId>),
    /// Wait until executors are ready.
    WaitForExecutors {
        /// How many.
        count: usize,
        /// How long at most.
        limit: Duration,
    },
    /// End tasks; all if none is named.
    Cancel(Vec<TaskId>),
    /// Ask for executors.
    Executor {
        /// How many in all.
        total: u64,
        /// Of which profile.
        profile: ProfileId,
        /// What becomes of those that are too many.
        surplus: Surplus,
    },
    /// End executors.
    Kill {
        /// Which, at least one.
        executors: Vec<ExecutorId>,
        /// Whether others come.
        replacement: Replacement,
    },
    /// Say why there are fewer executors than asked.
    Why,
    /// Ask for executors of another profile.
    AddProfile {
        /// What they have.
        needs: ResourceProfile,
        /// What a task takes of them.
        task: TaskShare,
        /// How many.
        total: u64,
    },
    /// List the resource profiles.
    ListProfiles,
    /// Show the application.
    Status,
    /// Show what tasks run with.
    ShowDefaults,
    /// Set something that tasks run with.
    Set(Assignment),
    /// Show what was asked for at the start.
    Settings,
    /// Show lines that were typed: so many of the last ones.
    History(Option<usize>),
    /// Run the commands of a file.
    Source(PathBuf),
    /// Say what there is.
    Help(Option<&'static Command>),
    /// Leave.
    Quit(Option<u8>),
}

/// What a task takes of an executor of its profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskShare {
    /// Its cores, if not as is set.
    pub cores: Option<Cores>,
    /// Its addresses.
    pub resources: TaskResources,
}

/// A command for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where it runs.
    pub target: Target,
    /// Its cores, if not as is set.
    pub cores: Option<Cores>,
    /// How often it is run again when it fails.
    pub retries: u32,
    /// The command, at least the program.
    pub command: Vec<String>,
    /// Whether it is waited for.
    pub place: Place,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// On some executor of that resource profile.
    Profile(ProfileId),
    /// On that executor alone.
    Executor(ExecutorId),
}

/// A command for many items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The resource profile whose executors its tasks run on.
    pub profile: ProfileId,
    /// Cores of a task, if not as is set.
    pub cores: Option<Cores>,
    /// The command, at least the program.
    pub command: Vec<String>,
    /// Its items.
    pub items: Items,
    /// In which order outputs come.
    pub order: Order,
}

/// Where items come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// The words after `:::`.
    Words(Vec<String>),
    /// A file.
    File(PathBuf, Separator),
}

/// Which tasks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that have not ended, and the last that have.
    Recent,
    /// All that are remembered.
    All,
}

/// What becomes of executors that are more than are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surplus {
    /// They stay.
    Stays,
    /// They end.
    Ends,
}

/// Something that tasks run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Cores.
    Cores(Cores),
    /// Where.
    Directory(String),
    /// A variable of the environment; `None` takes it away.
    Variable(String, Option<String>),
}

/// Why a command cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no such command.
    #[error("unknown command {}{}: help lists all", quote(.name), meant(*.nearest))]
    Unknown {
        /// As it was typed.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// It is written otherwise.
    #[error("{wrong}: write {}", .command.usage)]
    Usage {
        /// What is wrong.
        wrong: String,
        /// Which command it is.
        command: &'static Command,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Command {}
