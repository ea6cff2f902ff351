//! The limits and times that the allocator keeps, each with its default.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_protocol::ids::ExecutorId;

use super::size::Sizing;

#[derive(Clone, Debug)]
pub struct Config {
    /// The racks of the hosts. They must be the same as the manager's.
    pub topology: Topology,
    /// How the size of a container is computed for an executor of each profile.
    pub sizing: Sizing,
    /// The initial number of executors of each profile, until the driver sets another.
    pub initial_target: u64,
    pub naming: Naming,
    /// The number of the first executor to launch. It is above all numbers that the driver has seen, so that a
    /// restarted ApplicationMaster does not use a number twice.
    pub first_executor: ExecutorId,
    /// The longest interval between two calls to the manager. Spark's default is 3 s.
    pub heartbeat: Duration,
    /// The interval between two calls while something is wanted. If something is still wanted after a call, the
    /// interval doubles, up to a heartbeat. Spark's default is 200 ms.
    pub initial_pause: Duration,
    /// The application ends after this number of failed calls in a row. Spark's default is 5.
    pub most_errors: u32,
    /// The application ends after this number of failed executors.
    pub most_failures: u64,
    pub failure_window: Option<Duration>,
    /// Whether hosts where executors fail are excluded.
    pub exclusion: HostExclusion,
    /// Hosts where executors are never wanted.
    pub never: BTreeSet<String>,
    /// What the allocator does when a host is being decommissioned.
    pub decommissioning: Decommissioning,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostExclusion {
    /// Hosts are not excluded. Spark's default.
    #[default]
    Off,
    /// Hosts where executors fail are excluded for a while.
    On {
        /// A host with more failures than this is excluded. Spark's default is 2.
        failures: u64,
        /// How long the exclusion lasts. Spark's default is one hour.
        timeout: Duration,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decommissioning {
    /// The allocator ignores it. Spark's default.
    #[default]
    Ignored,
    /// The allocator informs the driver, once.
    Notified,
}

/// The default of `most_failures`: twice the maximum number of executors, and at least 3.
///
/// Source: Spark on YARN, 4.0.1.
#[must_use]
pub fn default_most_failures(executors: u64) -> u64 {
    const MOST: u64 = i32::MAX as u64;
    executors.saturating_mul(2).clamp(3, MOST)
}
