//! Remarks of a map run for the user. The shell words them.

use firesteel_protocol::machine::NoteLevel;

use crate::driver::{Ending, Note};

/// Something that the user is told.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map remark")]
pub enum Remark {
    Driver(Note),
    /// The user asked for the end, and items are cancelled.
    Cancelling {
        items: u64,
        /// Items that were not read, if their number is known.
        unread: Option<u64>,
    },
    /// The Master did not report in time that all executors have ended.
    ExecutorsUnknown,
    /// Items were left for another run.
    Left {
        items: u64,
    },
    InputFailed {
        error: String,
    },
    OutputLost {
        error: String,
    },
    RecordLost {
        error: String,
    },
    /// The driver ended before its application. This is a bug; the log has the reason.
    DriverLost,
    /// The application ended, but not because of this run.
    ApplicationOver(Ending),
}

impl Remark {
    /// The level of the remark. Warnings are shown even if only errors are wanted.
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
