//! The effects of a launcher.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{ApplicationEnd, DriverToMaster};

use super::Note;

/// An action that the launcher's shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launcher effect")]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect { master: Address },
    /// Send a message to a Master. If the connection has ended, nothing happens.
    Send { peer: PeerId, message: DriverToMaster },
    /// Close a connection, once everything sent before is written. Leads to `Disconnected`.
    Close { peer: PeerId },
    /// Tell the user about an event.
    Note(Note),
    /// The application has ended, with all its executors as far as is known. The last effect, once.
    Done(Ending),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launch ending")]
pub enum Ending {
    /// Its executors ended as the settings require.
    Met {
        /// The exit code of the first executor that ended, or the greatest of all, in a shell's numbering. 127 if an
        /// executor could not be started.
        code: i32,
    },
    Asked,
    Removed(ApplicationEnd),
    NoMaster {
        /// The last error of each Master that was tried.
        errors: Vec<(Address, ConnectError)>,
    },
}
