//! Free amounts of a Worker: cores, memory and custom resources.

use super::Slot;
use crate::resources::addresses::Addresses;
use crate::resources::amount::WHOLE;
use crate::resources::resource_name::{serves, without_kind};
use crate::{Amount, Cores, MiB, Quantity, ResourceAmounts, Resources};

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

    /// Whether this maximum could fall when a Worker with these free amounts leaves.
    pub(super) fn depends_on(&self, worker: &Self) -> bool {
        self.cores == worker.cores || self.memory == worker.memory || worker.resources != ResourceMask::NONE
    }
}

/// The custom resources that a Worker has free, as a bit mask. There is one bit for each combination of five groups of
/// names and six quantities, from any fraction of an address to eight whole addresses.
///
/// A Worker that has the required resources always has all required bits. But a Worker with all required bits may lack
/// the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceMask(u32);

impl ResourceMask {
    /// The mask of a Worker without resources.
    pub(super) const NONE: Self = Self(0);
    const GROUPS: u32 = 5;
    /// The six quantities, in thousandths of an address.
    const QUANTITIES: [u64; 6] = [1, 500, 1000, 2000, 4000, 8000];

    /// The mask for this quantity of one resource, whatever its kind. The quantity is the number of whole addresses, or
    /// the largest free fraction of an address if none is whole.
    pub(super) fn of(name: &str, quantity: Quantity) -> Self {
        let plain = without_kind(name);
        let hash =
            plain.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let reached = Self::QUANTITIES.into_iter().filter(|&step| step <= quantity.thousandths()).count();
        Self(((1 << reached) - 1) << (hash % Self::GROUPS * Self::QUANTITIES.len() as u32))
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

/// The free amount of one resource on one Worker, without the addresses themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FreeParts {
    /// The number of addresses that are completely free.
    whole: u64,
    /// The free fractions of the other addresses in thousandths, in any order.
    parts: Vec<u64>,
}

impl FreeParts {
    fn of(addresses: &Addresses) -> Self {
        let whole = addresses.whole();
        match addresses.len() as u64 == whole {
            true => Self { whole, parts: Vec::new() },
            false => Self { whole, parts: addresses.partial().collect() },
        }
    }

    fn is_empty(&self) -> bool {
        self.whole == 0 && self.parts.is_empty()
    }

    /// The number of executors that fit, if each needs this fraction of an address.
    fn fit(&self, part: u64) -> u64 {
        self.whole * (WHOLE / part) + self.parts.iter().map(|left| left / part).sum::<u64>()
    }

    /// The smallest free fraction that suffices for this fraction of an address.
    fn fullest(&self, part: u64) -> Option<u64> {
        let partial = self.parts.iter().copied().filter(|left| *left >= part).min();
        partial.or((self.whole > 0).then_some(WHOLE))
    }

    /// Takes a fraction from an address whose free fraction is `left`.
    fn take(&mut self, left: u64, taken: u64) {
        match self.parts.iter().position(|other| *other == left) {
            _ if left == WHOLE => self.whole -= 1,
            Some(at) => drop(self.parts.swap_remove(at)),
            None => return,
        }
        self.parts.extend((taken < left).then_some(left - taken));
    }
}

/// The free amounts of one Worker for each resource, in the order of the names.
type NamedAddresses = Box<[(Box<str>, FreeParts)]>;

/// The free custom resources of each Worker. Empty while no Worker has any.
#[derive(Debug, Default)]
pub(super) struct FreeResources {
    /// By slot, up to the last Worker that has resources.
    by_slot: Vec<NamedAddresses>,
}

impl FreeResources {
    /// For how many executors a Worker has this amount of one resource. `None` for an amount of 0.
    pub(super) fn fit(&self, slot: Slot, name: &str, amount: Amount) -> Option<u64> {
        match amount {
            Amount::Whole(each) => self.whole(slot, name).checked_div(each),
            Amount::Part(part) => {
                Some(self.of(slot, name).map(|addresses| addresses.fit(part.thousandths())).sum())
            }
        }
    }

    /// Whether a Worker has the required amount of each resource.
    pub(super) fn covers(&self, slot: Slot, required: &ResourceAmounts) -> bool {
        required.iter().all(|(name, amount)| match amount {
            Amount::Whole(count) => self.whole(slot, name) >= *count,
            Amount::Part(part) => {
                self.of(slot, name).any(|addresses| addresses.fullest(part.thousandths()).is_some())
            }
        })
    }

    /// Replaces the free resources of a Worker. Returns their mask.
    pub(super) fn set(&mut self, slot: Slot, resources: &Resources) -> ResourceMask {
        let named = resources.addresses().filter(|(_, addresses)| !addresses.is_empty());
        let named: NamedAddresses =
            named.map(|(name, addresses)| (name.into(), FreeParts::of(addresses))).collect();
        if named.is_empty() && self.by_slot.len() <= slot.index() {
            return ResourceMask::NONE;
        }
        if self.by_slot.len() <= slot.index() {
            self.by_slot.resize_with(slot.index() + 1, Box::default);
        }
        self.by_slot[slot.index()] = named;
        self.mask(slot)
    }

