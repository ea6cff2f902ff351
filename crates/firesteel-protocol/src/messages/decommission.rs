//! Decommissioning: Workers that leave on request.

use serde::{Deserialize, Serialize};

use crate::ids::WorkerId;

/// The maximum number of Workers that an answer lists.
pub const MOST_LEAVING: usize = 1000;

/// The Master's answer to a request to decommission Workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum DecommissionAnswer {
    /// These Workers get no more executors.
    Leaving {
        /// The Workers, by id. At most [`MOST_LEAVING`] are listed.
        workers: Vec<LeavingWorker>,
        /// The number of Workers that are not listed.
        more: u64,
    },
    /// No living Worker has this id, and none is on a host with this name.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeavingWorker {
    pub id: WorkerId,
    /// The number of executors that the Worker still runs.
    pub executors: u64,
    /// The number of cluster drivers that the Worker still runs.
    pub drivers: u64,
    /// Whether the Worker ends by itself after its last executor and cluster driver. Spark's own Workers do not end.
    pub ends_itself: bool,
}
