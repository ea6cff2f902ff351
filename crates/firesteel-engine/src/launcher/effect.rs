//! The effects of a launcher.

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{ApplicationEnd, DriverToMaster};

use super::Note;

/// An action that the program around the launcher performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("launcher effect")]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect { master: Address },
    /// Send a message to a Master. If the connection has ended, nothing happens.
    Send { peer: PeerId, message: DriverToMaster },
    /// Close a connection, once all earlier messages are written. Leads to `Disconnected`.
    Close { peer: PeerId },
    /// Show an event to the user.
    Note(Note),
    /// The application has ended, and so have all its executors as far as the launcher knows. The last effect, once.
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
    /// The application's executors ended as the settings require.
    Met {
        /// The exit code of the first executor that ended, or the greatest of all exit codes. As in a POSIX shell, 127
        /// if an executor could not be started.
        code: i32,
    },
    Asked,
    Removed(ApplicationEnd),
    NoMaster {
        /// The last error of each Master that was tried.
        errors: Vec<(Address, ConnectError)>,
    },
}
