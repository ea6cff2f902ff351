//! Workers as a policy would take them, best first, kept from one placement to the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::fill::Given;
use super::left_over::{Measured, Scales};
use super::{Measure, Whole};
use crate::index::{Share, Slot};
use crate::{Demand, ExecutorSize, MiB, Offer, ResourceAmounts};

/// For so many kinds of executors the workers are kept in order. Of more, those that were not placed for longest are
/// begun anew when they come again.
const MOST: usize = 16;

/// For each kind of executor, the workers with room for one, the best first.
///
/// A placement then costs what it gives, and for each worker that changed since the last one of its kind a new measure:
/// no look at all the others. It decides what [`fill`](super::fill()) decides, with equal ranks for all.
///
/// Whoever has it tells it of each worker that has [`changed`](Self::changed), and when one has come or gone
/// ([`forget`](Self::forget)).
#[derive(Debug, Default)]
pub struct Favourites {
    /// By slot, the place in the order of ids. Empty until a placement asks.
    places: Vec<u32>,
    /// By slot, how often it has changed.
    versions: Vec<u32>,
    /// Who has changed, in order.
    log: Vec<Slot>,
    /// The one that was used last stands last.
    lines: Vec<Line>,
}

/// The workers with room for one executor of a kind.
#[derive(Debug)]
struct Line {
    measure: Measure,
    size: ExecutorSize,
    memory: MiB,
    resources: ResourceAmounts,
    /// With what was true of them once: what counts is what agrees with `known`.
    heap: BinaryHeap<Reverse<Stand>>,
    /// By slot, the version that was looked at.
    known: Vec<u32>,
    /// How much of the log was read.
    read: usize,
}

/// What one executor more would leave on a worker. The least is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stand {
    measured: Measured,
    place: u32,
    slot: Slot,
    version: u32,
}

/// Of a worker that was given executors in this placement, the next one.
type Again = Reverse<((Measured, u32), Slot, u64)>;

impl Favourites {
    /// A worker has other amounts free than before.
    pub fn changed(&mut self, slot: Slot) {
        if self.lines.is_empty() {
            return;
        }
        let Some(version) = self.versions.get_mut(slot.index()) else { return };
        *version = version.wrapping_add(1);
        self.log.push(slot);
        let long = 4 * self.places.len() + 1024;
        if self.log.len() > long {
            self.shorten(long / 2);
        }
    }

    /// A worker has come or gone: shares are shares of something else now.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Places as many executors as the demand asks for and the workers have room for. `workers` are all, in the order of
    /// their ids; `offer` is what one of them has free.
    pub fn place<'a, W: Iterator<Item = (Slot, Offer<'a>)>>(
        &mut self,
        measure: Measure,
        demand: &Demand,
        whole: &Whole,
        workers: impl Fn() -> W,
        offer: impl Fn(Slot) -> Option<Offer<'a>>,
    ) -> Vec<Share> {
        if !demand.allows_one_more() {
            return Vec::new();
        }
        let scales = Scales::new(measure, demand, whole);
        let line = match self.lines.iter().position(|line| line.is_of(measure, demand)) {
            Some(at) => {
                self.lines.remove(at).caught_up(&scales, &self.places, &self.versions, &self.log, &offer)
            }
            None => self.begin(&scales, workers),
        };
        if self.lines.len() == MOST {
            self.lines.remove(0);
        }
        self.lines.push(line);
        let line = self.lines.last_mut().expect("one was pushed");
        line.place(&scales, demand, &self.places, &offer)
    }

    fn begin<'a, W: Iterator<Item = (Slot, Offer<'a>)>>(
        &mut self,
        scales: &Scales<'_>,
        workers: impl Fn() -> W,
    ) -> Line {
        if self.places.is_empty() {
            for (place, (slot, _)) in workers().enumerate() {
                if self.places.len() <= slot.index() {
                    self.places.resize(slot.index() + 1, 0);
                }
                self.places[slot.index()] = u32::try_from(place).expect("slots are counted by a u32");
            }
            self.versions = vec![0; self.places.len()];
        }
        let stand = |(slot, offer)| scales.stand(&self.places, &self.versions, slot, &offer);
        let demand = scales.demand();
        Line {
            measure: scales.kind(),
            size: demand.size,
            memory: demand.memory,
            resources: demand.resources.clone(),
            heap: workers().filter_map(stand).collect(),
            known: self.versions.clone(),
            read: self.log.len(),
        }
    }

    /// Drops the log's oldest part, and the lines that have not read it.
    fn shorten(&mut self, by: usize) {
        self.log.drain(..by);
        self.lines.retain(|line| line.read >= by);
        for line in &mut self.lines {
            line.read -= by;
        }
    }
}

