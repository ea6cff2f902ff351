//! The messages by which an executor registers with its driver, and by which tasks and their output are sent.

use bytes::Bytes;
use firesteel_placement::{Cores, Resources};
use serde::{Deserialize, Serialize};

use crate::ids::{AppId, AttemptId, ExecutorId, ProfileId, WorkerId};
use crate::process::{Command, ExitStatus, StartFailure};
use crate::secret::Secret;
use crate::wire::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum ExecutorToDriver {
    /// The first message on each connection: the executor is ready for tasks, or it is back after its connection broke.
    RegisterExecutor {
        app: AppId,
        executor: ExecutorId,
        profile: ProfileId,
        worker: WorkerId,
        host: String,
        cores: Cores,
        resources: Resources,
        /// The application's secret, which the executor was started with.
        secret: Secret,
        /// How many messages of the driver the executor has received on its earlier connections, as an
        /// [`Exchange`](crate::exchange::Exchange) counts. `None`: the executor does not come back after its connection
        /// broke.
        #[serde(default)]
        received: Option<u64>,
    },
    /// An attempt's state has changed. `Ended` comes after the last `TaskOutput`.
    StatusUpdate { attempt: AttemptId, state: TaskState },
    /// A piece of a task's output. The driver grants a credit of bytes, and an executor never sends more, over both
    /// streams together.
    TaskOutput {
        attempt: AttemptId,
        stream: Stream,
        /// The output's bytes, at least one.
        bytes: Bytes,
    },
    /// Shows that the executor is alive. The executor sends one at each interval of [`HeartbeatRules`], and when it has
    /// to acknowledge much.
    Heartbeat {
        /// How many messages of the driver the executor has received on all its connections.
        #[serde(default)]
        received: u64,
        /// Whether this is the executor's last message: it ends and does not come back.
        #[serde(default)]
        ends: bool,
    },
    /// The machine does not have enough processes, open files or memory to start this attempt. The attempt does not
    /// count. For now, the executor can take fewer tasks.
    TaskGivenBack {
        attempt: AttemptId,
        /// What the machine has too little of.
        failure: StartFailure,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum DriverToExecutor {
    /// The driver accepts the executor. The messages that follow on this connection are those that the executor has not
    /// received.
    RegisteredExecutor {
        rules: HeartbeatRules,
        /// How many messages of the executor the driver has received on earlier connections.
        #[serde(default)]
        received: u64,
    },
    /// The driver refuses the executor, which then ends.
    RegisterExecutorFailed(RefusedExecutor),
    LaunchTask {
        attempt: AttemptId,
        spec: TaskSpec,
        /// The executor's addresses that the task may use. Other tasks may share them.
        resources: Resources,
        /// The number of bytes of output that the executor may send before it gets more credit.
        credit: u64,
    },
    KillTask {
        attempt: AttemptId,
    },
    /// Lets the executor send this many more bytes of output.
    OutputCredit {
        attempt: AttemptId,
        bytes: u64,
    },
    StopExecutor,
    /// Shows that the driver is alive. The driver sends one at each interval of [`HeartbeatRules`], and when it has to
    /// acknowledge much.
    Heartbeat {
        /// How many messages of the executor the driver has received on all its connections.
        #[serde(default)]
        received: u64,
    },
}

/// How often an executor and its driver send heartbeats to each other, and how long each waits for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeartbeatRules {
    /// Each side sends the other a heartbeat at this interval, in milliseconds.
    pub interval_millis: u64,
    /// An executor ends if it has received nothing from its driver for this time, in milliseconds.
    pub patience_millis: u64,
    /// How long both sides wait for the executor to come back after their connection broke, in milliseconds. 0: the end
    /// of the connection is the end of the executor.
    #[serde(default)]
    pub away_millis: u64,
}

impl ExecutorToDriver {
    /// The size of the message's bulk, if an [`Exchange`](crate::exchange::Exchange) counts and retains the message.
    /// `None`: the message belongs to one connection.
    #[must_use]
    pub fn counted(&self) -> Option<usize> {
        match self {
            Self::RegisterExecutor { .. } | Self::Heartbeat { .. } => None,
            Self::StatusUpdate { .. } | Self::TaskGivenBack { .. } => Some(0),
            Self::TaskOutput { bytes, .. } => Some(bytes.len()),
        }
    }
}

impl DriverToExecutor {
    /// The size of the message's bulk, if an [`Exchange`](crate::exchange::Exchange) counts and retains the message.
    /// `None`: the message belongs to one connection.
    #[must_use]
    pub fn counted(&self) -> Option<usize> {
        match self {
            Self::RegisteredExecutor { .. }
            | Self::RegisterExecutorFailed(_)
            | Self::StopExecutor
            | Self::Heartbeat { .. } => None,
            Self::LaunchTask { spec, .. } => Some(spec.stdin.len()),
            Self::KillTask { .. } | Self::OutputCredit { .. } => Some(0),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpec {
    pub command: Command,
    pub directory: TaskDirectory,
    pub stdin: Bytes,
    /// The number of the executor's cores that the task takes. Less than 1 counts as 1.
    pub cores: Cores,
}

impl TaskSpec {
    /// The number of the executor's cores that the task takes, at least 1.
    #[must_use]
    pub fn cores_taken(&self) -> Cores {
        self.cores.max(Cores(1))
    }

    /// The maximum number of bytes that the task takes on the wire.
    #[must_use]
    pub fn wire_length(&self) -> usize {
        // The length before a text takes at most 5 bytes, for any text that fits in a frame.
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

/// The directory that a task or the command of an executor runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskDirectory {
    /// The executor's own directory.
    #[default]
    Executor,
    /// This directory, which must exist on the executor's machine. The path may contain [any bytes](crate::byte_text).
    Path(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum TaskState {
    Running,
    Ended(TaskEnd),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum TaskEnd {
    /// The process ended by itself.
    Exited(ExitStatus),
    /// The process was ended on request. If the driver did not request this, the executor itself is ending and would
    /// not run new tasks.
    #[display("killed")]
    Killed,
    NotStarted(StartFailure),
}

impl TaskEnd {
    /// Whether the task succeeded: its process exited with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited(ExitStatus::SUCCESS))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stream {
    Stdout,
    Stderr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum RefusedExecutor {
    #[display("it belongs to another application")]
    OtherApplication,
    /// An executor with this number is already connected, or was connected and has ended.
    #[display("its number is taken")]
    NumberTaken,
    /// The executor has so many addresses that a task with them would not fit in a frame.
    #[display("it has more addresses than can be told to a task")]
    TooManyAddresses,
    #[display("the application is ending")]
    Stopping,
    /// The executor does not know the application's secret: its Worker did not start it for this application.
    #[display("it does not know the application's secret")]
    WrongSecret,
    /// The Master has not announced an executor with this number, and already too many unannounced executors wait.
    #[display("the Master has not assigned an executor of this number")]
    Unannounced,
}

impl Message for DriverToExecutor {}
impl Message for ExecutorToDriver {}
