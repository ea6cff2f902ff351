//! What one more executor requires of its Worker, and the search for Workers that fit.

use super::Slot;
use super::free::{Free, FreeResources, ResourceMask};
use super::sorted::{Direction, SortKey};
use super::summary::Maximum;
use crate::{Cores, Demand, ResourceAmounts};

/// What one more executor of a demand requires of its Worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requirement<'a> {
    /// The cores (at least one), the memory and the mask of the resources.
    amounts: Free,
    resources: &'a ResourceAmounts,
}

/// A search for Workers that fit, in the worker order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search<'a> {
    pub(super) requirement: Requirement<'a>,
    /// The free custom resources of all Workers.
    pub(super) resources: &'a FreeResources,
    pub(super) direction: Direction,
}

impl Search<'_> {
    /// Whether one more executor fits on this Worker.
    #[inline]
    pub(super) fn accepts(&self, slot: Slot, free: &Free) -> bool {
        self.requirement.fits(slot, free, self.resources)
    }
}

impl<'a> Requirement<'a> {
    /// The requirement of a demand. `None` if its executors have no cores, because they fit nowhere.
    pub(super) fn of(demand: &'a Demand) -> Option<Self> {
        let cores = demand.size.step();
        let masks = demand.resources.iter().map(|(name, amount)| ResourceMask::of(name, amount.quantity()));
        let resources = masks.fold(ResourceMask::NONE, ResourceMask::union);
        let amounts = Free { cores, memory: demand.memory, resources };
        (cores > Cores::ZERO).then_some(Self { amounts, resources: &demand.resources })
    }

    /// Whether one of several Workers with this maximum may fit. If `false`, none of them fits.
    #[inline]
    pub(super) fn may_fit(&self, max: &Free) -> bool {
        self.amounts_test()(max)
    }

    /// Returns [`may_fit`](Self::may_fit) as a separate function that borrows nothing, for many calls.
    #[inline]
    pub(super) fn amounts_test(&self) -> impl Fn(&Free) -> bool + use<> {
        let required = self.amounts;
        move |free| {
            free.cores >= required.cores
                && free.memory >= required.memory
                && free.resources.may_cover(required.resources)
        }
    }

    /// Whether one more executor fits on this Worker.
    #[inline]
    pub(super) fn fits(&self, slot: Slot, free: &Free, resources: &FreeResources) -> bool {
        self.may_fit(free) && (self.needs_no_resources() || self.is_covered(slot, resources))
    }

    /// Whether no custom resources are required.
    #[inline]
    pub(super) fn needs_no_resources(&self) -> bool {
        self.resources.is_empty()
    }

    /// Whether this Worker has the required custom resources.
    pub(super) fn is_covered(&self, slot: Slot, resources: &FreeResources) -> bool {
        resources.covers(slot, self.resources)
    }

    /// The required amounts, to compare with summaries.
    pub(super) fn maximum(&self, sort_key: SortKey) -> Maximum {
        Maximum::of(&self.amounts, sort_key)
    }

    /// The required [secondary amount](Maximum::secondary), if a Worker with this amount and enough of the sort key
    /// certainly fits. `None` if more must be checked.
    pub(super) fn only_secondary(&self, sort_key: SortKey) -> Option<u32> {
        let required = self.maximum(sort_key).secondary(sort_key);
        let suffices = match sort_key {
            SortKey::Cores | SortKey::Memory => self.resources.is_empty() && required < u32::MAX,
            SortKey::Id => false,
        };
        suffices.then_some(required)
    }

    /// The smallest amount of the sort key that a Worker must have.
    pub(super) fn least_key(&self, sort_key: SortKey) -> i64 {
        match sort_key {
            SortKey::Cores | SortKey::Memory => sort_key.amount(&self.amounts),
            SortKey::Id => i64::MIN,
        }
    }
}
