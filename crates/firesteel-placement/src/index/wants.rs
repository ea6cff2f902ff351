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
        self.amounts()(best)
    }

    /// The same as a question that stands by itself, for many.
    #[inline]
    pub(super) fn amounts(&self) -> impl Fn(&Free) -> bool + use<> {
        let one = self.one;
        move |best| best.cores >= one.cores && best.memory >= one.memory && best.kinds.may_cover(one.kinds)
    }

    /// Whether this one has room.
    #[inline]
    pub(super) fn fit(&self, slot: Slot, free: &Free, stock: &Stock) -> bool {
        self.may_fit(free) && (self.no_resources() || self.covered(slot, stock))
    }

    /// Whether no resources are asked for.
    #[inline]
    pub(super) fn no_resources(&self) -> bool {
        self.resources.is_empty()
    }

    /// Whether this one has the resources.
    pub(super) fn covered(&self, slot: Slot, stock: &Stock) -> bool {
        stock.covers(slot, self.resources)
    }

    /// What parts of shelves are held against.
    pub(super) fn brief(&self, sorting: Sorting) -> Brief {
        Brief::of(&self.one, sorting)
    }

    /// Where nothing else is asked: how much of the amount beside that by which workers are sorted. Who has so much, and
    /// enough of that, has room.
    pub(super) fn beside(&self, sorting: Sorting) -> Option<u32> {
        let asked = self.brief(sorting).beside(sorting);
        let is_all = match sorting {
            Sorting::Cores | Sorting::Memory => self.resources.is_empty() && asked < u32::MAX,
            Sorting::Id => false,
        };
        is_all.then_some(asked)
    }

    /// Where workers are sorted by an amount: how much of it they need at least.
    pub(super) fn least(&self, sorting: Sorting) -> i64 {
        match sorting {
            Sorting::Cores | Sorting::Memory => sorting.amount(&self.one),
            Sorting::Id => i64::MIN,
        }
    }
}
