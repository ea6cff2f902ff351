//! A copy of an allocator's tables, for status pages and tests.

use std::collections::BTreeMap;

use firesteel_protocol::ids::ProfileId;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorView {
    pub profiles: BTreeMap<ProfileId, ProfileView>,
    /// The number of machines in the cluster, once the manager has reported it.
    pub machines: Option<u64>,
    /// The number of executors that failed within the window.
    pub failures: u64,
    /// The number of executors that ended although nobody asked them to.
    pub unexpected_ends: u64,
    /// The number of containers that were given back and have not ended.
    pub released: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileView {
    pub target: u64,
    /// The number of executors that were requested and not granted yet.
    pub pending: u64,
    pub starting: u64,
    pub running: u64,
    /// The number of running and starting executors on each host.
    pub on_host: BTreeMap<String, u64>,
}
