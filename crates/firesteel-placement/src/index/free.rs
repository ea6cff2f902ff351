//! What a worker has free, and the most that one of several has.

use crate::{Cores, MiB};

/// What one worker has free. Or the best of some: of each amount the most that one of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) kinds: Kinds,
}

/// Roughly which resources a worker has free: a bit for each of eight groups of names and each of the amounts
/// 1, 2, 4 and 8. A worker that has what is asked has all bits that are asked; another one may have them, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u32);

impl Free {
    /// Less than any worker has.
    pub(super) const LEAST: Self = Self { cores: Cores(i64::MIN), memory: MiB(i64::MIN), kinds: Kinds::NONE };

    /// The best of two.
    #[inline]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            cores: self.cores.max(other.cores),
            memory: self.memory.max(other.memory),
            kinds: self.kinds.or(other.kinds),
        }
    }

    /// Whether the best of some could be less without that one.
    pub(super) fn owes_to(&self, one: &Self) -> bool {
        self.cores == one.cores || self.memory == one.memory || one.kinds != Kinds::NONE
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

    #[inline]
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all that is asked may be there.
    #[inline]
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
}
