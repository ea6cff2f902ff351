//! Quantities: cores and memory.
//!
//! Both are signed, because the free amount of a Worker can be negative: a Worker may register again with fewer cores
//! than its executors hold. Both have 64 bits, so that no sum over a cluster wraps. Arithmetic saturates at the ends of
//! the range, so that a huge number from a peer stays huge.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A number of CPU cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cores(pub i64);

/// An amount of memory in mebibytes (2^20 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MiB(pub i64);

impl Cores {
    /// No cores at all.
    pub const ZERO: Cores = Cores(0);

    /// The maximum of cores of an application for which none was set. It is a large number, because the application's
    /// remaining cores are computed from it and shown.
    ///
    /// Source: Spark Master, 4.0.1 (`spark.deploy.defaultCores`).
    pub const UNLIMITED: Cores = Cores(i32::MAX as i64);
}

impl MiB {
    /// No memory at all.
    pub const ZERO: MiB = MiB(0);
}

/// Shows the number without a unit: `16`.
impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Shows the exact amount with its unit: `512 MiB`, `4 GiB`, `1.5 GiB`, `1500 MiB`.
impl fmt::Display for MiB {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: i64 = 1024;
        const QUARTER: i64 = GIB / 4;
        if self.0 < GIB || self.0 % QUARTER != 0 {
            return write!(f, "{} MiB", self.0);
        }
        let fraction = ["", ".25", ".5", ".75"][(self.0 % GIB / QUARTER) as usize];
        write!(f, "{}{fraction} GiB", self.0 / GIB)
    }
}

macro_rules! arithmetic {
    ($quantity:ident) => {
        impl Add for $quantity {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl Sub for $quantity {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl AddAssign for $quantity {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl SubAssign for $quantity {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Sum for $quantity {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                amounts.fold(Self::ZERO, Add::add)
            }
        }
    };
}

arithmetic!(Cores);
arithmetic!(MiB);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shown_in_the_largest_unit_that_is_exact() {
        for (memory, shown) in [
            (0, "0 MiB"),
            (-512, "-512 MiB"),
            (512, "512 MiB"),
            (1023, "1023 MiB"),
            (1024, "1 GiB"),
            (1500, "1500 MiB"),
            (1536, "1.5 GiB"),
            (1792, "1.75 GiB"),
            (65_536, "64 GiB"),
        ] {
            assert_eq!(MiB(memory).to_string(), shown);
        }
    }

    #[test]
    fn sums_stop_at_the_ends() {
        assert_eq!(Cores(i64::MAX) + Cores(1), Cores(i64::MAX));
        assert_eq!(MiB(i64::MIN) - MiB(1), MiB(i64::MIN));
        assert_eq!([Cores(1), Cores(-3)].into_iter().sum::<Cores>(), Cores(-2));
    }
}
