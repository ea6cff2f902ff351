//! Between what and what workers of one word of a shelf have free.

use super::brief::Brief;
use super::free::Free;
use super::sorting::Sorting;
use super::transfer::Shift;

/// The best of what some workers have, and a bound below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The best of it.
    pub(super) best: Brief,
    /// No worker has less of the amount beside that of the shelf; 0 if that is not known.
    pub(super) least: u32,
}

impl Extent {
    pub(super) const NOTHING: Self = Self { best: Brief::NOTHING, least: 0 };

    /// Of one worker.
    #[inline]
    pub(super) fn of(free: &Free, sorting: Sorting) -> Self {
        let best = Brief::of(free, sorting);
        Self { best, least: best.beside(sorting) }
    }

    /// Of these and those.
    #[inline]
    pub(super) fn or(self, other: Self) -> Self {
        Self { best: self.best.or(other.best), least: self.least.min(other.least) }
    }

    /// After a change of all of them that leaves their resources alone, if that can be told.
    #[inline]
    pub(super) fn after(self, shift: &Shift) -> Option<Self> {
        Some(Self { best: self.best.after(shift)?, least: shift.beside(self.least).unwrap_or(0) })
    }
}
