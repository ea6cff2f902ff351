//! The total and free amounts of a Worker. An executor's share is a value that cannot be copied, so it cannot be given
//! back twice.

use firesteel_placement::{Cores, MiB, Offer, ResourceAmounts, Resources};

#[derive(Debug)]
pub(crate) struct Capacity {
    total: Holding,
    free: Holding,
}

/// Cores, memory and the addresses of custom resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) cores: Cores,
    pub(crate) memory: MiB,
    pub(crate) resources: Resources,
}

/// An executor's share of a Worker. Only [`Capacity::take`] makes it, and only [`Capacity::give_back`] consumes it.
#[derive(Debug)]
#[must_use = "a share that is dropped is lost to its Worker"]
pub(crate) struct Grant {
    cores: Cores,
    memory: MiB,
    /// The addresses, or `None` if there are none. The field is boxed, because there are very many executors and few
    /// have addresses.
    resources: Option<Box<Resources>>,
}

impl Capacity {
    pub(crate) fn new(total: Holding) -> Self {
        Self { free: total.clone(), total }
    }

    pub(crate) fn total(&self) -> &Holding {
        &self.total
    }

    /// The free amounts. They may be negative after a restore.
    pub(crate) fn free(&self) -> &Holding {
        &self.free
    }

    /// Takes a share, with the addresses that [`Resources::take`] chooses. Returns `None` if there are too few
    /// addresses. The caller has checked that cores and memory suffice.
    pub(crate) fn take(&mut self, cores: Cores, memory: MiB, asked: &ResourceAmounts) -> Option<Grant> {
        let resources = self.free.resources.take(asked)?;
        self.free.cores -= cores;
        self.free.memory -= memory;
        let resources = (resources != *Resources::NONE).then(|| Box::new(resources));
        Some(Grant { cores, memory, resources })
    }

    /// Takes exactly this share. Returns `None` if one of the addresses, or the requested fraction of one, is not free.
    pub(crate) fn take_exactly(&mut self, Holding { cores, memory, resources }: Holding) -> Option<Grant> {
        if !self.free.resources.take_these(&resources) {
            return None;
        }
        self.free.cores -= cores;
        self.free.memory -= memory;
        let resources = (resources != *Resources::NONE).then(|| Box::new(resources));
        Some(Grant { cores, memory, resources })
    }

    pub(crate) fn give_back(&mut self, Grant { cores, memory, resources }: Grant) {
        self.free.cores += cores;
        self.free.memory += memory;
        if let Some(resources) = resources {
            self.free.resources.give_back(*resources);
        }
    }

    pub(crate) fn used(&self) -> Holding {
        Holding {
            cores: self.total.cores - self.free.cores,
            memory: self.total.memory - self.free.memory,
            resources: self.total.resources.without(&self.free.resources),
        }
    }

    pub(crate) fn offer<'a>(&'a self, worker: &'a str) -> Offer<'a> {
        let Holding { cores, memory, ref resources } = self.free;
        Offer { worker, cores, memory, resources }
    }

    pub(crate) fn whole_offer<'a>(&'a self, worker: &'a str) -> Offer<'a> {
        let Holding { cores, memory, ref resources } = self.total;
        Offer { worker, cores, memory, resources }
    }
}

impl Grant {
    pub(crate) fn cores(&self) -> Cores {
        self.cores
    }

    pub(crate) fn memory(&self) -> MiB {
        self.memory
    }

    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_some()
    }

    pub(crate) fn resources(&self) -> &Resources {
        self.resources.as_deref().unwrap_or(Resources::NONE)
    }

    pub(crate) fn amounts(&self) -> Holding {
        Holding { cores: self.cores, memory: self.memory, resources: self.resources().clone() }
    }
}
