//! The events that a Master is told.

use crate::ids::PeerId;
use crate::kind::{Kind, Label};
use crate::messages::{ClientToMaster, DriverToMaster, WorkerToMaster};
use crate::time::Timestamp;

/// An event for a Master. There is none for a new connection: a peer counts from its first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message arrived on a connection.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// When the message had arrived whole. It may have waited since, while the Master handled others.
        arrived: Timestamp,
        /// The message itself.
        message: Inbound,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The time of the next deadline has come.
    Deadline {
        /// Everything that arrived before this time has been handled. It is in the past while messages wait for their turn.
        heard_until: Timestamp,
    },
}

/// A message to the Master. The roles in the hello decide which kind a connection may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// A message from a Worker.
    Worker(WorkerToMaster),
    /// A message from a driver.
    Driver(DriverToMaster),
    /// A message from a status client.
    Client(ClientToMaster),
}

impl Inbound {
    fn label(&self) -> Label {
        match self {
            Self::Worker(message) => message.label().from("Worker"),
            Self::Driver(message) => message.label().from("Driver"),
            Self::Client(message) => message.label().from("Client"),
        }
    }
}

crate::kinds!("master event", Event: Received Disconnected Deadline; Received => message);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_short() {
        let size = size_of::<Event>();
        assert!(size <= 104, "{size} bytes, for each of many that wait");
    }
}
