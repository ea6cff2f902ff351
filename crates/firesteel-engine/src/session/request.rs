//! The commands of a session, parsed.

use std::path::PathBuf;
use std::time::Duration;

use firesteel_placement::Cores;
use firesteel_placement::advanced::resources::TaskResources;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;

use crate::driver::Replacement;
use crate::map::{OutputOrder, Separator};

/// A line of commands, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedLine {
    /// Number of the line in its source, from 1.
    pub number: u64,
    /// The commands of the line. A line that cannot be split is one command that cannot be parsed.
    pub entries: Vec<Entry>,
}

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command, or why it cannot be parsed.
    pub request: Result<Request, String>,
    /// The first word that has a meaning in a POSIX shell but none here: `|`, `*.txt`, `$HOME`.
    pub idle: Option<String>,
}

/// A command of a session.
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
    SetTotal {
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
    /// Show help for all commands, or for the command of this name.
    Help(Option<&'static str>),
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
    /// The command as it is shown to people: short, and on one line.
    pub words: String,
    /// Whether the session waits for the task.
    pub place: Place,
}

/// Whether the session waits for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The session waits for the command.
    Foreground,
    /// The session does not wait: the command ended with `&`.
    Background,
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

firesteel_protocol::kinds!("session request", Request: Run Map Executors Tasks Watch Wait WaitForExecutors Cancel SetTotal Kill
    Why AddProfile ListProfiles Status ShowDefaults Set Settings History Source Help Quit);
