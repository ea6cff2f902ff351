//! The state of the search for old directories: planned, running, or neither.

use firesteel_protocol::time::Timestamp;

use crate::Reason;

/// The state of the search for old directories.
///
/// ```text
///          Start, if so set            deadline
///  NEVER -------------------> PLANNED ----------> LOOKING
///                                ^                   |
///                                +---- StaleFound ---+
/// ```
#[derive(Debug, Default)]
pub(crate) enum DirectorySearch {
    #[default]
    Never,
    /// The next search is planned for this time.
    Planned { at: Timestamp },
    /// The daemon is searching for directories.
    Looking,
}

impl DirectorySearch {
    pub(crate) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self {
            Self::Planned { at } => Some((*at, Reason::Cleaning)),
            Self::Never | Self::Looking => None,
        }
    }
}
