//! Driver and executor.

use std::fmt;

use bytes::Bytes;
use firesteel_placement::{Cores, Resources};
use serde::{Deserialize, Serialize};

use crate::ids::{AppId, AttemptId, ExecutorId, ProfileId, WorkerId};
use crate::process::{Command, ExitStatus, StartFailure};

/// What an executor tells its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorToDriver {
    /// First on the connection: ready for tasks.
    RegisterExecutor {
        /// The application that it was started for.
        app: AppId,
        /// The executor's number.
        executor: ExecutorId,
        /// Its resource profile there.
        profile: ProfileId,
        /// The Worker that started it.
        worker: WorkerId,
        /// The Worker's host.
        host: String,
        /// The number of cores.
        cores: Cores,
        /// The addresses of its custom resources.
        resources: Resources,
    },
    /// A task changed its state. `Ended` comes after the last `TaskOutput`.
    StatusUpdate {
        /// The attempt's id.
        attempt: AttemptId,
        /// The attempt's state.
        state: TaskState,
    },
    /// A piece of a task's output. No more bytes come than the driver gave credit for, over both streams.
    TaskOutput {
        /// The attempt's id.
        attempt: AttemptId,
        /// Standard output or standard error.
        stream: Stream,
        /// The bytes, at least one.
        bytes: Bytes,
    },
}

/// What a driver tells an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverToExecutor {
    /// The executor is welcome.
    RegisteredExecutor,
    /// The executor is not wanted and ends.
    RegisterExecutorFailed(RefusedExecutor),
    /// Run a task.
    LaunchTask {
        /// The attempt's id.
        attempt: AttemptId,
        /// The command and its settings.
        spec: TaskSpec,
        /// Those of the executor's addresses that the task may use, for itself or with others.
        resources: Resources,
        /// How many bytes of output may be sent before more credit comes.
        credit: u64,
    },
    /// End a task.
    KillTask {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// So many more bytes of output may be sent.
    OutputCredit {
        /// The attempt's id.
        attempt: AttemptId,
        /// The number of bytes.
        bytes: u64,
    },
    /// End, with all tasks.
    StopExecutor,
}

/// What a task runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The command to run.
    pub command: Command,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// What it reads on standard input; nothing if empty.
    pub stdin: Bytes,
    /// How many of the executor's cores it takes; less than 1 counts as 1.
    pub cores: Cores,
}

impl TaskSpec {
    /// How many of the executor's cores it takes: at least 1.
    #[must_use]
    pub fn cores_taken(&self) -> Cores {
        self.cores.max(Cores(1))
    }

    /// How many bytes it takes on the wire, at most.
    #[must_use]
    pub fn wire_length(&self) -> usize {
        // A length before each text takes 5 bytes at most for any text that fits a frame.
        let text = |text: &String| text.len() + 5;
        let Command { program, arguments, environment } = &self.command;
        let variables = environment.iter().map(|(name, value)| text(name) + text(value));
        let directory = match &self.directory {
            TaskDirectory::Executor => 0,
            TaskDirectory::Path(path) => text(path),
        };
        text(program)
            + arguments.iter().map(text).sum::<usize>()
            + variables.sum::<usize>()
            + directory
            + self.stdin.len()
            + 64
    }
}

/// Where a task, or the command of an executor, runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskDirectory {
    /// In the executor's own directory.
    #[default]
    Executor,
    /// In this directory, which must exist on the executor's machine.
    Path(String),
}

/// Where an attempt at a task stands, as its executor sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    /// Its process runs.
    Running,
    /// It is over.
    Ended(TaskEnd),
}

/// How an attempt at a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskEnd {
    /// The process ended by itself.
    Exited(ExitStatus),
    /// The process was ended on request. Unasked by the driver it means that the executor is ending: no task
    /// sent to it now would run.
    Killed,
    /// It never became a process.
    NotStarted(StartFailure),
}

impl TaskEnd {
    /// Whether the task did what it should.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited(ExitStatus::SUCCESS))
    }
}

impl fmt::Display for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "{status}"),
            Self::Killed => f.write_str("killed"),
            Self::NotStarted(failure) => write!(f, "{failure}"),
        }
    }
}

/// One of a process's two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Why a driver does not take an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedExecutor {
    /// It belongs to another application.
    OtherApplication,
    /// An executor of this number is connected already, or was and has ended.
    NumberTaken,
    /// Its addresses would not fit a frame beside a task.
    TooManyAddresses,
    /// The application is ending.
    Stopping,
}

impl fmt::Display for RefusedExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherApplication => "it belongs to another application",
            Self::NumberTaken => "its number is taken",
            Self::TooManyAddresses => "it has more addresses than can be told to a task",
            Self::Stopping => "the application is ending",
        })
    }
}
