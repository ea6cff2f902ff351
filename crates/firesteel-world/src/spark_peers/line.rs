//! One connection with both its ends, and what is on its way between them and to the Master.

use std::collections::{BTreeMap, VecDeque};

use firesteel_master::{Event as MasterEvent, Outbound};
use firesteel_protocol::ids::PeerId;
use firesteel_spark::connection::{Connection, Dismissal, Seat};
use firesteel_spark::frame::Frame;

/// Somebody at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// One of the honest, by number.
    Person(usize),
    /// One of the strangers, by number.
    Stranger(usize),
}

/// What is on its way on one of the ways of a connection, in order.
#[derive(Debug)]
pub(super) struct Way<T> {
    items: VecDeque<T>,
    /// When the last of them arrives.
    last: u64,
}

impl<T> Default for Way<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), last: 0 }
    }
}

impl<T> Way<T> {
    /// Sends something that would arrive then. Returns when it does, behind all that was sent before.
    pub(super) fn send(&mut self, item: T, at: u64) -> u64 {
        self.items.push_back(item);
        self.last = self.last.max(at);
        self.last
    }

    /// The next that arrives.
    pub(super) fn arrive(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// What is on its way is lost.
    pub(super) fn lose(&mut self) {
        self.items.clear();
    }
}

/// What arrives at one end of a connection.
#[derive(Debug)]
pub(super) enum Arrival {
    Frame(Frame),
    /// The other side has ended the connection.
    End,
}

/// What the Master sends to a seat.
#[derive(Debug)]
pub(super) enum Letter {
    Message(Box<Outbound>),
    End(Dismissal),
}

/// A seat at the Master.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) peer: PeerId,
    pub(super) letters: Way<Letter>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) connection: Connection,
    /// The machine at the other end.
    pub(super) host: String,
    pub(super) parties: Vec<Party>,
    pub(super) seats: BTreeMap<Seat, Desk>,
    /// From the other end to the connection, the other way, and from the connection to the Master.
    pub(super) here: Way<Arrival>,
    pub(super) there: Way<Arrival>,
    pub(super) to_master: Way<MasterEvent>,
    /// Whether the connection has ended at this side, and at the other one.
    pub(super) is_closed: bool,
    pub(super) is_left: bool,
}

impl Line {
    pub(super) fn new(connection: Connection, host: String, party: Party) -> Self {
        Self {
            connection,
            host,
            parties: vec![party],
            seats: BTreeMap::new(),
            here: Way::default(),
            there: Way::default(),
            to_master: Way::default(),
            is_closed: false,
            is_left: false,
        }
    }
}
