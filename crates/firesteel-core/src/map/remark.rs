//! What a map run tells the user. It is worded at the edge.

use crate::driver::{Ending, Note};
use crate::machine::NoteLevel;

/// Something worth a line to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        /// How many.
        items: u64,
    },
    /// The input ends early.
    InputFailed {
        /// What is wrong with it.
        error: String,
    },
    /// Outputs cannot be kept or printed.
    OutputLost {
        /// The error, in words.
        error: String,
    },
    /// The record of items that are not done cannot be written.
    RecordLost {
        /// The error, in words.
        error: String,
    },
    /// The driver ended before its application: a defect, of which it has told in the log.
    DriverLost,
    /// The application is over, and this run did not end it.
    ApplicationOver(Ending),
}

impl Remark {
    /// How loud it is: warnings are errors to the user, and are said even if only errors are wanted.
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

crate::kinds!("map remark", Remark: Driver Cancelling ExecutorsUnknown Left InputFailed OutputLost RecordLost DriverLost
    ApplicationOver);
