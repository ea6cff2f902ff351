//! Advice: other requests with which an application would get more executors at once.

use serde::{Deserialize, Serialize};

use crate::place::place;
use crate::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Strategy, WorkerOrder};

/// A change of an application's demand, and what the application would get now with this change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The change of the demand.
    pub change: Change,
    /// The number of executors that would be placed with the change.
    pub executors: u64,
    /// The cores of these executors together.
    pub cores: Cores,
}

/// One change of what an application asks for. Everything else stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Executors with this smaller number of cores.
    ExecutorCores(Cores),
    /// Executors with this smaller amount of memory.
    ExecutorMemory(MiB),
    /// Executors with fewer cores and less memory. Neither change helps by itself.
    ExecutorCoresAndMemory(Cores, MiB),
    /// The application's maximum of cores is raised by this number.
    MoreCores(Cores),
    /// The executor limit is raised to this number.
    ExecutorLimit(u64),
}

/// Advice keeps at least one eighth of the requested memory. With less, the program would not run.
const LEAST_PART: i64 = 8;

/// The changes of a demand that would bring more executors. Each change is tried by a placement. `free` has the free
/// amounts of every living Worker after the last placement.
///
/// If the application has reached its own limits, the advice is to raise them. If its executors fit on no Worker, the
/// advice is to ask for smaller executors. Empty if no change helps, or if the demand can be placed without a change.
pub fn advice(demand: &Demand, free: &[Offer<'_>], by: WorkerOrder, strategy: Strategy) -> Vec<Advice> {
    advice_for(1, demand, free, by, strategy)
}

/// The same as `advice` for a gang: an application that starts only when at least this number of executors fits at
/// once. Each change would let that many executors fit.
pub fn advice_for(
    least: u64,
    demand: &Demand,
    free: &[Offer<'_>],
    by: WorkerOrder,
    strategy: Strategy,
) -> Vec<Advice> {
    let placed = |change: Change| -> Option<Advice> {
        let changed = change.applied(demand);
        let placement = place(&changed, free.iter().copied(), by, strategy);
        let (mut executors, mut cores) = (0, Cores::ZERO);
        for executor in placement.executors() {
            executors += 1;
            cores += executor.cores;
        }
        (executors >= least.max(1)).then_some(Advice { change, executors, cores })
    };
    if demand.size.step() <= Cores::ZERO {
        return Vec::new();
    }
    if !demand.allows_one_more() {
        return raising_limits(demand, &placed);
    }
    let fits = if least <= 1 {
        free.iter().any(|offer| offer.fits(demand))
    } else {
        placed(Change::ExecutorMemory(demand.memory)).is_some()
    };
    if fits {
        return Vec::new();
    }
    let cores = best(fewer_cores(demand).into_iter().map(Change::ExecutorCores).filter_map(placed));
    let memory = less_memory(demand, free).map(Change::ExecutorMemory).and_then(placed);
    let either: Vec<Advice> = cores.into_iter().chain(memory).collect();
    if !either.is_empty() {
        return either;
    }
    let both = fewer_cores(demand).into_iter().filter_map(|cores| {
        let memory = less_memory(&Change::ExecutorCores(cores).applied(demand), free)?;
        placed(Change::ExecutorCoresAndMemory(cores, memory))
    });
    best(both).into_iter().collect()
}

impl Change {
    /// The demand with this change.
    #[must_use]
    pub fn applied(self, demand: &Demand) -> Demand {
        let demand = demand.clone();
        match self {
            Self::ExecutorCores(cores) => Demand { size: ExecutorSize::Fixed(cores), ..demand },
            Self::ExecutorMemory(memory) => Demand { memory, ..demand },
            Self::ExecutorCoresAndMemory(cores, memory) => {
                Demand { size: ExecutorSize::Fixed(cores), memory, ..demand }
            }
            Self::MoreCores(cores) => Demand { cores_left: demand.cores_left + cores, ..demand },
            Self::ExecutorLimit(limit) => Demand { limit: ExecutorLimit::AtMost(limit), ..demand },
        }
    }
}

/// Advice to raise the limit that is reached. The new limit is at most the number that fits on the Workers.
fn raising_limits(demand: &Demand, placed: &dyn Fn(Change) -> Option<Advice>) -> Vec<Advice> {
    let step = demand.size.step();
    let left = demand.cores_left.max(Cores::ZERO);
    let mut all = Vec::new();
    if left < step {
        let unlimited = Change::MoreCores(Cores::UNLIMITED - demand.cores_left);
        if let Some(most) = placed(unlimited) {
            all.extend(placed(Change::MoreCores(most.cores - demand.cores_left)));
        }
        let smaller = fewer_cores(demand).into_iter().filter(|cores| *cores <= left);
        all.extend(best(smaller.map(Change::ExecutorCores).filter_map(placed)));
    }
    if demand.executors_allowed() == 0
        && let Some(most) = placed(Change::ExecutorLimit(u64::MAX))
    {
        all.extend(placed(Change::ExecutorLimit(demand.held.saturating_add(most.executors))));
    }
    all
}

/// The executor sizes to try: one core less than requested, then a half, a quarter and so on.
fn fewer_cores(demand: &Demand) -> Vec<Cores> {
    let ExecutorSize::Fixed(Cores(asked)) = demand.size else { return Vec::new() };
    let mut sizes = vec![asked - 1];
    let mut half = asked / 2;
    while half > 0 {
        sizes.push(half);
        half /= 2;
    }
    sizes.retain(|cores| *cores > 0);
    sizes.dedup();
    sizes.into_iter().map(Cores).collect()
}

/// The largest memory with which an executor fits, if that is less than requested.
fn less_memory(demand: &Demand, free: &[Offer<'_>]) -> Option<MiB> {
    let without = Demand { memory: MiB::ZERO, ..demand.clone() };
    let most = free.iter().filter(|offer| offer.fits(&without)).map(|offer| offer.memory).max()?;
    (most < demand.memory && most.0 >= (demand.memory.0 / LEAST_PART).max(1)).then_some(most)
}

/// The advice that brings the most cores. Among equal advice the first one, which has the largest executors.
fn best(all: impl Iterator<Item = Advice>) -> Option<Advice> {
    all.reduce(|best, next| if next.cores > best.cores { next } else { best })
}
