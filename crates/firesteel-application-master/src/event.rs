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
    /// The program has ended, with all its processes.
    ProgramEnded(ExitStatus),
    /// The manager was told how the application ended.
    Unregistered,
    /// The manager could not be told how the application ended.
    UnregisterFailed {
        error: String,
    },
    Shutdown,
    Deadline,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The address of the NodeManager, which starts containers there.
    pub address: Address,
    /// Where people find the container's logs.
    pub logs: String,
    /// The data to start the container with.
    pub handle: ContainerHandle,
}

/// The data to start a container with. Only the shell can read it, and gets it back with the launch. It may contain
/// secrets, so its debug output shows only its length.
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

/// A message to the ApplicationMaster. The roles in the hello decide which kind a connection may send.
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
