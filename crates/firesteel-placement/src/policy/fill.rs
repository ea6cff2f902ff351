//! Places one executor after the other, each on the Worker with the best score.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::score::Scorer;
use super::{Candidate, ClusterTotal, Measure, units_on};
use crate::index::{Share, Slot};
use crate::{Cores, Demand, ExecutorSize, Offer};

/// Puts each executor on a Worker of the lowest rank. Among these it takes the Worker with the lowest [`Measure`], and
/// then the lowest id. Executors that are placed count when the next one is placed.
///
/// An executor without a fixed size takes all cores of its Worker that the demand allows. The shares are in the order
/// in which executors are launched: by the first executor on each Worker.
///
/// The cost is one look at each candidate, and a few heap operations whenever an executor goes to another Worker than
/// the previous one.
pub fn fill<'a, R: Ord>(
    measure: Measure<'_>,
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    total: &ClusterTotal,
) -> Vec<Share> {
    if !demand.allows_one_more() {
        return Vec::new();
    }
    let scorer = Scorer::new(measure, demand, total);
    fill_by(|slot, offer, before| scorer.score((slot, offer), before), demand, candidates)
}

/// The same as `fill` for any score. `score` computes it for the next executor on a Worker from which `before` other
/// executors of the placement take.
pub(crate) fn fill_by<'a, R: Ord, S: Ord + Copy>(
    score: impl Fn(Slot, &Offer<'_>, u64) -> S,
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
) -> Vec<Share> {
    if !demand.allows_one_more() {
        return Vec::new();
    }
    let fitting = candidates.into_iter().filter(|candidate| candidate.offer.fits(demand));
    let ranked = |Candidate { slot, offer, rank, .. }| {
        let key = (rank, score(slot, &offer, 0), offer.worker);
        Reverse(RankedWorker { key, executors: 0, slot, offer })
    };
    let mut workers: BinaryHeap<_> = fitting.map(ranked).collect();
    let mut shares = ShareBuilder::new(demand);
    while shares.is_wanting()
        && let Some(Reverse(mut worker)) = workers.pop()
    {
        let more = {
            let next = workers.peek().map(|Reverse(next)| &next.key);
            let is_best = |score: S| {
                next.is_none_or(|next| (&worker.key.0, score, worker.key.2) < (&next.0, next.1, next.2))
            };
            let score = |before| score(worker.slot, &worker.offer, before);
            shares.fill(score, worker.slot, &worker.offer, worker.executors, is_best)
        };
        if let Some((after, score)) = more {
            worker.executors = after;
            worker.key.1 = score;
            workers.push(Reverse(worker));
        }
    }
    shares.finish()
}

/// A Worker on which one more executor fits.
struct RankedWorker<'a, R, S> {
    /// The candidate's rank, the score of the next executor, and the Worker's id.
    key: (R, S, &'a str),
    /// The number of executors of this placement on the Worker.
    executors: u64,
    slot: Slot,
    offer: Offer<'a>,
}

/// The shares of a placement, in the order of the first executor on each Worker.
pub(super) struct ShareBuilder<'a> {
    demand: &'a Demand,
    units_left: u64,
    workers_left: u64,
    /// The units of each Worker.
    units: Vec<(Slot, u64)>,
    /// The index in `units` of each Worker.
    by_slot: BTreeMap<Slot, usize>,
}

impl<'a> ShareBuilder<'a> {
    /// A builder without shares.
    pub(super) fn new(demand: &'a Demand) -> Self {
        let (units_left, workers_left) = (demand.most_units(), demand.most_workers());
        Self { demand, units_left, workers_left, units: Vec::new(), by_slot: BTreeMap::new() }
    }

    /// Whether the demand wants more executors.
    pub(super) fn is_wanting(&self) -> bool {
        self.units_left > 0 && self.workers_left > 0
    }

    /// Puts executors on a Worker that already has `before` executors of this placement. Stops when no more fit, when
    /// the demand is met, or when the Worker's next executor would no longer have the best score. In the last case,
    /// returns the Worker's number of executors and that score.
    pub(super) fn fill<S: Copy>(
        &mut self,
        score: impl Fn(u64) -> S,
        slot: Slot,
        offer: &Offer<'_>,
        before: u64,
        is_best: impl Fn(S) -> bool,
    ) -> Option<(u64, S)> {
        let fitting = units_on(self.demand, offer);
        if self.demand.size == ExecutorSize::OnePerWorker {
            self.workers_left -= 1;
            self.add(slot, fitting.min(self.units_left));
            return None;
        }
        let mut executors = before;
        let next = loop {
            executors += 1;
            if executors >= fitting || executors - before == self.units_left {
                break None;
            }
            let score = score(executors);
            if !is_best(score) {
                break Some((executors, score));
            }
        };
        self.add(slot, executors - before);
        next
    }

    fn add(&mut self, slot: Slot, units: u64) {
        self.units_left -= units;
        let all = &mut self.units;
        let at = *self.by_slot.entry(slot).or_insert_with(|| {
            all.push((slot, 0));
            all.len() - 1
        });
        all[at].1 += units;
    }

    /// The shares, without those that have no executor or no cores.
    pub(super) fn finish(self) -> Vec<Share> {
        let share = |(slot, units)| Share::of(self.demand, slot, units);
        self.units.into_iter().map(share).filter(|share| share.cores > Cores::ZERO).collect()
    }
}

impl<R: Ord, S: Ord> PartialEq for RankedWorker<'_, R, S> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<R: Ord, S: Ord> Eq for RankedWorker<'_, R, S> {}

impl<R: Ord, S: Ord> PartialOrd for RankedWorker<'_, R, S> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Ord, S: Ord> Ord for RankedWorker<'_, R, S> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
