//! Workers in the worker order: in buckets if few are enough, otherwise in sorted leaves.

use std::ops::{ControlFlow, Range};

use super::buckets::{Buckets, TooManyBuckets};
use super::free::{Free, FreeResources};
use super::leaves::Leaves;
use super::positions::{NoGap, Positions};
use super::requirement::Search;
use super::update::Update;
use super::{Share, Slot};
use crate::WorkerOrder;

/// The free amount by which Workers are sorted. Equal amounts are sorted by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortKey {
    /// The number of free cores.
    Cores,
    /// The amount of free memory.
    Memory,
    /// No amount: Workers are sorted by id alone.
    Id,
}

/// The direction in which the sorted Workers are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The least comes first.
    Ascending,
    /// The greatest comes first.
    Descending,
}

impl SortKey {
    /// The sort key of a worker order and the direction in which it is read.
    pub(super) fn of(order: WorkerOrder) -> (Self, Direction) {
        match order {
            WorkerOrder::CoresFreeDesc => (Self::Cores, Direction::Descending),
            WorkerOrder::CoresFreeAsc => (Self::Cores, Direction::Ascending),
            WorkerOrder::MemoryFreeDesc => (Self::Memory, Direction::Descending),
            WorkerOrder::MemoryFreeAsc => (Self::Memory, Direction::Ascending),
            WorkerOrder::WorkerId => (Self::Id, Direction::Ascending),
        }
    }

    /// The amount of this key among free amounts.
    #[inline]
    pub(super) fn amount(self, free: &Free) -> i64 {
        match self {
            Self::Cores => free.cores.0,
            Self::Memory => free.memory.0,
            Self::Id => 0,
        }
    }
}

impl Direction {
    /// The numbers of the range, in this direction.
    pub(super) fn over(self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let (start, end) = (range.start, range.end);
        range.map(move |n| match self {
            Self::Ascending => n,
            Self::Descending => start + end - 1 - n,
        })
    }

    /// The numbers of the set bits in this direction, plus `start`.
    #[inline]
    pub(super) fn bits(self, mut bits: u64, start: usize) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            let next = match self {
                Self::Ascending => bits.trailing_zeros(),
                Self::Descending => bits.ilog2(),
            };
            bits = match self {
                Self::Ascending => bits & (bits - 1),
                Self::Descending => bits ^ 1 << next,
            };
            Some(start + next as usize)
        })
    }
}

/// The Workers with their free amounts, in the worker order.
#[derive(Debug)]
pub(super) struct SortedWorkers {
    positions: Positions,
    form: Form,
}

/// The data structure that keeps the order. Both variants make the same decisions.
#[derive(Debug)]
enum Form {
    /// For few different amounts, such as the cores of ordinary machines.
    Buckets(Buckets),
    /// For many different amounts. Leaves never become buckets again.
    Leaves(Leaves),
}

impl SortedWorkers {
    /// A set without Workers, in buckets.
    pub(super) fn new(sort_key: SortKey) -> Self {
        Self { positions: Positions::new(sort_key), form: Form::Buckets(Buckets::new()) }
    }

    /// A set without Workers, in leaves from the first Worker on.
    pub(super) fn in_leaves(sort_key: SortKey) -> Self {
        let positions = Positions::new(sort_key);
        Self { form: Form::Leaves(Leaves::of(&positions)), positions }
    }

    /// The number of Workers.
    pub(super) fn len(&self) -> usize {
        self.positions.workers()
    }

