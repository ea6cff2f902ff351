//! What a launcher has its shell do.

use super::Note;
use crate::address::Address;
use crate::ids::PeerId;
use crate::messages::{ApplicationEnd, DriverToMaster};

/// What a launcher has its shell do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Dial a Master: `Connected` or `ConnectFailed` comes back.
    Connect {
        /// The Master's address.
        master: Address,
    },
    /// Send a message to a Master. Silently nothing if the connection has ended.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: DriverToMaster,
    },
    /// End a connection, after what was sent before. `Disconnected` comes back.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Something that the user is told.
    Note(Note),
    /// The application is over, and as far as anybody knows nothing of it is left. Comes once; nothing comes after it.
    Done(Outcome),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

/// How a launched application ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its executors ended as was waited for.
    Met {
        /// The code of the first that ended, or the greatest of all, as a shell shows it; 127 for one that could not
        /// be started.
        code: i32,
    },
    /// The user wanted it to end.
    Asked,
    /// The Master ended it.
    Removed(ApplicationEnd),
    /// No Master took it in time.
    NoMaster {
        /// The last error of each Master that was dialled.
        errors: Vec<(Address, String)>,
    },
}
