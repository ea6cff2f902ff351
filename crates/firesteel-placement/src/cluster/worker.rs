//! A Worker, as it is added to a cluster.

use crate::{Cores, MiB, Resources};

/// A Worker on which nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The Worker's id. No other Worker of the cluster has it. Ties are broken by the order of ids as text.
    pub id: String,
    /// The Worker's host. Several Workers may share a host.
    pub host: String,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of custom resources.
    pub resources: Resources,
}

impl Worker {
    /// A Worker without custom resources, on a host of its own. The host has the same name as the Worker.
    #[must_use]
    pub fn new(id: impl Into<String>, cores: Cores, memory: MiB) -> Self {
        let id = id.into();
        Self { host: id.clone(), id, cores, memory, resources: Resources::default() }
    }
}
