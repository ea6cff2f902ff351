//! Preemption: which executors must end so that others fit.
//!
//! `choice` chooses victims on one Worker, and `costs` chooses among Workers. An owner that keeps [`Costs`] looks only
//! at Workers that have changed, and at Workers where executors end.

mod choice;
mod costs;

use choice::Choice;
pub use costs::{Chosen, Cost, Costs};

use crate::{Cores, Demand, MiB, Offer, Resources};

/// A Worker with executors that may be preempted.
#[derive(Clone, Debug)]
pub struct PreemptibleWorker {
    /// The number of free cores.
    pub cores: Cores,
    /// The amount of free memory.
    pub memory: MiB,
    /// The free addresses of each resource.
    pub resources: Resources,
    /// The executors that may end, in the order of preemption: lowest priority first, then youngest first.
    pub victims: Vec<Victim>,
}

/// An executor that may be preempted.
#[derive(Clone, Debug)]
pub struct Victim {
    /// The priority of the executor's application.
    pub priority: i32,
    /// When the executor was launched, in milliseconds. All executors use the same starting point.
    pub launched: u64,
    /// The cores that the executor holds.
    pub cores: Cores,
    /// The memory that the executor holds.
    pub memory: MiB,
    /// The addresses that the executor holds.
    pub resources: Resources,
}

impl PreemptibleWorker {
    /// A Worker with these free amounts and without victims.
    #[must_use]
    pub fn new(free: &Offer<'_>) -> Self {
        let resources = free.resources.clone();
        Self { cores: free.cores, memory: free.memory, resources, victims: Vec::new() }
    }

    /// The cost of one more executor of the demand on this Worker. `None` if the executor does not fit even if all
    /// victims end.
    #[must_use]
    pub fn cost(&self, demand: &Demand) -> Option<Cost> {
        Choice::new(self, None).cost(demand)
    }
}

/// Chooses the executors that must end so that `executors` of the demand fit. Returns the numbers of the victims of
/// each Worker, in the order of `workers`. `None` if more than `most` victims would be needed, or if even all victims
/// would not suffice. Then no executor should end.
///
/// For one executor, as few victims of a Worker as possible end. If one or two suffice, this is the exact minimum.
/// Otherwise it is a set in which every victim is needed. Among Workers, the order is: fewest victims, then the lowest
/// maximum priority of the victims, then the latest launch of the oldest victim, then the first Worker. For several
/// executors this is repeated. At the end, victims that are not needed are spared.
#[must_use]
pub fn victims(
    demand: &Demand,
    executors: u64,
    most: usize,
    workers: &[PreemptibleWorker],
) -> Option<Vec<Vec<usize>>> {
    let mut costs = Costs::new(workers.iter().map(|worker| worker.cost(demand)));
    let chosen = costs.choose(demand, executors, most, |number| &workers[number])?;
    let mut ended = vec![Vec::new(); workers.len()];
    for (number, victims) in chosen {
        ended[number] = victims;
    }
    Some(ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExecutorSize;

    fn demand(cores: i64) -> Demand {
        Demand { size: ExecutorSize::Fixed(Cores(cores)), memory: MiB(1), ..Demand::default() }
    }

    /// A Worker with these free cores, and with victims of these priorities and cores.
    fn worker(cores: i64, victims: &[(i32, i64)]) -> PreemptibleWorker {
        let free = Offer { worker: "w", cores: Cores(cores), memory: MiB(100), resources: Resources::NONE };
        let victim = |&(priority, cores): &(i32, i64)| Victim {
            priority,
            launched: 0,
            cores: Cores(cores),
            memory: MiB(1),
            resources: Resources::default(),
        };
        PreemptibleWorker { victims: victims.iter().map(victim).collect(), ..PreemptibleWorker::new(&free) }
    }

    type Row<'a> = (i64, u64, usize, &'a [(i64, &'a [(i32, i64)])], Option<&'a [&'a [usize]]>);

    #[test]
    fn the_fewest_and_the_lowest_end_and_none_in_vain() {
        let rows: &[Row<'_>] = &[
            // The first victim that suffices by itself, not the first of all victims.
            (4, 1, 9, &[(0, &[(0, 2), (0, 4), (1, 4)])], Some(&[&[1]])),
            // The Worker where the fewest victims end.
            (4, 1, 9, &[(0, &[(0, 2), (0, 2)]), (2, &[(5, 2)])], Some(&[&[], &[0]])),
            // Among equal Workers, the one with the lowest priority.
            (4, 1, 9, &[(0, &[(3, 4)]), (0, &[(1, 4)])], Some(&[&[], &[0]])),
            // Two victims suffice together.
            (4, 1, 9, &[(0, &[(0, 1), (0, 2), (0, 2)])], Some(&[&[1, 2]])),
            // Three victims, and each is needed.
            (6, 1, 9, &[(0, &[(0, 1), (0, 2), (0, 2), (0, 2)])], Some(&[&[1, 2, 3]])),
            // More victims than allowed would be needed, so none ends.
            (6, 1, 2, &[(0, &[(0, 2), (0, 2), (0, 2)])], None),
            // All victims together do not suffice.
            (6, 1, 9, &[(1, &[(0, 2), (0, 2)]), (5, &[])], None),
            // The executor already fits.
            (2, 1, 0, &[(2, &[(0, 2)])], Some(&[&[]])),
            // A gang on two Workers. One of its executors already fits.
            (2, 3, 2, &[(2, &[(0, 2)]), (0, &[(0, 2), (0, 1)])], Some(&[&[0], &[0]])),
            // The victim for the first executor is not needed once a larger one ends.
            (2, 3, 9, &[(0, &[(0, 2), (1, 6)])], Some(&[&[1]])),
        ];
        for (cores, executors, most, workers, expected) in rows {
            let workers: Vec<_> = workers.iter().map(|(free, victims)| worker(*free, victims)).collect();
            let found = victims(&demand(*cores), *executors, *most, &workers);
            let expected = expected.map(|all| all.iter().map(|one| one.to_vec()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{executors} of {cores} cores on {workers:?}");
        }
    }
    #[test]
    fn among_equal_workers_the_one_with_the_youngest_executors_is_taken() {
        let launched = |times: &[u64]| {
            let mut worker = worker(0, &vec![(0, 2); times.len()]);
            worker.victims.iter_mut().zip(times).for_each(|(victim, launched)| victim.launched = *launched);
            worker
        };
        let workers = [launched(&[50]), launched(&[70]), launched(&[90, 10]), launched(&[70])];
        let rows: [(i64, u64, &[&[usize]]); 4] = [
            (2, 1, &[&[], &[], &[0], &[]]),
            (2, 2, &[&[], &[0], &[0], &[]]),
            (2, 4, &[&[0], &[0], &[0], &[0]]),
            // On the third Worker both victims must end, and on no other Worker do two suffice.
            (4, 1, &[&[], &[], &[0, 1], &[]]),
        ];
        for (cores, executors, expected) in rows {
            let found = victims(&demand(cores), executors, 9, &workers).expect("they are enough");
            assert_eq!(found, expected, "{executors} of {cores} cores");
        }
    }
}