impl Scales<'_> {
    fn stand(
        &self,
        places: &[u32],
        versions: &[u32],
        slot: Slot,
        offer: &Offer<'_>,
    ) -> Option<Reverse<Stand>> {
        let measured = offer.fits(self.demand()).then(|| self.measure(offer, 0))?;
        let (place, version) = (places[slot.index()], versions[slot.index()]);
        Some(Reverse(Stand { measured, place, slot, version }))
    }
}

impl Line {
    fn is_of(&self, measure: Measure, demand: &Demand) -> bool {
        (self.measure, self.size, self.memory, &self.resources)
            == (measure, demand.size, demand.memory, &demand.resources)
    }

    /// With everybody who changed since looked at.
    fn caught_up<'a>(
        mut self,
        scales: &Scales<'_>,
        places: &[u32],
        versions: &[u32],
        log: &[Slot],
        offer: impl Fn(Slot) -> Option<Offer<'a>>,
    ) -> Self {
        for slot in &log[self.read..] {
            let (known, version) = (&mut self.known[slot.index()], versions[slot.index()]);
            if *known != version {
                *known = version;
                self.heap
                    .extend(offer(*slot).and_then(|offer| scales.stand(places, versions, *slot, &offer)));
            }
        }
        self.read = log.len();
        if self.heap.len() > 2 * places.len() + 64 {
            let known = &self.known;
            self.heap.retain(|Reverse(stand)| stand.version == known[stand.slot.index()]);
        }
        self
    }

    fn place<'a>(
        &mut self,
        scales: &Scales<'_>,
        demand: &Demand,
        places: &[u32],
        offer: impl Fn(Slot) -> Option<Offer<'a>>,
    ) -> Vec<Share> {
        let mut given = Given::new(demand);
        let mut taken = Vec::new();
        let mut again: BinaryHeap<Again> = BinaryHeap::new();
        while given.wants_more() {
            let fresh = self.first().map(|stand| (stand.measured, stand.place));
            let begun = again.peek().map(|Reverse((key, ..))| *key);
            let (slot, before) = match (fresh, begun) {
                (None, None) => break,
                (Some(fresh), begun) if begun.is_none_or(|begun| fresh < begun) => {
                    let Some(Reverse(stand)) = self.heap.pop() else { break };
                    taken.push(Reverse(stand));
                    (stand.slot, 0)
                }
                (Some(_) | None, _) => {
                    let Some(Reverse((_, slot, before))) = again.pop() else { break };
                    (slot, before)
                }
            };
            let Some(offer) = offer(slot) else { continue };
            let place = places[slot.index()];
            let fresh = self.first().map(|stand| (stand.measured, stand.place));
            let begun = again.peek().map(|Reverse((key, ..))| *key);
            let next = [fresh, begun].into_iter().flatten().min();
            let is_first = |measured| next.is_none_or(|next| (measured, place) < next);
            if let Some((after, measured)) = given.fill(scales, slot, &offer, before, is_first) {
                again.push(Reverse(((measured, place), slot, after)));
            }
        }
        // Nobody has taken anything yet: if somebody does, we are told.
        self.heap.extend(taken);
        given.shares()
    }

    /// The best of those whose amounts are as they were.
    fn first(&mut self) -> Option<Stand> {
        while let Some(Reverse(stand)) = self.heap.peek() {
            if stand.version == self.known[stand.slot.index()] {
                return Some(*stand);
            }
            self.heap.pop();
        }
        None
    }
}
