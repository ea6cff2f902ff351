//! What workers give to executors, or get back from them.

use super::brief::shifted;
use super::free::{Free, Kinds};
use super::sorting::Sorting;
use super::stock::Stock;
use super::{Share, Slot};
use crate::{Cores, Demand, MiB};

/// Shares that are taken off what workers have free, or given back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transfer<'a> {
    Taken(&'a Demand),
    GivenBack(&'a Demand),
}

/// What a share changes on its worker, and on each that has one like it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    transfer: Transfer<'a>,
    share: Share,
    /// By how much the worker has more then. Less than nothing where it gives.
    cores: Cores,
    memory: MiB,
}

/// The same in the words of a shelf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    /// By how much the amount changes that workers are sorted by.
    pub(super) amount: i64,
    /// By how much the others do: of the sorted one, by nothing.
    pub(super) cores: i64,
    pub(super) memory: i64,
    /// By how much the amount beside the sorted one does, where there is one.
    beside: i64,
}

impl<'a> Transfer<'a> {
    pub(super) fn change(self, share: &Share) -> Change<'a> {
        let executors = i64::try_from(share.executors).unwrap_or(i64::MAX);
        let memory = |demand: &Demand| MiB(demand.memory.0.saturating_mul(executors));
        let (cores, memory) = match self {
            Self::Taken(demand) => (Cores::ZERO - share.total(), MiB::ZERO - memory(demand)),
            Self::GivenBack(demand) => (share.total(), memory(demand)),
        };
        Change { transfer: self, share: *share, cores, memory }
    }
}

impl Change<'_> {
    /// What cores and memory are free after it.
    #[inline]
    pub(super) fn of(&self, free: Free) -> Free {
        Free { cores: free.cores + self.cores, memory: free.memory + self.memory, ..free }
    }

    /// The same for workers sorted so.
    pub(super) fn shift(&self, sorting: Sorting) -> Shift {
        let (Cores(cores), MiB(memory)) = (self.cores, self.memory);
        match sorting {
            Sorting::Cores => Shift { amount: cores, cores: 0, memory, beside: memory },
            Sorting::Memory => Shift { amount: memory, cores, memory: 0, beside: cores },
            Sorting::Id => Shift { amount: 0, cores, memory, beside: 0 },
        }
    }

    /// Changes how much a worker has of each resource. Which ones it has then.
    pub(super) fn count(&self, slot: Slot, stock: &mut Stock) -> Kinds {
        match self.transfer {
            Transfer::Taken(demand) => {
                stock.change(slot, |name, amount| amount.saturating_sub(self.share.count(demand, name)))
            }
            Transfer::GivenBack(demand) => {
                stock.change(slot, |name, amount| amount.saturating_add(self.share.count(demand, name)))
            }
        }
    }
}

impl Shift {
    /// The amount beside that by which workers are sorted, after the change; if that can be told.
    #[inline]
    pub(super) fn beside(&self, amount: u32) -> Option<u32> {
        shifted(amount, self.beside)
    }
}
