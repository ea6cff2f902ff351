//! A Worker, as it is added to a cluster.

use crate::{Cores, MiB, Resources};

/// A Worker with nothing running on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The id, which no other Worker of the cluster has. Ties are broken by the order of ids as text.
    pub id: String,
    /// The host. Several Workers may share one.
    pub host: String,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of custom resources.
    pub resources: Resources,
}

impl Worker {
    /// A Worker without custom resources, on a host of its own that has the same name.
    #[must_use]
    pub fn new(id: impl Into<String>, cores: Cores, memory: MiB) -> Self {
        let id = id.into();
        Self { host: id.clone(), id, cores, memory, resources: Resources::default() }
    }
}
