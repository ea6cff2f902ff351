//! The effects of a Master, which its daemon performs.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::machine::Violation;
use firesteel_protocol::messages::{LogAddress, LogRange, MasterToClient, MasterToDriver, MasterToWorker};
use firesteel_protocol::time::Timestamp;

use super::{Note, Record};

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("master effect")]
pub enum Effect {
    /// Make records durable before any of the following effects is performed. Records that [may wait](Record::may_wait)
    /// can be written together with later ones.
    Persist(Vec<Record>),
    /// Send a message. Does nothing if the connection has ended.
    Send { peer: PeerId, message: Outbound },
    /// Close a connection, after sending earlier messages. Leads to `Disconnected`.
    Close { peer: PeerId },
    /// Find out whether the process of a Worker has ended whose connection ended at `since`. If nothing listens at its
    /// address before `until`, [`Event::WorkerGone`](crate::Event::WorkerGone) follows.
    Probe { worker: WorkerId, address: Address, since: Timestamp, until: Timestamp },
    /// Ask Workers for a piece of a log: the first one, and if it does not answer or has none, those after it. Leads to
    /// [`Event::LogRead`](crate::Event::LogRead).
    ReadLog { peer: PeerId, addresses: Vec<LogAddress>, range: LogRange },
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    Worker(MasterToWorker),
    Driver(MasterToDriver),
    Client(MasterToClient),
}
