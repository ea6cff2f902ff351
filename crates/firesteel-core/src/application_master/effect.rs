//! What an ApplicationMaster asks its shell to do.

use std::fmt;

use super::event::Node;
use super::note::Note;
use crate::allocator::Call;
use crate::ids::{ContainerId, ExecutorKey, PeerId};
use crate::messages::{MasterToClient, MasterToDriver, TaskDirectory};
use crate::process::Command;
use firesteel_placement::{Cores, MiB};

/// What an ApplicationMaster asks its shell to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Register with the manager; `Registered` or `RegisterFailed` must follow.
    Register,
    /// Call the manager; `Allocated` or `AllocateFailed` must follow. There is one call at a time.
    Allocate(Call),
    /// Start an executor; `ContainerStarted` or `ContainerStartFailed` should follow.
    Launch(Launch),
    /// Start the program; `ProgramNotStarted` or `ProgramEnded` must follow.
    StartProgram,
    /// End the program, if it runs.
    EndProgram,
    /// Send a message. Silently nothing if the connection has ended.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// End a connection, after what was sent before. `Disconnected` comes back.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Tell the manager how the application has ended; `Unregistered` or `UnregisterFailed` must follow.
    Unregister {
        /// The application's final status.
        status: FinalStatus,
        /// The same for people.
        message: String,
    },
    /// End the daemon. Nothing comes after that.
    Exit(Exit),
    /// Something worth a line in the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// An executor to start in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The container's id.
    pub container: ContainerId,
    /// Where it is, if the manager has said so.
    pub node: Option<Node>,
    /// The executor's id.
    pub executor: ExecutorKey,
    /// What to run; placeholders are filled in, but for the binary, whose place only the shell knows.
    pub command: Command,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
}

/// A message from the ApplicationMaster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// To a driver.
    Driver(MasterToDriver),
    /// To a status client.
    Client(MasterToClient),
}

/// How an application has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalStatus {
    /// Nobody knows; whoever manages the cluster decides.
    Undefined,
    /// Well.
    Succeeded,
    /// Badly.
    Failed,
    /// Somebody wanted it to.
    Killed,
}

/// How YARN calls it.
impl fmt::Display for FinalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Undefined => "UNDEFINED",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
        })
    }
}

/// How the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How the application, or this attempt at it, has ended.
    pub status: FinalStatus,
    /// The exit code.
    pub code: i32,
    /// The reason, in words for people.
    pub message: String,
    /// Whether what was staged for it is of use to somebody.
    pub staging: Staging,
}

/// Whether what was staged for an application is of use to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staging {
    /// It is: another attempt may come.
    Needed,
    /// The application is over.
    Unneeded,
}
