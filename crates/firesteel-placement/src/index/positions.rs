//! Positions of Workers: small numbers in the order of their ids, with gaps.
//!
//! With positions, a set of Workers is a row of bits, and two ids are compared as two numbers. A new Worker needs a gap
//! between its neighbours. If there is none, the Workers of a window around the place are spread evenly. The window is
//! the smallest one that is not too full. A larger window must be emptier, so that it is not spread again soon (a
//! packed memory array).

use std::ops::Range;

use super::bucket::{WORD, bit};
use super::free::Free;
use super::free_amounts::{FreeAmounts, NO_SLOT};
use super::sorted::SortKey;
use super::summary::{Maximum, Summary};
use super::{Share, Slot};

/// The size of the smallest window. The number of positions is a multiple of this number.
const WINDOW: usize = 64;
/// The position of a slot whose Worker has no position.
const NO_POSITION: u32 = u32::MAX;

/// The Workers by position, with their free amounts.
#[derive(Debug)]
pub(super) struct Positions {
    sort_key: SortKey,
    pub(super) amounts: FreeAmounts,
    /// A second copy of the slot at each position, for searches that read only slots.
    slots: Vec<Slot>,
    /// The position of each slot.
    by_slot: Vec<u32>,
    /// The number of Workers.
    workers: usize,
}

/// A Worker and its free amounts.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedWorker {
    pub(super) slot: Slot,
    pub(super) free: Free,
}

/// The step that is needed before a new Worker can have a position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoGap {
    /// The Workers of this window must be spread over it, together with the new one.
    Spread(Range<usize>),
    /// The number of positions must be doubled.
    Grow,
}

impl Positions {
    /// A table without Workers and positions.
    pub(super) fn new(sort_key: SortKey) -> Self {
        let (amounts, slots) = (FreeAmounts::new(WINDOW), vec![NO_SLOT; WINDOW]);
        Self { sort_key, amounts, slots, by_slot: Vec::new(), workers: 0 }
    }

    /// The amount by which Workers are sorted.
    #[inline]
    pub(super) fn sort_key(&self) -> SortKey {
        self.sort_key
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        self.amounts.len()
    }

    /// The number of Workers.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// The position of a Worker.
    #[inline]
    pub(super) fn of(&self, slot: Slot) -> Option<usize> {
        let position = self.by_slot.get(slot.index()).filter(|position| **position != NO_POSITION);
        position.map(|position| *position as usize)
    }

    /// The position of a share's Worker. It is looked up only if the Worker is no longer at the position where the
    /// search found it.
    #[inline]
    pub(super) fn of_share(&self, share: &Share) -> Option<usize> {
        let found_at = share.found_at as usize;
        if self.amounts.slot(found_at) == Some(share.slot) { Some(found_at) } else { self.of(share.slot) }
    }

    /// The Worker at a position.
    pub(super) fn at(&self, position: usize) -> Option<IndexedWorker> {
        self.amounts.slot(position).filter(|slot| *slot != NO_SLOT).map(|_| self.worker(position))
    }

    /// The Worker at a position, which must have one.
    #[inline]
    pub(super) fn worker(&self, position: usize) -> IndexedWorker {
        let amounts = self.amounts.word(position / WORD);
        IndexedWorker { slot: amounts.slot(position), free: amounts.free(position) }
    }

    /// The free amounts of the Worker at a position, which must have one.
    #[inline]
    pub(super) fn free(&self, position: usize) -> Free {
        self.amounts.free(position)
    }

    /// The free amounts of the Worker at a position, which must have one, as a maximum.
    #[inline]
    pub(super) fn maximum(&self, position: usize) -> Maximum {
        Maximum::of(&self.free(position), self.sort_key)
    }

    /// The summary of the Workers whose bits are set in a word. They must have the same sort key.
    #[inline]
    pub(super) fn summary(&self, word: usize, bits: u64) -> Summary {
        self.amounts.word(word).summary(bits, self.sort_key)
    }

    /// The slots of a word. Entries of positions without a Worker have no meaning.
    #[inline]
    pub(super) fn slots_of_word(&self, word: usize) -> &[Slot; WORD] {
        &self.slots.as_chunks().0[word]
    }

