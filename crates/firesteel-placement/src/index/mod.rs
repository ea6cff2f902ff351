//! An index of a cluster's Workers. With it, the cost of a placement depends on the number of placed executors, not on
//! the size of the cluster.
//!
//! [`place`](crate::place::place()) looks at every Worker. An [`Index`] keeps the Workers in the worker order, and its
//! owner reports every change. A placement visits the Workers in that order, skips groups where no executor fits, and
//! stops when it has enough Workers. How many are enough follows from the rule of Spark's Master:
//!
//! - *Consolidate* fills one Worker after the other, so it stops when the demand is met.
//! - *Spread out* gives one executor to each Worker in turn. If at least as many Workers fit as executors are wanted,
//!   each of the first Workers gets one executor, and the others do not matter. If fewer Workers fit, all of them get
//!   executors.
//!
//! So a placement visits only the fitting Workers that get executors. The cost of finding them, and of updating them
//! when executors start or end, hardly depends on the number of Workers.
//!
//! | file | content |
//! |---|---|
//! | `place.rs` | placement of a demand |
//! | `requirement.rs` | what an executor requires, and the search for Workers that fit |
//! | `sorted.rs` | the Workers in the worker order, in buckets or leaves |
//! | `positions.rs` | numbers in the order of the ids |
//! | `amounts.rs` | the free amounts by position |
//! | `buckets.rs`, `bucket.rs` | one set of Workers per free amount: a bit per position |
//! | `leaves.rs` | sorted leaves, where there would be too many buckets |
//! | `summary.rs` | summaries of several Workers, with which a search can skip them |
//! | `update.rs` | changes of many Workers at once |
//! | `free.rs` | the free amounts of a Worker |
//!
//! A summary has the maximum of each amount separately. If one Worker of a group has the required memory and another
//! one the required resources, the search looks into the group in vain. In the worst case it looks at every Worker.

mod bucket;
mod buckets;
mod free;
mod free_amounts;
mod leaves;
mod place;
mod positions;
mod requirement;
mod sorted;
mod summary;
#[cfg(test)]
mod tests;
mod update;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::ControlFlow;

use free::{Free, FreeResources, ResourceMask};
use sorted::{Direction, SortKey, SortedWorkers};
use update::Update;

use crate::{Cores, Demand, ExecutorSize, MiB, Offer, Resources, WorkerOrder};

/// The number of a Worker in an [`Index`]. Numbers are small: after a Worker was removed, its number is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// The number, which is less than the greatest number of Workers that the index has ever had.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The executors that a placement puts on one Worker.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The slot of the Worker.
    pub slot: Slot,
    /// The position at which the search found the Worker. Usually the Worker is still there, so that no new look-up is
    /// needed.
    found_at: u32,
    /// The number of executors, at least one.
    pub executors: u64,
    /// The cores of each executor, at least one.
    pub cores: Cores,
}

/// Shares are equal if they put the same executors on the same Worker.
impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.slot == other.slot && self.has_equal_amounts(other)
    }
}

impl Eq for Share {}

impl Share {
    /// The share of a Worker: the number of executors, and the cores of each.
    #[must_use]
    pub const fn new(slot: Slot, executors: u64, cores: Cores) -> Self {
        const NOWHERE: u32 = u32::MAX;
        Self { slot, found_at: NOWHERE, executors, cores }
    }

    pub(crate) fn of(demand: &Demand, slot: Slot, units: u64) -> Self {
        Self::new(slot, 0, Cores::ZERO).with_units(demand, units)
    }

    /// The share of the same Worker with this number of units.
    fn with_units(self, demand: &Demand, units: u64) -> Self {
        match demand.size {
            ExecutorSize::Fixed(cores) => Self { executors: units, cores, ..self },
            ExecutorSize::OnePerWorker => Self { executors: 1, cores: Cores(units as i64), ..self },
        }
    }

