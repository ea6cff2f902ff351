//! The orders of a search to the seeker.

use std::time::Duration;

use crate::address::Address;
use crate::ids::PeerId;
use crate::master_search::leadership::LeaderConflict;

/// The orders of a search to the seeker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order<Terms> {
    Connect(Address),
    /// Ask this Master to register the seeker.
    Ask(PeerId),
    Close(PeerId),
    /// The Master that had registered the seeker is lost.
    Lost {
        master: Address,
        /// The terms that the Master sent when it registered the seeker.
        terms: Terms,
    },
    Remark(Remark),
    /// The seeker gives up, because no Master has registered it.
    GiveUp,
}

/// An event of the search that is worth a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A Master could not be reached, and will be tried again.
    Unreachable {
        master: Address,
        error: String,
    },
    /// A Master was asked and did not answer in time.
    Silent {
        master: Address,
    },
    /// A Master was asked and closed the connection.
    HungUp {
        master: Address,
    },
    StandsBy {
        master: Address,
        /// The Master that leads, if the standby Master knows it.
        leader: Option<Address>,
    },
    LeaderConflict(LeaderConflict),
    /// All Masters of this round have failed, and the next round begins after this pause.
    NextRound {
        /// The number of rounds that have failed. 0 if a Master was lost.
        failed: u32,
        pause: Duration,
    },
}

/// Why a seeker is called at its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// At least one Master did not answer in time.
    Timeout,
    Round,
}
