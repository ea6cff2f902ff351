//! Connections: in order in each direction, late by chance, and cut without warning.

use firesteel_core::ids::PeerId;

use super::world::NodeIndex;
use firesteel_sim::dice::Dice;

/// A connection's number in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkIndex(pub(crate) usize);

/// One of a connection's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that dialled.
    Dialler,
    /// The one that listened.
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

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    ends: [End; 2],
    pace: Pace,
    /// Whatever is on its way is lost, and so is whatever is sent from now on.
    cut: bool,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// Whose it is.
    pub(crate) node: NodeIndex,
    /// What its owner calls it.
    pub(crate) peer: PeerId,
    /// Its owner has not been told that it ended.
    pub(crate) open: bool,
    /// Its owner has ended the connection: nothing that it sends from then on leaves.
    is_done: bool,
    /// When the latest of what is on its way here arrives. Nothing that is sent later may arrive earlier.
    latest: u64,
}

/// How long messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At most 3 ms, now and then 40.
    Quick,
    /// Up to 400 ms.
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

    /// The side that this node holds.
    pub(crate) fn side_of(&self, node: NodeIndex) -> Side {
        if self.ends[0].node == node { Side::Dialler } else { Side::Listener }
    }

    /// Whether what arrives at that side now is received.
    pub(crate) fn receives(&self, side: Side) -> bool {
        !self.cut && self.end(side).open
    }

    /// Whether what that side sends now leaves.
    pub(crate) fn sends(&self, side: Side) -> bool {
        self.end(side).open && !self.end(side).is_done
    }

    /// The owner of that side ends the connection.
    pub(crate) fn stop_sending(&mut self, side: Side) {
        self.ends[side as usize].is_done = true;
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.cut && self.ends.iter().all(|end| end.open)
    }

    /// When something sent now arrives at that side: not before what was sent earlier.
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

    /// Loses everything that is on its way, and everything that is sent later.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// The owner of that side knows that the connection ended. Whether it did not know yet.
    pub(crate) fn close(&mut self, side: Side) -> bool {
        std::mem::replace(&mut self.ends[side as usize].open, false)
    }
}
