//! Reservations with a time: when several executors fit at once, if running executors end when they are expected to.
//!
//! This is the reservation of EASY backfill: the first application that waits is told when it can begin, and whatever
//! ends by then, or leaves it its room, may go before it. In conservative backfill the next applications that wait have
//! such a reservation, too ([`beside`]). A reservation without times ([`reserve`](crate::reservation::reserve)) has to
//! keep free what is free now, until the last executor has ended there that stands in the way.

use std::collections::BTreeMap;

use crate::explain::shortfall::Amounts;
use crate::reservation::WorkerCapacity;
use crate::{Amount, Cores, Demand, MiB, Offer, Resources};

/// What an executor gives back, and when it is expected to.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The number of the Worker among those that are looked at.
    pub worker: usize,
    /// The time, in any unit.
    pub at: u64,
    /// The cores that it holds.
    pub cores: Cores,
    /// The memory that it holds.
    pub memory: MiB,
    /// The addresses that it holds, under the names of the Worker.
    pub resources: Resources,
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
    /// What must be kept of what is free now: what the executors need beyond what ends there in time. Who has given
    /// back by then what he takes may use it.
    pub kept: Amounts,
    /// The number of executors for which addresses must be kept of those that are free now.
    pub with_addresses: u64,
}

/// Executors of another demand that were planned before, on one Worker. What ends there in time is theirs first.
#[derive(Clone, Debug)]
pub struct Booking<'a> {
    /// The number of the Worker.
    pub worker: usize,
    /// When they start.
    pub at: u64,
    /// When they end, if that is known.
    pub until: Option<u64>,
    /// What each of them takes.
    pub demand: &'a Demand,
    /// Their number.
    pub executors: u64,
    /// What is kept for them of what is free now.
    pub kept: &'a Amounts,
    /// The number of them for which addresses are kept of those that are free now.
    pub with_addresses: u64,
}

/// What is free on a Worker, now or later.
#[derive(Clone, Debug, Default)]
struct Room {
    cores: Cores,
    memory: MiB,
    resources: Resources,
}

impl Room {
    fn of(free: &Offer<'_>) -> Self {
        Self { cores: free.cores, memory: free.memory, resources: free.resources.clone() }
    }

    fn add(&mut self, ending: &Ending) {
        self.cores += ending.cores;
        self.memory += ending.memory;
        self.resources.add(&ending.resources);
    }

    fn executors_that_fit(&self, demand: &Demand) -> u64 {
        let Self { cores, memory, ref resources } = *self;
        Offer { worker: "", cores, memory, resources }.executors_that_fit(demand)
    }
}

