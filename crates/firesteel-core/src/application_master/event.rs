//! What happens to an ApplicationMaster.

use std::collections::BTreeMap;

use crate::address::Address;
use crate::allocator::{AllocateFailure, Allocated, ContainerSize};
use crate::ids::{ContainerId, PeerId};
use crate::messages::{ClientToMaster, DriverToMaster};
use crate::process::{ExitStatus, StartFailure};

/// What happens to an ApplicationMaster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It begins.
    Start,
    /// The manager has registered it, for the first time or again.
    Registered {
        /// The most that one container may have.
        largest: ContainerSize,
    },
    /// The manager does not.
    RegisterFailed {
        /// Why, for people.
        error: String,
    },
    /// A message came.
    Received {
        /// From this connection.
        peer: PeerId,
        /// The message.
        message: Inbound,
    },
    /// A connection ended, however.
    Disconnected {
        /// Which.
        peer: PeerId,
    },
    /// The manager answers a call.
    Allocated {
        /// What it says.
        allocated: Allocated,
        /// Where the containers are that it has granted.
        nodes: BTreeMap<ContainerId, Node>,
    },
    /// A call to the manager failed.
    AllocateFailed(AllocateFailure),
    /// A container's process was started.
    ContainerStarted {
        /// Which.
        container: ContainerId,
    },
    /// A container's process could not be started.
    ContainerStartFailed {
        /// Which.
        container: ContainerId,
        /// Why, for people.
        error: String,
    },
    /// The program could not be started.
    ProgramNotStarted(StartFailure),
    /// The program has ended, and nothing of it is left.
    ProgramEnded(ExitStatus),
    /// The manager knows how the application ended.
    Unregistered,
    /// The manager could not be told.
    UnregisterFailed {
        /// Why, for people.
        error: String,
    },
    /// Somebody wants it to end.
    Shutdown,
    /// The time of the next deadline has come.
    Deadline,
}

/// A machine that a container is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Whoever starts containers there.
    pub address: Address,
    /// Where people find what the container writes.
    pub logs: String,
}

/// A message to the ApplicationMaster. Which kind a connection may send was settled by its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// From a driver.
    Driver(DriverToMaster),
    /// From a status client.
    Client(ClientToMaster),
}
