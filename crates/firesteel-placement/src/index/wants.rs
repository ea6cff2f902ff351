//! What a demand asks of one worker, in the index's words.

use super::entry::{Best, Entry, Kinds, Sorting};
use super::stock::Stock;
use crate::{Cores, Demand, MiB, ResourceAmounts};

/// What one more executor takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants<'a> {
    /// At least 1.
    cores: Cores,
    memory: MiB,
    kinds: Kinds,
    resources: &'a ResourceAmounts,
}

impl<'a> Wants<'a> {
    /// `None` when an executor without cores is asked for, which fits nowhere.
    pub(super) fn of(demand: &'a Demand) -> Option<Self> {
        let cores = demand.size.step();
        let kinds = demand.resources.iter().map(|(name, &amount)| Kinds::of(name, amount));
        (cores > Cores::ZERO).then(|| Self {
            cores,
            memory: demand.memory,
            kinds: kinds.fold(Kinds::default(), Kinds::or),
            resources: &demand.resources,
        })
    }

    /// Whether one of these workers may have room. If not, none has.
    pub(super) fn may_fit(&self, best: &Best) -> bool {
        best.cores >= self.cores && best.memory >= self.memory && best.kinds.may_cover(self.kinds)
    }

    /// Whether this one has room.
    pub(super) fn fit(&self, entry: &Entry, stock: &Stock) -> bool {
        self.may_fit(&entry.into()) && (self.resources.is_empty() || stock.covers(entry.slot, self.resources))
    }

    /// Where workers are sorted by an amount: how much of it they need at least.
    pub(super) fn least(&self, sorting: Sorting) -> i64 {
        match sorting {
            Sorting::Cores => self.cores.0,
            Sorting::Memory => self.memory.0,
            Sorting::Id => i64::MIN,
        }
    }
}
