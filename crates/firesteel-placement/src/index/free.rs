//! Free amounts of a Worker: cores, memory and custom resources.

use super::Slot;
use crate::{Cores, MiB, ResourceAmounts, Resources};

/// The free amounts of one Worker. For several Workers: the maximum of each amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    /// The number of free cores.
    pub(super) cores: Cores,
    /// The amount of free memory.
    pub(super) memory: MiB,
    /// The free custom resources, approximately.
    pub(super) resources: ResourceMask,
}

impl Free {
    /// Less than the free amounts of any Worker.
    pub(super) const LEAST: Self =
        Self { cores: Cores(i64::MIN), memory: MiB(i64::MIN), resources: ResourceMask::NONE };

    /// The maximum of each amount.
    #[inline]
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            cores: self.cores.max(other.cores),
            memory: self.memory.max(other.memory),
            resources: self.resources.union(other.resources),
        }
    }

    /// Whether this maximum may become lower when a Worker with these free amounts leaves.
    pub(super) fn depends_on(&self, worker: &Self) -> bool {
        self.cores == worker.cores || self.memory == worker.memory || worker.resources != ResourceMask::NONE
    }
}

/// The custom resources that a Worker has free, as a bit mask: one bit for each of eight groups of names and each of
/// the amounts 1, 2, 4 and 8.
///
/// The mask may say yes in error, never no: a Worker that has the required resources has all required bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceMask(u32);

impl ResourceMask {
    /// The mask of a Worker without resources.
    pub(super) const NONE: Self = Self(0);
    const GROUPS: u32 = 8;
    const AMOUNTS: [u64; 4] = [1, 2, 4, 8];

    /// The mask for this amount of one resource.
    pub(super) fn of(name: &str, amount: u64) -> Self {
        let hash = name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let reached = Self::AMOUNTS.into_iter().filter(|&step| step <= amount).count();
        Self(((1 << reached) - 1) << (hash % Self::GROUPS * Self::AMOUNTS.len() as u32))
    }

    /// All bits that are set in either mask.
    #[inline]
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all required bits are set.
    #[inline]
    pub(super) fn may_cover(self, required: Self) -> bool {
        self.0 & required.0 == required.0
    }
}

/// One Worker's amount of each resource, by name.
type NamedAmounts = Box<[(Box<str>, u64)]>;

/// The exact number of free addresses of each custom resource, per Worker. Empty while no Worker has resources.
#[derive(Debug, Default)]
pub(super) struct FreeResources {
    /// By slot, up to the last Worker with resources.
    by_slot: Vec<NamedAmounts>,
}

impl FreeResources {
    /// The number of free addresses of one resource.
    pub(super) fn count(&self, slot: Slot, name: &str) -> u64 {
        let amounts = self.by_slot.get(slot.index());
        let named = amounts.and_then(|amounts| amounts.iter().find(|(known, _)| **known == *name));
        named.map_or(0, |(_, amount)| *amount)
    }

    /// Whether a Worker has the required number of each resource.
    pub(super) fn covers(&self, slot: Slot, required: &ResourceAmounts) -> bool {
        required.iter().all(|(name, &amount)| self.count(slot, name) >= amount)
    }

    /// Replaces the free resources of a Worker. Returns their mask.
    pub(super) fn set(&mut self, slot: Slot, resources: &Resources) -> ResourceMask {
        let counted = resources.iter().map(|(name, addresses)| (name, addresses.count() as u64));
        let amounts: NamedAmounts =
            counted.filter(|&(_, amount)| amount > 0).map(|(name, amount)| (name.into(), amount)).collect();
        if amounts.is_empty() && self.by_slot.len() <= slot.index() {
            return ResourceMask::NONE;
        }
        if self.by_slot.len() <= slot.index() {
            self.by_slot.resize_with(slot.index() + 1, Box::default);
        }
        self.by_slot[slot.index()] = amounts;
        self.mask(slot)
    }

    /// Whether no Worker has, or ever had, a custom resource.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_slot.is_empty()
    }

    /// Changes each amount of a Worker, and returns the new mask. A name stays known when its amount drops to 0.
    pub(super) fn update(&mut self, slot: Slot, amount: impl Fn(&str, u64) -> u64) -> ResourceMask {
        let Some(amounts) = self.by_slot.get_mut(slot.index()) else { return ResourceMask::NONE };
        for (name, free) in amounts {
            *free = amount(name, *free);
        }
        self.mask(slot)
    }

    /// The mask of a Worker's free resources.
    pub(super) fn mask(&self, slot: Slot) -> ResourceMask {
        let amounts = self.by_slot.get(slot.index()).into_iter().flatten();
        let masks = amounts.map(|(name, amount)| ResourceMask::of(name, *amount));
        masks.fold(ResourceMask::NONE, ResourceMask::union)
    }

    /// Whether a Worker has exactly these resources free. For checks.
    pub(super) fn equals(&self, slot: Slot, resources: &Resources) -> bool {
        let mut names = 0;
        let same_counts = resources.iter().all(|(name, addresses)| {
            let amount = addresses.count() as u64;
            names += usize::from(amount > 0);
            self.count(slot, name) == amount
        });
        let known = self.by_slot.get(slot.index());
        let known_names = known.map_or(0, |amounts| amounts.iter().filter(|(_, amount)| *amount > 0).count());
        same_counts && names == known_names
    }
}
