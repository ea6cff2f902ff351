//! One connection with both its ends, and everything in transit.

use std::collections::{BTreeMap, VecDeque};

use firesteel_master::{Event as MasterEvent, Outbound};
use firesteel_protocol::ids::PeerId;
use firesteel_spark::connection::{Connection, Dismissal, Seat};
use firesteel_spark::frame::Frame;

/// A peer at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// An honest peer, by number.
    Person(usize),
    /// A hostile peer, by number.
    Stranger(usize),
}

/// Items in transit in one direction, in order.
#[derive(Debug)]
pub(super) struct Way<T> {
    items: VecDeque<T>,
    /// When the last item arrives.
    last: u64,
}

impl<T> Default for Way<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), last: 0 }
    }
}

impl<T> Way<T> {
    /// Sends an item that would arrive at `at`. Returns its actual arrival, after all earlier items.
    pub(super) fn send(&mut self, item: T, at: u64) -> u64 {
        self.items.push_back(item);
        self.last = self.last.max(at);
        self.last
    }

    /// Takes the next item that arrives.
    pub(super) fn arrive(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// Loses everything in transit.
    pub(super) fn lose(&mut self) {
        self.items.clear();
    }
}

/// What arrives at one end of a connection.
#[derive(Debug)]
pub(super) enum Arrival {
    Frame(Frame),
    End,
}

/// A message of the Master to a seat.
#[derive(Debug)]
pub(super) enum Letter {
    Message(Box<Outbound>),
    End(Dismissal),
}

/// The Master's side of a seat.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) peer: PeerId,
    pub(super) letters: Way<Letter>,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) connection: Connection,
    /// The machine at the other end.
    pub(super) host: String,
    pub(super) parties: Vec<Party>,
    pub(super) seats: BTreeMap<Seat, Desk>,
    /// Three directions: from the other end to the connection, back, and from the connection to the Master.
    pub(super) here: Way<Arrival>,
    pub(super) there: Way<Arrival>,
    pub(super) to_master: Way<MasterEvent>,
    /// Whether this side, or the other side, has ended the connection.
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
