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
        /// The error, in words for people.
        error: String,
    },
    /// A message came.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Inbound,
    },
    /// A connection ended, however.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The manager answers a call.
    Allocated {
        /// What the manager has decided.
        allocated: Allocated,
        /// Where the containers are that it has granted.
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
    /// The program has ended, and nothing of it is left.
    ProgramEnded(ExitStatus),
    /// The manager knows how the application ended.
    Unregistered,
    /// The manager could not be told.
    UnregisterFailed {
        /// The error, in words for people.
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
