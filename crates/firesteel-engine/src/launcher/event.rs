//! The events that a launcher is told.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{ApplicationEnd, MasterToDriver};

/// An event for a launcher.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launcher event")]
pub enum Event {
    /// The launcher starts. Comes once, first.
    Start,
    /// A requested connection is open.
    Connected {
        /// Its number from now on.
        peer: PeerId,
        /// The address of the Master.
        master: Address,
        /// What it says of itself.
        leadership: Leadership,
    },
    /// A requested connection could not be opened.
    ConnectFailed {
        /// The address of the Master.
        master: Address,
        /// The error.
        error: ConnectError,
    },
    /// A message from a Master arrived.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        #[kind(label)]
        message: MasterToDriver,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// The cluster's manager has restarted the Master elsewhere. What the old one said no longer counts.
    MastersMoved {
        /// The addresses of the Masters.
        masters: Vec<Address>,
    },
    /// The cluster's manager has ended the application, and no Master is left to say so.
    Removed {
        /// How the application ended.
        end: ApplicationEnd,
    },
    /// The user asks for the end of the application.
    End,
    /// The next deadline has passed.
    Deadline,
}
