//! What a demand asks of one worker, in the index's words.

use super::Slot;
use super::brief::Brief;
use super::free::{Free, Kinds};
use super::sorting::Sorting;
use super::stock::Stock;
use crate::{Cores, Demand, ResourceAmounts};

/// What one more executor takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants<'a> {
    /// At least one core.
    one: Free,
    resources: &'a ResourceAmounts,
}

impl<'a> Wants<'a> {
    /// `None` when an executor without cores is asked for, which fits nowhere.
    pub(super) fn of(demand: &'a Demand) -> Option<Self> {
        let cores = demand.size.step();
        let kinds = demand.resources.iter().map(|(name, &amount)| Kinds::of(name, amount));
        let one = Free { cores, memory: demand.memory, kinds: kinds.fold(Kinds::NONE, Kinds::or) };
        (cores > Cores::ZERO).then_some(Self { one, resources: &demand.resources })
    }

    /// Whether one of these workers may have room. If not, none has.
    #[inline]
    pub(super) fn may_fit(&self, best: &Free) -> bool {
        let one = &self.one;
        best.cores >= one.cores && best.memory >= one.memory && best.kinds.may_cover(one.kinds)
    }

    /// Whether this one has room.
    #[inline]
    pub(super) fn fit(&self, slot: Slot, free: &Free, stock: &Stock) -> bool {
        self.may_fit(free) && (self.resources.is_empty() || stock.covers(slot, self.resources))
    }

    /// What parts of shelves are held against.
    pub(super) fn brief(&self, sorting: Sorting) -> Brief {
        Brief::of(&self.one, sorting)
    }

    /// Where workers are sorted by an amount: how much of it they need at least.
    pub(super) fn least(&self, sorting: Sorting) -> i64 {
        match sorting {
            Sorting::Cores | Sorting::Memory => sorting.amount(&self.one),
            Sorting::Id => i64::MIN,
        }
    }
}
