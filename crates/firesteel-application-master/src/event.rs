//! The inputs of the ApplicationMaster: its driver, the ResourceManager, executors and deadlines.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{ContainerId, PeerId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::messages::{ClientToMaster, DriverToMaster};
use firesteel_protocol::process::{ExitStatus, StartFailure};

use crate::allocator::{AllocateFailure, Allocated, ContainerSize};

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("application master event")]
pub enum Event {
    /// The daemon starts. Comes exactly once, as the first event.
    Start,
    /// The manager has registered the application, for the first time or again.
    Registered {
        largest: ContainerSize,
    },
    RegisterFailed {
        error: String,
    },
    Received {
        peer: PeerId,
        #[kind(label)]
        message: Inbound,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        peer: PeerId,
    },
    Allocated {
        allocated: Allocated,
        nodes: BTreeMap<ContainerId, Node>,
    },
    AllocateFailed(AllocateFailure),
    ContainerStarted {
        container: ContainerId,
    },
    ContainerStartFailed {
        container: ContainerId,
        error: String,
    },
    ProgramNotStarted(StartFailure),
    /// The program has ended, and all its processes.
    ProgramEnded(ExitStatus),
    /// The manager has received the report about the application's end.
    Unregistered,
    /// The manager could not receive the report about the application's end.
    UnregisterFailed {
        error: String,
    },
    Shutdown,
    Deadline,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The address of the NodeManager, which starts the containers of this node.
    pub address: Address,
    /// The URL of the container's logs, for people.
    pub logs: String,
    /// The data that is needed to start the container.
    pub handle: ContainerHandle,
}

/// The data that is needed to start a container. The state machine does not interpret it, and only passes it back to
/// the daemon with the launch. The data may contain secrets, so its debug output shows only the length.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ContainerHandle(Arc<[u8]>);

impl ContainerHandle {
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

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

/// A message to the ApplicationMaster. The roles in the handshake decide which kind of message a connection may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    Driver(DriverToMaster),
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
