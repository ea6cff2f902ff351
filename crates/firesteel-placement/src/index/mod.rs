//! A cluster that is kept in order, so that a placement costs what it gives and not what there is.
//!
//! [`place`](crate::place()) looks at every worker. An [`Index`] has the workers in the worker order already, and is
//! told of every change. Placing walks them from the first on, passes over parts in which nobody has room, and stops
//! when enough is found. How much is enough is what makes the rule of Spark's Master one that can be indexed:
//!
//! - *Consolidate* fills one worker after the other, so it stops where the demand is met.
//! - *Spread out* deals one executor to each worker in turn. If as many workers have room as executors are wanted,
//!   each of the first so many gets one, and nobody behind them matters. If fewer have, all of them get some, and
//!   looking at all of them is looking at those that receive something.
//!
//! So a placement looks at as many workers with room as receive something. What it costs to find them, and to put each
//! where it belongs when executors start or end, hardly depends on how many workers there are.
//!
//! Workers are kept on *shelves*, one for each amount that they are sorted by: a bit for each worker, in the order of
//! ids. With each 64 places of a shelf, and with each 64 times as many, stands the best of their workers: the most
//! cores, the most memory, the kinds of resources. Where that is not enough nobody is looked at. Where there would be
//! too many shelves, as there are with memory, workers are in a tree of sorted leaves instead. Both decide the same.
//!
//! A part of which one worker has the memory and another one the resources that are asked is looked into in vain: a
//! cluster that is made so costs more, at most what looking at everything costs.

mod amounts;
mod brief;
mod entry;
mod extent;
mod free;
mod place;
mod places;
mod pool;
mod ranks;
mod shelf;
mod shelves;
mod sorted;
mod sorting;
mod step;
mod stock;
#[cfg(test)]
mod tests;
mod together;
mod transfer;
mod tree;
mod walk;
mod wants;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::ControlFlow;

use free::Free;
use sorted::Sorted;
use sorting::{Direction, Sorting};
use stock::Stock;
use transfer::Transfer;
use tree::Tree;
use wants::Wants;

use crate::{Cores, Demand, ExecutorSize, MiB, Offer, Resources, WorkerOrder};

/// A worker's number in an [`Index`]: small, and another one's after the worker was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

/// Workers with what they have free, in one worker order. `I` is what workers are called; ties are broken by its
/// order, which has to be that of text for the decisions to be Spark's.
///
/// ```
/// use firesteel_placement::index::Index;
/// use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, Resources, Strategy, WorkerOrder};
///
/// let mut index = Index::new(WorkerOrder::CoresFreeDesc);
/// for worker in ["w1", "w2", "w3", "w4"] {
///     index.insert(worker, Cores(16), MiB(65_536), Resources::NONE);
/// }
/// let demand =
///     Demand { size: ExecutorSize::Fixed(Cores(16)), cores_left: Cores(48), ..Demand::default() };
///
/// let shares = index.place(&demand, Strategy::SpreadOut);
/// let expected = ["w4", "w3", "w2"].map(|worker| index.slot(&worker));
/// assert_eq!(shares.iter().map(|share| Some(share.slot)).collect::<Vec<_>>(), expected);
///
/// index.take(&demand, &shares);
/// assert_eq!(index.place(&demand, Strategy::SpreadOut).len(), 1, "w1 has room for one more");
/// ```
#[derive(Debug)]
pub struct Index<I> {
    order: WorkerOrder,
    direction: Direction,
    slots: BTreeMap<I, Slot>,
    sorted: Sorted,
    stock: Stock,
    vacant: Vec<Slot>,
}

/// What one worker gives in a placement: so many executors of so many cores each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The worker.
    pub slot: Slot,
    /// How many executors it is to run, at least one.
    pub executors: u64,
    /// The cores of each, at least one.
    pub cores: Cores,
}

impl Share {
    pub(crate) fn of(demand: &Demand, slot: Slot, units: u64) -> Self {
        match demand.size {
            ExecutorSize::Fixed(cores) => Self { slot, executors: units, cores },
            ExecutorSize::OnePerWorker => Self { slot, executors: 1, cores: Cores(units as i64) },
        }
    }

    /// The cores of all its executors.
    #[must_use]
    pub fn total(&self) -> Cores {
        let executors = i64::try_from(self.executors).unwrap_or(i64::MAX);
        Cores(self.cores.0.saturating_mul(executors))
    }

    /// Whether it is as much as another one.
    #[inline]
    fn is_like(&self, other: &Self) -> bool {
        (self.executors, self.cores) == (other.executors, other.cores)
    }

    /// How many addresses of a resource all its executors have.
    fn count(&self, demand: &Demand, name: &str) -> u64 {
        demand.resources.get(name).map_or(0, |each| each.saturating_mul(self.executors))
    }
}

impl Slot {
    /// The number: below the greatest number of workers that the index ever had.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl<I: Ord> Index<I> {
    /// An index without workers.
    #[must_use]
    pub fn new(order: WorkerOrder) -> Self {
        let (sorting, direction) = Sorting::of(order);
        let (slots, sorted) = (BTreeMap::new(), Sorted::new(sorting));
        Self { order, direction, slots, sorted, stock: Stock::default(), vacant: Vec::new() }
    }

    /// One that is a tree from the first worker on, as it would be with many different amounts. For tests and benches:
    /// it decides the same.
    #[doc(hidden)]
    #[must_use]
    pub fn tree(order: WorkerOrder) -> Self {
        let (sorting, _) = Sorting::of(order);
        Self { sorted: Sorted::Tree(Tree::new(sorting)), ..Self::new(order) }
    }

