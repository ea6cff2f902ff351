//! The effects of a driver.

use bytes::Bytes;
use firesteel_placement::advanced::locality::Locality;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId, TaskId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{
    ApplicationEnd, DriverToExecutor, DriverToMaster, ExecutorState, Stream, TaskEnd,
};
use firesteel_protocol::process::{ExitStatus, StartFailure};

use super::{Answer, Note, QuestionId, Unfit};

/// An action that the daemon around the driver performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("driver effect")]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect {
        master: Address,
    },
    /// Send a message. If the connection has ended, nothing happens.
    Send {
        peer: PeerId,
        /// The message to a Master or an executor.
        message: Outbound,
    },
    /// Report when every message that has arrived on a connection is handled. Leads to `ArrivedHandled`, or to nothing
    /// if the connection has ended.
    HandleArrived {
        peer: PeerId,
    },
    /// Close a connection, once all earlier messages are written. Leads to `Disconnected`.
    Close {
        peer: PeerId,
    },
    /// Write a piece of an attempt's output. Leads to `OutputConsumed`.
    Output {
        attempt: AttemptId,
        /// Standard output or standard error.
        stream: Stream,
        /// The bytes, in order.
        bytes: Bytes,
    },
    /// Discard the output of an attempt, because the task will run again.
    DiscardOutput {
        attempt: AttemptId,
    },
    /// A task has ended, and will not run again. Occurs once for each submitted task.
    TaskEnded {
        task: TaskId,
        outcome: TaskOutcome,
    },
    /// Answer a question. Occurs once per question, unless the application ends first.
    Answer {
        number: QuestionId,
        answer: Answer,
    },
    /// The application has ended. Occurs once. Only `Exit` comes after this effect.
    Done(Ending),
    /// End the driver once everything is sent. Occurs once, as the last effect. This effect follows `Done` immediately,
    /// unless the driver was told to stay. Then it follows when the executors have ended or no Master is left to report
    /// their ends.
    Exit,
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    Master(DriverToMaster),
    Executor(DriverToExecutor),
}

/// The final result of a task.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("task outcome")]
pub enum TaskOutcome {
    /// The task succeeded in this attempt, whose output counts.
    Succeeded {
        attempt: AttemptId,
        executor: ExecutorId,
        /// How near the executor is to the preferred hosts. `None` if the task has no preferred hosts.
        locality: Option<Locality>,
    },
    /// The task reached its limit of failures. The last attempt's output counts.
    Failed {
        attempt: AttemptId,
        executor: ExecutorId,
        /// How near the executor is to the preferred hosts. `None` if the task has no preferred hosts.
        locality: Option<Locality>,
        failures: u32,
        /// How the last attempt ended.
        cause: FailureCause,
    },
    /// The task was cancelled, or the application ended before the task. No connected executor still runs the task.
    Cancelled,
    /// No executor can ever run the task.
    Unfit(Unfit),
}

/// Why an attempt counts as failed.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum FailureCause {
    /// The attempt itself ended this way.
    Ended(TaskEnd),
    /// The task returned an exit code after which it is not retried, although the limit of failures would allow a
    /// retry.
    #[display("{_0}, which is not retried")]
    FatalExit(ExitStatus),
    /// The executor died while the attempt ran, through its own fault or the task's.
    #[display("its executor died: {_0}")]
    ExecutorDied(ExecutorState),
    /// The task could not be started on any host with executors, so further attempts would fail, too.
    #[display("{failure}{}", on_all(*hosts))]
    StartsNowhere {
        /// How the start failed on the last host.
        failure: StartFailure,
        /// How many hosts were tried.
        hosts: usize,
    },
}

fn on_all(hosts: usize) -> String {
    if hosts == 1 { String::new() } else { format!(", on {hosts} hosts, and no other has executors") }
}

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("application ending")]
pub enum Ending {
    /// Every submitted task has ended, successfully or not.
    Completed,
    /// The user cancelled the application.
    Cancelled,
    Removed(ApplicationEnd),
    /// No Master registered the application in time.
    NoMaster {
        /// The last error of each Master that was tried.
        errors: Vec<(Address, ConnectError)>,
    },
}
