//! The notes of an executor, each a line of the log.

use std::fmt;

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::machine::NoteLevel;

/// A note for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The driver accepted the executor.
    Registered,
    /// A task was sent that runs here already. It was ignored.
    RepeatedLaunch {
        /// The attempt's id.
        attempt: AttemptId,
    },
    /// A task was sent for which too few cores are free. It was refused.
    TooFewCores {
        /// The attempt's id.
        attempt: AttemptId,
        /// The cores that it takes.
        cores: Cores,
        /// The number of free cores.
        free: Cores,
    },
    /// A task did not end in time, and is killed.
    GraceOver {
        /// The attempt's id.
        attempt: AttemptId,
    },
}

impl Note {
    /// The level at which the note is logged.
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
                write!(f, "ignored a repeated launch of task {attempt}")
            }
            Self::TooFewCores { attempt, cores, free } => {
                write!(
                    f,
                    "refused task {attempt}: it needs {}, and {free} are free",
                    counted(cores.0, "core")
                )
            }
            Self::GraceOver { attempt } => {
                write!(f, "task {attempt} did not end after SIGTERM: sending SIGKILL")
            }
        }
    }
}

firesteel_protocol::kinds!("executor note", Note: Registered RepeatedLaunch TooFewCores GraceOver);
