//! The messages of a session to the user. The program around the session draws the tables.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_placement::Shortfall;
use firesteel_placement::advanced::words::{are, counted, have};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;
use thiserror::Error;

use super::{AddedProfile, Command, Defaults, Shortfalls, Tasks, Which};
use crate::driver::{self, Note, TaskOutcome, View};

/// The position of a command. Shown at the beginning of a message: `line 3: `.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// The command was typed.
    #[default]
    Typed,
    /// The command is in this line of the script.
    Line(u64),
    /// The command is in this line of a file that `source` reads.
    File(PathBuf, u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed => Ok(()),
            Self::Line(line) => write!(f, "line {line}: "),
            Self::File(path, line) => write!(f, "{}, line {line}: ", path.display()),
        }
    }
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session answer")]
pub enum Answer {
    Executors(View),
    /// A table of the tasks that the session remembers.
    Tasks(Which, Tasks, View),
    /// A table of the resource profiles, with those that the session added.
    Profiles(Vec<AddedProfile>, View),
    Status(View),
    Defaults(Defaults),
    Settings,
    History(Option<usize>),
    Help(Option<Command>),
    /// This number of executors was requested (first number), and this number is assigned (second number).
    Requested(u64, usize),
    /// These executors have ended. The number is the wanted number of executors from now on, if it has fallen.
    Ended(Vec<ExecutorId>, Option<u64>),
    Why(Shortfalls, View),
    /// A profile was added, and this number of its executors is requested.
    ProfileAdded(ProfileId, ResourceProfile, u64, AnswerState),
}

/// Whether a Master has answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerState {
    Answered,
    Unanswered,
}

/// A message that is not an answer to a command.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session message")]
pub enum Message {
    /// The session begins. Not for quiet sessions.
    Banner(View),
    /// A task runs in the background. Not for quiet sessions.
    InBackground(TaskId),
    /// The result of the map run, with this number of failed items. Quiet sessions show it only if items failed.
    MapSummary(u64),
    /// The session does not end yet, because this number of tasks have not ended.
    TasksRun(usize),
    /// Lines cannot be read any more, for this reason.
    LinesFailed(String),
    /// The application has ended, although the session did not end it.
    Over(driver::Ending),
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, Error, firesteel_protocol::Kind)]
#[kind("session complaint")]
pub enum Complaint {
    #[error("{0}")]
    Unparsed(String),
    #[error("no executor {0}; the command executors lists all")]
    NoExecutor(ExecutorId),
    #[error("no profile {0}; the command profile list lists all")]
    NoProfile(ProfileId),
    #[error("no task {0}; the command tasks lists all")]
    NoTask(TaskId),
    #[error("task {0} is no longer listed, or was an item of map; the command tasks --all lists the others")]
    ForgottenTask(TaskId),
    #[error("no background task; the command run COMMAND & starts one")]
    NoBackgroundTask,
    #[error("task {0} was not a background task: its output is not kept")]
    NotKept(TaskId),
    #[error("task {0} has ended")]
    HasEnded(TaskId),
    /// The foreground task with this command failed.
    #[error("task {0} ({1}) {end}", end = ending(.2))]
    CommandFailed(TaskId, String, TaskOutcome),
    /// A background task failed.
    #[error("task {0} {end}", end = ending(.1))]
    TaskFailed(TaskId, TaskOutcome),
    #[error("the output of task {0} {1}")]
    OutputLost(TaskId, super::Loss),
    #[error("cannot read the output: {0}")]
    OutputUnreadable(String),
    #[error("only {} {} wanted: request {count} first", counted(*.wanted, "executor"), are(*.wanted))]
    FewerWanted { wanted: u64, count: usize },
    #[error("{ready} of {} {} ready after {}", counted(*.count, "executor"), are(*.count),
        counted(.limit.as_secs(), "second"))]
    NotReady { ready: usize, count: usize, limit: Duration },
    /// The driver or the Master refused the request.
    #[error("{0}")]
    Refused(Note),
    #[error("{} {} not ended after {} s", counted(*.0, "executor"), have(*.0), .1.as_secs())]
    NotEnded(usize, Duration),
    #[error("no Master is connected, and only a Master knows why; reconnecting")]
    NoMaster,
    #[error("the Master has not answered for {} s", .0.as_secs())]
    MasterSilent(Duration),
    /// A file reads itself with `source`, or too many files read one another.
    #[error("{} sources itself", .0.display())]
    SourcesItself(PathBuf),
    #[error("cannot read {path}: {1}", path = .0.display())]
    FileFailed(PathBuf, String),
    #[error("{0}")]
    ItemsFailed(String),
    #[error("{0}")]
    MapFailed(String),
    /// A map run of a script did not succeed.
    #[error("map: exit code {0}")]
    MapCode(u8),
}

/// A line that is not an answer to a command.
#[derive(Clone, Debug, PartialEq, Eq, Error, firesteel_protocol::Kind)]
#[kind("session remark")]
pub enum Remark {
    #[error("{0}")]
    Driver(Note),
    /// A background task has ended.
    #[error("task {0} {end} (watch {0} shows its output)", end = ending(.1))]
    TaskEnded(TaskId, TaskOutcome),
    #[error("task {0} runs again: its output starts over")]
    OutputStartsOver(TaskId),
    #[error("{0}")]
    Missing(Shortfall),
    /// A word of the command with this name has a special meaning in a POSIX shell but not here.
    #[error("{0}{1} has no meaning here: for a shell line write {2} sh -c '...'")]
    IdleWord(Position, String, &'static str),
}

/// The outcome as text that follows `task 3`.
fn ending(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Succeeded { .. } => "succeeded".to_owned(),
        TaskOutcome::Failed { cause, failures: 1, .. } => format!("failed: {cause}"),
        TaskOutcome::Failed { cause, failures, .. } => format!("failed {failures} times: {cause}"),
        TaskOutcome::Cancelled => "was cancelled".to_owned(),
        TaskOutcome::Unfit(unfit) => format!("cannot run: {unfit}"),
    }
}
