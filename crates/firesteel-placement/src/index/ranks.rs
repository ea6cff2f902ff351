//! Ids as numbers: comparing two ranks is comparing two ids.
//!
//! Ties are broken by id, and ids are text. So that the tree compares numbers, each id has a rank, and ranks leave
//! room between them for ids to come. Where an id comes in and there is no room, a few ranks after it are spread
//! anew: as few as end in room enough, so that what this costs, over many ids, is a logarithm for each.
//!
//! The rule is Dietz and Sleator's (Two algorithms for maintaining order in a list, 1987).

use super::Slot;

/// The rank of the first id of all.
const MIDDLE: u64 = 1 << 63;
/// The room left beyond the ends, where most ids come in. So large that it is not used up within another one's, and
/// so small that it takes 2^39 ids at one end to get to the end of all numbers.
const ROOM: u64 = 1 << 24;

/// The rank of each slot's id.
#[derive(Debug, Default)]
pub(super) struct Ranks(Vec<u64>);

impl Ranks {
    /// Of ids in their order.
    pub(super) fn of(ids: impl Iterator<Item = Slot>) -> Self {
        let mut ranks = Self::default();
        ids.zip(0..).for_each(|(slot, n)| ranks.set(slot, MIDDLE + n * ROOM));
        ranks
    }

    pub(super) fn get(&self, slot: Slot) -> u64 {
        self.0[slot.index()]
    }

    /// Adds an id that is new, between one and those that follow. Returns the others whose ranks have changed, in
    /// order, with their new ones.
    pub(super) fn insert(
        &mut self,
        slot: Slot,
        before: Option<Slot>,
        following: impl Iterator<Item = Slot> + Clone,
    ) -> Vec<(Slot, u64)> {
        let (before, after) = (before.map(|slot| self.get(slot)), following.clone().next());
        let (rank, moved) = match (before, after.map(|slot| self.get(slot))) {
            (None, None) => (MIDDLE, Vec::new()),
            (Some(before), None) => (before + ROOM, Vec::new()),
            (None, Some(after)) => (after - ROOM, Vec::new()),
            (Some(before), Some(after)) if after - before > 1 => (before + (after - before) / 2, Vec::new()),
            (Some(before), Some(_)) => self.spread(before, following),
        };
        for &(slot, rank) in moved.iter().chain([&(slot, rank)]) {
            self.set(slot, rank);
        }
        moved
    }

    fn set(&mut self, slot: Slot, rank: u64) {
        if self.0.len() <= slot.index() {
            self.0.resize(slot.index() + 1, 0);
        }
        self.0[slot.index()] = rank;
    }

    /// A rank after `before` for an id, and new ones for those that follow it.
    fn spread(&self, before: u64, following: impl Iterator<Item = Slot>) -> (u64, Vec<(Slot, u64)>) {
        let mut crowded = Vec::new();
        let mut end = None;
        for (count, slot) in (1_u64..).zip(following) {
            if self.get(slot) - before > (count + 1) * (count + 1) {
                end = Some(self.get(slot));
                break;
            }
            crowded.push(slot);
        }
        // The new id is the first of them.
        let shares = crowded.len() as u64 + 2;
        let step = end.map_or(ROOM, |end| (end - before) / shares);
        let moved = crowded.into_iter().zip(2..).map(|(slot, n)| (slot, before + n * step));
        (before + step, moved.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::arrivals;
    use super::*;

    /// Whatever the order in which ids come, ranks are in the order of the ids, and few are spread anew.
    #[test]
    fn ranks_follow_the_ids() {
        const IDS: u32 = 4000;
        for arrivals in arrivals(IDS) {
            let mut ranks = Ranks::default();
            let mut ids = BTreeMap::new();
            let mut spread = 0;
            for (slot, id) in (0..).map(Slot).zip(arrivals) {
                let before = ids.range(..id).next_back().map(|(_, slot)| *slot);
                spread += ranks.insert(slot, before, ids.range(id..).map(|(_, slot)| *slot)).len();
                ids.insert(id, slot);
            }
            assert!(ids.values().map(|slot| ranks.get(*slot)).is_sorted_by(|a, b| a < b));
            assert!(spread < 20 * IDS as usize, "{spread} ranks were spread anew");
        }
    }
}
