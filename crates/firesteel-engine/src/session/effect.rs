//! What a session has its shell do.

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

/// What a session has its shell do. The driver may be over by now: then it refuses, and that it is over is on its way.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session effect")]
pub enum Effect {
    /// Let the numbers of these executors and tasks be completed at the prompt.
    OfferNames(Vec<ExecutorId>, Vec<TaskId>),
    /// Read a line: `LineRead`, `LineDiscarded`, `LinesEnded` or `LinesFailed` comes back.
    WantLine,
    /// The session ends while a line is being typed: give the terminal back.
    LeavePrompt,
    /// Get the driver's tables: `TablesSeen` comes back.
    Look,
    /// Ask the Master which executors are missing: `MasterAnswered` comes back.
    AskMaster,
    /// Read a file of commands: `FileRead` or `FileFailed` comes back.
    ReadFile(PathBuf),
    /// Open the items of a map run: `ItemsOpened` or `ItemsFailed` comes back.
    OpenItems(Items),
    /// Nobody waits for an answer any more.
    Forget,
    /// Begin a map run with the items that were opened: `MapEnded` or `MapFailed` comes back.
    StartMap(Box<MapStart>),
    InterruptMap,
    /// Give a task to the driver. The output of a background task is kept in a record, which begins here.
    Submit(TaskId, Box<TaskRequest>, RunMode),
    /// Have the driver end these tasks. `TaskEnded` comes back for each.
    CancelTasks(Vec<TaskId>),
    /// The record of a task starts over.
    RestartRecord(TaskId),
    /// The record of a task is complete.
    CloseRecord(TaskId),
    /// The record of a task is of no use any more.
    DropRecord(TaskId),
    /// The next piece of this task's record is its first.
    Rewind(TaskId),
    /// Print the next piece of a record: `Replayed` comes back when it is printed.
    Replay(TaskId),
    /// Have the driver change the number of executors of a profile.
    RequestExecutors(ProfileId, u64),
    KillExecutors(Vec<ExecutorId>, Replacement),
    /// Have the driver add a profile, and request this number of its executors.
    AddProfile(ProfileId, ResourceProfile, u64),
    /// Print an answer on standard output.
    Print(Answer),
    /// Print a message on standard error.
    Say(Message),
    /// Print why the command at this position failed on standard error.
    Complain(Position, Complaint),
    /// Print a line that no command asked for on standard error, unless the session is quiet.
    Remark(Remark),
    /// End an unfinished line of output on the terminal.
    EndLine,
    /// The terminal has shown a ctrl-c.
    ShowInterrupt,
    /// Print everything: `OutputSettled` comes back.
    Settle,
    /// Drop outputs that are not printed yet, and new ones.
    Mute,
    /// Print outputs again.
    Unmute,
    /// Have the driver end the application. `ApplicationEnded` comes back, and then `DriverEnded`.
    EndApplication,
    /// The session is over. Comes once, last.
    Finish(Ending),
}

/// What a map run of a session begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapStart {
    pub first: TaskId,
    /// The executors that are ready, with their hosts and cores.
    pub executors: Vec<(ExecutorId, String, Cores)>,
    pub needs: TaskNeeds,
    /// The command, in which the item is put.
    pub command: Command,
    pub directory: TaskDirectory,
    pub order: OutputOrder,
}

/// What a map run of a session came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEnd {
    /// The number of items that were taken, each of which has used a number of a task.
    pub items: u64,
    pub failed: u64,
    pub code: u8,
    pub reader: Reader,
}

/// Whether somebody reads the output.
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
    /// The user or the system asked for the end.
    Asked(EndRequest),
    /// The request to end was repeated, and nothing was waited for.
    Abandoned(EndRequest),
    /// The application ended, although the session did not end it.
    Over(driver::Ending),
    /// The driver ended before its application: a defect, of which it has told in the log.
    DriverLost,
    /// Nobody reads standard output any more.
    ReaderGone,
}