    /// The order in which workers are taken.
    #[must_use]
    pub fn order(&self) -> WorkerOrder {
        self.order
    }

    /// How many workers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is no worker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A worker's number.
    #[must_use]
    pub fn slot(&self, worker: &I) -> Option<Slot> {
        self.slots.get(worker).copied()
    }

    /// The workers in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&I, Slot)> {
        self.slots.iter().map(|(worker, slot)| (worker, *slot))
    }

    /// Free cores and free memory of a worker.
    #[must_use]
    pub fn free(&self, slot: Slot) -> Option<(Cores, MiB)> {
        self.sorted.get(slot).map(|free| (free.cores, free.memory))
    }

    /// Adds a worker with what it has free. One that is known already has that free from now on.
    pub fn insert(&mut self, worker: I, cores: Cores, memory: MiB, resources: &Resources) -> Slot {
        if let Some(slot) = self.slot(&worker) {
            self.set(slot, cores, memory, resources);
            return slot;
        }
        let slot = self.vacant.pop().unwrap_or_else(|| {
            Slot(u32::try_from(self.slots.len()).expect("there are fewer workers than a u32 can count"))
        });
        let free = Free { cores, memory, kinds: self.stock.set(slot, resources) };
        let before = self.slots.range(..&worker).next_back().map(|(_, slot)| *slot);
        let following = self.slots.range((Excluded(&worker), Unbounded)).map(|(_, slot)| *slot);
        self.sorted.insert(slot, free, before, following);
        self.slots.insert(worker, slot);
        slot
    }

    /// Takes a worker out. Its number is free for another one.
    pub fn remove(&mut self, worker: &I) -> Option<Slot> {
        let slot = self.slots.remove(worker)?;
        self.sorted.remove(slot);
        self.stock.set(slot, Resources::NONE);
        self.vacant.push(slot);
        Some(slot)
    }

    /// Sets what a worker has free. Without effect on a number that no worker has.
    pub fn set(&mut self, slot: Slot, cores: Cores, memory: MiB, resources: &Resources) {
        if self.sorted.get(slot).is_none() {
            return;
        }
        let free = Free { cores, memory, kinds: self.stock.set(slot, resources) };
        self.sorted.set(slot, free);
    }

    /// Whether one more executor has room on that worker. The demand's own bounds are not looked at.
    #[must_use]
    pub fn fits(&self, slot: Slot, demand: &Demand) -> bool {
        let free = self.sorted.get(slot);
        free.zip(Wants::of(demand)).is_some_and(|(free, wants)| wants.fit(slot, &free, &self.stock))
    }

    /// Whether one more executor has room anywhere. The demand's own bounds are not looked at.
    #[must_use]
    pub fn fits_anywhere(&self, demand: &Demand) -> bool {
        let Some(wants) = Wants::of(demand) else { return false };
        self.sorted.walk(&wants, &self.stock, self.direction, |_, _| ControlFlow::Break(())).is_break()
    }

    /// Shows the workers that have room for one more executor, in the worker order, until `look` has seen enough. The
    /// demand's own bounds are not looked at.
    pub fn walk(&self, demand: &Demand, mut look: impl FnMut(Slot) -> ControlFlow<()>) {
        if let Some(wants) = Wants::of(demand) {
            let _ = self.sorted.walk(&wants, &self.stock, self.direction, |slot, _| look(slot));
        }
    }

    /// Takes what was placed off what the workers have free.
    pub fn take(&mut self, demand: &Demand, shares: &[Share]) {
        self.sorted.change(shares, Transfer::Taken(demand), &mut self.stock);
    }

    /// Gives it back.
    pub fn give_back(&mut self, demand: &Demand, shares: &[Share]) {
        self.sorted.change(shares, Transfer::GivenBack(demand), &mut self.stock);
    }

    /// What is wrong with the index, if something is: with itself, or with what the workers have free according to
    /// `offers`, which has one offer for each, in the order of their ids.
    ///
    /// # Errors
    /// One sentence.
    pub fn check<'a>(&self, offers: impl IntoIterator<Item = Offer<'a>>) -> Result<(), String> {
        self.sorted.check(self.slots.values().copied())?;
        let mut known = self.slots.values();
        for offer in offers {
            let Some(&slot) = known.next() else {
                return Err(format!("{} is not indexed", offer.worker));
            };
            let Some(free) = self.sorted.get(slot) else {
                return Err(format!("{} is in no leaf", offer.worker));
            };
            if (free.cores, free.memory) != (offer.cores, offer.memory) {
                return Err(format!(
                    "{} is indexed with {} cores and {}",
                    offer.worker, free.cores, free.memory
                ));
            }
            if !self.stock.is(slot, offer.resources) || free.kinds != self.stock.kinds(slot) {
                return Err(format!("{} is indexed with other resources", offer.worker));
            }
        }
        match known.next() {
            Some(slot) => Err(format!("the index has another worker, number {}", slot.0)),
            None if self.sorted.len() == self.slots.len() => Ok(()),
            None => Err(format!("{} ids, {} workers in order", self.slots.len(), self.sorted.len())),
        }
    }
}

/// Ways in which ids may come: up, down, from both ends inwards, down after a first one, and scattered.
#[cfg(test)]
fn arrivals(ids: u32) -> [Vec<u32>; 5] {
    let up: Vec<u32> = (0..ids).collect();
    let down = up.iter().rev().copied().collect();
    let inwards = up.iter().flat_map(|&n| [n, 2 * ids - n]).collect();
    let fixed_left = [0].into_iter().chain((1..ids).rev()).collect();
    let scattered = up.iter().map(|n| n.wrapping_mul(2_654_435_761)).collect();
    [up, down, inwards, fixed_left, scattered]
}
