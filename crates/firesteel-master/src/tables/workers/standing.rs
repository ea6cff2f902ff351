//! How a Worker stands: whether it is to be given executors, as that is written down.

use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::distrust::Distrust;

/// Whether a Worker is given executors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStanding {
    /// Whether it is about to end.
    pub(crate) leaving: bool,
    /// The request to leave, if there was one.
    pub(crate) asked: Option<Leave>,
    pub(crate) distrust: Distrust,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    Serving,
    /// It is excluded for all applications for a while, and offers no cores.
    Excluded,
    /// It is about to end, and offers no cores.
    Decommissioning,
}

impl WorkerStanding {
    pub(crate) fn availability(&self) -> Availability {
        match (self.leaving, self.distrust.until) {
            (true, _) => Availability::Decommissioning,
            (false, Some(_)) => Availability::Excluded,
            (false, None) => Availability::Serving,
        }
    }
}

/// A request to a Worker to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leave {
    /// The Worker ends then, whatever runs there.
    pub(crate) by: Option<Timestamp>,
}
