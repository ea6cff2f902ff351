//! A Worker's standing: whether it may get executors. This is recorded in the journal.

use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::global_exclusion::GlobalExclusion;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerHealth {
    pub(crate) leaving: bool,
    pub(crate) asked: Option<Leave>,
    pub(crate) global_exclusion: GlobalExclusion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    Serving,
    /// The Worker is excluded for all applications for a while, and offers no cores.
    Excluded,
    /// The Worker is about to end, and offers no cores.
    Decommissioning,
}

impl WorkerHealth {
    pub(crate) fn availability(&self) -> Availability {
        match (self.leaving, self.global_exclusion.until) {
            (true, _) => Availability::Decommissioning,
            (false, Some(_)) => Availability::Excluded,
            (false, None) => Availability::Serving,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leave {
    /// When the Worker ends, even if executors or drivers still run on it.
    pub(crate) by: Option<Timestamp>,
}
