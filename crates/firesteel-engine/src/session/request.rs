//! The commands of a session, parsed.

use std::path::PathBuf;
use std::time::Duration;

use firesteel_placement::Cores;
use firesteel_placement::advanced::resources::TaskResources;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;

use super::Command;
use crate::driver::Replacement;
use crate::map::{OutputOrder, Separator};

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command, or why the words cannot be parsed.
    pub request: Result<Request, String>,
    /// The first word that has a special meaning in a POSIX shell but not here: `|`, `*.txt`, `$HOME`.
    pub idle: Option<String>,
}

/// A command of a session.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session request")]
pub enum Request {
    Run(Run),
    Map(Map),
    Executors,
    Tasks(Which),
    /// Show the output of a background task, by default of the last one.
    Watch(Option<TaskId>),
    /// Wait for background tasks, by default for all.
    Wait(Vec<TaskId>),
    /// Wait until this number of executors is ready, for at most this time.
    WaitForExecutors(usize, Duration),
    /// Cancel tasks, by default all.
    Cancel(Vec<TaskId>),
    /// Set the number of executors of a profile.
    SetTotal(u64, ProfileId, Surplus),
    /// End these executors, at least one.
    Kill(Vec<ExecutorId>, Replacement),
    Why,
    /// Request this number of executors of another profile.
    AddProfile(ResourceProfile, TaskShare, u64),
    ListProfiles,
    Status,
    ShowDefaults,
    Set(Assignment),
    Settings,
    /// List all typed lines, or this number of the latest lines.
    History(Option<usize>),
    Source(PathBuf),
    /// Show the help of all commands, or of this one.
    Help(Option<Command>),
    /// Leave the session with this exit code.
    Quit(Option<u8>),
}

/// The share of an executor that a task takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskShare {
    /// The cores of the task. `None` takes the default.
    pub cores: Option<Cores>,
    /// Addresses of custom resources.
    pub resources: TaskResources,
}

/// A command that runs as one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub target: Target,
    /// The cores of the task. `None` takes the default.
    pub cores: Option<Cores>,
    /// Maximum number of retries after a failure.
    pub retries: u32,
    /// The program and its arguments. At least the program is present.
    pub command: Vec<String>,
    /// The command as text for the user, shortened.
    pub words: String,
    pub place: RunMode,
}

/// Whether the session waits for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunMode {
    /// The session waits for the command.
    #[default]
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
    /// The resource profile of the executors that run the tasks.
    pub profile: ProfileId,
    /// The cores of each task. `None` takes the default.
    pub cores: Option<Cores>,
    /// The program and its arguments. At least the program is present.
    pub command: Vec<String>,
    pub items: Items,
    pub order: OutputOrder,
}

/// The source of the items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// The words after `:::`.
    Words(Vec<String>),
    File(PathBuf, Separator),
}

/// Which tasks are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Tasks that have not ended, and the latest ended tasks.
    Recent,
    /// All tasks that the session remembers.
    All,
}

/// What happens to executors in excess of the wanted number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surplus {
    /// The executors keep running.
    Stays,
    /// The executors end.
    Ends,
}

/// A change of a default for tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    Cores(Cores),
    Directory(String),
    /// An environment variable; `None` removes it.
    Variable(String, Option<String>),
}
