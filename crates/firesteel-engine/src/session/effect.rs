//! The effects of a session.

use std::path::PathBuf;

use firesteel_placement::{Cores, Shortfall};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{ResourceProfile, TaskDirectory};
use firesteel_protocol::process::Command;
use firesteel_protocol::process::end_request::EndRequest;

use super::{Answer, Complaint, Items, Message, Position, Remark, RunMode};
use crate::driver::{self, Replacement, TaskNeeds, TaskRequest};
use crate::map::OutputOrder;

/// The missing executors, by profile.
pub type Shortfalls = Vec<(ProfileId, Shortfall)>;

/// An action that the program around a session performs. The driver may already have ended. Then the action is refused,
/// and the event about the driver's end follows.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session effect")]
pub enum Effect {
    /// Offer the numbers of these executors and tasks for completion at the prompt.
    OfferNames(Vec<ExecutorId>, Vec<TaskId>),
    /// Read a line. `LineRead`, `LineDiscarded`, `LinesEnded` or `LinesFailed` follows.
    WantLine,
    /// Stop reading the line that is being typed and reset the terminal, because the session ends.
    LeavePrompt,
    /// Get the driver's tables. `TablesSeen` follows.
    Look,
    /// Ask the Master which executors are missing. `MasterAnswered` follows.
    AskMaster,
    /// Read a file of commands. `FileRead` or `FileFailed` follows.
    ReadFile(PathBuf),
    /// Open the items of a map run. `ItemsOpened` or `ItemsFailed` follows.
    OpenItems(Items),
    /// Forget the last request: the session no longer waits for the answer.
    Forget,
    /// Begin a map run with the items that were opened. `MapEnded` or `MapFailed` follows.
    StartMap(Box<MapStart>),
    InterruptMap,
    /// Submit a task to the driver. For a background task, begin a file for its output.
    Submit(TaskId, Box<TaskRequest>, RunMode),
    /// Tell the driver to end these tasks. `TaskEnded` follows for each task.
    CancelTasks(Vec<TaskId>),
    /// Discard the recorded output of a task and begin again, because the task runs again.
    RestartRecord(TaskId),
    /// The recorded output of a task is complete.
    CloseRecord(TaskId),
    /// Delete the recorded output of a task.
    DropRecord(TaskId),
    /// Go back to the first piece of this task's recorded output.
    Rewind(TaskId),
    /// Print the next piece of this task's recorded output. `Replayed` follows when the piece is printed.
    Replay(TaskId),
    /// Tell the driver to change the number of executors of a profile.
    RequestExecutors(ProfileId, u64),
    KillExecutors(Vec<ExecutorId>, Replacement),
    /// Tell the driver to add a profile, and to request this number of its executors.
    AddProfile(ProfileId, ResourceProfile, u64),
    /// Print an answer on standard output.
    Print(Answer),
    /// Print a message on standard error.
    Say(Message),
    /// Print why the command at this position failed on standard error.
    Complain(Position, Complaint),
    /// Print a line that is not an answer to a command on standard error, unless the session is quiet.
    Remark(Remark),
    /// End an unfinished line of output on the terminal.
    EndLine,
    /// End the line on which the terminal has shown a ctrl-c.
    ShowInterrupt,
    /// Print everything. `OutputSettled` follows.
    Settle,
    /// Discard outputs that are not printed yet, and new ones.
    Mute,
    /// Print outputs again.
    Unmute,
    /// Tell the driver to end the application. `ApplicationEnded` follows, and then `DriverEnded`.
    EndApplication,
    /// The session has ended. The last effect, once.
    Finish(Ending),
}

/// The parameters of a map run in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapStart {
    pub first: TaskId,
    /// The executors that are ready, with their hosts and cores.
    pub executors: Vec<(ExecutorId, String, Cores)>,
    pub needs: TaskNeeds,
    /// The command, into which the item is inserted.
    pub command: Command,
    pub directory: TaskDirectory,
    pub order: OutputOrder,
}

/// The result of a map run in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEnd {
    /// The number of items that were read. Each item has used one task number.
    pub items: u64,
    pub failed: u64,
    pub code: u8,
    pub reader: Reader,
}

/// Whether the output is still read at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    Reads,
    Gone,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session ending")]
pub enum Ending {
    /// The user left, or the script ended, with this exit code.
    Left(u8),
    /// The user or the system requested the end.
    Asked(EndRequest),
    /// The request to end was repeated, and the session did not wait for anything.
    Abandoned(EndRequest),
    /// The application ended for a reason other than the session.
    Over(driver::Ending),
    /// The driver ended before its application. This is a bug; the log has the reason.
    DriverLost,
    /// The program that reads standard output has closed it.
    ReaderGone,
}
