//! What a session says to the user. All of it is worded at the edge.

use std::path::PathBuf;
use std::time::Duration;

use firesteel_placement::Shortfall;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::ResourceProfile;

use super::{Shortfalls, Which};
use crate::driver::{self, Note, TaskOutcome, View};

/// Where a command is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// It was typed.
    #[default]
    Typed,
    /// In this line of the script.
    Line(u64),
    /// In a line of a file that is read by `source`.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The number of the line.
        line: u64,
    },
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session answer")]
pub enum Answer {
    /// The executors.
    Executors(View),
    /// The tasks.
    Tasks(Which, View),
    /// The resource profiles.
    Profiles(View),
    /// The state of the application.
    Status(View),
    /// The defaults that tasks run with.
    Defaults,
    /// The settings that the session started with.
    Settings,
    /// This number of the latest lines, or all.
    History(Option<usize>),
    /// Help for all commands, or for the one of this name.
    Help(Option<&'static str>),
    /// A number of executors was requested.
    Requested {
        /// The number of executors wanted.
        total: u64,
        /// The number of executors that are assigned.
        assigned: usize,
    },
    /// Executors have ended.
    Ended {
        /// The executors.
        executors: Vec<ExecutorId>,
        /// The number of executors wanted from now on, if it has fallen.
        wanted: Option<u64>,
    },
    /// Why executors are missing.
    Why(Shortfalls, View),
    /// A profile was added.
    ProfileAdded {
        /// The number of the profile.
        profile: ProfileId,
        /// The resources of its executors.
        needs: ResourceProfile,
        /// The number of executors wanted.
        total: u64,
        /// Whether a Master knows of it.
        standing: Standing,
    },
}

/// Whether a Master has answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A Master has.
    Answered,
    /// No Master has, yet.
    Unanswered,
}

/// A message that is no answer.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session message")]
pub enum Message {
    /// The session begins. Not for quiet sessions.
    Banner(View),
    /// A task runs in the background. Not for quiet sessions.
    InBackground(TaskId),
    /// What the map run came to. In quiet sessions, only if items failed.
    MapSummary {
        /// The number of items that failed.
        failed: u64,
    },
    /// The session was not left, because this number of tasks have not ended.
    TasksRun(usize),
    /// Lines cannot be read any more.
    LinesFailed {
        /// Why, for people.
        error: String,
    },
    /// The application is over, and the session did not end it.
    Over(driver::Ending),
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session complaint")]
pub enum Complaint {
    /// It cannot be parsed.
    Unparsed(String),
    /// There is no such executor.
    NoExecutor(ExecutorId),
    /// There is no such profile.
    NoProfile(ProfileId),
    /// There is no such task.
    NoTask(TaskId),
    /// There is no such task any more, or it was an item of a map run.
    ForgottenTask(TaskId),
    /// There was no task in the background.
    NoBackgroundTask,
    /// The output of a foreground task is not kept.
    NotKept(TaskId),
    /// The task has ended already.
    HasEnded(TaskId),
    /// The foreground task failed.
    CommandFailed {
        /// The number of the task.
        task: TaskId,
        /// The command.
        words: String,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// A background task failed.
    TaskFailed {
        /// The number of the task.
        task: TaskId,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// The output of a task is incomplete.
    OutputLost {
        /// The number of the task.
        task: TaskId,
        /// Why, for people.
        loss: String,
    },
    /// The output of a task cannot be read.
    OutputUnreadable {
        /// Why, for people.
        error: String,
    },
    /// More executors are waited for than are wanted.
    FewerWanted {
        /// The number of executors wanted.
        wanted: u64,
        /// The number that is waited for.
        count: usize,
    },
    /// Executors were not ready in time.
    NotReady {
        /// The number of executors that are ready.
        ready: usize,
        /// The number that is waited for.
        count: usize,
        /// How long they were waited for.
        limit: Duration,
    },
    /// The driver or the Master refused.
    Refused(Note),
    /// Executors have not ended in time.
    NotEnded {
        /// How many.
        left: usize,
        /// How long they were waited for.
        limit: Duration,
    },
    /// No Master is connected.
    NoMaster,
    /// The Master has not answered in time.
    MasterSilent {
        /// How long it was waited for.
        limit: Duration,
    },
    /// A file is read by itself, or by too many others.
    SourcesItself(PathBuf),
    /// A file cannot be read.
    FileFailed {
        /// The path of the file.
        path: PathBuf,
        /// Why, for people.
        error: String,
    },
    /// The items of a map run cannot be read.
    ItemsFailed {
        /// Why, for people.
        error: String,
    },
    /// The map run cannot begin.
    MapFailed {
        /// Why, for people.
        error: String,
    },
    /// A map run of a script did not end well.
    MapCode(u8),
}

/// A line that no command asked for.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session remark")]
pub enum Remark {
    /// The driver's remark.
    Driver(Note),
    /// A task has ended in the background.
    TaskEnded {
        /// The number of the task.
        task: TaskId,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// A task runs again, and so its output starts over.
    OutputStartsOver(TaskId),
    /// Executors are missing.
    Missing(Shortfall),
    /// A word of the command has a meaning in a POSIX shell and none here.
    IdleWord {
        /// Where the command is.
        position: Position,
        /// The word.
        word: String,
        /// The name of the command.
        command: &'static str,
    },
}
