//! What happens to a Master.

use crate::ids::PeerId;
use crate::messages::{ClientToMaster, DriverToMaster, WorkerToMaster};

/// What happens to a Master. Connections need no event of their own: a peer counts from its first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
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
    /// The time of the next deadline has come.
    Deadline,
}

/// A message to the Master. Which kind a connection may send was settled by its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// From a Worker.
    Worker(WorkerToMaster),
    /// From a driver.
    Driver(DriverToMaster),
    /// From a status client.
    Client(ClientToMaster),
}
