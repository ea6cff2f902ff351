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
    /// The command, or why it cannot be parsed.
    pub request: Result<Request, String>,
    /// The first word that has a meaning in a POSIX shell but none here: `|`, `*.txt`, `$HOME`.
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
    /// Show the output of a background task; by default the last one's.
    Watch(Option<TaskId>),
    /// Wait for background tasks; by default for all.
    Wait(Vec<TaskId>),
    /// Wait until this number of executors is ready, at most this long.
    WaitForExecutors(usize, Duration),
    /// Cancel tasks; by default all.
    Cancel(Vec<TaskId>),
    /// Set the number of executors of a profile.
    SetTotal(u64, ProfileId, Surplus),
    /// At least one.
    Kill(Vec<ExecutorId>, Replacement),
    Why,
    /// Request this number of executors of another profile.
    AddProfile(ResourceProfile, TaskShare, u64),
    ListProfiles,
    Status,
    ShowDefaults,
    Set(Assignment),
    Settings,
    /// All typed lines, or this number of the latest.
    History(Option<usize>),
    Source(PathBuf),
    /// All commands, or this one.
    Help(Option<Command>),
    /// With this exit code.
    Quit(Option<u8>),
}

/// The share of an executor that a task takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskShare {
    /// `None` takes the default.
    pub cores: Option<Cores>,
    /// Addresses of custom resources.
    pub resources: TaskResources,
}

/// A command that runs as one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub target: Target,
    /// `None` takes the default.
    pub cores: Option<Cores>,
    /// Maximum number of retries after a failure.
    pub retries: u32,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    /// The command as it is shown to people: short.
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
    /// Resource profile of the executors that run the tasks.
    pub profile: ProfileId,
    /// Cores of each task; `None` takes the default.
    pub cores: Option<Cores>,
    /// The program and its arguments; at least the program.
    pub command: Vec<String>,
    pub items: Items,
    pub order: OutputOrder,
}

/// The source of the items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Items {
    /// Those after `:::`.
    Words(Vec<String>),
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

/// What happens to executors above the number that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surplus {
    /// They keep running.
    Stays,
    /// They end.
    Ends,
}

/// A default that tasks run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    Cores(Cores),
    Directory(String),
    /// An environment variable; `None` removes it.
    Variable(String, Option<String>),
}
