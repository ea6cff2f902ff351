//! Reservations with a time: when several executors fit at once, if running executors end when they are expected to.
//!
//! This is the reservation of EASY backfill: the first application that waits is told when it can begin, and whatever ends by then,
//! or leaves it its room, may go before it. A reservation without times ([`reserve`](crate::reservation::reserve)) has to keep free
//! what is free now, until the last executor has ended there that stands in the way.

use crate::reservation::WorkerAmounts;
use crate::shortfall::Amounts;
use crate::{Cores, Demand, MiB};

/// What an executor gives back, and when it is expected to.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The number of the Worker among those that are looked at.
    pub worker: usize,
    /// The time, in any unit.
    pub at: u64,
    /// The amounts that it holds.
    pub amounts: Amounts,
}

/// When several executors fit at once, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The time of the last ending that is needed.
    pub at: u64,
    /// The Workers with their numbers, in order.
    pub on: Vec<Planned>,
}

/// A part of a forecast: executors on one Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The number of the Worker.
    pub worker: usize,
    /// The number of executors.
    pub executors: u64,
    /// What must be kept of what is free now: what the executors need beyond what ends there in time. Who has given back by then
    /// what he takes may use it.
    pub kept: Amounts,
}

/// Finds the first time at which `executors` fit at once, if nothing else is launched. `None` if they never do, as far as endings are
/// known.
///
/// Of the Workers that have room then, those are taken on which the least is left: the fewest cores, then the least memory, then the
/// first ones. The cost grows with the number of Workers and endings.
#[must_use]
pub fn forecast(
    demand: &Demand,
    executors: u64,
    workers: &[WorkerAmounts<'_>],
    mut endings: Vec<Ending>,
) -> Option<Forecast> {
    let free = |worker: &WorkerAmounts<'_>| Amounts {
        cores: worker.free.cores,
        memory: worker.free.memory,
        resources: worker.free.resources.amounts(),
    };
    let mut then: Vec<Amounts> = workers.iter().map(free).collect();
    let mut fitting: Vec<u64> = then.iter().map(|free| free.executors_that_fit(demand)).collect();
    let mut room = fitting.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    endings.sort_by_key(|ending| (ending.at, ending.worker));
    let mut passed = 0;
    let mut at = 0;
    while room < executors {
        // All endings of a time come together.
        at = endings.get(passed)?.at;
        while let Some(Ending { worker, amounts, .. }) = endings.get(passed).filter(|ending| ending.at == at)
        {
            then[*worker].add(amounts);
            let now = then[*worker].executors_that_fit(demand);
            room = room - fitting[*worker] + now;
            fitting[*worker] = now;
            passed += 1;
        }
    }
    let mut order: Vec<usize> = (0..workers.len()).filter(|worker| fitting[*worker] > 0).collect();
    order.sort_by_key(|worker| (then[*worker].cores, then[*worker].memory, *worker));
    let mut left = executors;
    let mut counts = vec![0; workers.len()];
    for worker in order {
        counts[worker] = fitting[worker].min(left);
        left -= counts[worker];
    }
    let taken = |worker: usize| counts[worker] > 0;
    let mut ends: Vec<Amounts> = vec![Amounts::default(); workers.len()];
    for Ending { worker, amounts, .. } in endings[..passed].iter().filter(|ending| taken(ending.worker)) {
        ends[*worker].add(amounts);
    }
    let planned = |worker: usize| Planned {
        worker,
        executors: counts[worker],
        kept: beyond(demand, counts[worker], &ends[worker]),
    };
    Some(Forecast { at, on: (0..workers.len()).filter(|worker| taken(*worker)).map(planned).collect() })
}

