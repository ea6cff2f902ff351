//! The assignment: how many cores each offer gives.
//!
//! Spark assigns executors (or single cores, for executors without a fixed size) one at a time. After each one, it
//! looks at every Worker again. This module computes the result of that loop directly.
//!
//! A *unit* is one executor of fixed size, or one core. Let `cap[i]` be the number of units that offer `i` could give
//! on its own, and `budget` the number of units that may be given in total.
//!
//! - **Consolidate**: each offer in turn gives `min(cap[i], budget left)`.
//! - **Spread out**: one round of the loop takes one unit from every offer that still has one. So rounds 1 to `level`
//!   are complete, where `level` is the largest number with `sum(min(cap[i], level)) <= budget`. The remaining units
//!   are fewer than a whole round. They come from the first offers that have more than `level`.
//!
//! [`level`] computes the level without trying each number.

use serde::{Deserialize, Serialize};

use crate::{Cores, Demand, ExecutorSize, Offer};

/// How executors are distributed over the Workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// As evenly as the offers allow. If the number cannot be divided evenly, the first offers give one unit more.
    ///
    /// Source: Spark Master, 4.0.1 (`spark.deploy.spreadOutApps`, true).
    #[default]
    SpreadOut,
    /// On as few Workers as the order allows: each Worker is filled before the next one.
    ///
    /// Source: Spark Master, 4.0.1 (`spark.deploy.spreadOutApps`, false).
    Consolidate,
}

/// The result of [`assign`]: the cores that each offer gives, and the executors that use them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    size: ExecutorSize,
    cores: Vec<Cores>,
}

impl Assignment {
    /// The cores that each offer gives, in the order of the offers. Never negative.
    pub fn cores(&self) -> &[Cores] {
        &self.cores
    }

    /// The cores of each executor to launch on offer `i`. With a fixed size, as many executors as the cores suffice
    /// for; without one, one executor with all cores. Empty if there is no offer `i`.
    pub fn executors_on(&self, i: usize) -> impl Iterator<Item = Cores> + use<> {
        let cores = self.cores.get(i).copied().unwrap_or_default();
        let (count, each) = match self.size {
            _ if cores <= Cores::ZERO => (0, Cores::ZERO),
            ExecutorSize::Fixed(each) => ((cores.0 / each.0) as usize, each),
            ExecutorSize::OnePerWorker => (1, cores),
        };
        std::iter::repeat_n(each, count)
    }
}

