//! How much of each resource workers have free.

use super::Slot;
use super::free::Kinds;
use crate::{ResourceAmounts, Resources};

/// What one worker has: each name with its amount.
type Amounts = Box<[(Box<str>, u64)]>;

/// How much of each resource workers have free. Where no worker has any, it holds nothing.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// By slot, as far as there are workers with resources.
    amounts: Vec<Amounts>,
}

impl Stock {
    /// How much of one resource a worker has free.
    pub(super) fn count(&self, slot: Slot, name: &str) -> u64 {
        let amounts = self.amounts.get(slot.index());
        let named = amounts.and_then(|amounts| amounts.iter().find(|(known, _)| **known == *name));
        named.map_or(0, |(_, amount)| *amount)
    }

    pub(super) fn covers(&self, slot: Slot, asked: &ResourceAmounts) -> bool {
        asked.iter().all(|(name, &amount)| self.count(slot, name) >= amount)
    }

    /// What the worker has free from now on.
    pub(super) fn set(&mut self, slot: Slot, resources: &Resources) -> Kinds {
        let counted = resources.iter().map(|(name, addresses)| (name, addresses.count() as u64));
        let amounts: Amounts =
            counted.filter(|&(_, amount)| amount > 0).map(|(name, amount)| (name.into(), amount)).collect();
        if amounts.is_empty() && self.amounts.len() <= slot.index() {
            return Kinds::NONE;
        }
        if self.amounts.len() <= slot.index() {
            self.amounts.resize_with(slot.index() + 1, Box::default);
        }
        self.amounts[slot.index()] = amounts;
        self.kinds(slot)
    }

    /// Whether no worker has, or ever had, a resource.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }

    /// Changes each of a worker's amounts. A name stays when there is nothing of it left. The kinds of those that there are.
    pub(super) fn change(&mut self, slot: Slot, change: impl Fn(&str, u64) -> u64) -> Kinds {
        let Some(amounts) = self.amounts.get_mut(slot.index()) else { return Kinds::NONE };
        for (name, amount) in amounts {
            *amount = change(name, *amount);
        }
        self.kinds(slot)
    }

    pub(super) fn kinds(&self, slot: Slot) -> Kinds {
        let amounts = self.amounts.get(slot.index()).into_iter().flatten();
        amounts.map(|(name, amount)| Kinds::of(name, *amount)).fold(Kinds::NONE, Kinds::or)
    }

    /// Whether a worker has that free, for a check.
    pub(super) fn is(&self, slot: Slot, resources: &Resources) -> bool {
        let mut names = 0;
        let alike = resources.iter().all(|(name, addresses)| {
            let amount = addresses.count() as u64;
            names += usize::from(amount > 0);
            self.count(slot, name) == amount
        });
        let known = self.amounts.get(slot.index());
        alike && names == known.map_or(0, |amounts| amounts.iter().filter(|(_, amount)| *amount > 0).count())
    }
}
