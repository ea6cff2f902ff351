//! Remarks of a map run for the user. The program around the run writes their text.

use firesteel_protocol::machine::NoteLevel;

use crate::driver::{Ending, Note};

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map remark")]
pub enum Remark {
    Driver(Note),
    /// The user requested the end, and items are cancelled.
    Cancelling {
        items: u64,
        /// How many items were not read, if the number is known.
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
    /// The driver ended before its application. This is a bug. The log contains the reason.
    DriverLost,
    /// The application ended for a reason other than this run.
    ApplicationOver(Ending),
}

impl Remark {
    /// The level of the remark. Warnings are shown even if the user wants only errors.
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
