//! Workers in sorted leaves, for clusters where most Workers have different free amounts of the sort key, which is
//! usually memory. In such clusters there would be too many buckets.
//!
//! A leaf has up to 64 neighbours in the worker order, and the maximum of their free amounts. From the maximum, a
//! search decides whether to skip the leaf. A changed Worker moves from one leaf to another.
//!
//! For 10,000 Workers sorted by memory, leaves are 20 times as fast as looking at every Worker (`benches/README.md`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::free::{Free, FreeResources};
use super::positions::{IndexedWorker, Positions};
use super::requirement::Search;
use super::sorted::Direction;
use super::update::Update;
use super::{Share, Slot};

/// The maximum number of Workers of a leaf.
const LEAF: usize = 64;
/// The number of Workers in a newly made leaf.
const FILLED: usize = LEAF / 4 * 3;
/// A leaf with fewer Workers than this joins its predecessor.
const SPARSE: usize = LEAF / 4;
/// If more than one in this number of Workers changes at once, all leaves are made anew.
const REBUILD_ONE_IN: usize = 4;

/// The place of a Worker in the order: first the sort key, then the position, which follows the ids.
type OrderKey = (i64, usize);

/// The leaves by lower bound. The first leaf has the lowest bound of all and is never removed.
#[derive(Debug)]
pub(super) struct Leaves(BTreeMap<OrderKey, Leaf>);

/// Neighbours in the worker order. Their keys are at least the lower bound of this leaf and less than that of the next
/// leaf.
#[derive(Debug)]
struct Leaf {
    keys: Vec<OrderKey>,
    max: Free,
}

impl Leaf {
    fn of(keys: &[OrderKey], positions: &Positions) -> Self {
        let mut all = Vec::with_capacity(LEAF);
        all.extend_from_slice(keys);
        let mut leaf = Self { keys: all, max: Free::LEAST };
        leaf.find_maximum(positions);
        leaf
    }

    fn find_maximum(&mut self, positions: &Positions) {
        let each = self.keys.iter().map(|(_, position)| positions.free(*position));
        self.max = each.fold(Free::LEAST, Free::max);
    }
}

impl Leaves {
    /// The leaves of all Workers that have a position.
    pub(super) fn of(positions: &Positions) -> Self {
        let mut keys: Vec<OrderKey> = (0..positions.len())
            .filter(|position| positions.at(*position).is_some())
            .map(|position| order_key(positions, position))
            .collect();
        keys.sort_unstable();
        let mut leaves = BTreeMap::from([((i64::MIN, 0), Leaf::of(&[], positions))]);
        for (number, keys) in keys.chunks(FILLED).enumerate() {
            let bound = if number == 0 { (i64::MIN, 0) } else { keys[0] };
            leaves.insert(bound, Leaf::of(keys, positions));
        }
        Self(leaves)
    }

    /// Adds the Worker at a position.
    pub(super) fn add(&mut self, positions: &Positions, position: usize) {
        let key = order_key(positions, position);
        let leaf = self.leaf(key);
        let at = leaf.keys.partition_point(|other| *other < key);
        leaf.keys.insert(at, key);
        leaf.max = leaf.max.max(positions.free(position));
        if leaf.keys.len() == LEAF {
            let upper = Leaf::of(&leaf.keys.split_off(LEAF / 2), positions);
            leaf.find_maximum(positions);
            self.0.insert(upper.keys[0], upper);
        }
    }

    /// Removes the Worker at a position. Its free amounts must be the same as when it was added.
    pub(super) fn remove(&mut self, positions: &Positions, position: usize) {
        let key = order_key(positions, position);
        let leaf = self.leaf(key);
        let at = leaf.keys.binary_search(&key).expect("a Worker in order is in the leaf of its key");
        leaf.keys.remove(at);
        if leaf.max.depends_on(&positions.free(position)) {
            leaf.find_maximum(positions);
        }
        if leaf.keys.len() < SPARSE {
            self.join_predecessor(key);
        }
    }

