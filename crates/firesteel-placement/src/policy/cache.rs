//! The Workers as a policy would take them, best first, kept from one placement to the next.
//!
//! The cache earns a factor of 14 or more on 10,000 Workers, and nothing on 100 (`benches/README.md`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::fill::ShareBuilder;
use super::score::{MeasureKind, Score, Scorer};
use super::{ClusterTotal, Measure};
use crate::index::{Share, Slot};
use crate::{Demand, ExecutorSize, MiB, Offer, ResourceAmounts};

/// The number of heaps that are kept on any cluster. A further kind of executor replaces the heap that was used least
/// recently.
const HEAPS: usize = 16;
/// On a small cluster there are more heaps: as many as have this number of Workers together.
const WORKERS: usize = 1 << 19;

/// A heap of Workers for each kind of executor that was placed lately: those on which an executor of this kind fits, the
/// best Worker on top.
///
/// A placement looks at the Workers that it takes, and computes the score of each Worker that changed since the last
/// placement of its kind. It does not look at the others. It decides what [`fill`](super::fill()) decides with equal
/// ranks.
///
/// The owner reports each change of a Worker ([`changed`](Self::changed)), and calls [`clear`](Self::clear) when Workers
/// come or go, and when there is another lesson.
#[derive(Debug, Default)]
pub struct PlacementCache {
    workers: Versions,
    /// The most recently used heap is the last.
    heaps: Vec<WorkerHeap>,
}

/// The changes of Workers since the cache was cleared.
#[derive(Debug, Default)]
struct Versions {
    /// The position of each slot in the order of ids. Empty until the first placement.
    positions: Vec<u32>,
    /// The version of each slot: the number of its changes.
    versions: Vec<u32>,
    /// The slots that changed, oldest first.
    log: Vec<Slot>,
}

/// The Workers on which one kind of executor fits.
#[derive(Debug)]
struct WorkerHeap {
    measure: MeasureKind,
    size: ExecutorSize,
    memory: MiB,
    resources: ResourceAmounts,
    /// May have outdated entries: only those with the version in `known` count.
    heap: BinaryHeap<Reverse<ScoredWorker>>,
    /// The version of each slot at which its score was computed last.
    known: Vec<u32>,
    /// The number of log entries that were read.
    read: usize,
}

/// A Worker with the score of one more executor there. The least score is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ScoredWorker {
    score: Score,
    position: u32,
    slot: Slot,
    version: u32,
}

/// A Worker that has executors of this placement: its next score and position, its slot, and how many it has.
type Continued = Reverse<((Score, u32), Slot, u64)>;

impl PlacementCache {
    /// Reports that the free amounts of a Worker have changed.
    pub fn changed(&mut self, slot: Slot) {
        if self.heaps.is_empty() {
            return;
        }
        let Versions { positions, versions, log } = &mut self.workers;
        let Some(version) = versions.get_mut(slot.index()) else { return };
        *version = version.wrapping_add(1);
        log.push(slot);
        let limit = 4 * positions.len() + 1024;
        if log.len() > limit {
            self.shorten_log(limit / 2);
        }
    }

    /// Forgets everything. Required when a Worker came or left, since scores are relative to the whole cluster, and when
    /// there is another lesson.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Places as many executors as the demand asks for and the Workers have free capacity for. `workers` are all Workers
    /// in the order of their ids; `offer` looks one of them up.
    pub fn place<'a, W: Iterator<Item = (Slot, Offer<'a>)>>(
        &mut self,
        measure: Measure<'_>,
        demand: &Demand,
        total: &ClusterTotal,
        workers: impl Fn() -> W,
        offer: impl Fn(Slot) -> Option<Offer<'a>>,
    ) -> Vec<Share> {
        if !demand.allows_one_more() {
            return Vec::new();
        }
        let scorer = Scorer::new(measure, demand, total);
        let kind = measure.kind();
        let heap = match self.heaps.iter().position(|heap| heap.is_for(&kind, demand)) {
            Some(at) => {
                let mut heap = self.heaps.remove(at);
                heap.catch_up(&scorer, &self.workers, &offer);
                heap
            }
            None => {
                self.workers.begin(&workers);
                WorkerHeap::new(&scorer, &self.workers, workers())
            }
        };
        if self.heaps.len() >= HEAPS.max(WORKERS / self.workers.positions.len().max(1)) {
            self.heaps.remove(0);
        }
        self.heaps.push(heap);
        let heap = self.heaps.last_mut().expect("one was pushed");
        heap.place(&scorer, demand, &self.workers.positions, &offer)
    }

    /// Drops the oldest entries of the log, and the heaps that have not read them.
    fn shorten_log(&mut self, by: usize) {
        self.workers.log.drain(..by);
        self.heaps.retain(|heap| heap.read >= by);
        for heap in &mut self.heaps {
            heap.read -= by;
        }
    }
}

