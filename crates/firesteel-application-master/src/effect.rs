//! The effects of an ApplicationMaster, which its daemon performs.

use super::event::Node;
use super::note::Note;
use crate::allocator::Call;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ContainerId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{MasterToClient, MasterToDriver, TaskDirectory};
use firesteel_protocol::process::Command;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("application master effect")]
pub enum Effect {
    /// Register with the manager. Leads to `Registered` or `RegisterFailed`.
    Register,
    /// Call the manager. Leads to `Allocated` or `AllocateFailed`. At most one call is open at a time.
    Allocate(Call),
    /// Start an executor. Leads to `ContainerStarted` or `ContainerStartFailed`.
    Launch(Launch),
    /// Start the program. Leads to `ProgramNotStarted` or `ProgramEnded`.
    StartProgram,
    /// End the program, if it runs.
    EndProgram,
    /// Send a message. Does nothing if the connection has ended.
    Send { peer: PeerId, message: Outbound },
    /// Close a connection, after sending earlier messages. Leads to `Disconnected`.
    Close { peer: PeerId },
    /// Report to the manager how the application ended. Leads to `Unregistered` or `UnregisterFailed`.
    Unregister { status: FinalStatus, message: String },
    /// End the daemon. No effect comes after this one.
    Exit(Exit),
    /// Write a line to the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub container: ContainerId,
    /// The node of the container, if the manager has reported it.
    pub node: Option<Node>,
    pub executor: ExecutorKey,
    /// The command to run. All placeholders are filled in, except the path of the binary, which only the daemon knows.
    pub command: Command,
    pub directory: TaskDirectory,
    pub cores: Cores,
    pub memory: MiB,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    Driver(MasterToDriver),
    Client(MasterToClient),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("final status")]
pub enum FinalStatus {
    /// Unknown: the manager decides how the application ended.
    #[display("UNDEFINED")]
    Undefined,
    #[display("SUCCEEDED")]
    Succeeded,
    #[display("FAILED")]
    Failed,
    /// A user or a program killed the application.
    #[display("KILLED")]
    Killed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How the application, or this attempt at it, has ended.
    pub status: FinalStatus,
    pub code: i32,
    pub message: String,
    pub staging: Staging,
}

/// Whether the staged files of an application are still needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("staging")]
pub enum Staging {
    /// The files are needed: another attempt may come.
    Needed,
    /// The files are not needed: the application has ended.
    Unneeded,
}