    /// Whether no Worker has, or ever had, a custom resource.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_slot.is_empty()
    }

    /// Takes the amounts of this number of executors, in the same way as [`Resources::take`] for each. Returns the new
    /// mask. A name remains known when nothing of it is free.
    pub(super) fn take(&mut self, slot: Slot, each: &ResourceAmounts, executors: u64) -> ResourceMask {
        let Some(named) = self.by_slot.get_mut(slot.index()) else { return ResourceMask::NONE };
        for (asked, amount) in each {
            match amount {
                Amount::Whole(count) => {
                    let mut missing = count.saturating_mul(executors);
                    for addresses in serving(named, asked) {
                        let taken = addresses.whole.min(missing);
                        addresses.whole -= taken;
                        missing -= taken;
                    }
                }
                Amount::Part(part) => take_parts(named, asked, part.thousandths(), executors),
            }
        }
        self.mask(slot)
    }

    /// Gives back whole addresses of this number of executors. Returns the new mask.
    pub(super) fn give_back(&mut self, slot: Slot, each: &ResourceAmounts, executors: u64) -> ResourceMask {
        let Some(named) = self.by_slot.get_mut(slot.index()) else { return ResourceMask::NONE };
        for (asked, amount) in each {
            debug_assert!(!amount.is_part(), "nobody knows from which address a part of {asked} came");
            if let (Amount::Whole(count), Some(addresses)) = (amount, serving(named, asked).next()) {
                addresses.whole = addresses.whole.saturating_add(count.saturating_mul(executors));
            }
        }
        self.mask(slot)
    }

    /// The mask of a Worker's free resources.
    pub(super) fn mask(&self, slot: Slot) -> ResourceMask {
        let Some(named) = self.by_slot.get(slot.index()) else { return ResourceMask::NONE };
        let mask = |(name, _): &(Box<str>, FreeParts)| {
            let plain = without_kind(name);
            let all = || named.iter().filter(|(name, _)| without_kind(name) == plain);
            let whole = all().map(|(_, addresses)| addresses.whole).fold(0, u64::saturating_add);
            let largest = match whole {
                0 => all().flat_map(|(_, addresses)| &addresses.parts).max().copied().unwrap_or(0),
                1.. => whole.saturating_mul(WHOLE),
            };
            ResourceMask::of(plain, Quantity::of(largest))
        };
        named.iter().map(mask).fold(ResourceMask::NONE, ResourceMask::union)
    }

    /// Whether a Worker has exactly these resources free. For checks.
    pub(super) fn equals(&self, slot: Slot, resources: &Resources) -> bool {
        let sorted = |name: &str, addresses: &FreeParts| {
            let mut parts = addresses.parts.clone();
            parts.sort_unstable();
            (!addresses.is_empty()).then(|| (name.to_owned(), addresses.whole, parts))
        };
        let known = self.by_slot.get(slot.index()).into_iter().flatten();
        let known = known.filter_map(|(name, addresses)| sorted(name, addresses));
        let expected =
            resources.addresses().filter_map(|(name, addresses)| sorted(name, &FreeParts::of(addresses)));
        known.eq(expected)
    }

    /// The number of completely free addresses that a Worker has of one resource.
    fn whole(&self, slot: Slot, name: &str) -> u64 {
        self.of(slot, name).map(|addresses| addresses.whole).fold(0, u64::saturating_add)
    }

    /// What a Worker has free for an executor that asks for this name, one entry per kind.
    fn of<'a>(&'a self, slot: Slot, asked: &'a str) -> impl Iterator<Item = &'a FreeParts> {
        let named = self.by_slot.get(slot.index()).into_iter().flatten();
        named.filter(move |(name, _)| serves(name, asked)).map(|(_, addresses)| addresses)
    }
}

/// The free amounts that serve an executor that asks for this name, in the order of the names.
fn serving<'a>(named: &'a mut NamedAddresses, asked: &'a str) -> impl Iterator<Item = &'a mut FreeParts> {
    named.iter_mut().filter(move |(name, _)| serves(name, asked)).map(|(_, addresses)| addresses)
}

/// Takes a fraction of an address for each of these executors, always from the fullest address with enough free. This
/// address remains the fullest until it has too little free, so each address is searched for only once.
fn take_parts(named: &mut NamedAddresses, asked: &str, part: u64, executors: u64) {
    let mut missing = executors;
    while missing > 0 {
        let fullest = |addresses: &mut FreeParts| addresses.fullest(part);
        let Some(left) = serving(named, asked).filter_map(fullest).min() else { return };
        let first = serving(named, asked).find(|addresses| addresses.fullest(part) == Some(left));
        let together = (left / part).min(missing);
        first.expect("one of them has it").take(left, together * part);
        missing -= together;
    }
}