impl Versions {
    /// Numbers the Workers at the first placement.
    fn begin<'a, W: Iterator<Item = (Slot, Offer<'a>)>>(&mut self, workers: impl Fn() -> W) {
        if !self.positions.is_empty() {
            return;
        }
        for (position, (slot, _)) in workers().enumerate() {
            if self.positions.len() <= slot.index() {
                self.positions.resize(slot.index() + 1, 0);
            }
            self.positions[slot.index()] = u32::try_from(position).expect("slots are counted by a u32");
        }
        self.versions = vec![0; self.positions.len()];
    }

    /// A Worker with its score, if one more executor fits there.
    fn scored(
        &self,
        scorer: &Scorer<'_, '_>,
        slot: Slot,
        offer: &Offer<'_>,
    ) -> Option<Reverse<ScoredWorker>> {
        let score = offer.fits(scorer.demand()).then(|| scorer.score((slot, offer), 0))?;
        let (position, version) = (self.positions[slot.index()], self.versions[slot.index()]);
        Some(Reverse(ScoredWorker { score, position, slot, version }))
    }
}

impl WorkerHeap {
    /// A heap of all these Workers that fit.
    fn new<'a>(
        scorer: &Scorer<'_, '_>,
        versions: &Versions,
        workers: impl Iterator<Item = (Slot, Offer<'a>)>,
    ) -> Self {
        let demand = scorer.demand();
        Self {
            measure: scorer.kind(),
            size: demand.size,
            memory: demand.memory,
            resources: demand.resources.clone(),
            heap: workers.filter_map(|(slot, offer)| versions.scored(scorer, slot, &offer)).collect(),
            known: versions.versions.clone(),
            read: versions.log.len(),
        }
    }

    fn is_for(&self, measure: &MeasureKind, demand: &Demand) -> bool {
        (&self.measure, self.size, self.memory, &self.resources)
            == (measure, demand.size, demand.memory, &demand.resources)
    }

    /// Computes the score of each Worker that changed since the last placement.
    fn catch_up<'a>(
        &mut self,
        scorer: &Scorer<'_, '_>,
        workers: &Versions,
        offer: impl Fn(Slot) -> Option<Offer<'a>>,
    ) {
        for slot in &workers.log[self.read..] {
            let (known, version) = (&mut self.known[slot.index()], workers.versions[slot.index()]);
            if *known != version {
                *known = version;
                self.heap.extend(offer(*slot).and_then(|offer| workers.scored(scorer, *slot, &offer)));
            }
        }
        self.read = workers.log.len();
        if self.heap.len() > 2 * workers.positions.len() + 64 {
            let known = &self.known;
            self.heap.retain(|Reverse(worker)| worker.version == known[worker.slot.index()]);
        }
    }

    fn place<'a>(
        &mut self,
        scorer: &Scorer<'_, '_>,
        demand: &Demand,
        positions: &[u32],
        offer: impl Fn(Slot) -> Option<Offer<'a>>,
    ) -> Vec<Share> {
        let mut shares = ShareBuilder::new(demand);
        let mut taken = Vec::new();
        let mut continued: BinaryHeap<Continued> = BinaryHeap::new();
        while shares.is_wanting() {
            let fresh = self.best();
            let again = continued.peek().map(|Reverse((key, ..))| *key);
            let (slot, before) = match (fresh, again) {
                (None, None) => break,
                (Some(fresh), again) if again.is_none_or(|again| fresh < again) => {
                    let Some(Reverse(worker)) = self.heap.pop() else { break };
                    taken.push(Reverse(worker));
                    (worker.slot, 0)
                }
                (Some(_) | None, _) => {
                    let Some(Reverse((_, slot, before))) = continued.pop() else { break };
                    (slot, before)
                }
            };
            let Some(offer) = offer(slot) else { continue };
            let position = positions[slot.index()];
            let again = continued.peek().map(|Reverse((key, ..))| *key);
            let next = [self.best(), again].into_iter().flatten().min();
            let is_best = |score| next.is_none_or(|next| (score, position) < next);
            if let Some((after, score)) = shares.fill(scorer, slot, &offer, before, is_best) {
                continued.push(Reverse(((score, position), slot, after)));
            }
        }
        // The shares are not committed yet: if they are, the owner reports the changes.
        self.heap.extend(taken);
        shares.finish()
    }

    /// Score and position of the best Worker. Drops outdated entries above it.
    fn best(&mut self) -> Option<(Score, u32)> {
        while let Some(Reverse(worker)) = self.heap.peek() {
            if worker.version == self.known[worker.slot.index()] {
                return Some((worker.score, worker.position));
            }
            self.heap.pop();
        }
        None
    }
}
