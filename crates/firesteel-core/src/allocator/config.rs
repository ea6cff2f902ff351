//! What an allocator is told at its start.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_placement::locality::{Naming, Topology};

use super::size::Sizing;
use crate::ids::ExecutorId;

/// The settings of an allocator.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which host is in which rack. The manager must see it in the same way.
    pub topology: Topology,
    /// What a container must have for an executor of each profile.
    pub sizing: Sizing,
    /// Executors of the default profile to have at first, and of each other one until the driver says how many.
    pub initial_target: u64,
    /// Which hosts a request names.
    pub naming: Naming,
    /// The number of the first executor that is launched: one more than the driver has ever seen, so that an
    /// ApplicationMaster that was started again gives none twice.
    pub first_executor: ExecutorId,
    /// The longest time between two calls to the manager. Spark: 3 s.
    pub heartbeat: Duration,
    /// The time between two calls when something is wanted; doubled with each call that leaves something wanted, up
    /// to a heartbeat. Spark: 200 ms.
    pub initial_pause: Duration,
    /// So many calls in a row that fail are too many. Spark: 5.
    pub most_errors: u32,
    /// So many executors that fail are too many.
    pub most_failures: u64,
    /// A failure counts for so long. `None`: for ever.
    pub failure_window: Option<Duration>,
    /// Whether hosts where executors fail are avoided.
    pub exclusion: HostExclusion,
    /// Hosts where no executor is ever wanted.
    pub never: BTreeSet<String>,
    /// What is done when a host is being decommissioned.
    pub decommissioning: Decommissioning,
}

/// Whether hosts where executors fail are avoided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostExclusion {
    /// They are not. Spark's default.
    #[default]
    Off,
    /// They are.
    On {
        /// More failures than this on one host exclude it. Spark: 2.
        failures: u64,
        /// For so long. Spark: an hour.
        timeout: Duration,
    },
}

/// What is done when a host is being decommissioned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decommissioning {
    /// Nothing. Spark's default.
    #[default]
    Ignored,
    /// The driver is told, once.
    Told,
}

/// How many failed executors are too many, where nobody has said: twice as many as there may be, and no fewer than 3.
///
/// Source: Spark on YARN, 4.0.1.
#[must_use]
pub fn default_most_failures(executors: u64) -> u64 {
    const MOST: u64 = i32::MAX as u64;
    executors.saturating_mul(2).clamp(3, MOST)
}
