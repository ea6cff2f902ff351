//! By what workers are sorted, and from which end they are walked.

use super::free::Free;
use crate::WorkerOrder;

/// The amount that workers are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sorting {
    /// Free cores.
    Cores,
    /// Free memory.
    Memory,
    /// None: by id alone.
    Id,
}

/// From which end the sorted workers are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The least first.
    Forward,
    /// The greatest first.
    Backward,
}

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

    /// How much of the amount that workers are sorted by.
    #[inline]
    pub(super) fn amount(self, free: &Free) -> i64 {
        match self {
            Self::Cores => free.cores.0,
            Self::Memory => free.memory.0,
            Self::Id => 0,
        }
    }
}

impl Direction {
    /// The numbers of a range from that end.
    pub(super) fn over(self, range: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        let (start, end) = (range.start, range.end);
        range.map(move |n| match self {
            Self::Forward => n,
            Self::Backward => start + end - 1 - n,
        })
    }

    /// The number of the first bit that is set; of none, any number.
    #[inline]
    pub(super) fn first(self, bits: u64) -> usize {
        match self {
            Self::Forward => bits.trailing_zeros() as usize,
            Self::Backward => 63_u32.wrapping_sub(bits.leading_zeros()) as usize,
        }
    }

    /// The numbers of the bits that are set, counted from `first`.
    #[inline]
    pub(super) fn bits(self, mut bits: u64, first: usize) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            let next = match self {
                Self::Forward => bits.trailing_zeros(),
                Self::Backward => bits.ilog2(),
            };
            bits ^= 1 << next;
            Some(first + next as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_is_one_end_or_the_other() {
        assert_eq!(Direction::Forward.over(2..5).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(Direction::Backward.over(2..5).collect::<Vec<_>>(), [4, 3, 2]);
        assert_eq!(Direction::Backward.over(0..0).count(), 0);
        assert_eq!(Direction::Forward.bits(0b1011, 64).collect::<Vec<_>>(), [64, 65, 67]);
        assert_eq!(Direction::Backward.bits(0b1011, 64).collect::<Vec<_>>(), [67, 65, 64]);
    }
}
