//! What the search for a Master asks of the seeker.

use std::time::Duration;

use crate::address::Address;
use crate::ids::PeerId;
use crate::master_search::leadership::Dispute;

/// What the seeker has to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order<Terms> {
    /// Connect to this Master.
    Connect(Address),
    /// Ask this Master to register the seeker.
    Ask(PeerId),
    /// Close this connection.
    Close(PeerId),
    /// The Master that had registered the seeker is lost.
    Lost {
        /// The Master's address.
        master: Address,
        /// What it said when it registered the seeker.
        terms: Terms,
    },
    /// Write a note about this.
    Remark(Remark),
    /// Nobody registers the seeker, and it gives up.
    GiveUp,
}

/// What is worth a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A Master could not be reached, and will be tried again.
    Unreachable {
        /// The Master's address.
        master: Address,
        /// Why it could not be reached.
        error: String,
    },
    /// A Master was asked and did not answer in time.
    Silent {
        /// The Master's address.
        master: Address,
    },
    /// A Master was asked and hung up.
    HungUp {
        /// The Master's address.
        master: Address,
    },
    /// A Master stands by.
    StandsBy {
        /// The Master's address.
        master: Address,
        /// The Master that leads, if it knows.
        leader: Option<Address>,
    },
    /// Two Masters say that they lead.
    Dispute(Dispute),
    /// Every Master of this round has failed, and the next round begins after this pause. 0: a Master was lost.
    NextRound {
        /// The number of rounds that have failed.
        failed: u32,
        /// The time until the next round.
        pause: Duration,
    },
}

/// What a seeker wakes up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A Master that was asked, or all of them, had time enough.
    Timeout,
    /// A round begins.
    Round,
}
