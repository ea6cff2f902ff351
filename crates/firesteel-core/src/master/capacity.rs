//! What a Worker has, and what is taken of it. An executor's share is a value that cannot be copied, so that it
//! can neither be forgotten in a copy nor given back twice.

use firesteel_placement::{Cores, MiB, Offer, ResourceAmounts, Resources};

/// What a Worker has in all, and what is free of it.
#[derive(Debug)]
pub(super) struct Capacity {
    total: Amounts,
    free: Amounts,
}

/// An amount of each kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) resources: Resources,
}

/// An executor's share of a Worker. Made only by [`Capacity::take`], consumed only by [`Capacity::give_back`].
#[derive(Debug)]
#[must_use = "a share that is dropped is lost to its Worker"]
pub(super) struct Grant(Amounts);

impl Capacity {
    pub(super) fn new(total: Amounts) -> Self {
        Self { free: total.clone(), total }
    }

    pub(super) fn total(&self) -> &Amounts {
        &self.total
    }

    /// What is free. It may be negative after a restore.
    pub(super) fn free(&self) -> &Amounts {
        &self.free
    }

    /// Takes a share; of each resource the first free addresses. `None` when there are not so many addresses.
    /// Cores and memory are the caller's to have counted.
    pub(super) fn take(&mut self, cores: Cores, memory: MiB, asked: &ResourceAmounts) -> Option<Grant> {
        let resources = self.free.resources.take(asked)?;
        self.free.cores -= cores;
        self.free.memory -= memory;
        Some(Grant(Amounts { cores, memory, resources }))
    }

    pub(super) fn give_back(&mut self, Grant(share): Grant) {
        self.free.cores += share.cores;
        self.free.memory += share.memory;
        self.free.resources.give_back(share.resources);
    }

    /// What is not free.
    pub(super) fn used(&self) -> Amounts {
        Amounts {
            cores: self.total.cores - self.free.cores,
            memory: self.total.memory - self.free.memory,
            resources: self.total.resources.without(&self.free.resources),
        }
    }

    /// What is free, as an offer of the Worker of that id.
    pub(super) fn offer<'a>(&'a self, worker: &'a str) -> Offer<'a> {
        let Amounts { cores, memory, ref resources } = self.free;
        Offer { worker, cores, memory, resources }
    }

    /// All there is, free or not, as an offer of the Worker of that id.
    pub(super) fn whole_offer<'a>(&'a self, worker: &'a str) -> Offer<'a> {
        let Amounts { cores, memory, ref resources } = self.total;
        Offer { worker, cores, memory, resources }
    }
}

impl Grant {
    pub(super) fn amounts(&self) -> &Amounts {
        &self.0
    }
}
