//! The free amounts of the Workers by position, 64 positions to a word.
//!
//! A Worker's free amounts are the sum of its own part and a common part, which is the same for all Workers of its
//! word. If all Workers of a word change alike, for example because each of them gets an executor, only the common part
//! changes. The own part is a small number, so that four Workers share a cache line. Amounts that do not fit into the
//! own part are *far*, and are kept in a table. The Workers of an ordinary cluster have no far amounts.

use std::collections::BTreeMap;

use super::Slot;
use super::bucket::{WORD, bit};
use super::free::{Free, ResourceMask};
use super::sorted::{Direction, SortKey};
use super::summary::Summary;
use super::update::Delta;
use crate::{Cores, MiB};

/// The slot at a position without a Worker.
pub(super) const NO_SLOT: Slot = Slot(u32::MAX);

/// The Worker at each position, and its free amounts.
#[derive(Debug)]
pub(super) struct FreeAmounts {
    entries: Vec<Entry>,
    /// The common parts, one for each word.
    common: Vec<Common>,
    far: FarAmounts,
}

/// The free amounts that do not fit into an entry, by position.
type FarAmounts = BTreeMap<usize, (Cores, MiB)>;

/// The Worker at a position, and the own part of its free amounts, in 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: Slot,
    resources: ResourceMask,
    cores: i32,
    memory: i32,
}

/// The part of the free amounts that all Workers of a word have in common.
#[derive(Clone, Copy, Debug)]
struct Common {
    cores: i64,
    memory: i64,
    /// One bit for each position that has a Worker.
    workers: u64,
    /// One bit for each Worker whose free amounts are in the table of far amounts.
    far: u64,
}

/// The free amounts of a word of 64 positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeAmountsOfWord<'a> {
    number: usize,
    entries: &'a [Entry; WORD],
    common: Common,
    far: &'a FarAmounts,
}

impl Entry {
    const NONE: Self = Self { slot: NO_SLOT, resources: ResourceMask::NONE, cores: 0, memory: 0 };
}

impl Common {
    const NONE: Self = Self { cores: 0, memory: 0, workers: 0, far: 0 };
    /// The maximum of the common part's absolute value. So the difference between an ordinary amount and the common
    /// part fits into an entry.
    const GREATEST: i64 = 1 << 30;

    /// Changes the common part, unless it would become too large.
    #[inline]
    fn change(&mut self, cores: i64, memory: i64) -> bool {
        let sum = |common: i64, change| {
            common.checked_add(change).filter(|sum| (-Self::GREATEST..=Self::GREATEST).contains(sum))
        };
        let Some((cores, memory)) = sum(self.cores, cores).zip(sum(self.memory, memory)) else {
            return false;
        };
        (self.cores, self.memory) = (cores, memory);
        true
    }
}

impl FreeAmountsOfWord<'_> {
    /// The slot of the Worker at a position of the word.
    #[inline]
    pub(super) fn slot(&self, at: usize) -> Slot {
        self.entries[at % WORD].slot
    }

    /// The free amounts of the Worker at a position of the word, which must have one.
    #[inline]
    pub(super) fn free(&self, at: usize) -> Free {
        let Entry { cores, memory, resources, .. } = self.entries[at % WORD];
        if self.common.far & bit(at) != 0 {
            let (cores, memory) = self.far[&(self.number * WORD + at % WORD)];
            return Free { cores, memory, resources };
        }
        let (cores, memory) = (i64::from(cores) + self.common.cores, i64::from(memory) + self.common.memory);
        Free { cores: Cores(cores), memory: MiB(memory), resources }
    }

    /// The summary of the Workers whose bits are set. They must have the same sort key.
    #[inline]
    pub(super) fn summary(&self, bits: u64, sort_key: SortKey) -> Summary {
        let each = Direction::Ascending.bits(bits, 0).map(|at| Summary::of(&self.free(at), sort_key));
        each.reduce(Summary::merge).unwrap_or(Summary::NONE)
    }
}

impl FreeAmounts {
    /// A table of this number of positions without Workers.
    pub(super) fn new(positions: usize) -> Self {
        let mut amounts = Self { entries: Vec::new(), common: Vec::new(), far: FarAmounts::new() };
        amounts.grow(positions);
        amounts
    }

    /// Makes the table large enough for this number of positions, a multiple of 64.
    pub(super) fn grow(&mut self, positions: usize) {
        self.entries.resize(positions, Entry::NONE);
        self.common.resize(positions / WORD, Common::NONE);
    }

    /// The number of positions.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The slot at a position, if there is such a position.
    #[inline]
    pub(super) fn slot(&self, position: usize) -> Option<Slot> {
        self.entries.get(position).map(|entry| entry.slot)
    }

