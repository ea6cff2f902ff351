//! What a session has its shell do.

use std::path::PathBuf;

use firesteel_placement::{Cores, Shortfall};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{ResourceProfile, TaskDirectory};
use firesteel_protocol::process::Command;

use super::{Answer, Complaint, Ending, Extent, Items, Message, Place, Position, Remark};
use crate::driver::{Replacement, TaskNeeds, TaskRequest};
use crate::map::OutputOrder;

/// The missing executors, by profile.
pub type Shortfalls = Vec<(ProfileId, Shortfall)>;

/// What a session has its shell do. The driver may be over by now: then it refuses, and that it is over is on its way.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session effect")]
pub enum Effect {
    /// Let these numbers be completed at the prompt.
    OfferNames {
        /// The executors.
        executors: Vec<ExecutorId>,
        /// The tasks that the session remembers.
        tasks: Vec<TaskId>,
    },
    /// Read a line: `LineRead`, `LineDiscarded`, `LinesEnded` or `LinesFailed` comes back.
    WantLine,
    /// The session ends while a line is being typed: give the terminal back.
    LeavePrompt,
    /// Get the driver's tables: `TablesSeen` comes back.
    Look,
    /// Ask the Master which executors are missing: `MasterAnswered` comes back.
    AskMaster,
    /// Read and parse a file of commands: `FileRead` or `FileFailed` comes back.
    ReadFile {
        /// The path of the file.
        path: PathBuf,
    },
    /// Open the items of a map run: `ItemsOpened` or `ItemsFailed` comes back.
    OpenItems(Items),
    /// Nobody waits for an answer any more.
    Forget,
    /// Begin a map run with the items that were opened: `MapEnded` or `MapFailed` comes back.
    StartMap(Box<MapStart>),
    /// Pass a ctrl-c on to the map run.
    InterruptMap,
    /// Give a task to the driver. The output of a background task is kept in a record, which begins here.
    Submit {
        /// The number of the task.
        task: TaskId,
        /// The task.
        request: Box<TaskRequest>,
        /// Where it runs.
        place: Place,
    },
    /// Have the driver end these tasks. `TaskEnded` comes back for each.
    CancelTasks {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// The record of a task starts over.
    RestartRecord {
        /// The task.
        task: TaskId,
    },
    /// The record of a task is complete.
    CloseRecord {
        /// The task.
        task: TaskId,
    },
    /// The record of a task is of no use any more.
    DropRecord {
        /// The task.
        task: TaskId,
    },
    /// The next piece of this task's record is its first.
    Rewind {
        /// The task.
        task: TaskId,
    },
    /// Print the next piece of a record: `Replayed` comes back when it is printed.
    Replay {
        /// The task.
        task: TaskId,
        /// How complete the record is to be.
        extent: Extent,
    },
    /// Have the driver change the number of executors of a profile.
    RequestExecutors {
        /// The profile.
        profile: ProfileId,
        /// The number of executors wanted.
        total: u64,
    },
    /// Have the driver end executors.
    KillExecutors {
        /// The executors.
        executors: Vec<ExecutorId>,
        /// Whether they are replaced.
        replacement: Replacement,
    },
    /// Have the driver add a profile.
    AddProfile {
        /// The number of the profile.
        profile: ProfileId,
        /// The resources of its executors.
        needs: ResourceProfile,
        /// The number of executors wanted.
        total: u64,
    },
    /// Print an answer on standard output.
    Print(Answer),
    /// Print a message on standard error.
    Say(Message),
    /// Print why a command failed on standard error.
    Complain {
        /// Where the command is.
        position: Position,
        /// Why it failed.
        complaint: Complaint,
    },
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
    /// The number of its first task.
    pub first: TaskId,
    /// The executors that are ready, with their hosts and cores.
    pub executors: Vec<(ExecutorId, String, Cores)>,
    /// What each of its tasks needs.
    pub needs: TaskNeeds,
    /// The command, in which the item is put.
    pub command: Command,
    /// The working directory of the command.
    pub directory: TaskDirectory,
    /// The order in which outputs are printed.
    pub order: OutputOrder,
}

/// What a map run of a session came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapEnd {
    /// The number of items that were taken, each of which has used a number of a task.
    pub items: u64,
    /// The number of items that failed.
    pub failed: u64,
    /// The exit code of the run.
    pub code: u8,
    /// Whether its output was read to the end.
    pub reader: Reader,
}

/// Whether somebody reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Somebody does.
    Reads,
    /// Nobody does.
    Gone,
}