    /// The cores of all executors of this share together.
    #[must_use]
    pub fn total(&self) -> Cores {
        let executors = i64::try_from(self.executors).unwrap_or(i64::MAX);
        Cores(self.cores.0.saturating_mul(executors))
    }

    /// Whether both shares have the same executors and cores.
    #[inline]
    fn has_equal_amounts(&self, other: &Self) -> bool {
        (self.executors, self.cores) == (other.executors, other.cores)
    }
}

/// Workers and their free amounts, in one worker order.
///
/// `I` is the type of a Worker's id. Ties are broken by the order of `I`. This must be the order of text, or the
/// decisions differ from Spark's.
///
/// ```
/// use firesteel_placement::advanced::index::Index;
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
/// assert_eq!(index.place(&demand, Strategy::SpreadOut).len(), 1, "one more fits on w1");
/// ```
#[derive(Debug)]
pub struct Index<I> {
    order: WorkerOrder,
    direction: Direction,
    /// The slot of each Worker, by id.
    slots: BTreeMap<I, Slot>,
    workers: SortedWorkers,
    resources: FreeResources,
    /// Slots of removed Workers, for new ones.
    unused: Vec<Slot>,
}

impl<I: Ord> Index<I> {
    /// An index without Workers.
    #[must_use]
    pub fn new(order: WorkerOrder) -> Self {
        let (sort_key, direction) = SortKey::of(order);
        let (slots, workers) = (BTreeMap::new(), SortedWorkers::new(sort_key));
        Self { order, direction, slots, workers, resources: FreeResources::default(), unused: Vec::new() }
    }

    /// An index that uses leaves from the first Worker on, as with many different amounts. Its decisions are the same.
    /// For tests and benches.
    #[doc(hidden)]
    #[must_use]
    pub fn in_leaves(order: WorkerOrder) -> Self {
        let (sort_key, _) = SortKey::of(order);
        Self { workers: SortedWorkers::in_leaves(sort_key), ..Self::new(order) }
    }

    /// The order in which placements visit the Workers.
    #[must_use]
    pub fn order(&self) -> WorkerOrder {
        self.order
    }

    /// The number of Workers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether there is no Worker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slot of a Worker.
    #[must_use]
    pub fn slot<Q: Ord + ?Sized>(&self, worker: &Q) -> Option<Slot>
    where
        I: Borrow<Q>,
    {
        self.slots.get(worker).copied()
    }