/// Finds the first time at which `executors` fit at once, if nothing else is launched. `None` if they never do, as far
/// as endings are known.
///
/// Of the Workers that have room then, those are taken on which the least is left: the fewest cores, then the least
/// memory, then the first ones. The cost grows with the number of Workers and endings.
#[must_use]
pub fn forecast(
    demand: &Demand,
    executors: u64,
    workers: &[WorkerCapacity<'_>],
    mut endings: Vec<Ending>,
) -> Option<Forecast> {
    let mut then: Vec<Room> = workers.iter().map(|worker| Room::of(&worker.free)).collect();
    let mut fitting: Vec<u64> = then.iter().map(|free| free.executors_that_fit(demand)).collect();
    let mut room = fitting.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    endings.sort_by_key(|ending| (ending.at, ending.worker));
    let mut passed = 0;
    let mut at = 0;
    while room < executors {
        // All endings of a time come together.
        at = endings.get(passed)?.at;
        while let Some(ending) = endings.get(passed).filter(|ending| ending.at == at) {
            let worker = ending.worker;
            then[worker].add(ending);
            let now = then[worker].executors_that_fit(demand);
            room = room - fitting[worker] + now;
            fitting[worker] = now;
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
    let mut ends: Vec<Room> = vec![Room::default(); workers.len()];
    for ending in endings[..passed].iter().filter(|ending| taken(ending.worker)) {
        ends[ending.worker].add(ending);
    }
    let planned = |worker: usize| {
        let (executors, ends) = (counts[worker], &ends[worker]);
        let in_time = |(name, each): (&String, &Amount)| ends.resources.fit(name, *each).unwrap_or(executors);
        let with_addresses =
            executors.saturating_sub(demand.resources.iter().map(in_time).min().unwrap_or(executors));
        Planned { worker, executors, kept: beyond(demand, executors, ends), with_addresses }
    };
    Some(Forecast { at, on: (0..workers.len()).filter(|worker| taken(*worker)).map(planned).collect() })
}

/// The endings that remain for others beside these bookings, in the order in which they were made.
///
/// What ends on the Worker of a booking before the booking starts is put off until that time, and is less by what the
/// booking takes of it. If the end of a booking is known, what it needs ends then, too. Of its addresses, only those
/// that it takes of endings do.
#[must_use]
pub fn beside(bookings: &[Booking<'_>], endings: Vec<Ending>) -> Vec<Ending> {
    let mut by_worker: BTreeMap<usize, Vec<Ending>> = BTreeMap::new();
    for ending in endings {
        by_worker.entry(ending.worker).or_default().push(ending);
    }
    for Booking { worker, at, until, demand, executors, kept, with_addresses } in bookings {
        let there = by_worker.entry(*worker).or_default();
        let mut ended = Room::default();
        there.extract_if(.., |ending| ending.at <= *at).for_each(|ending| ended.add(&ending));
        let needed = Amounts::needed(demand, *executors);
        let resources = ended.resources.less(&demand.resources, executors.saturating_sub(*with_addresses));
        let taken = ended.resources.without(&resources);
        let cores = ended.cores - (needed.cores - kept.cores);
        let memory = ended.memory - (needed.memory - kept.memory);
        there.push(Ending { worker: *worker, at: *at, cores, memory, resources });
        if let Some(until) = *until {
            let Amounts { cores, memory, .. } = needed;
            there.push(Ending { worker: *worker, at: until, cores, memory, resources: taken });
        }
    }
    by_worker.into_values().flatten().collect()
}

/// What this number of executors needs beyond what ends.
fn beyond(demand: &Demand, executors: u64, ends: &Room) -> Amounts {
    let mut needed = Amounts::needed(demand, executors);
    needed.cores = (needed.cores - ends.cores).max(Cores::ZERO);
    needed.memory = MiB((needed.memory.0 - ends.memory.0).max(0));
    for (name, quantity) in &mut needed.resources {
        *quantity = quantity.less(ends.resources.quantity(name));
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExecutorSize, Quantity};

    fn demand(cores: i64) -> Demand {
        Demand { size: ExecutorSize::Fixed(Cores(cores)), memory: MiB(1), ..Demand::default() }
    }

    fn ending(worker: usize, at: u64, cores: i64) -> Ending {
        Ending { worker, at, cores: Cores(cores), memory: MiB(0), resources: Resources::default() }
    }

    /// The number of a Worker, and two figures of it.
    type WorkerNumbers = (usize, u64, i64);

    /// The forecast on Workers of 8 cores with these free cores, and endings of (Worker, time, cores).
    fn found(
        each: i64,
        executors: u64,
        free: &[i64],
        endings: &[(usize, u64, i64)],
    ) -> Option<(u64, Vec<WorkerNumbers>)> {
        let offer =
            |cores| Offer { worker: "w", cores: Cores(cores), memory: MiB(100), resources: Resources::NONE };
        let workers: Vec<_> =
            free.iter().map(|free| WorkerCapacity { free: offer(*free), total: offer(8) }).collect();
        let ending = |&(worker, at, cores): &(usize, u64, i64)| ending(worker, at, cores);
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
        // One executor fits now, the other at 20: its four cores come from what ends there, but for the two that are
        // free.
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
    fn what_is_booked_takes_what_ends_before_it_starts_and_gives_it_back_when_it_ends() {
        let each = demand(2);
        let kept = |cores| Amounts { cores: Cores(cores), memory: MiB(1), ..Amounts::default() };
        let booked = |worker, at, until, kept| Booking {
            worker,
            at,
            until,
            demand: &each,
            executors: 1,
            kept,
            with_addresses: 0,
        };
        let left = |bookings: &[Booking<'_>], endings: &[(usize, u64, i64)]| {
            let endings = endings.iter().map(|&(worker, at, cores)| ending(worker, at, cores)).collect();
            let left = beside(bookings, endings);
            left.into_iter().map(|left| (left.worker, left.at, left.cores.0)).collect::<Vec<_>>()
        };
        let endings = [(0, 10, 1), (0, 20, 4), (0, 30, 1), (1, 5, 1)];
        assert_eq!(left(&[], &endings), endings);
        // Two cores of five go to it, and the others come when it starts. Those of another Worker are not touched.
        let all = kept(0);
        assert_eq!(left(&[booked(0, 20, None, &all)], &endings), [(0, 30, 1), (0, 20, 3), (1, 5, 1)]);
        // One core is kept of what is free now, so that one comes from what ends; later both are given back.
        let half = kept(1);
        let bookings = [booked(0, 20, Some(60), &half)];
        assert_eq!(left(&bookings, &endings), [(0, 30, 1), (0, 20, 4), (0, 60, 2), (1, 5, 1)]);
        // A second one takes of what the first one leaves.
        let bookings = [booked(0, 20, None, &all), booked(0, 30, None, &all)];
        assert_eq!(left(&bookings, &endings), [(0, 30, 2), (1, 5, 1)]);
    }

    #[test]
    fn what_is_booked_takes_addresses_of_those_that_end() {
        let each = Demand { resources: [("gpu".to_owned(), 1.into())].into(), ..demand(1) };
        let held = Resources::from_iter([("gpu", ["2", "3"])]);
        let endings = vec![Ending { resources: held, ..ending(0, 7, 2) }];
        let kept = Amounts { memory: MiB(1), ..Amounts::default() };
        let (executors, with_addresses) = (1, 0);
        let booking = Booking {
            worker: 0,
            at: 8,
            until: Some(9),
            demand: &each,
            executors,
            kept: &kept,
            with_addresses,
        };
        let left = beside(&[booking], endings);
        let seen: Vec<_> =
            left.iter().map(|left| (left.at, left.cores.0, left.resources.count("gpu"))).collect();
        assert_eq!(seen, [(8, 1, 1), (9, 1, 1)]);
    }

    #[test]
    fn memory_and_resources_are_kept_too() {
        let gpus: Resources = [("gpu".to_owned(), ["0".to_owned(), "1".to_owned()])].into_iter().collect();
        let offer = Offer { worker: "w", cores: Cores(1), memory: MiB(10), resources: &gpus };
        let demand =
            Demand { memory: MiB(30), resources: [("gpu".to_owned(), 3.into())].into(), ..demand(1) };
        let held = Resources::from_iter([("gpu", ["2", "3"])]);
        let endings = vec![Ending { memory: MiB(25), resources: held, ..ending(0, 7, 0) }];
        let workers = [WorkerCapacity { free: offer, total: offer }];
        let found = forecast(&demand, 1, &workers, endings).expect("it fits at 7");
        assert_eq!(found.at, 7);
        let kept = Amounts {
            cores: Cores(1),
            memory: MiB(5),
            resources: [("gpu".to_owned(), Quantity::whole(1))].into(),
        };
        assert_eq!(found.on, [Planned { worker: 0, executors: 1, kept, with_addresses: 1 }]);
    }
}