/// Distributes executors over the offers, which are in the worker order. An offer on which no executor fits gives
/// nothing.
///
/// Memory, resources and the executor limit are counted for each executor. An executor without a fixed size needs
/// memory and resources once, however many cores it gets. In total, at most the sum of all free cores is given;
/// negative free cores reduce this sum. The sum has no effect if an executor fits on every offer, as with
/// [`place`](crate::place::place()).
///
/// Source: Spark Master, 4.0.1. One difference: Spark sums free cores in 32 bits, and places nothing if the sum wraps
/// to a negative number. Firesteel's sum does not wrap.
pub fn assign(demand: &Demand, offers: &[Offer<'_>], strategy: Strategy) -> Assignment {
    if !demand.allows_one_more() {
        return Assignment { size: demand.size, cores: vec![Cores::ZERO; offers.len()] };
    }
    let step = demand.size.step();
    let free: i128 = offers.iter().map(|offer| i128::from(offer.cores.0)).sum();
    let cores = free.clamp(0, i128::from(demand.cores_left.0));
    let affordable = (cores / i128::from(step.0)) as u64;
    let (caps, budget) = match demand.size {
        ExecutorSize::Fixed(_) => {
            (executors_on_each(demand, offers), affordable.min(demand.executors_allowed()))
        }
        ExecutorSize::OnePerWorker => (cores_of_first_workers(demand, offers), affordable),
    };
    let units = deal(strategy, caps, budget);
    let cores = units.into_iter().map(|units| Cores(units as i64 * step.0)).collect();
    Assignment { size: demand.size, cores }
}

/// The number of units that each offer gives, in the order of the offers. No offer gives more than its number in
/// `caps`, and all of them together give at most `budget`.
pub(crate) fn deal(strategy: Strategy, caps: Vec<u64>, budget: u64) -> Vec<u64> {
    match strategy {
        Strategy::SpreadOut => spread_out(caps, budget),
        Strategy::Consolidate => consolidate(caps, budget),
    }
}

/// The number of executors of fixed size that fits on each offer.
fn executors_on_each(demand: &Demand, offers: &[Offer<'_>]) -> Vec<u64> {
    offers.iter().map(|offer| offer.executors_that_fit(demand)).collect()
}

/// For executors without a fixed size: the free cores of the first Workers on which one fits. These are as many Workers
/// as the limit allows executors. The others give nothing.
fn cores_of_first_workers(demand: &Demand, offers: &[Offer<'_>]) -> Vec<u64> {
    let mut allowed = demand.executors_allowed();
    let mut cores = |offer: &Offer<'_>| {
        if allowed == 0 || !offer.fits(demand) {
            return 0;
        }
        allowed -= 1;
        offer.cores.0 as u64
    };
    offers.iter().map(&mut cores).collect()
}

/// Each offer gives as many units as it can until the budget is spent. Returns the units of each offer, in the memory
/// of `caps`.
fn consolidate(mut caps: Vec<u64>, budget: u64) -> Vec<u64> {
    let mut left = budget;
    for cap in &mut caps {
        *cap = left.min(*cap);
        left -= *cap;
    }
    caps
}

/// Every offer gives up to the level, and the first offers give one more. Returns the units of each offer, in the
/// memory of `caps`.
fn spread_out(mut caps: Vec<u64>, budget: u64) -> Vec<u64> {
    let (level, mut left) = level(&caps, budget);
    for cap in &mut caps {
        let one_more = u64::from(left > 0 && *cap > level);
        *cap = level.min(*cap) + one_more;
        left -= one_more;
    }
    caps
}

/// The level, and the part of the budget that is left at this level.
///
/// The level rises by even shares: the remaining budget, divided by the number of offers that have more than the level.
/// If each of these offers can give its share, less than one unit per offer remains, and the level is found. Otherwise
/// some offers cannot give their share. If they are many, fewer offers remain. If they are few, the next share is about
/// half as large. So the number of rounds is about the number of binary digits of the budget.
fn level(caps: &[u64], budget: u64) -> (u64, u64) {
    let mut level = 0;
    let mut left = budget;
    loop {
        let sharing = caps.iter().filter(|&&cap| cap > level).count() as u64;
        let share = left.checked_div(sharing).unwrap_or(0);
        if share == 0 {
            return (level, left);
        }
        left -= caps.iter().map(|&cap| cap.saturating_sub(level).min(share)).sum::<u64>();
        level += share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Amount, ExecutorLimit, MiB, ResourceAmounts, Resources};

    fn offers(cores: &[i64]) -> Vec<Offer<'static>> {
        let offer =
            |&cores| Offer { worker: "w", cores: Cores(cores), memory: MiB(512), resources: Resources::NONE };
        cores.iter().map(offer).collect()
    }

    fn given(demand: &Demand, cores: &[i64], strategy: Strategy) -> Vec<i64> {
        assign(demand, &offers(cores), strategy).cores().iter().map(|cores| cores.0).collect()
    }

    #[test]
    fn both_strategies_give_whole_executors() {
        let demand =
            Demand { size: ExecutorSize::Fixed(Cores(2)), cores_left: Cores(11), ..Demand::default() };
        assert_eq!(given(&demand, &[8, 8, 5, 1], Strategy::SpreadOut), [4, 4, 2, 0]);
        assert_eq!(given(&demand, &[8, 8, 5, 1], Strategy::Consolidate), [8, 2, 0, 0]);
    }

    #[test]
    fn one_executor_per_worker_grows_by_single_cores() {
        let demand = Demand { cores_left: Cores(5), limit: ExecutorLimit::AtMost(2), ..Demand::default() };
        let assignment = assign(&demand, &offers(&[10, 10, 10]), Strategy::SpreadOut);
        assert_eq!(assignment.cores(), [Cores(3), Cores(2), Cores(0)]);
        assert_eq!(assignment.executors_on(0).collect::<Vec<_>>(), [Cores(3)]);
        assert_eq!(assignment.executors_on(2).count() + assignment.executors_on(7).count(), 0);
    }

    #[test]
    fn amounts_without_sense_place_nothing() {
        let none = [0, 0];
        for strategy in [Strategy::SpreadOut, Strategy::Consolidate] {
            for size in [0, -1, i64::MIN, i64::MAX] {
                let demand = Demand { size: ExecutorSize::Fixed(Cores(size)), ..Demand::default() };
                assert_eq!(given(&demand, &[8, 8], strategy), none);
            }
            let over = Demand { cores_left: Cores(-4), ..Demand::default() };
            assert_eq!(given(&over, &[8, 8], strategy), none);
            let full = Demand { limit: ExecutorLimit::AtMost(2), held: 3, ..Demand::default() };
            assert_eq!(given(&full, &[8, 8], strategy), none);
            assert_eq!(given(&Demand::default(), &[i64::MIN, -8], strategy), none);
            assert_eq!(given(&Demand::default(), &[], strategy), [] as [i64; 0]);
        }
    }

    #[test]
    fn amounts_of_nothing_bind_nothing() {
        let demand = Demand {
            size: ExecutorSize::Fixed(Cores(4)),
            resources: ResourceAmounts::from([("gpu".to_owned(), Amount::NONE)]),
            ..Demand::default()
        };
        assert_eq!(given(&demand, &[8, 9], Strategy::SpreadOut), [8, 8]);
    }

    #[test]
    fn nothing_wraps_at_the_ends() {
        let demand =
            Demand { size: ExecutorSize::Fixed(Cores(1)), cores_left: Cores(i64::MAX), ..Demand::default() };
        let most = i64::MAX;
        assert_eq!(given(&demand, &[most, most], Strategy::SpreadOut), [most / 2 + 1, most / 2]);
        assert_eq!(given(&demand, &[most, most], Strategy::Consolidate), [most, 0]);
    }
}
