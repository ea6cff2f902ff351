//! The state of the search for old directories: planned, going on, or neither.

use crate::time::Timestamp;
use crate::worker::Reason;

/// The state of the search for old directories.
///
/// ```text
///          Start, if so set            deadline
///  NEVER -------------------> PLANNED ----------> LOOKING
///                                ^                   |
///                                +---- StaleFound ---+
/// ```
#[derive(Debug, Default)]
pub(in crate::worker) enum Cleaning {
    /// Not started, or switched off.
    #[default]
    Never,
    /// The next search is planned for this time.
    Planned { at: Timestamp },
    /// The shell is searching for directories.
    Looking,
}

impl Cleaning {
    pub(in crate::worker) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self {
            Self::Planned { at } => Some((*at, Reason::Cleaning)),
            Self::Never | Self::Looking => None,
        }
    }
}
