//! The parsed commands of the shell.

use std::path::PathBuf;
use std::time::Duration;

use firesteel_core::driver::Replacement;
use firesteel_core::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_core::messages::ResourceProfile;
use firesteel_placement::{Cores, TaskResources};

use super::commands::Command;
use super::words::{Place, quote};
use crate::map::items::Separator;
use crate::map::spool::OutputOrder;

/// A parsed command of the shell.
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
    /// Show the output of a background task; by default the last one's.
    Watch(Option<TaskId>),
    /// Wait for background tasks; by default for all.
    Wait(Vec<TaskId>),
    /// Wait until executors are ready.
    WaitForExecutors {
        /// Number of executors to wait for.
        count: usize,
        /// Maximum time to wait.
        limit: Duration,
    },
    /// Cancel tasks; by default all.
    Cancel(Vec<TaskId>),
    /// Set the number of executors.
    Executor {
        /// Total number of executors.
        total: u64,
        /// Resource profile of the executors.
        profile: ProfileId,
        /// What happens to surplus executors.
        surplus: Surplus,
    },
    /// End executors.
    Kill {
        /// Numbers of the executors, at least one.
        executors: Vec<ExecutorId>,
        /// Whether other executors replace them.
        replacement: Replacement,
    },
    /// Show why there are fewer executors than requested.
    Why,
    /// Request executors of another profile.
    AddProfile {
        /// Resources of each executor.
        needs: ResourceProfile,
        /// Share of an executor that a task takes.
        task: TaskShare,
        /// Number of executors to request.
        total: u64,
    },
    /// List the resource profiles.
    ListProfiles,
    /// Show the state of the application.
    Status,
    /// Show the defaults that tasks run with.
    ShowDefaults,
    /// Set a default that tasks run with.
    Set(Assignment),
    /// Show the settings that the session started with.
    Settings,
    /// Show the history of typed lines, or this number of the latest lines.
    History(Option<usize>),
    /// Run the commands of a file.
    Source(PathBuf),
    /// Show help for all commands or for one.
    Help(Option<&'static Command>),
    /// Leave the session, optionally with this exit code.
    Quit(Option<u8>),
}

/// The share of an executor that a task takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskShare {
    /// Number of cores; `None` takes the default.
    pub cores: Option<Cores>,
    /// Addresses of custom resources.
    pub resources: TaskResources,
}

/// A command that runs as one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The executors on which the command may run.
    pub target: Target,
    /// Number of cores; `None` takes the default.
    pub cores: Option<Cores>,
    /// Maximum number of retries after a failure.
    pub retries: u32,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// Whether the session waits for the task.
    pub place: Place,
}

/// The executors on which a command may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any executor of this resource profile.
    Profile(ProfileId),
    /// Only this executor.
    Executor(ExecutorId),
}

/// A command that runs once for each item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Resource profile of the executors that run the tasks.
    pub profile: ProfileId,
    /// Number of cores per task; `None` takes the default.
    pub cores: Option<Cores>,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// Source of the items.
    pub items: Items,
    /// Order of the printed outputs.
    pub order: OutputOrder,
}

/// The source of the items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// The words after `:::`.
    Words(Vec<String>),
    /// A file of items.
    File(PathBuf, Separator),
}

/// The tasks that are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Tasks that have not ended, and the latest ended tasks.
    Recent,
    /// All tasks that the session remembers.
    All,
}

/// What happens to surplus executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surplus {
    /// Surplus executors keep running.
    Stays,
    /// Surplus executors end.
    Ends,
}

/// A default that tasks run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Number of cores of a task.
    Cores(Cores),
    /// Working directory of a task.
    Directory(String),
    /// An environment variable; `None` removes it.
    Variable(String, Option<String>),
}

/// Why a command cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The command is unknown.
    #[error("unknown command {}{}: help lists all", quote(.name), meant(*.nearest))]
    Unknown {
        /// Name of the command as typed.
        name: String,
        /// The command that the user probably meant.
        nearest: Option<&'static str>,
    },
    /// The arguments of the command are wrong.
    #[error("{wrong}: write {}", .command.usage)]
    Usage {
        /// Description of the mistake.
        wrong: String,
        /// The command that was typed.
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
