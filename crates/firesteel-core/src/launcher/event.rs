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
        /// The error, in words for people.
        error: String,
    },
    /// A Master says something.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: MasterToDriver,
    },
    /// A connection ended, however.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The Masters are others from now on: whoever manages the cluster has started the one anew, elsewhere. What it said
    /// before counts for nothing.
    MastersMoved {
        /// The addresses of the Masters.
        masters: Vec<Address>,
    },
    /// Whoever manages the cluster has ended the application, and no Master is left to say so.
    Removed {
        /// How the application ended.
        end: ApplicationEnd,
    },
    /// The user wants it to end.
    End,
    /// The time of the next deadline has come.
    Deadline,
}
