//! Dominant shares: an owner's largest fraction of any one resource of the cluster.
//!
//! An owner of a tenth of the cores and half of the memory has a dominant share of one half. A scheduler is fair if it
//! always serves the owner with the least dominant share, even if some owners need cores, some memory and some gpus.
//! Source: Ghodsi and others, *Dominant Resource Fairness*, NSDI 2011.

use std::cmp::Ordering;

use super::resources::resource_name::without_kind;
use crate::explain::shortfall::Amounts;
use crate::{Cores, Demand, MiB, Quantity};

/// A fraction of a total. Comparisons are exact.
#[derive(Clone, Copy, Debug)]
pub struct DominantShare {
    part: u64,
    /// The denominator. It is never zero, so that every share is a number.
    total: u64,
}

impl DominantShare {
    /// A share of zero.
    pub const NONE: Self = Self { part: 0, total: 1 };

    /// The largest of these shares: held cores of all cores, held memory of all memory, and held amount of each
    /// resource of its total. A resource with a total of 0 is left out. The kinds of a resource (`gpu:A100`,
    /// `gpu:H100`) are added up.
    #[must_use]
    pub fn of(held: &Amounts, total: &Amounts) -> Self {
        let amount = |amount: i64| u64::try_from(amount).unwrap_or(0);
        let of_name = |amounts: &Amounts, plain: &str| -> Quantity {
            let kinds = amounts.resources.iter().filter(|(name, _)| without_kind(name) == plain);
            kinds.map(|(_, quantity)| *quantity).sum()
        };
        let resources = held.resources.keys().map(|name| {
            let [part, total] = [held, total].map(|amounts| of_name(amounts, without_kind(name)));
            Self::new(part.thousandths(), total.thousandths())
        });
        let cores = Self::new(amount(held.cores.0), amount(total.cores.0));
        let memory = Self::new(amount(held.memory.0), amount(total.memory.0));
        [cores, memory].into_iter().chain(resources).max().unwrap_or(Self::NONE)
    }

    fn new(part: u64, total: u64) -> Self {
        if total == 0 { Self::NONE } else { Self { part, total } }
    }

    /// Compares two shares, each divided by its weight.
    #[must_use]
    pub fn cmp_weighted(self, weight: u32, other: Self, other_weight: u32) -> Ordering {
        let product = |part: u64, total: u64, weight: u32| {
            (u128::from(part) * u128::from(total)).saturating_mul(u128::from(weight.max(1)))
        };
        let left = product(self.part, other.total, other_weight);
        left.cmp(&product(other.part, self.total, weight))
    }

    /// The share as a number for display: from 0 to 1. It is above 1 if the held amount exceeds the total.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.part as f64 / self.total as f64
    }
}

impl Ord for DominantShare {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp_weighted(1, *other, 1)
    }
}

impl PartialOrd for DominantShare {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DominantShare {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for DominantShare {}

impl Amounts {
    /// The amounts of this number of executors, which have `cores` together.
    #[must_use]
    pub fn of_executors(demand: &Demand, executors: u64, cores: Cores) -> Self {
        let times = i64::try_from(executors).unwrap_or(i64::MAX);
        let each = demand.resources.iter();
        let resources = each.map(|(name, each)| (name.clone(), each.quantity().times(executors)));
        Self { cores, memory: MiB(demand.memory.0.saturating_mul(times)), resources: resources.collect() }
    }

    /// The amounts that this number of executors needs at least. An executor without a fixed size needs one core.
    #[must_use]
    pub fn needed(demand: &Demand, executors: u64) -> Self {
        let times = i64::try_from(executors).unwrap_or(i64::MAX);
        Self::of_executors(demand, executors, Cores(demand.size.step().0.saturating_mul(times)))
    }

    /// Adds other amounts to these.
    pub fn add(&mut self, other: &Self) {
        self.cores += other.cores;
        self.memory += other.memory;
        for (name, quantity) in other.resources.iter().filter(|(_, quantity)| **quantity > Quantity::ZERO) {
            *self.resources.entry(name.clone()).or_default() += *quantity;
        }
    }

    /// Subtracts other amounts from these. The quantity of a resource does not fall below 0.
    pub fn take_off(&mut self, other: &Self) {
        self.cores -= other.cores;
        self.memory -= other.memory;
        for (name, quantity) in &other.resources {
            if let Some(left) = self.resources.get_mut(name) {
                *left = left.less(*quantity);
            }
        }
        self.resources.retain(|_, quantity| *quantity > Quantity::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(cores: i64, memory: i64, gpus: u64) -> Amounts {
        let resources = [("gpu".to_owned(), Quantity::whole(gpus))].into();
        Amounts { cores: Cores(cores), memory: MiB(memory), resources }
    }

    #[test]
    fn a_dominant_share_is_the_largest_fraction() {
        let whole = amounts(100, 1000, 4);
        for (held, ratio) in [
            (amounts(0, 0, 0), 0.0),
            (amounts(10, 500, 0), 0.5),
            (amounts(10, 50, 0), 0.1),
            (amounts(10, 50, 1), 0.25),
            (amounts(-5, -5, 0), 0.0),
        ] {
            assert_eq!(DominantShare::of(&held, &whole).ratio(), ratio, "{held:?}");
        }
        assert_eq!(DominantShare::of(&whole, &Amounts::default()), DominantShare::NONE);
    }

    #[test]
    fn parts_and_kinds_count_together() {
        let resources = |all: &[(&str, u64)]| Amounts {
            resources: all.iter().map(|(name, part)| ((*name).to_owned(), Quantity::of(*part))).collect(),
            ..Amounts::default()
        };
        let held = resources(&[("gpu", 250), ("gpu:A100", 750), ("nic", 100)]);
        let whole = resources(&[("gpu", 4000), ("nic", 1000)]);
        assert_eq!(DominantShare::of(&held, &whole).ratio(), 0.25);
    }

    #[test]
    fn shares_are_compared_by_weight() {
        let share = |part| DominantShare::of(&amounts(part, 0, 0), &amounts(100, 1, 0));
        for (mine, weight, theirs, other, order) in [
            (30, 3, 10, 1, Ordering::Equal),
            (30, 3, 11, 1, Ordering::Less),
            (31, 3, 10, 1, Ordering::Greater),
            (0, 1, 0, 9, Ordering::Equal),
        ] {
            assert_eq!(share(mine).cmp_weighted(weight, share(theirs), other), order);
        }
    }
}
