//! Remarks of a map run for the user. The shell words them.

use firesteel_protocol::machine::NoteLevel;

use crate::driver::{Ending, Note};

/// A remark for the user.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map remark")]
pub enum Remark {
    /// The driver's remark.
    Driver(Note),
    /// The user asked for the end, and items are cancelled.
    Cancelling {
        /// Items that run or wait.
        items: u64,
        /// Items that were not read, if that is known.
        unread: Option<u64>,
    },
    /// The Master did not say in time that all executors have ended.
    ExecutorsUnknown,
    /// Items were left for another run.
    Left {
        /// The number of items.
        items: u64,
    },
    /// The input failed.
    InputFailed {
        /// The error, in words.
        error: String,
    },
    /// Outputs cannot be kept or printed.
    OutputLost {
        /// The error, in words.
        error: String,
    },
    /// The run record cannot be written.
    RecordLost {
        /// The error, in words.
        error: String,
    },
    /// The driver ended before its application. This is a bug; the log has the reason.
    DriverLost,
    /// The application is over, and this run did not end it.
    ApplicationOver(Ending),
}

impl Remark {
    /// The level of the remark. The user sees warnings even if only errors are shown.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::Driver(_) | Self::Cancelling { .. } | Self::ExecutorsUnknown | Self::Left { .. } => {
                NoteLevel::Info
            }
            Self::InputFailed { .. }
            | Self::OutputLost { .. }
            | Self::RecordLost { .. }
            | Self::DriverLost
            | Self::ApplicationOver(_) => NoteLevel::Warn,
        }
    }
}
