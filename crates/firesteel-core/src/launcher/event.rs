//! What happens to a launcher.

use crate::address::Address;
use crate::ids::PeerId;
use crate::messages::{ApplicationEnd, MasterToDriver};

/// What happens to a launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Comes once, first.
    Start,
    /// A connection that was asked for is open.
    Connected {
        /// Its number from now on.
        peer: PeerId,
        /// The Master that was dialled.
        master: Address,
    },
    /// A connection that was asked for could not be opened.
    ConnectFailed {
        /// The Master that was dialled.
        master: Address,
        /// Why.
        error: String,
    },
    /// A Master says something.
    Received {
        /// On this connection.
        peer: PeerId,
        /// The message.
        message: MasterToDriver,
    },
    /// A connection ended, however.
    Disconnected {
        /// Which.
        peer: PeerId,
    },
    /// The Masters are others from now on: whoever manages the cluster has started the one anew, elsewhere. What it said
    /// before counts for nothing.
    MastersMoved {
        /// Where they are.
        masters: Vec<Address>,
    },
    /// Whoever manages the cluster has ended the application, and no Master is left to say so.
    Removed {
        /// Why.
        end: ApplicationEnd,
    },
    /// The user wants it to end.
    End,
    /// The time of the next deadline has come.
    Deadline,
}
