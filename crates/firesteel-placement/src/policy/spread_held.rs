//! Spread over the executors that are held already.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Candidate, room};
use crate::assign::deal;
use crate::index::{Share, Slot};
use crate::{Cores, Demand, ExecutorSize, Strategy, WorkerOrder};

/// Deals executors one at a time to the worker on whose host the application runs the fewest; among equals that runs the
/// fewest itself; then to the most welcome, and then to the first in the worker order.
///
/// `held` says how many executors of the application run on a worker. Those that are placed here count as they are
/// placed. With nothing held and no ranks it is Spark's spreading out, case by case, wherever each worker has a host to
/// itself.
///
/// Spark spreads out what it places in one go and forgets what it placed before, so that executors which replace others
/// pile up on the same workers (SPARK-22628). What each worker gives is told in the order in which executors are launched:
/// workers in the order of their first executor.
pub fn spread_held<'a, R: Ord + Clone>(
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    by: WorkerOrder,
    held: impl Fn(Slot) -> u64,
    held_on_host: impl Fn(&str) -> u64,
) -> Vec<Share> {
    if !demand.allows_one_more() {
        return Vec::new();
    }
    let fitting = candidates.into_iter().filter(|candidate| candidate.offer.fits(demand));
    let mut candidates: Vec<_> = fitting.collect();
    candidates.sort_by(|a, b| by.compare(&a.offer, &b.offer));
    let mut on_host: BTreeMap<&str, u64> = BTreeMap::new();
    for candidate in &candidates {
        on_host.entry(candidate.host).or_insert_with(|| held_on_host(candidate.host));
    }
    let cap = |candidate: &Candidate<'a, R>| match demand.size {
        ExecutorSize::Fixed(_) => room(demand, &candidate.offer),
        ExecutorSize::OnePerWorker => 1,
    };
    // The least comes first. A host's count rises while others of its workers wait: they are put in again when they come
    // up too early.
    let first = |(at, candidate): (usize, &Candidate<'a, R>)| {
        let key = (on_host[candidate.host], held(candidate.slot), candidate.rank.clone(), at);
        Reverse((key, cap(candidate)))
    };
    let mut heap: BinaryHeap<_> = candidates.iter().enumerate().map(first).collect();
    let mut given: Vec<u64> = vec![0; candidates.len()];
    let mut order: Vec<usize> = Vec::new();
    let mut left = demand.most_workers();
    while left > 0
        && let Some(Reverse(((count, own, rank, at), cap))) = heap.pop()
    {
        let now = on_host.get_mut(candidates[at].host).expect("every candidate's host is counted");
        if *now > count {
            heap.push(Reverse(((*now, own, rank, at), cap)));
            continue;
        }
        *now += 1;
        left -= 1;
        if given[at] == 0 {
            order.push(at);
        }
        given[at] += 1;
        if cap > 1 {
            heap.push(Reverse(((*now, own + 1, rank, at), cap - 1)));
        }
    }
    let units = match demand.size {
        ExecutorSize::Fixed(_) => order.iter().map(|&at| given[at]).collect(),
        ExecutorSize::OnePerWorker => {
            let caps = order.iter().map(|&at| room(demand, &candidates[at].offer)).collect();
            deal(Strategy::SpreadOut, caps, demand.most_units())
        }
    };
    let shares = order.iter().zip(units).map(|(&at, units)| Share::of(demand, candidates[at].slot, units));
    shares.filter(|share| share.executors > 0 && share.cores > Cores::ZERO).collect()
}
