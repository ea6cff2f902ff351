//! A copy of what an allocator knows, for status pages and tests.

use std::collections::BTreeMap;

use crate::ids::ProfileId;

/// What an allocator knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorView {
    /// The profiles.
    pub profiles: BTreeMap<ProfileId, ProfileView>,
    /// Machines of the cluster, once the manager has said so.
    pub machines: Option<u64>,
    /// Executors that failed within the window.
    pub failures: u64,
    /// Executors that ended though nobody here wanted them to.
    pub unexpected_ends: u64,
    /// Containers that are given back and not gone yet.
    pub released: u64,
}

/// What is known of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileView {
    /// Executors that there are to be.
    pub target: u64,
    /// Those that are asked for and have not come.
    pub pending: u64,
    /// Those whose process is about to run.
    pub starting: u64,
    /// Those whose process runs.
    pub running: u64,
    /// How many of both are on each host.
    pub on_host: BTreeMap<String, u64>,
}
