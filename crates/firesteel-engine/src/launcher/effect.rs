//! The effects of a launcher, which its shell performs.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{ApplicationEnd, DriverToMaster};

use super::Note;

/// An effect of a launcher, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launcher effect")]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect {
        /// The Master's address.
        master: Address,
    },
    /// Send a message to a Master. If the connection has ended, nothing happens.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: DriverToMaster,
    },
    /// Close a connection, after sending what was sent before. Leads to `Disconnected`.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Tell the user about an event.
    Note(Note),
    /// The application has ended, with all its executors as far as known. Comes once, last.
    Done(Ending),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// How a launched application ended.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launch ending")]
pub enum Ending {
    /// Its executors ended as the settings say.
    Met {
        /// The exit code of the first executor that ended, or the greatest of all, as a shell reports it. 127
        /// if an executor could not be started.
        code: i32,
    },
    /// The user asked for its end.
    Asked,
    /// The Master ended it.
    Removed(ApplicationEnd),
    /// No Master registered it in time.
    NoMaster {
        /// The last error of each Master.
        errors: Vec<(Address, ConnectError)>,
    },
}
