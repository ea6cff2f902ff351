//! Connections: messages stay in order in each direction, have random delays, and are lost when a connection is cut
//! without warning.

use firesteel_protocol::ids::PeerId;

use crate::cluster::world::NodeIndex;
use firesteel_sim::dice::Dice;

/// The number of a connection in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkIndex(pub(crate) usize);

/// One of the two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Dialler,
    Listener,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Dialler, Self::Listener];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Dialler => Self::Listener,
            Self::Listener => Self::Dialler,
        }
    }
}

/// A connection between two nodes.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    ends: [End; 2],
    pace: Pace,
    /// Whether the connection is cut. Then messages in transit and later messages are lost.
    cut: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) node: NodeIndex,
    /// The peer id that the owner of this end uses for the connection.
    pub(crate) peer: PeerId,
    /// Whether the owner of this end has not been told that the connection ended.
    pub(crate) open: bool,
    /// Whether the owner of this end has ended the connection. The owner's later messages are not sent.
    is_done: bool,
    /// When the latest message in transit arrives at this end. A later message must not arrive earlier.
    latest: u64,
}

/// How long messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Messages take at most 3 ms, and sometimes 40 ms.
    Quick,
    /// Messages take up to 400 ms.
    Slow,
}

impl Link {
    pub(crate) fn new(dialler: (NodeIndex, PeerId), listener: (NodeIndex, PeerId), pace: Pace) -> Self {
        let end = |(node, peer)| End { node, peer, open: true, is_done: false, latest: 0 };
        Self { ends: [end(dialler), end(listener)], pace, cut: false }
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        &self.ends[side as usize]
    }

    /// Which end of the connection belongs to this node.
    pub(crate) fn side_of(&self, node: NodeIndex) -> Side {
        if self.ends[0].node == node { Side::Dialler } else { Side::Listener }
    }

    /// Whether messages that arrive at this side now are received.
    pub(crate) fn receives(&self, side: Side) -> bool {
        !self.cut && self.end(side).open
    }

    /// Whether messages from this side are sent now.
    pub(crate) fn sends(&self, side: Side) -> bool {
        self.end(side).open && !self.end(side).is_done
    }

    /// The owner of this side ends the connection.
    pub(crate) fn stop_sending(&mut self, side: Side) {
        self.ends[side as usize].is_done = true;
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.cut && self.ends.iter().all(|end| end.open)
    }

    /// When a message that is sent now arrives at this side. It does not arrive before earlier messages.
    pub(crate) fn arrival(&mut self, side: Side, now: u64, dice: &mut Dice) -> u64 {
        let delay = match self.pace {
            Pace::Quick if dice.one_in(64) => dice.between(3, 40),
            Pace::Quick => dice.between(0, 3),
            Pace::Slow => dice.between(10, 400),
        };
        let end = &mut self.ends[side as usize];
        end.latest = end.latest.max(now + delay);
        end.latest
    }

    /// Holds back messages to this side from now until this time.
    pub(crate) fn stall(&mut self, side: Side, until: u64) {
        let end = &mut self.ends[side as usize];
        end.latest = end.latest.max(until);
    }

    /// When the last message to this side arrives, including held-back ones.
    pub(crate) fn latest(&self, side: Side) -> u64 {
        self.ends[side as usize].latest
    }

    /// Loses all messages in transit and all later messages.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// Records that the owner of this side knows that the connection has ended. Returns whether the owner did not know
    /// it before.
    pub(crate) fn close(&mut self, side: Side) -> bool {
        std::mem::replace(&mut self.ends[side as usize].open, false)
    }
}
