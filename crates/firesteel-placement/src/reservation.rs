//! Reservations: capacity that is kept for several executors at once, although it is not free yet.
//!
//! A gang is a number of executors that start together or not at all. If a gang does not fit, capacity is reserved for
//! it on Workers that could run all of it if they were empty. They are chosen so that the least capacity must still
//! become free. Later applications may use the capacity of these Workers beyond the reservation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Amount, Cores, Demand, MiB, Offer, Quantity};

/// The free and the total amounts of a Worker.
#[derive(Clone, Copy, Debug)]
pub struct WorkerCapacity<'a> {
    /// The free amounts of the Worker.
    pub free: Offer<'a>,
    /// The total amounts of the Worker.
    pub total: Offer<'a>,
}

/// The amounts that must still become free. Addresses are compared first, because they are scarce, then cores, then
/// memory.
type ToFree = (Quantity, Cores, MiB);

/// Reserves capacity for `executors`. Returns the number of executors on each Worker, in the order of `workers`. `None`
/// if they would not fit even on empty Workers.
///
/// The choice is the one for which the least must still become free: the fewest addresses of custom resources, then the
/// fewest cores, then the least memory. Among equal Workers, the first ones are taken. Executors without a fixed size
/// reserve one core each, on different Workers.
///
/// A further executor on a Worker needs at least as much to be freed as the one before it. So the cheapest next
/// executor, taken each time, leads to the cheapest choice. The run time is linear in the number of Workers, plus a
/// heap operation per executor.
#[must_use]
pub fn reserve(demand: &Demand, executors: u64, workers: &[WorkerCapacity<'_>]) -> Option<Vec<u64>> {
    let limits: Vec<u64> = workers.iter().map(|worker| worker.total.executors_that_fit(demand)).collect();
    if limits.iter().fold(0_u64, |sum, limit| sum.saturating_add(*limit)) < executors {
        return None;
    }
    let next = |at: usize, reserved: u64| {
        let cost = || Reverse((cost_of_one_more(demand, &workers[at].free, reserved), at, reserved));
        (reserved < limits[at]).then(cost)
    };
    let mut cheapest: BinaryHeap<_> = (0..workers.len()).filter_map(|at| next(at, 0)).collect();
    let mut reserved = vec![0; workers.len()];
    for _ in 0..executors {
        let Reverse((_, at, before)) = cheapest.pop()?;
        reserved[at] = before + 1;
        cheapest.extend(next(at, before + 1));
    }
    Some(reserved)
}

/// The amounts that must become free for one more executor than the `reserved` ones.
fn cost_of_one_more(demand: &Demand, free: &Offer<'_>, reserved: u64) -> ToFree {
    let (more, fewer) = (to_free(demand, free, reserved + 1), to_free(demand, free, reserved));
    (more.0.less(fewer.0), more.1 - fewer.1, more.2 - fewer.2)
}

/// The amounts that must become free for this number of executors.
fn to_free(demand: &Demand, free: &Offer<'_>, executors: u64) -> ToFree {
    let times = i64::try_from(executors).unwrap_or(i64::MAX);
    let lacking = |each: i64, free: i64| each.saturating_mul(times).saturating_sub(free).max(0);
    let addresses = demand.resources.iter().map(|(name, each)| {
        let fitting = free.resources.fit(name, *each).unwrap_or(u64::MAX);
        let usable = match each {
            // Free addresses count even if they are too few for one executor.
            Amount::Whole(_) => free.resources.most(name, *each),
            Amount::Part(_) => each.quantity().times(fitting),
        };
        each.quantity().times(executors).less(usable)
    });
    let cores = Cores(lacking(demand.size.step().0, free.cores.0));
    (addresses.sum(), cores, MiB(lacking(demand.memory.0, free.memory.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExecutorSize, ResourceAmounts, Resources};

    const DEMAND: Demand = Demand {
        size: ExecutorSize::Fixed(Cores(2)),
        memory: MiB(100),
        resources: ResourceAmounts::new(),
        cores_left: Cores::UNLIMITED,
        limit: crate::ExecutorLimit::Unlimited,
        held: 0,
    };

    fn offer(cores: i64, memory: i64) -> Offer<'static> {
        Offer { worker: "w", cores: Cores(cores), memory: MiB(memory), resources: Resources::NONE }
    }

    /// Workers of 8 cores and 400 MiB with these free amounts.
    fn workers(free: &[(i64, i64)]) -> Vec<WorkerCapacity<'static>> {
        free.iter()
            .map(|&(cores, memory)| WorkerCapacity { free: offer(cores, memory), total: offer(8, 400) })
            .collect()
    }

    #[test]
    fn capacity_is_reserved_where_the_least_must_be_freed() {
        for (free, executors, reserved) in [
            // All amounts are free, so the first Workers are taken.
            (&[(8, 400), (8, 400)][..], 3, Some(&[3, 0][..])),
            // Free Workers are taken first, then Workers that are partly free.
            (&[(0, 0), (3, 400), (2, 400)], 2, Some(&[0, 1, 1])),
            (&[(0, 0), (3, 400), (2, 400)], 3, Some(&[0, 2, 1])),
            // Free cores count more than free memory.
            (&[(0, 400), (2, 0)], 1, Some(&[0, 1])),
            // All Workers are full, but large enough.
            (&[(0, 0), (0, 0)], 8, Some(&[4, 4])),
            (&[(0, 0), (0, 0)], 9, None),
            (&[], 1, None),
            (&[(0, 0)], 0, Some(&[0])),
        ] {
            let found = reserve(&DEMAND, executors, &workers(free));
            assert_eq!(found.as_deref(), reserved, "{executors} on {free:?}");
        }
    }

    #[test]
    fn executors_without_a_fixed_size_get_a_worker_each() {
        let demand = Demand { size: ExecutorSize::OnePerWorker, ..DEMAND };
        assert_eq!(reserve(&demand, 2, &workers(&[(0, 0), (8, 400), (1, 400)])), Some(vec![0, 1, 1]));
        assert_eq!(reserve(&demand, 4, &workers(&[(8, 400), (8, 400)])), None);
    }
}