    /// The slots of all Workers, in order.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.amounts.slots().filter(|slot| *slot != NO_SLOT)
    }

    /// The Workers of a window, in order.
    pub(super) fn within(&self, window: Range<usize>) -> impl Iterator<Item = IndexedWorker> {
        window.filter_map(|position| self.at(position))
    }

    /// The positions of these shares' Workers as bits, word by word. `None` if the amounts of the shares differ, or if
    /// two shares have the same Worker.
    pub(super) fn mark(&self, shares: &[Share]) -> Option<Vec<u64>> {
        let first = shares.first()?;
        let mut marks = vec![0_u64; self.len() / WORD];
        let mut equal = true;
        let mut mark = |share: &Share| {
            equal &= share.has_equal_amounts(first);
            let Some(position) = self.by_slot.get(share.slot.index()).map(|position| *position as usize)
            else {
                return;
            };
            // For a slot without a position, the index is far beyond the last word.
            if let Some(mark) = marks.get_mut(position / WORD) {
                *mark |= bit(position);
            }
        };
        // The two halves are marked alternately: neighbours set bits of the same word, and would wait for each other.
        let (front, back) = shares.split_at(shares.len() / 2);
        for (one, other) in front.iter().zip(back) {
            mark(one);
            mark(other);
        }
        back[front.len()..].iter().for_each(mark);
        let marked: usize = marks.iter().map(|bits| bits.count_ones() as usize).sum();
        (equal && marked == shares.len()).then_some(marks)
    }

    /// Replaces the free amounts of the Worker at a position.
    #[inline]
    pub(super) fn set(&mut self, position: usize, free: Free) {
        self.amounts.set(position, free);
    }

    /// A position for a new Worker between two neighbours in the order of ids.
    pub(super) fn between(&self, before: Option<Slot>, after: Option<Slot>) -> Result<usize, NoGap> {
        let low = before.and_then(|slot| self.of(slot)).map_or(0, |position| position + 1);
        let high = after.and_then(|slot| self.of(slot)).unwrap_or(self.len());
        match (before, after) {
            _ if low >= high => Err(self.no_gap(low.min(self.len() - 1))),
            (_, None) => Ok(low),
            (None, Some(_)) => Ok(high - 1),
            (Some(_), Some(_)) => Ok(low + (high - low) / 2),
        }
    }

    fn no_gap(&self, position: usize) -> NoGap {
        let levels = (self.len() / WINDOW).trailing_zeros() as usize;
        for level in 0..=levels {
            let size = WINDOW << level;
            let start = position / size * size;
            let taken = self.within(start..start + size).count();
            // The limit falls from seven eighths for the smallest window to a half for the largest.
            let limit = size / 8 * 7 - size * 3 * level / (8 * levels.max(1));
            if taken < limit {
                return NoGap::Spread(start..start + size);
            }
        }
        NoGap::Grow
    }

    /// Evenly spread positions in a window for its Workers and for a new one after `before`. Returns the positions of
    /// the Workers, and that of the new one.
    pub(super) fn spread(
        &self,
        window: Range<usize>,
        before: Option<Slot>,
    ) -> (Vec<(IndexedWorker, usize)>, usize) {
        let workers: Vec<IndexedWorker> = self.within(window.clone()).collect();
        let nth = |n: usize| window.start + n * window.len() / (workers.len() + 1);
        let at_before = before.and_then(|before| workers.iter().position(|worker| worker.slot == before));
        let new = at_before.map_or(0, |n| n + 1);
        let others = workers.iter().zip((0..).filter(|n| *n != new)).map(|(worker, n)| (*worker, nth(n)));
        (others.collect(), nth(new))
    }

    /// Doubles the number of positions.
    pub(super) fn grow(&mut self) {
        let twice = self.len() * 2;
        self.amounts.grow(twice);
        self.slots.resize(twice, NO_SLOT);
    }

    /// Puts a Worker at a position, which must be free.
    pub(super) fn put(&mut self, slot: Slot, free: Free, position: usize) {
        if self.by_slot.len() <= slot.index() {
            self.by_slot.resize(slot.index() + 1, NO_POSITION);
        }
        self.by_slot[slot.index()] =
            u32::try_from(position).expect("there are no more positions than a u32 can count");
        self.amounts.put(position, slot, free);
        self.slots[position] = slot;
        self.workers += 1;
    }

    /// Takes a Worker off its position.
    pub(super) fn vacate(&mut self, slot: Slot) {
        if let Some(position) = self.of(slot) {
            self.amounts.vacate(position);
            self.slots[position] = NO_SLOT;
            self.by_slot[slot.index()] = NO_POSITION;
            self.workers -= 1;
        }
    }
}
