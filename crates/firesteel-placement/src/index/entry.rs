//! What the index keeps of one worker, and the best of several.

use super::Slot;
use crate::{Cores, MiB, WorkerOrder};

/// One worker in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Free cores.
    pub(super) cores: Cores,
    /// Free memory.
    pub(super) memory: MiB,
    /// Where its id stands among all ids.
    pub(super) rank: u64,
    /// Its number.
    pub(super) slot: Slot,
    /// Which free resources it has.
    pub(super) kinds: Kinds,
}

/// Where an entry stands in the tree: by an amount, and among equals by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    amount: i64,
    rank: u64,
}

/// The amount that entries are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sorting {
    /// Free cores.
    Cores,
    /// Free memory.
    Memory,
    /// None: by id alone.
    Id,
}

/// From which end the sorted entries are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The least first.
    Forward,
    /// The greatest first.
    Backward,
}

/// The best of some workers: of each amount the most that one of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Best {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) kinds: Kinds,
}

/// Roughly which resources a worker has free: a bit for each of eight groups of names and each of the amounts
/// 1, 2, 4 and 8. A worker that has what is asked has all bits that are asked; another one may have them, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u32);

impl Sorting {
    /// Every worker order is one of three sortings, read from one of its ends.
    pub(super) fn of(order: WorkerOrder) -> (Self, Direction) {
        match order {
            WorkerOrder::CoresFreeDesc => (Self::Cores, Direction::Backward),
            WorkerOrder::CoresFreeAsc => (Self::Cores, Direction::Forward),
            WorkerOrder::MemoryFreeDesc => (Self::Memory, Direction::Backward),
            WorkerOrder::MemoryFreeAsc => (Self::Memory, Direction::Forward),
            WorkerOrder::WorkerId => (Self::Id, Direction::Forward),
        }
    }

    pub(super) fn key(self, entry: &Entry) -> Key {
        let amount = match self {
            Self::Cores => entry.cores.0,
            Self::Memory => entry.memory.0,
            Self::Id => 0,
        };
        Key { amount, rank: entry.rank }
    }

    /// How much of the amount that workers are sorted by.
    pub(super) fn amount(self, best: &Best) -> i64 {
        match self {
            Self::Cores => best.cores.0,
            Self::Memory => best.memory.0,
            Self::Id => 0,
        }
    }
}

impl Direction {
    /// The numbers below `end` from that end.
    pub(super) fn over(self, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        let (start, end) = (range.start, range.end);
        range.map(move |n| match self {
            Self::Forward => n,
            Self::Backward => start + end - 1 - n,
        })
    }
}

impl Direction {
    /// The numbers of the bits that are set, counted from `first`.
    pub(super) fn bits(self, mut bits: u64, first: usize) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            let next = match self {
                Self::Forward => bits.trailing_zeros(),
                Self::Backward => 63 - bits.leading_zeros(),
            };
            bits &= !(1 << next);
            Some(first + next as usize)
        })
    }
}

impl Best {
    /// Worse than any worker.
    pub(super) const NONE: Self = Self { cores: Cores(i64::MIN), memory: MiB(i64::MIN), kinds: Kinds(0) };

    /// The best of two.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            cores: self.cores.max(other.cores),
            memory: self.memory.max(other.memory),
            kinds: self.kinds.or(other.kinds),
        }
    }

    /// Whether without that one it could be less.
    pub(super) fn owes_to(&self, other: &Best) -> bool {
        self.cores == other.cores || self.memory == other.memory || other.kinds != Kinds::default()
    }
}

impl From<&Entry> for Best {
    fn from(entry: &Entry) -> Self {
        Self { cores: entry.cores, memory: entry.memory, kinds: entry.kinds }
    }
}

impl Kinds {
    /// No resource.
    pub(super) const NONE: Self = Self(0);
    const GROUPS: u32 = 8;
    const AMOUNTS: [u64; 4] = [1, 2, 4, 8];

    /// That much of the resource of that name.
    pub(super) fn of(name: &str, amount: u64) -> Self {
        let hash = name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let reached = Self::AMOUNTS.into_iter().filter(|&step| step <= amount).count();
        Self(((1 << reached) - 1) << (hash % Self::GROUPS * Self::AMOUNTS.len() as u32))
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all that is asked may be there.
    pub(super) fn may_cover(self, asked: Self) -> bool {
        self.0 & asked.0 == asked.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_never_deny_what_is_there() {
        for name in ["gpu", "fpga", "nic", ""] {
            for have in 0..20 {
                for ask in 0..=have {
                    assert!(Kinds::of(name, have).may_cover(Kinds::of(name, ask)));
                }
            }
        }
        assert!(!Kinds::of("gpu", 1).may_cover(Kinds::of("gpu", 2)));
        assert!(!Kinds::default().may_cover(Kinds::of("gpu", 1)));
    }

    #[test]
    fn a_direction_is_one_end_or_the_other() {
        assert_eq!(Direction::Forward.over(2..5).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(Direction::Backward.over(2..5).collect::<Vec<_>>(), [4, 3, 2]);
        assert_eq!(Direction::Backward.over(0..0).count(), 0);
    }
}