    /// The slots of the Workers in the order of their ids.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.positions.slots()
    }

    /// The free amounts of a Worker.
    #[inline]
    pub(super) fn free(&self, slot: Slot) -> Option<Free> {
        Some(self.positions.free(self.positions.of(slot)?))
    }

    /// The place of a Worker among all: first the sort key, then the position.
    pub(super) fn order_key(&self, slot: Slot) -> Option<(i64, usize)> {
        let position = self.positions.of(slot)?;
        Some((self.positions.sort_key().amount(&self.positions.free(position)), position))
    }

    /// Adds a Worker with a new slot between two neighbours in the order of ids.
    pub(super) fn insert(&mut self, slot: Slot, free: Free, before: Option<Slot>, after: Option<Slot>) {
        let position = self.free_position(before, after);
        self.positions.put(slot, free, position);
        self.add(position);
    }

    /// Removes a Worker and its position.
    pub(super) fn remove(&mut self, slot: Slot) {
        if let Some(position) = self.positions.of(slot) {
            self.take_out(position);
            self.positions.vacate(slot);
        }
    }

    /// Replaces the free amounts of a Worker.
    pub(super) fn set(&mut self, slot: Slot, free: Free) {
        if let Some(position) = self.positions.of(slot) {
            self.take_out(position);
            self.positions.set(position, free);
            self.add(position);
        }
    }

    /// Changes the free amounts of Workers by their shares. Slots without a Worker are ignored.
    pub(super) fn update(&mut self, shares: &[Share], update: Update<'_>, resources: &mut FreeResources) {
        let updated = match &mut self.form {
            Form::Buckets(buckets) => buckets.update(&mut self.positions, shares, update, resources),
            Form::Leaves(leaves) => {
                leaves.update(&mut self.positions, shares, update, resources);
                Ok(())
            }
        };
        self.leaves_on_error(updated);
    }

    /// Visits the Workers that fit, in order, until `visit` breaks.
    pub(super) fn walk(
        &self,
        search: &Search<'_>,
        visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match &self.form {
            Form::Buckets(buckets) => buckets.walk(&self.positions, search, visit),
            Form::Leaves(leaves) => leaves.walk(&self.positions, search, visit),
        }
    }

    /// Adds a share like `each` for each of the first Workers that fit, until there are `limit` shares. Returns whether
    /// this number was reached.
    pub(super) fn first(
        &self,
        search: &Search<'_>,
        limit: usize,
        each: Share,
        shares: &mut Vec<Share>,
    ) -> bool {
        match &self.form {
            Form::Buckets(buckets) => buckets.first(&self.positions, search, limit, each, shares),
            Form::Leaves(leaves) => {
                let found = leaves.walk(&self.positions, search, |slot, _| {
                    shares.push(Share { slot, ..each });
                    if shares.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                found.is_break()
            }
        }
    }

    /// A free position between two neighbours. Moves other Workers if there is none.
    fn free_position(&mut self, before: Option<Slot>, after: Option<Slot>) -> usize {
        loop {
            match self.positions.between(before, after) {
                Ok(position) => return position,
                Err(NoGap::Spread(window)) => return self.spread(window, before),
                Err(NoGap::Grow) => {
                    self.positions.grow();
                    if let Form::Buckets(buckets) = &mut self.form {
                        buckets.grow(self.positions.len());
                    }
                }
            }
        }
    }

    /// Spreads the Workers of a window. Returns the position for the new Worker after `before`.
    fn spread(&mut self, window: Range<usize>, before: Option<Slot>) -> usize {
        let (others, position) = self.positions.spread(window, before);
        for (worker, _) in &others {
            if let Some(position) = self.positions.of(worker.slot) {
                self.take_out(position);
            }
        }
        others.iter().for_each(|(worker, _)| self.positions.vacate(worker.slot));
        others.iter().for_each(|(worker, position)| self.positions.put(worker.slot, worker.free, *position));
        others.iter().for_each(|(_, position)| self.add(*position));
        position
    }

    fn add(&mut self, position: usize) {
        let added = match &mut self.form {
            Form::Buckets(buckets) => buckets.add(&self.positions, position),
            Form::Leaves(leaves) => {
                leaves.add(&self.positions, position);
                Ok(())
            }
        };
        self.leaves_on_error(added);
    }

    fn take_out(&mut self, position: usize) {
        match &mut self.form {
            Form::Buckets(buckets) => buckets.remove(&self.positions, position),
            Form::Leaves(leaves) => leaves.remove(&self.positions, position),
        }
    }

    /// Replaces the buckets by leaves if a change failed because it needs too many buckets.
    fn leaves_on_error(&mut self, done: Result<(), TooManyBuckets>) {
        if let Err(TooManyBuckets) = done {
            self.form = Form::Leaves(Leaves::of(&self.positions));
        }
    }

    /// Sets summaries too low: a deliberate bug for tests.
    #[cfg(test)]
    pub(super) fn forget_summaries(&mut self) {
        match &mut self.form {
            Form::Buckets(buckets) => buckets.forget_summaries(),
            Form::Leaves(leaves) => leaves.forget_summaries(),
        }
    }

    /// Checks the positions, the order and the summaries. `ids` are the Workers in the order of their ids.
    pub(super) fn check(&self, ids: impl Iterator<Item = Slot>) -> Result<(), String> {
        self.positions.amounts.check()?;
        let all = (0..self.positions.len()).filter_map(|at| Some((at, self.positions.at(at)?.slot)));
        if let Some((position, slot)) = all.clone().find(|(at, slot)| self.positions.of(*slot) != Some(*at)) {
            return Err(format!("{slot:?} is at position {position} and known at another"));
        }
        if !ids.eq(all.clone().map(|(_, slot)| slot)) {
            return Err("the positions are not in the order of the ids".to_owned());
        }
        if all.count() != self.positions.workers() {
            return Err(format!("the workers are counted as {}", self.positions.workers()));
        }
        match &self.form {
            Form::Buckets(buckets) => buckets.check(&self.positions),
            Form::Leaves(leaves) => leaves.check(&self.positions),
        }
    }
}