    /// The Workers in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (&I, Slot)> {
        self.slots.iter().map(|(worker, slot)| (worker, *slot))
    }

    /// The Workers in the order of their ids, from this id on.
    pub fn iter_from(&self, from: &I) -> impl Iterator<Item = (&I, Slot)> {
        self.slots.range(from..).map(|(worker, slot)| (worker, *slot))
    }

    /// The slots of the Workers in the order of their ids.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.workers.slots()
    }

    /// The free cores and the free memory of a Worker. `None` if the Worker has free custom resources.
    #[must_use]
    #[inline]
    pub fn plain(&self, slot: Slot) -> Option<(Cores, MiB)> {
        let free = self.workers.free(slot).filter(|free| free.resources == ResourceMask::NONE)?;
        Some((free.cores, free.memory))
    }

    /// The free cores and the free memory of a Worker.
    #[must_use]
    pub fn free(&self, slot: Slot) -> Option<(Cores, MiB)> {
        self.workers.free(slot).map(|free| (free.cores, free.memory))
    }

    /// Adds a Worker with its free amounts. If the index already has the Worker, replaces its free amounts.
    pub fn insert(&mut self, worker: I, cores: Cores, memory: MiB, resources: &Resources) -> Slot {
        if let Some(slot) = self.slot(&worker) {
            self.set(slot, cores, memory, resources);
            return slot;
        }
        let slot = self.unused.pop().unwrap_or_else(|| {
            Slot(u32::try_from(self.slots.len()).expect("there are fewer workers than a u32 can count"))
        });
        let free = Free { cores, memory, resources: self.resources.set(slot, resources) };
        let before = self.slots.range(..&worker).next_back().map(|(_, slot)| *slot);
        let after = self.slots.range((Excluded(&worker), Unbounded)).next().map(|(_, slot)| *slot);
        self.workers.insert(slot, free, before, after);
        self.slots.insert(worker, slot);
        slot
    }

    /// Removes a Worker. Another Worker may get its slot.
    pub fn remove<Q: Ord + ?Sized>(&mut self, worker: &Q) -> Option<Slot>
    where
        I: Borrow<Q>,
    {
        let slot = self.slots.remove(worker)?;
        self.workers.remove(slot);
        self.resources.set(slot, Resources::NONE);
        self.unused.push(slot);
        Some(slot)
    }

    /// Replaces the free amounts of a Worker. Ignores a slot without a Worker.
    pub fn set(&mut self, slot: Slot, cores: Cores, memory: MiB, resources: &Resources) {
        if self.workers.free(slot).is_none() {
            return;
        }
        let free = Free { cores, memory, resources: self.resources.set(slot, resources) };
        self.workers.set(slot, free);
    }

    /// Whether one more executor fits on this Worker. Ignores the demand's own limits.
    #[must_use]
    pub fn fits(&self, slot: Slot, demand: &Demand) -> bool {
        let free = self.workers.free(slot);
        free.zip(self.search(demand)).is_some_and(|(free, search)| search.accepts(slot, &free))
    }

    /// Whether one more executor fits on any Worker. Ignores the demand's own limits.
    #[must_use]
    pub fn fits_anywhere(&self, demand: &Demand) -> bool {
        let Some(search) = self.search(demand) else { return false };
        self.workers.walk(&search, |_, _| ControlFlow::Break(())).is_break()
    }

    /// Visits the Workers on which one more executor fits, in the worker order, until `visit` breaks. Ignores the
    /// demand's own limits.
    pub fn walk(&self, demand: &Demand, mut visit: impl FnMut(Slot) -> ControlFlow<()>) {
        if let Some(search) = self.search(demand) {
            let _ = self.workers.walk(&search, |slot, _| visit(slot));
        }
    }

    /// Takes the amounts of placed executors off the free amounts.
    pub fn take(&mut self, demand: &Demand, shares: &[Share]) {
        self.workers.update(shares, Update::Take(demand), &mut self.resources);
    }

    /// Adds the amounts of ended executors to the free amounts. Only for demands for whole addresses, on Workers whose
    /// addresses have no kinds: a demand does not contain the address from which a fraction came. For other demands,
    /// use [`set`](Self::set).
    pub fn give_back(&mut self, demand: &Demand, shares: &[Share]) {
        self.workers.update(shares, Update::GiveBack(demand), &mut self.resources);
    }

    /// Checks the index itself, and that its free amounts are those of `offers`: one offer per Worker, in the order of
    /// the ids.
    ///
    /// # Errors
    /// One sentence about the first mistake that was found.
    pub fn check<'a>(&self, offers: impl IntoIterator<Item = Offer<'a>>) -> Result<(), String> {
        self.workers.check(self.slots.values().copied())?;
        let mut known = self.slots.values();
        for offer in offers {
            let Some(&slot) = known.next() else {
                return Err(format!("{} is not indexed", offer.worker));
            };
            let Some(free) = self.workers.free(slot) else {
                return Err(format!("{} has no position", offer.worker));
            };
            if (free.cores, free.memory) != (offer.cores, offer.memory) {
                return Err(format!(
                    "{} is indexed with {} cores and {}",
                    offer.worker, free.cores, free.memory
                ));
            }
            if !self.resources.equals(slot, offer.resources) || free.resources != self.resources.mask(slot) {
                return Err(format!("{} is indexed with other resources", offer.worker));
            }
        }
        match known.next() {
            Some(slot) => Err(format!("the index has another worker, number {}", slot.0)),
            None if self.workers.len() == self.slots.len() => Ok(()),
            None => Err(format!("{} ids, {} workers in order", self.slots.len(), self.workers.len())),
        }
    }
}
