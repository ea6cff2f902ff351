//! Summaries of the free amounts of several Workers, with which a search can skip all of them.
//!
//! All Workers of a bucket have the same free amount of the sort key, so a summary leaves that amount out.

use super::free::{Free, ResourceMask};
use super::sorted::SortKey;
use super::update::BucketDelta;

/// The maximum of each free amount, in half the size of a [`Free`]. It is never lower than the true maximum. For
/// amounts from 0 to `u32::MAX`, it is equal to the true maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Maximum {
    cores: u32,
    memory: u32,
    resources: ResourceMask,
}

impl Maximum {
    /// The maximum over no Worker.
    pub(super) const NONE: Self = Self { cores: 0, memory: 0, resources: ResourceMask::NONE };

    /// The maximum over one Worker.
    #[inline]
    pub(super) fn of(free: &Free, sort_key: SortKey) -> Self {
        let clamped = |amount: i64| amount.clamp(0, u32::MAX.into()) as u32;
        let (cores, memory) = (clamped(free.cores.0), clamped(free.memory.0));
        let all = Self { cores, memory, resources: free.resources };
        match sort_key {
            SortKey::Cores => Self { cores: 0, ..all },
            SortKey::Memory => Self { memory: 0, ..all },
            SortKey::Id => all,
        }
    }

    /// The maximum after the same change of every Worker. `None` if it must be computed anew.
    #[inline]
    pub(super) fn after(self, delta: &BucketDelta) -> Option<Self> {
        let (cores, memory) = (shifted(self.cores, delta.cores)?, shifted(self.memory, delta.memory)?);
        Some(Self { cores, memory, resources: self.resources })
    }

    /// The secondary amount: memory if Workers are sorted by cores, cores if they are sorted by memory, otherwise 0.
    #[inline]
    pub(super) fn secondary(self, sort_key: SortKey) -> u32 {
        match sort_key {
            SortKey::Cores => self.memory,
            SortKey::Memory => self.cores,
            SortKey::Id => 0,
        }
    }

    /// The maximum of each amount.
    #[inline]
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            cores: self.cores.max(other.cores),
            memory: self.memory.max(other.memory),
            resources: self.resources.union(other.resources),
        }
    }

    /// Whether one of the Workers may have the required amounts. If `false`, none of them has.
    #[inline]
    pub(super) fn may_cover(self, required: Self) -> bool {
        self.cores >= required.cores
            && self.memory >= required.memory
            && self.resources.may_cover(required.resources)
    }

    /// Whether this maximum could fall when Workers with the maximum `leaving` leave.
    #[inline]
    pub(super) fn depends_on(self, leaving: Self) -> bool {
        (self.cores == leaving.cores && leaving.cores > 0)
            || (self.memory == leaving.memory && leaving.memory > 0)
            || leaving.resources != ResourceMask::NONE
    }
}

/// The maximum over the Workers of one word of a bucket, and a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) max: Maximum,
    /// A lower bound of the [secondary amount](Maximum::secondary) of every Worker. 0 if no bound is known.
    pub(super) least: u32,
}

impl Summary {
    /// The summary of no Worker.
    pub(super) const NONE: Self = Self { max: Maximum::NONE, least: 0 };

    /// The summary of one Worker.
    #[inline]
    pub(super) fn of(free: &Free, sort_key: SortKey) -> Self {
        let max = Maximum::of(free, sort_key);
        Self { max, least: max.secondary(sort_key) }
    }

    /// The summary of both sets of Workers.
    #[inline]
    pub(super) fn merge(self, other: Self) -> Self {
        Self { max: self.max.max(other.max), least: self.least.min(other.least) }
    }

    /// The summary after the same change of every Worker, if their resources did not change. `None` if it must be
    /// computed anew.
    #[inline]
    pub(super) fn after(self, delta: &BucketDelta) -> Option<Self> {
        let least = shifted(self.least, delta.secondary).unwrap_or(0);
        Some(Self { max: self.max.after(delta)?, least })
    }
}

/// An amount of a summary after a change. `None` at the ends of the range, where the true amount is not known.
#[inline]
fn shifted(amount: u32, by: i64) -> Option<u32> {
    let is_exact = by == 0 || (1..u32::MAX).contains(&amount);
    // A change far beyond the range has the same effect as a change slightly beyond it.
    let by = by.clamp(-i64::from(u32::MAX), u32::MAX.into());
    is_exact.then(|| (i64::from(amount) + by).clamp(0, u32::MAX.into()) as u32)
}
