//! The effects of a Master, which its shell performs.

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::machine::Violation;
use firesteel_protocol::messages::{MasterToClient, MasterToDriver, MasterToWorker};

use super::{Note, Record};

/// An effect of a Master, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("master effect")]
pub enum Effect {
    /// Make records durable before any of the effects that follow is performed. If they [may
    /// wait](Record::may_wait), it is enough to do so with the next ones.
    Persist(Vec<Record>),
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
    /// Write a line to the log.
    Note(Note),
}

impl From<Violation> for Effect {
    fn from(violation: Violation) -> Self {
        Self::Note(Note::Inconsistent(violation))
    }
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// A message from the Master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// A message to a Worker.
    Worker(MasterToWorker),
    /// A message to a driver.
    Driver(MasterToDriver),
    /// A message to a status client.
    Client(MasterToClient),
}
