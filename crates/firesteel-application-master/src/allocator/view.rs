//! A copy of an allocator's tables, for status pages and tests.

use std::collections::BTreeMap;

use firesteel_protocol::ids::ProfileId;

/// A copy of an allocator's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorView {
    /// The resource profiles, by number.
    pub profiles: BTreeMap<ProfileId, ProfileView>,
    /// The number of machines in the cluster, once the manager has told it.
    pub machines: Option<u64>,
    /// The number of executors that failed within the window.
    pub failures: u64,
    /// The number of executors that ended without being asked to.
    pub unexpected_ends: u64,
    /// The number of containers that were given back and have not ended.
    pub released: u64,
}

/// A copy of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileView {
    /// The number of executors wanted.
    pub target: u64,
    /// The number of executors asked for and not granted.
    pub pending: u64,
    /// The number of executors whose process is being started.
    pub starting: u64,
    /// The number of executors whose process runs.
    pub running: u64,
    /// The number of running and starting executors on each host.
    pub on_host: BTreeMap<String, u64>,
}
