//! Spread held: spreads new executors, taking into account the executors that the application already has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{Candidate, units_on};
use crate::assign::deal;
use crate::index::{Share, Slot};
use crate::{Cores, Demand, ExecutorSize, Strategy, WorkerOrder};

/// Places executors one at a time, each on a Worker on whose host the application has the fewest executors. Ties are
/// broken by the number of executors on the Worker itself, then by rank, then by the worker order.
///
/// `held` returns the number of executors that the application has on a Worker, and `held_on_host` the number on a
/// host. Executors that are placed count when the next one is placed. If no executors are held, ranks are equal and
/// each host has one Worker, the result is exactly that of Spark's spreading out.
///
/// Spark spreads out the executors of one placement and ignores earlier placements, so that replacement executors pile
/// up on the same Workers (SPARK-22628). The shares are in the order in which executors are launched: by the first
/// executor on each Worker.
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
        ExecutorSize::Fixed(_) => units_on(demand, &candidate.offer),
        ExecutorSize::OnePerWorker => 1,
    };
    // The lowest comes first. The count of a host rises while other Workers of the host are in the heap. When such a
    // Worker comes up, it is put back with the new count.
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
            let caps = order.iter().map(|&at| units_on(demand, &candidates[at].offer)).collect();
            deal(Strategy::SpreadOut, caps, demand.most_units())
        }
    };
    let shares = order.iter().zip(units).map(|(&at, units)| Share::of(demand, candidates[at].slot, units));
    shares.filter(|share| share.executors > 0 && share.cores > Cores::ZERO).collect()
}
