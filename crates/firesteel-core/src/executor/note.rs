//! What an executor remarks.

use std::fmt;

use firesteel_placement::Cores;

use crate::ids::AttemptId;
use crate::machine::NoteLevel;

/// A remark for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The driver took the executor.
    Registered,
    /// A task came that runs here already; it was ignored.
    RepeatedLaunch {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// A task came for which there is no room; it was refused.
    TooFewCores {
        /// The attempt's id.
        attempt: AttemptId,
        /// The cores that it takes.
        cores: Cores,
        /// The cores that were free.
        free: Cores,
    },
    /// A task did not end in time when asked; it is killed.
    GraceOver {
        /// The attempt's id.
        attempt: AttemptId,
    },
}

impl Note {
    /// How loud the remark is.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::Registered => NoteLevel::Info,
            Self::RepeatedLaunch { .. } | Self::TooFewCores { .. } | Self::GraceOver { .. } => {
                NoteLevel::Warn
            }
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered => f.write_str("registered with the driver"),
            Self::RepeatedLaunch { attempt } => {
                write!(f, "task {attempt} runs here already: the second launch is ignored")
            }
            Self::TooFewCores { attempt, cores, free } => {
                write!(f, "task {attempt} takes {cores} cores, and {free} are free: refused")
            }
            Self::GraceOver { attempt } => write!(f, "task {attempt} did not end when asked: it is killed"),
        }
    }
}
