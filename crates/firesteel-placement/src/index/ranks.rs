//! Ids as numbers: comparing two ranks is comparing two ids.
//!
//! Ties are broken by id, and ids are text. So that the tree compares numbers, each id has a rank, and ranks leave
//! room between them for ids to come. Where an id comes in and there is no room, a few ranks after it are spread
//! anew: as few as end in room enough, so that what this costs, over many ids, is a logarithm for each.
//!
//! The rule is Dietz and Sleator's (Two algorithms for maintaining order in a list, 1987).

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use super::Slot;

/// The rank of the first id of all.
const MIDDLE: u64 = 1 << 63;
/// The room left beyond the ends, where most ids come in. So large that it is not used up within another one's, and
/// so small that it takes 2^39 ids at one end to get to the end of all numbers.
const ROOM: u64 = 1 << 24;

#[derive(Debug)]
pub(super) struct Ranks<I> {
    slots: BTreeMap<I, Slot>,
    /// By slot.
    ranks: Vec<u64>,
}

impl<I: Ord> Ranks<I> {
    pub(super) fn new() -> Self {
        Self { slots: BTreeMap::new(), ranks: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slot(&self, id: &I) -> Option<Slot> {
        self.slots.get(id).copied()
    }

    pub(super) fn rank(&self, slot: Slot) -> u64 {
        self.ranks[slot.index()]
    }

    /// All ids in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&I, Slot)> {
        self.slots.iter().map(|(id, slot)| (id, *slot))
    }

    /// Who come before and after an id.
    pub(super) fn neighbours(&self, id: &I) -> (Option<Slot>, Option<Slot>) {
        let before = self.slots.range(..id).next_back().map(|(_, slot)| *slot);
        let after = self.slots.range((Excluded(id), Unbounded)).next().map(|(_, slot)| *slot);
        (before, after)
    }

    /// Adds an id that is new. Returns the others whose ranks have changed, in order, with their new ones.
    pub(super) fn insert(&mut self, id: I, slot: Slot) -> Vec<(Slot, u64)> {
        let (before, after) = self.neighbours(&id);
        let rank = |slot: Option<Slot>| slot.map(|slot| self.rank(slot));
        let (rank, moved) = match (rank(before), rank(after)) {
            (None, None) => (MIDDLE, Vec::new()),
            (Some(before), None) => (before + ROOM, Vec::new()),
            (None, Some(after)) => (after - ROOM, Vec::new()),
            (Some(before), Some(after)) if after - before > 1 => (before + (after - before) / 2, Vec::new()),
            (Some(before), Some(_)) => self.spread(before, &id),
        };
        if self.ranks.len() <= slot.index() {
            self.ranks.resize(slot.index() + 1, 0);
        }
        for &(slot, rank) in moved.iter().chain([&(slot, rank)]) {
            self.ranks[slot.index()] = rank;
        }
        self.slots.insert(id, slot);
        moved
    }

    pub(super) fn remove(&mut self, id: &I) -> Option<Slot> {
        self.slots.remove(id)
    }

    /// A rank after `before` for an id, and new ones for those that follow it.
    fn spread(&self, before: u64, id: &I) -> (u64, Vec<(Slot, u64)>) {
        let mut following = Vec::new();
        let mut end = None;
        for (count, (_, &slot)) in (1_u64..).zip(self.slots.range((Excluded(id), Unbounded))) {
            if self.rank(slot) - before > (count + 1) * (count + 1) {
                end = Some(self.rank(slot));
                break;
            }
            following.push(slot);
        }
        // The new id is the first of them.
        let shares = following.len() as u64 + 2;
        let step = end.map_or(ROOM, |end| (end - before) / shares);
        let moved = following.into_iter().zip(2..).map(|(slot, n)| (slot, before + n * step));
        (before + step, moved.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals;
    use super::*;

    /// Whatever the order in which ids come, ranks are in the order of the ids, and few are spread anew.
    #[test]
    fn ranks_follow_the_ids() {
        const IDS: u32 = 4000;
        for ids in arrivals(IDS) {
            let mut ranks = Ranks::new();
            let mut spread = 0;
            for (slot, id) in ids.into_iter().enumerate() {
                spread += ranks.insert(id, Slot(slot as u32)).len();
            }
            let in_order: Vec<u64> = ranks.iter().map(|(_, slot)| ranks.rank(slot)).collect();
            assert!(in_order.is_sorted_by(|a, b| a < b));
            assert!(spread < 20 * IDS as usize, "{spread} ranks were spread anew");
        }
    }
}