    /// The slots at all positions.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.entries.iter().map(|entry| entry.slot)
    }

    /// The amounts of a word.
    #[inline]
    pub(super) fn word(&self, number: usize) -> FreeAmountsOfWord<'_> {
        let entries = &self.entries.as_chunks().0[number];
        FreeAmountsOfWord { number, entries, common: self.common[number], far: &self.far }
    }

    /// The free amounts of the Worker at a position, which must have one.
    #[inline]
    pub(super) fn free(&self, position: usize) -> Free {
        debug_assert_ne!(self.entries[position].slot, NO_SLOT, "a Worker in order has a position");
        self.word(position / WORD).free(position % WORD)
    }

    /// Puts a Worker at a position without one.
    pub(super) fn put(&mut self, position: usize, slot: Slot, free: Free) {
        self.entries[position].slot = slot;
        self.common[position / WORD].workers |= bit(position);
        self.set(position, free);
    }

    /// Takes the Worker off a position.
    pub(super) fn vacate(&mut self, position: usize) {
        self.entries[position] = Entry::NONE;
        self.common[position / WORD].workers &= !bit(position);
        self.leave_table(position);
    }

    /// Removes the Worker's free amounts from the table of far amounts.
    #[inline]
    fn leave_table(&mut self, position: usize) {
        let far = &mut self.common[position / WORD].far;
        if *far & bit(position) != 0 {
            *far &= !bit(position);
            self.far.remove(&position);
        }
    }

    /// Replaces the free amounts of the Worker at a position.
    #[inline]
    pub(super) fn set(&mut self, position: usize, free: Free) {
        let (entry, common) = (&mut self.entries[position], &mut self.common[position / WORD]);
        let own = |amount: i64, common| amount.checked_sub(common).and_then(|own| i32::try_from(own).ok());
        entry.resources = free.resources;
        match own(free.cores.0, common.cores).zip(own(free.memory.0, common.memory)) {
            Some(own) => {
                (entry.cores, entry.memory) = own;
                self.leave_table(position);
            }
            None => {
                common.far |= bit(position);
                self.far.insert(position, (free.cores, free.memory));
            }
        }
    }

    /// Replaces the resource masks of the Workers whose bits are set in a word.
    pub(super) fn set_masks(&mut self, word: usize, bits: u64, mut mask: impl FnMut(Slot) -> ResourceMask) {
        for position in Direction::Ascending.bits(bits, word * WORD) {
            self.entries[position].resources = mask(self.entries[position].slot);
        }
    }

    /// Changes cores and memory of the Workers whose bits are set in a word.
    #[inline]
    pub(super) fn apply(&mut self, word: usize, bits: u64, delta: &Delta<'_>) {
        let common = &mut self.common[word];
        let (Cores(cores), MiB(memory)) = (delta.cores, delta.memory);
        if bits == common.workers && common.far == 0 && common.change(cores, memory) {
            return;
        }
        let near = match (i32::try_from(cores), i32::try_from(memory)) {
            (Ok(cores), Ok(memory)) => self.change_own(word, bits & !self.common[word].far, cores, memory),
            _ => 0,
        };
        for position in Direction::Ascending.bits(bits & !near, word * WORD) {
            self.set(position, delta.applied(self.free(position)));
        }
    }

    /// Changes the own parts of some Workers of a word. Returns the bits of the Workers whose own part can hold the new
    /// number.
    #[inline]
    fn change_own(&mut self, word: usize, bits: u64, cores: i32, memory: i32) -> u64 {
        let entries = &mut self.entries.as_chunks_mut::<WORD>().0[word];
        let mut changed = bits;
        for at in Direction::Ascending.bits(bits, 0) {
            let entry = &mut entries[at % WORD];
            match (entry.cores.checked_add(cores), entry.memory.checked_add(memory)) {
                (Some(cores), Some(memory)) => (entry.cores, entry.memory) = (cores, memory),
                _ => changed &= !bit(at),
            }
        }
        changed
    }

    /// Checks the common part and the bits of each word.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut far = 0;
        for (number, common) in self.common.iter().enumerate() {
            let has_worker = |at: &usize| self.entries[number * WORD + at].slot != NO_SLOT;
            let workers = (0..WORD).filter(has_worker).fold(0, |bits, at| bits | bit(at));
            if common.workers != workers || common.far & !workers != 0 {
                return Err(format!("word {number} has the workers {workers:#x} and says {common:?}"));
            }
            let positions = Direction::Ascending.bits(common.far, number * WORD);
            far += positions.filter(|position| self.far.contains_key(position)).count();
        }
        let marked: u32 = self.common.iter().map(|common| common.far.count_ones()).sum();
        if far != self.far.len() || far != marked as usize {
            return Err(format!("{} amounts are far, {marked} are marked as far", self.far.len()));
        }
        Ok(())
    }
}
