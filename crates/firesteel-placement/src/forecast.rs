//! Reservations with a time: when several executors fit at once, if running executors end as expected.
//!
//! This is the reservation of EASY backfill. The first waiting application gets the time when it can begin. A later
//! application may go before it, if it ends by that time or leaves enough free capacity. In conservative backfill the
//! next waiting applications have such a reservation, too ([`beside`]). A reservation without times
//! ([`reserve`](crate::reservation::reserve)) must keep the free capacity of its Workers until the last executor in its
//! way has ended.

use std::collections::BTreeMap;

use crate::explain::shortfall::Amounts;
use crate::reservation::WorkerCapacity;
use crate::{Amount, Cores, Demand, MiB, Offer, Resources};

/// The amounts that an executor gives back, and when it is expected to end.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The number of the executor's Worker in the caller's list.
    pub worker: usize,
    /// The expected end of the executor, in any unit of time.
    pub at: u64,
    /// The cores that the executor holds.
    pub cores: Cores,
    /// The memory that the executor holds.
    pub memory: MiB,
    /// The addresses that the executor holds, under the Worker's names for them.
    pub resources: Resources,
}

/// The time when several executors fit at once, and their Workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The time of the last executor's end that is needed.
    pub at: u64,
    /// The executors on each Worker, in the order of the Workers' numbers.
    pub on: Vec<Planned>,
}

/// A part of a forecast: executors on one Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The number of the Worker.
    pub worker: usize,
    /// The number of executors.
    pub executors: u64,
    /// The part of the Worker's free amounts that must be kept: what the executors need beyond the amounts of executors
    /// that end in time. Another executor may use it if it gives it back by then.
    pub kept: Amounts,
    /// How many of these executors need addresses of custom resources reserved now, out of the free addresses.
    pub with_addresses: u64,
}

/// Executors of another demand that were planned before, on one Worker. They are the first to get the amounts of
/// executors that end there in time.
#[derive(Clone, Debug)]
pub struct Booking<'a> {
    /// The number of the Worker.
    pub worker: usize,
    /// When the executors start.
    pub at: u64,
    /// When the executors end, if that is known.
    pub until: Option<u64>,
    /// The demand of the executors.
    pub demand: &'a Demand,
    /// The number of executors.
    pub executors: u64,
    /// The part of the Worker's free amounts that is kept for the executors.
    pub kept: &'a Amounts,
    /// How many of these executors already have addresses of custom resources reserved, out of the addresses that are
    /// free now.
    pub with_addresses: u64,
}

/// The free amounts of a Worker, now or at a later time.
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

/// Finds the first time at which `executors` fit at once, if nothing else is launched. `None` if they do not fit even
/// after all known endings.
///
/// From the Workers with enough free capacity at that time, it takes those where the least is left: the fewest cores,
/// then the least memory, then the first number. The cost grows with the number of Workers and endings.
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
        // All endings at the same time are applied together.
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

/// The endings that remain for other demands after these bookings, which are applied in the order in which they were
/// made.
///
/// If an executor ends on a booking's Worker before the booking starts, its amounts become free only at the start of
/// the booking, and without the part that the booking takes. If the end of a booking is known, its amounts become free
/// then. Of its addresses, only those become free that came from ended executors.
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

/// What this number of executors needs beyond the amounts of ended executors.
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

    /// The number of a Worker, and two other figures of the Worker.
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
        // The free cores suffice now.
        assert_eq!(found(4, 2, &[4, 4], &[]), Some((0, vec![(0, 1, 4), (1, 1, 4)])));
        // No executor is known to end.
        assert_eq!(found(4, 2, &[4, 2], &[]), None);
        // One executor fits now, the other at 20. Of its four cores, two are free now, and two become free by the
        // ending.
        assert_eq!(found(4, 2, &[4, 2], &[(1, 20, 2)]), Some((20, vec![(0, 1, 4), (1, 1, 2)])));
        // The first Worker's executors that end in time give back all that the executor needs, so nothing is kept.
        assert_eq!(found(4, 1, &[3, 0], &[(0, 20, 5)]), Some((20, vec![(0, 1, 0)])));
        // The earliest time decides, not the first Worker. Later endings do not matter.
        assert_eq!(
            found(4, 2, &[0, 0, 0], &[(0, 30, 8), (1, 10, 4), (2, 20, 4), (1, 40, 4)]),
            Some((20, vec![(1, 1, 0), (2, 1, 0)]))
        );
        // Endings at the same time are applied together, and then the Worker where the least is left is chosen.
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
        // Of the five cores that end, two go to the booking. The others become free when the booking starts. Endings on
        // another Worker do not change.
        let all = kept(0);
        assert_eq!(left(&[booked(0, 20, None, &all)], &endings), [(0, 30, 1), (0, 20, 3), (1, 5, 1)]);
        // One free core is kept for the booking, so one core comes from the ending. Later the booking gives back both.
        let half = kept(1);
        let bookings = [booked(0, 20, Some(60), &half)];
        assert_eq!(left(&bookings, &endings), [(0, 30, 1), (0, 20, 4), (0, 60, 2), (1, 5, 1)]);
        // A second booking takes from what the first one leaves.
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
