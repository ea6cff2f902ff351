//! What an application could ask for instead, to be given more at once.

use serde::{Deserialize, Serialize};

use crate::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Strategy, WorkerOrder, place};

/// A change of what is asked for, and what it would bring at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What to ask for instead.
    pub change: Change,
    /// How many executors would be placed.
    pub executors: u64,
    /// How many cores they would have together.
    pub cores: Cores,
}

/// What is asked for instead. All else stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Executors with so many cores, which are fewer.
    ExecutorCores(Cores),
    /// Executors with so much memory, which is less.
    ExecutorMemory(MiB),
    /// Both, where neither alone would help.
    ExecutorCoresAndMemory(Cores, MiB),
    /// So many cores more for the application in all.
    MoreCores(Cores),
    /// A limit of so many executors, which is higher.
    ExecutorLimit(u64),
}

/// Memory that is less than this part of what was asked is no advice: the program would not run with it.
const LEAST_PART: i64 = 8;

/// What would bring a demand more than it is given, each held against the same placement that would place it:
/// `free` has what every living worker has free after placement.
///
/// An application that its own bounds hold back is advised to raise them; one that finds no room, to ask for
/// smaller executors. Empty if nothing of this would help, or if the demand can be placed as it is.
pub fn advice(demand: &Demand, free: &[Offer<'_>], by: WorkerOrder, strategy: Strategy) -> Vec<Advice> {
    let placed = |change: Change| -> Option<Advice> {
        let changed = change.applied(demand);
        let placement = place(&changed, free.iter().copied(), by, strategy);
        let (mut executors, mut cores) = (0, Cores::ZERO);
        for executor in placement.executors() {
            executors += 1;
            cores += executor.cores;
        }
        (executors > 0).then_some(Advice { change, executors, cores })
    };
    if demand.size.step() <= Cores::ZERO {
        return Vec::new();
    }
    if !demand.allows_one_more() {
        return within_bounds(demand, &placed);
    }
    if free.iter().any(|offer| offer.fits(demand)) {
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

/// What raising the bound that holds the demand back would bring: no more than there is room for.
fn within_bounds(demand: &Demand, placed: &dyn Fn(Change) -> Option<Advice>) -> Vec<Advice> {
    let step = demand.size.step();
    let left = demand.cores_left.max(Cores::ZERO);
    let mut all = Vec::new();
    if left < step {
        let room = Change::MoreCores(Cores::UNLIMITED - demand.cores_left);
        if let Some(most) = placed(room) {
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

/// Sizes to try: one core less, and halves.
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

/// The most memory that a worker with room for all else has free, if it is less than asked.
fn less_memory(demand: &Demand, free: &[Offer<'_>]) -> Option<MiB> {
    let without = Demand { memory: MiB::ZERO, ..demand.clone() };
    let most = free.iter().filter(|offer| offer.fits(&without)).map(|offer| offer.memory).max()?;
    (most < demand.memory && most.0 >= (demand.memory.0 / LEAST_PART).max(1)).then_some(most)
}

/// The one that brings most cores; among equals the first, whose executors are the largest.
fn best(all: impl Iterator<Item = Advice>) -> Option<Advice> {
    all.reduce(|best, next| if next.cores > best.cores { next } else { best })
}
