//! One executor after the other, each where the measure is the least.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::left_over::{Measured, Scales};
use super::{Candidate, Measure, Whole, room};
use crate::index::{Share, Slot};
use crate::{Cores, Demand, ExecutorSize, Offer};

/// Gives each executor to a worker of the least rank; among these to one of the least [`Measure`]; among these to the one
/// of the lowest id. What earlier ones leave counts for later ones.
///
/// An executor of no fixed size takes all the cores of its worker that may be taken. What each worker gives is told in the
/// order of the first executor there, which is the order in which executors are launched.
///
/// Costs a look at each candidate, and a few steps in a heap for each executor that goes elsewhere than the one before.
pub fn fill<'a, R: Ord>(
    measure: Measure,
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    whole: &Whole,
) -> Vec<Share> {
    if !demand.allows_one_more() {
        return Vec::new();
    }
    let scales = Scales::new(measure, demand, whole);
    let fitting = candidates.into_iter().filter(|candidate| candidate.offer.fits(demand));
    let stand = |Candidate { slot, offer, rank, .. }| {
        let key = (rank, scales.measure(&offer, 0), offer.worker);
        Reverse(Stand { key, given: 0, slot, offer })
    };
    let mut stands: BinaryHeap<_> = fitting.map(stand).collect();
    let mut given = Given::new(demand);
    while given.wants_more()
        && let Some(Reverse(mut stand)) = stands.pop()
    {
        let more = {
            let next = stands.peek().map(|Reverse(next)| &next.key);
            let is_first = |measured: Measured| {
                next.is_none_or(|next| (&stand.key.0, measured, stand.key.2) < (&next.0, next.1, next.2))
            };
            given.fill(&scales, stand.slot, &stand.offer, stand.given, is_first)
        };
        if let Some((after, measured)) = more {
            stand.given = after;
            stand.key.1 = measured;
            stands.push(Reverse(stand));
        }
    }
    given.shares()
}

/// A worker with room for one more, and what the measure of that one is.
struct Stand<'a, R> {
    key: (R, Measured, &'a str),
    /// How many it was given.
    given: u64,
    slot: Slot,
    offer: Offer<'a>,
}

/// What workers were given, in the order of the first executor there.
pub(super) struct Given<'a> {
    demand: &'a Demand,
    units_left: u64,
    workers_left: u64,
    order: Vec<(Slot, u64)>,
    places: BTreeMap<Slot, usize>,
}

impl<'a> Given<'a> {
    pub(super) fn new(demand: &'a Demand) -> Self {
        let (units_left, workers_left) = (demand.most_units(), demand.most_workers());
        Self { demand, units_left, workers_left, order: Vec::new(), places: BTreeMap::new() }
    }

    pub(super) fn wants_more(&self) -> bool {
        self.units_left > 0 && self.workers_left > 0
    }

    /// Gives executors to a worker that has room for one more, and had `before`, for as long as it comes first of all.
    /// If it has room for more, tells how many it has been given, and what the measure of the next one is.
    pub(super) fn fill(
        &mut self,
        scales: &Scales<'_>,
        slot: Slot,
        offer: &Offer<'_>,
        before: u64,
        is_first: impl Fn(Measured) -> bool,
    ) -> Option<(u64, Measured)> {
        let room = room(self.demand, offer);
        if self.demand.size == ExecutorSize::OnePerWorker {
            self.workers_left -= 1;
            self.add(slot, room.min(self.units_left));
            return None;
        }
        let mut given = before;
        let next = loop {
            given += 1;
            if given >= room || given - before == self.units_left {
                break None;
            }
            let measured = scales.measure(offer, given);
            if !is_first(measured) {
                break Some((given, measured));
            }
        };
        self.add(slot, given - before);
        next
    }

    fn add(&mut self, slot: Slot, units: u64) {
        self.units_left -= units;
        let order = &mut self.order;
        let place = *self.places.entry(slot).or_insert_with(|| {
            order.push((slot, 0));
            order.len() - 1
        });
        order[place].1 += units;
    }

    pub(super) fn shares(self) -> Vec<Share> {
        let share = |(slot, units)| Share::of(self.demand, slot, units);
        self.order.into_iter().map(share).filter(|share| share.cores > Cores::ZERO).collect()
    }
}

impl<R: Ord> PartialEq for Stand<'_, R> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<R: Ord> Eq for Stand<'_, R> {}

impl<R: Ord> PartialOrd for Stand<'_, R> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Ord> Ord for Stand<'_, R> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