/// What this number of executors needs beyond these amounts.
fn beyond(demand: &Demand, executors: u64, amounts: &Amounts) -> Amounts {
    let times = i64::try_from(executors).unwrap_or(i64::MAX);
    let cores = Cores(demand.size.step().0.saturating_mul(times));
    let mut needed = Amounts::of_executors(demand, executors, cores);
    needed.cores = (needed.cores - amounts.cores).max(Cores::ZERO);
    needed.memory = MiB((needed.memory.0 - amounts.memory.0).max(0));
    for (name, count) in &mut needed.resources {
        *count = count.saturating_sub(amounts.resources.get(name).copied().unwrap_or(0));
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExecutorSize, Offer, Resources};

    fn demand(cores: i64) -> Demand {
        Demand { size: ExecutorSize::Fixed(Cores(cores)), memory: MiB(1), ..Demand::default() }
    }

    fn cores(cores: i64, memory: i64) -> Amounts {
        Amounts { cores: Cores(cores), memory: MiB(memory), ..Amounts::default() }
    }

    /// The forecast on Workers of 8 cores with these free cores, and endings of (Worker, time, cores).
    fn found(
        each: i64,
        executors: u64,
        free: &[i64],
        endings: &[(usize, u64, i64)],
    ) -> Option<(u64, Vec<(usize, u64, i64)>)> {
        let offer =
            |cores| Offer { worker: "w", cores: Cores(cores), memory: MiB(100), resources: Resources::NONE };
        let workers: Vec<_> =
            free.iter().map(|free| WorkerAmounts { free: offer(*free), total: offer(8) }).collect();
        let ending = |&(worker, at, held)| Ending { worker, at, amounts: cores(held, 0) };
        let Forecast { at, on } =
            forecast(&demand(each), executors, &workers, endings.iter().map(ending).collect())?;
        Some((at, on.into_iter().map(|on| (on.worker, on.executors, on.kept.cores.0)).collect()))
    }

    #[test]
    fn a_gang_begins_when_enough_has_ended_and_keeps_only_what_does_not_end_in_time() {
        // What is free now is enough.
        assert_eq!(found(4, 2, &[4, 4], &[]), Some((0, vec![(0, 1, 4), (1, 1, 4)])));
        // Nothing is known to end.
        assert_eq!(found(4, 2, &[4, 2], &[]), None);
        // One executor fits now, the other at 20: its four cores come from what ends there, but for the two that are free.
        assert_eq!(found(4, 2, &[4, 2], &[(1, 20, 2)]), Some((20, vec![(0, 1, 4), (1, 1, 2)])));
        // All that it needs on the first Worker ends in time: nothing is kept.
        assert_eq!(found(4, 1, &[3, 0], &[(0, 20, 5)]), Some((20, vec![(0, 1, 0)])));
        // The first time counts, not the first Worker; and later endings do not.
        assert_eq!(
            found(4, 2, &[0, 0, 0], &[(0, 30, 8), (1, 10, 4), (2, 20, 4), (1, 40, 4)]),
            Some((20, vec![(1, 1, 0), (2, 1, 0)]))
        );
        // Endings of one time come together, and the least is left over.
        assert_eq!(found(4, 1, &[0, 0], &[(0, 10, 8), (1, 10, 4)]), Some((10, vec![(1, 1, 0)])));
    }

    #[test]
    fn memory_and_resources_are_kept_too() {
        let gpus: Resources = [("gpu".to_owned(), ["0".to_owned(), "1".to_owned()])].into_iter().collect();
        let offer = Offer { worker: "w", cores: Cores(1), memory: MiB(10), resources: &gpus };
        let demand =
            Demand { memory: MiB(30), resources: [("gpu".to_owned(), 3)].into_iter().collect(), ..demand(1) };
        let amounts = Amounts { resources: [("gpu".to_owned(), 2)].into_iter().collect(), ..cores(0, 25) };
        let endings = vec![Ending { worker: 0, at: 7, amounts }];
        let workers = [WorkerAmounts { free: offer, total: offer }];
        let found = forecast(&demand, 1, &workers, endings).expect("it fits at 7");
        assert_eq!(found.at, 7);
        let kept = Amounts { resources: [("gpu".to_owned(), 1)].into_iter().collect(), ..cores(1, 5) };
        assert_eq!(found.on, [Planned { worker: 0, executors: 1, kept }]);
    }
}
