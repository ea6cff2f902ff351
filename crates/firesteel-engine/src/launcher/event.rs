//! The events of a launcher.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{ApplicationEnd, MasterToDriver};

/// An input of the launcher from the program around it.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launcher event")]
pub enum Event {
    /// The launcher starts. The first event, once.
    Start,
    /// A requested connection is open.
    Connected {
        peer: PeerId,
        master: Address,
        /// Whether this Master leads or stands by.
        leadership: Leadership,
    },
    ConnectFailed {
        master: Address,
        error: ConnectError,
    },
    Received {
        peer: PeerId,
        #[kind(label)]
        message: MasterToDriver,
    },
    /// A connection ended, for any reason.
    Disconnected {
        peer: PeerId,
    },
    /// The cluster's manager has restarted the Master elsewhere. Answers of the old Master no longer count.
    MastersMoved {
        masters: Vec<Address>,
    },
    /// The cluster's manager has ended the application, and no Master can report its end.
    Removed {
        end: ApplicationEnd,
    },
    /// The user asks for the end of the application.
    End,
    /// The time of the next deadline has come.
    Deadline,
}
