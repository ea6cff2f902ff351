//! What stands with a part of a shelf.

use super::free::{Free, Kinds};
use super::sorting::Sorting;
use super::transfer::Shift;

/// An amount after a change. Nothing may stand for less than that, and what is absurd for more: of these it cannot be told.
#[inline]
pub(super) fn shifted(amount: u32, by: i64) -> Option<u32> {
    let is_known = by == 0 || (1..u32::MAX).contains(&amount);
    is_known.then(|| i64::from(amount).saturating_add(by).clamp(0, u32::MAX.into()) as u32)
}

/// A [`Free`] in half of its room, without the amount that all workers of a shelf have alike. It is never less than
/// what it stands for, and no more than that where amounts are not absurd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Brief {
    cores: u32,
    memory: u32,
    kinds: Kinds,
}

impl Brief {
    pub(super) const NOTHING: Self = Self { cores: 0, memory: 0, kinds: Kinds::NONE };

    #[inline]
    pub(super) fn of(free: &Free, sorting: Sorting) -> Self {
        let brief = |amount: i64| amount.clamp(0, u32::MAX.into()) as u32;
        let (cores, memory) = (brief(free.cores.0), brief(free.memory.0));
        let all = Self { cores, memory, kinds: free.kinds };
        match sorting {
            Sorting::Cores => Self { cores: 0, ..all },
            Sorting::Memory => Self { memory: 0, ..all },
            Sorting::Id => all,
        }
    }

    /// What it is after a change of all workers for whom it stands, if that can be told.
    #[inline]
    pub(super) fn after(self, shift: &Shift) -> Option<Self> {
        let (cores, memory) = (shifted(self.cores, shift.cores)?, shifted(self.memory, shift.memory)?);
        Some(Self { cores, memory, kinds: self.kinds })
    }

    /// The amount beside that by which workers are sorted, if there is one: of nothing, 0.
    #[inline]
    pub(super) fn beside(self, sorting: Sorting) -> u32 {
        match sorting {
            Sorting::Cores => self.memory,
            Sorting::Memory => self.cores,
            Sorting::Id => 0,
        }
    }

    /// The best of two.
    #[inline]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            cores: self.cores.max(other.cores),
            memory: self.memory.max(other.memory),
            kinds: self.kinds.or(other.kinds),
        }
    }

    /// Whether one of these may have all that is asked. If not, none has.
    #[inline]
    pub(super) fn may_cover(self, asked: Self) -> bool {
        self.cores >= asked.cores && self.memory >= asked.memory && self.kinds.may_cover(asked.kinds)
    }

    /// Whether the best of some could be less without those. Nothing is owed to who has nothing.
    #[inline]
    pub(super) fn owes_to(self, gone: Self) -> bool {
        (self.cores == gone.cores && gone.cores > 0)
            || (self.memory == gone.memory && gone.memory > 0)
            || gone.kinds != Kinds::NONE
    }
}
