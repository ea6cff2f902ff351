//! The events that an ApplicationMaster is told.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ContainerId, PeerId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::messages::{ClientToMaster, DriverToMaster};
use firesteel_protocol::process::{ExitStatus, StartFailure};

use crate::allocator::{AllocateFailure, Allocated, ContainerSize};

/// An event for an ApplicationMaster.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("application master event")]
pub enum Event {
    /// The daemon starts. Comes once, first.
    Start,
    /// The manager has registered the application, for the first time or again.
    Registered {
        /// The size of the largest container that is possible.
        largest: ContainerSize,
    },
    /// The manager did not register the application.
    RegisterFailed {
        /// The error, in words for people.
        error: String,
    },
    /// A message arrived on a connection.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        #[kind(label)]
        message: Inbound,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The manager answered a call.
    Allocated {
        /// What the manager has decided.
        allocated: Allocated,
        /// The nodes of the granted containers.
        nodes: BTreeMap<ContainerId, Node>,
    },
    /// A call to the manager failed.
    AllocateFailed(AllocateFailure),
    /// A container's process was started.
    ContainerStarted {
        /// The container's id.
        container: ContainerId,
    },
    /// A container's process could not be started.
    ContainerStartFailed {
        /// The container's id.
        container: ContainerId,
        /// The error, in words for people.
        error: String,
    },
    /// The program could not be started.
    ProgramNotStarted(StartFailure),
    /// The program has ended, with all its processes.
    ProgramEnded(ExitStatus),
    /// The manager was told how the application ended.
    Unregistered,
    /// The manager could not be told.
    UnregisterFailed {
        /// The error, in words for people.
        error: String,
    },
    /// The daemon is asked to end.
    Shutdown,
    /// The next deadline has passed.
    Deadline,
}

/// A node with a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The address of the NodeManager, which starts containers there.
    pub address: Address,
    /// Where people find the container's logs.
    pub logs: String,
    /// What the container is started with.
    pub handle: ContainerHandle,
}

/// What a container is started with. Only the shell can read it, which gets it back with the launch. It may hold secrets, so
/// its debug output says no more than its length.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ContainerHandle(Arc<[u8]>);

impl ContainerHandle {
    /// A handle of these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ContainerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContainerHandle({} bytes)", self.0.len())
    }
}

/// A message to the ApplicationMaster. The roles in the hello decide which kind a connection may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// A message from a driver.
    Driver(DriverToMaster),
    /// A message from a status client.
    Client(ClientToMaster),
}

impl Inbound {
    fn label(&self) -> Label {
        match self {
            Self::Driver(message) => message.label().from("Driver"),
            Self::Client(message) => message.label().from("Client"),
        }
    }
}
