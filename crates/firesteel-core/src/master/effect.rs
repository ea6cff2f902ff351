//! What a Master has its shell do.

use super::Note;
use crate::ids::PeerId;
use crate::machine::Violation;
use crate::messages::{MasterToClient, MasterToDriver, MasterToWorker};

/// What a Master has its shell do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a message. Silently nothing if the connection has ended.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// End a connection, after what was sent before. `Disconnected` comes back.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Something worth a line in the log.
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
    /// To a Worker.
    Worker(MasterToWorker),
    /// To a driver.
    Driver(MasterToDriver),
    /// To a status client.
    Client(MasterToClient),
}
