//! The limits and times that the allocator keeps, each with its default.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_protocol::ids::ExecutorId;

use super::size::Sizing;

#[derive(Clone, Debug)]
pub struct Config {
    /// The racks of the hosts. The manager must have the same.
    pub topology: Topology,
    /// What a container needs for an executor of each profile.
    pub sizing: Sizing,
    /// The initial number of executors of each profile, until the driver sets it.
    pub initial_target: u64,
    pub naming: Naming,
    /// The number of the first executor to launch. It is above all numbers that the driver has seen. So a restarted
    /// ApplicationMaster gives no number twice.
    pub first_executor: ExecutorId,
    /// The longest interval between two calls to the manager. Spark's default is 3 s.
    pub heartbeat: Duration,
    /// The interval between two calls while something is wanted. It doubles with each call after which something is
    /// still wanted, up to a heartbeat. Spark's default is 200 ms.
    pub initial_pause: Duration,
    /// The number of failed calls in a row that ends the application. Spark's default is 5.
    pub most_errors: u32,
    /// The number of failed executors that ends the application.
    pub most_failures: u64,
    pub failure_window: Option<Duration>,
    /// Whether hosts where executors fail are excluded.
    pub exclusion: HostExclusion,
    /// Hosts where no executor is ever wanted.
    pub never: BTreeSet<String>,
    /// What happens when a host is being decommissioned.
    pub decommissioning: Decommissioning,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostExclusion {
    /// They are not excluded. Spark's default.
    #[default]
    Off,
    /// They are excluded for a while.
    On {
        /// A host with more failures than this is excluded. Spark's default is 2.
        failures: u64,
        /// How long the exclusion lasts. Spark's default is one hour.
        timeout: Duration,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decommissioning {
    /// Nothing happens. Spark's default.
    #[default]
    Ignored,
    /// The driver is told, once.
    Notified,
}

/// The default number of failed executors that ends the application: twice the maximum number of executors,
/// and at least 3.
///
/// Source: Spark on YARN, 4.0.1.
#[must_use]
pub fn default_most_failures(executors: u64) -> u64 {
    const MOST: u64 = i32::MAX as u64;
    executors.saturating_mul(2).clamp(3, MOST)
}
