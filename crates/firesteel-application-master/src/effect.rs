//! The effects of an ApplicationMaster, which its shell performs.

use super::event::Node;
use super::note::Note;
use crate::allocator::Call;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ContainerId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{MasterToClient, MasterToDriver, TaskDirectory};
use firesteel_protocol::process::Command;

/// An effect of an ApplicationMaster, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("application master effect")]
pub enum Effect {
    /// Register with the manager. Leads to `Registered` or `RegisterFailed`.
    Register,
    /// Call the manager. Leads to `Allocated` or `AllocateFailed`. There is one call at a time.
    Allocate(Call),
    /// Start an executor. Leads to `ContainerStarted` or `ContainerStartFailed`.
    Launch(Launch),
    /// Start the program. Leads to `ProgramNotStarted` or `ProgramEnded`.
    StartProgram,
    /// End the program, if it runs.
    EndProgram,
    /// Send a message. If the connection has ended, nothing happens.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// Close a connection, after sending what was sent before. Leads to `Disconnected`.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Tell the manager how the application ended. Leads to `Unregistered` or `UnregisterFailed`.
    Unregister {
        /// The application's final status.
        status: FinalStatus,
        /// The same for people.
        message: String,
    },
    /// End the daemon. Nothing comes after this.
    Exit(Exit),
    /// Write a line to the log.
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
    /// The node that the container is on, if the manager has told it.
    pub node: Option<Node>,
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The command to run, with all placeholders filled in but the binary's path, which only the shell knows.
    pub command: Command,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
}

/// A message from the ApplicationMaster to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// A message to a driver.
    Driver(MasterToDriver),
    /// A message to a status client.
    Client(MasterToClient),
}

/// How an application has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("final status")]
pub enum FinalStatus {
    /// Not known: the cluster's manager decides.
    #[display("UNDEFINED")]
    Undefined,
    /// The application has succeeded.
    #[display("SUCCEEDED")]
    Succeeded,
    /// The application has failed.
    #[display("FAILED")]
    Failed,
    /// A user or a program killed it.
    #[display("KILLED")]
    Killed,
}

/// How the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How the application, or this attempt at it, has ended.
    pub status: FinalStatus,
    /// The exit code of the daemon.
    pub code: i32,
    /// The reason, in words for people.
    pub message: String,
    /// Whether the staged files are still needed.
    pub staging: Staging,
}

/// Whether the staged files of an application are still needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("staging")]
pub enum Staging {
    /// They are needed: another attempt may come.
    Needed,
    /// They are not needed: the application has ended.
    Unneeded,
}