    /// Moves the Workers of the leaf of `key` into the leaf before it, if there is one with enough space.
    fn join_predecessor(&mut self, key: OrderKey) {
        let mut before = self.0.range_mut(..=key).rev();
        let (Some((bound, leaf)), Some((_, predecessor))) = (before.next(), before.next()) else { return };
        let is_small = leaf.keys.len() + predecessor.keys.len() <= FILLED;
        if leaf.keys.is_empty() || is_small {
            predecessor.keys.append(&mut leaf.keys);
            predecessor.max = predecessor.max.max(leaf.max);
            let bound = *bound;
            self.0.remove(&bound);
        }
    }

    fn leaf(&mut self, key: OrderKey) -> &mut Leaf {
        let leaf = self.0.range_mut(..=key).next_back();
        leaf.map(|(_, leaf)| leaf).expect("no key is below the first leaf")
    }

    /// Changes Workers by their shares: either one by one, or by making all leaves anew.
    pub(super) fn update(
        &mut self,
        positions: &mut Positions,
        shares: &[Share],
        update: Update<'_>,
        resources: &mut FreeResources,
    ) {
        let rebuild = shares.len() * REBUILD_ONE_IN > positions.workers();
        for share in shares {
            let Some(position) = positions.of_share(share) else { continue };
            let delta = update.delta(share);
            let mut free = delta.applied(positions.free(position));
            if !resources.is_empty() {
                free.resources = delta.apply_to_resources(share.slot, resources);
            }
            if rebuild {
                positions.set(position, free);
            } else {
                self.remove(positions, position);
                positions.set(position, free);
                self.add(positions, position);
            }
        }
        if rebuild {
            *self = Self::of(positions);
        }
    }

    /// Visits the Workers that fit, in order, until `visit` breaks.
    pub(super) fn walk(
        &self,
        positions: &Positions,
        search: &Search<'_>,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut visit_leaf = |leaf: &Leaf| {
            if !search.requirement.may_fit(&leaf.max) {
                return ControlFlow::Continue(());
            }
            for at in search.direction.over(0..leaf.keys.len()) {
                let IndexedWorker { slot, free } = positions.worker(leaf.keys[at].1);
                if search.accepts(slot, &free) {
                    visit(slot, &free)?;
                }
            }
            ControlFlow::Continue(())
        };
        match search.direction {
            Direction::Ascending => self.0.values().try_for_each(&mut visit_leaf),
            Direction::Descending => self.0.values().rev().try_for_each(&mut visit_leaf),
        }
    }

    /// Sets summaries too low: a deliberate bug for tests.
    #[cfg(test)]
    pub(super) fn forget_summaries(&mut self) {
        self.0.values_mut().for_each(|leaf| leaf.max = Free::LEAST);
    }

    /// Checks the order, the bounds and every maximum.
    pub(super) fn check(&self, positions: &Positions) -> Result<(), String> {
        let mut last = None;
        let mut count = 0;
        for (number, (bound, leaf)) in self.0.iter().enumerate() {
            if number > 0 && leaf.keys.is_empty() || leaf.keys.len() >= LEAF {
                return Err(format!("the leaf from {bound:?} has {} workers", leaf.keys.len()));
            }
            if last.is_some_and(|last| last >= *bound) {
                return Err(format!("a worker before the leaf from {bound:?} belongs into it"));
            }
            for key in &leaf.keys {
                if key < bound || last.is_some_and(|last| last >= *key) {
                    return Err(format!("out of order: {key:?} in the leaf from {bound:?}"));
                }
                if positions.at(key.1).is_none() || order_key(positions, key.1) != *key {
                    return Err(format!("no worker has the key {key:?}"));
                }
                last = Some(*key);
                count += 1;
            }
            let max = Leaf::of(&leaf.keys, positions).max;
            if leaf.max != max {
                return Err(format!("a leaf says {:?}, its workers {max:?}", leaf.max));
            }
        }
        if count != positions.workers() {
            return Err(format!("{count} workers in leaves are counted as {}", positions.workers()));
        }
        Ok(())
    }
}

fn order_key(positions: &Positions, position: usize) -> OrderKey {
    (positions.sort_key().amount(&positions.free(position)), position)
}
