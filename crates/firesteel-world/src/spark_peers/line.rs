//! One connection with both its ends, and everything in transit.

use std::collections::{BTreeMap, VecDeque};

use firesteel_master::{Event as MasterEvent, Outbound};
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::secret::Secret;
use firesteel_spark::authentication::Proven;
use firesteel_spark::connection::{Channel, Connection, Limits, PeerEnd};
use firesteel_spark::frame::Frame;

/// A party at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Party {
    /// An honest peer, by number.
    Person(usize),
    /// A hostile peer, by number.
    Stranger(usize),
}

impl Party {
    /// The connection with this number, which the party opens. Some of the hostile prove the secret of applications on
    /// it.
    pub(super) fn connection(self, number: u64, limits: Limits) -> Connection {
        let is_granted = matches!(self, Self::Stranger(_)) && number.is_multiple_of(8);
        let (user, secret) = (Some("eve".to_owned()), Secret::new("granted"));
        let proven = || Proven { user, rights: Rights::Modify, secret };
        Connection::new(limits).proven(is_granted.then(proven))
    }
}

/// Items in transit in one direction, in order.
#[derive(Debug)]
pub(super) struct InFlight<T> {
    items: VecDeque<T>,
    /// When the last item arrives.
    last: u64,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), last: 0 }
    }
}

impl<T> InFlight<T> {
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

/// An item that arrives at one end of a connection.
#[derive(Debug)]
pub(super) enum Arrival {
    Frame(Frame),
    End,
}

/// A message of the Master to a channel.
#[derive(Debug)]
pub(super) enum OutgoingItem {
    Message(Box<Outbound>),
    End(PeerEnd),
}

/// The Master's side of a channel.
#[derive(Debug)]
pub(super) struct ChannelQueue {
    pub(super) peer: PeerId,
    pub(super) outgoing: InFlight<OutgoingItem>,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) connection: Connection,
    /// The host of the other end.
    pub(super) host: String,
    pub(super) parties: Vec<Party>,
    pub(super) channels: BTreeMap<Channel, ChannelQueue>,
    /// The items in transit from the other end to the connection. The fields below: in the reverse direction, and from
    /// the connection to the Master.
    pub(super) here: InFlight<Arrival>,
    pub(super) there: InFlight<Arrival>,
    pub(super) to_master: InFlight<MasterEvent>,
    /// Whether the Master's side, or the other side, has ended the connection.
    pub(super) is_closed: bool,
    pub(super) is_left: bool,
}

impl Line {
    pub(super) fn new(connection: Connection, host: String, party: Party) -> Self {
        Self {
            connection,
            host,
            parties: vec![party],
            channels: BTreeMap::new(),
            here: InFlight::default(),
            there: InFlight::default(),
            to_master: InFlight::default(),
            is_closed: false,
            is_left: false,
        }
    }
}
