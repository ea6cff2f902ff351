//! One worker in the tree.

use super::Slot;
use super::free::Free;
use super::sorting::Sorting;

/// A worker with what it is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// What it has free.
    pub(super) free: Free,
    /// Where its id stands among all ids.
    pub(super) rank: u64,
    /// Its number.
    pub(super) slot: Slot,
}

/// Where an entry stands in the tree: by an amount, and among equals by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    amount: i64,
    rank: u64,
}

impl Entry {
    pub(super) fn key(&self, sorting: Sorting) -> Key {
        Key { amount: sorting.amount(&self.free), rank: self.rank }
    }
}
