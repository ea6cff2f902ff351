//! Workers sorted by an amount and their ids, with the best of each part known.
//!
//! Three floors: leaves hold entries, branches hold leaves, the root holds branches, all in order. With each leaf and
//! each branch stand its first key and the best that any of its workers has. So a place is found by halving, and
//! parts where nobody has room are passed over without a look inside.
//!
//! Changing one worker costs a few binary searches and the shifting of one leaf. Nothing depends on what the amounts
//! are: a cluster of equal workers and one without two alike have the same tree.

use std::ops::ControlFlow;

use super::entry::{Entry, Key};
use super::free::Free;
use super::pool::Pool;
use super::ranks::Ranks;
use super::sorting::{Direction, Sorting};
use super::stock::Stock;
use super::transfer::Transfer;
use super::wants::Wants;
use super::{Share, Slot};

/// The most entries of a leaf.
const LEAF: usize = 32;
/// The most leaves of a branch.
const BRANCH: usize = 64;
/// From so many of all workers on that change at once, one in so many, the tree is made anew.
const REBUILD: usize = 4;
/// A worker that is in no leaf.
const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Tree {
    sorting: Sorting,
    ranks: Ranks,
    root: Vec<Child>,
    branches: Pool<Child>,
    leaves: Pool<Entry>,
    /// The leaf of each slot.
    homes: Vec<u32>,
    len: usize,
}

/// A branch or a leaf, as the floor above has it. It is never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Child {
    first: Key,
    best: Free,
    /// Its number in the pool.
    at: u32,
}

/// Where a leaf stands: the position of its branch in the root, and its own in the branch.
#[derive(Clone, Copy)]
struct Path {
    branch: usize,
    leaf: usize,
}

impl Tree {
    pub(super) fn new(sorting: Sorting) -> Self {
        let (branches, leaves) = (Pool::new(BRANCH), Pool::new(LEAF));
        let ranks = Ranks::default();
        Self { sorting, ranks, root: Vec::new(), branches, leaves, homes: Vec::new(), len: 0 }
    }

    /// One of these workers, which are in the order of ids.
    pub(super) fn of(sorting: Sorting, workers: &[(Slot, Free)]) -> Self {
        let ranks = Ranks::of(workers.iter().map(|(slot, _)| *slot));
        let entry = |&(slot, free): &(Slot, Free)| Entry { free, rank: ranks.get(slot), slot };
        let entries = workers.iter().map(entry).collect();
        let mut tree = Self { ranks, ..Self::new(sorting) };
        tree.fill(entries);
        tree
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, slot: Slot) -> Option<Free> {
        self.leaves[self.home(slot)?].iter().find(|entry| entry.slot == slot).map(|entry| entry.free)
    }

    /// Where a worker stands among all: by an amount, and among equals by id.
    pub(super) fn standing(&self, slot: Slot) -> Option<(i64, u64)> {
        Some((self.sorting.amount(&self.get(slot)?), self.ranks.get(slot)))
    }

    /// Adds a worker whose slot is new, between one and those that follow in the order of ids.
    pub(super) fn insert(
        &mut self,
        slot: Slot,
        free: Free,
        before: Option<Slot>,
        following: impl Iterator<Item = Slot> + Clone,
    ) {
        // Keys are not in order until all have theirs, so all who get other ranks are taken out first.
        let moved = self.ranks.insert(slot, before, following);
        let moved: Vec<_> =
            moved.into_iter().filter_map(|(slot, rank)| Some((self.take_out(slot)?, rank))).collect();
        moved.into_iter().for_each(|(entry, rank)| self.put_in(Entry { rank, ..entry }));
        self.put_in(Entry { free, rank: self.ranks.get(slot), slot });
    }

    /// Takes a worker out.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Free> {
        self.take_out(slot).map(|entry| entry.free)
    }

    /// Changes what workers have free: one by one, or if they are many, by making the tree anew.
    pub(super) fn change(&mut self, shares: &[Share], transfer: Transfer<'_>, stock: &mut Stock) {
        let many = shares.len() * REBUILD > self.len;
        for share in shares {
            let Some(home) = self.home(share.slot) else { continue };
            let known = self.leaves[home].iter_mut().find(|known| known.slot == share.slot);
            let known = known.expect("a home is a leaf that has the worker");
            let change = transfer.change(share);
            let mut free = change.of(known.free);
            if !stock.is_empty() {
                free.kinds = change.count(share.slot, stock);
            }
            if many {
                known.free = free;
            } else {
                self.replace(share.slot, free);
            }
        }
        if many {
            let entries = self.drain();
            self.fill(entries);
        }
    }

    fn home(&self, slot: Slot) -> Option<u32> {
        self.homes.get(slot.index()).copied().filter(|home| *home != NOWHERE)
    }

    fn put_in(&mut self, entry: Entry) {
        let key = entry.key(self.sorting);
        let path = self.make_room(key);
        let child = self.child(path);
        let home = child.at;
        let leaf = &mut self.leaves[home];
        let position = leaf.partition_point(|other| other.key(self.sorting) < key);
        leaf.insert(position, entry);
        self.set_home(entry.slot, home);
        self.len += 1;

        let Path { branch, leaf } = path;
        let at = self.root[branch].at;
        for child in [&mut self.branches[at][leaf], &mut self.root[branch]] {
            child.first = child.first.min(key);
            child.best = child.best.or(entry.free);
        }
    }

    fn take_out(&mut self, slot: Slot) -> Option<Entry> {
        let home = self.home(slot)?;
        let leaf = &mut self.leaves[home];
        let position = leaf.iter().position(|other| other.slot == slot)?;
        let entry = leaf[position];
        let path = self.path(entry.key(self.sorting));
        self.leaves[home].remove(position);
        self.homes[slot.index()] = NOWHERE;
        self.len -= 1;
        if self.leaves[home].is_empty() {
            self.drop_leaf(path);
        } else {
            self.refresh_leaf(path, &entry.free);
            if self.leaves[home].len() < LEAF / 4 {
                self.merge_leaf(path);
            }
        }
        Some(entry)
    }

    /// Sets what a worker has free, who is there.
    pub(super) fn replace(&mut self, slot: Slot, free: Free) {
        let Some(home) = self.home(slot) else { return };
        let known = self.leaves[home].iter_mut().find(|known| known.slot == slot);
        let known = known.expect("a home is a leaf that has the worker");
        let before = *known;
        let after = Entry { free, ..before };
        let key = before.key(self.sorting);
        if key != after.key(self.sorting) {
            self.take_out(slot);
            return self.put_in(after);
        }
        *known = after;
        let path = self.path(key);
        self.refresh_leaf(path, &before.free);
        let at = self.root[path.branch].at;
        for child in [&mut self.branches[at][path.leaf], &mut self.root[path.branch]] {
            child.best = child.best.or(free);
        }
    }

    /// Shows the workers that have room, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Sorted by an amount, those that have too little of it come first.
        let least = wants.least(self.sorting);
        let start = self.root.partition_point(|branch| self.sorting.amount(&branch.best) < least);
        for branch in direction.over(start..self.root.len()) {
            let branch = &self.root[branch];
            if !wants.may_fit(&branch.best) {
                continue;
            }
            let children = &self.branches[branch.at];
            for leaf in direction.over(0..children.len()) {
                let leaf = &children[leaf];
                if !wants.may_fit(&leaf.best) {
                    continue;
                }
                let entries = &self.leaves[leaf.at];
                for entry in direction.over(0..entries.len()) {
                    let Entry { slot, free, .. } = &entries[entry];
                    if wants.fit(*slot, free, stock) {
                        visit(*slot, free)?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// All entries, out of a tree that is empty from then on.
    fn drain(&mut self) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(self.len);
        for branch in std::mem::take(&mut self.root) {
            for leaf in self.branches.give_back(branch.at) {
                entries.append(&mut self.leaves.give_back(leaf.at));
            }
        }
        self.len = 0;
        entries
    }

    /// Fills an empty tree. Leaves and branches are made three quarters full.
    fn fill(&mut self, mut entries: Vec<Entry>) {
        debug_assert!(self.root.is_empty(), "only an empty tree is filled");
        self.len = entries.len();
        entries.sort_by_key(|entry| entry.key(self.sorting));
        let mut leaves = Vec::with_capacity(entries.len() / (LEAF / 4 * 3) + 1);
        for part in entries.chunks(LEAF / 4 * 3) {
            let at = self.leaves.take(part);
            part.iter().for_each(|entry| self.set_home(entry.slot, at));
            leaves.push(self.leaf_child(at));
        }
        for part in leaves.chunks(BRANCH / 4 * 3) {
            let at = self.branches.take(part);
            self.root.push(self.branch_child(at));
        }
    }

    /// Where the entry of that key is, or would be.
    fn path(&self, key: Key) -> Path {
        let position =
            |children: &[Child]| children.partition_point(|child| child.first <= key).saturating_sub(1);
        let branch = position(&self.root);
        Path { branch, leaf: position(&self.branches[self.root[branch].at]) }
    }

    fn child(&self, path: Path) -> &Child {
        &self.branches[self.root[path.branch].at][path.leaf]
    }

    /// The leaf for an entry of that key, with room for it: halves what is full.
    fn make_room(&mut self, key: Key) -> Path {
        if self.root.is_empty() {
            let leaf = Child { first: key, best: Free::LEAST, at: self.leaves.take(&[]) };
            let branch = Child { at: self.branches.take(&[leaf]), ..leaf };
            self.root.push(branch);
        }
        loop {
            let path = self.path(key);
            let branch = self.root[path.branch].at;
            if self.leaves[self.child(path).at].len() < LEAF {
                return path;
            }
            if self.branches[branch].len() == BRANCH {
                let upper = self.branches.halve(branch);
                self.root[path.branch] = self.branch_child(branch);
                self.root.insert(path.branch + 1, self.branch_child(upper));
                continue;
            }
            let leaf = self.child(path).at;
            let upper = self.leaves.halve(leaf);
            for entry in 0..self.leaves[upper].len() {
                let slot = self.leaves[upper][entry].slot;
                self.set_home(slot, upper);
            }
            let (lower_child, upper_child) = (self.leaf_child(leaf), self.leaf_child(upper));
            self.branches[branch][path.leaf] = lower_child;
            self.branches[branch].insert(path.leaf + 1, upper_child);
        }
    }

    /// Takes in that a leaf lost one that had so much.
    fn refresh_leaf(&mut self, path: Path, gone: &Free) {
        let before = *self.child(path);
        let first = self.leaves[before.at][0].key(self.sorting);
        let after =
            if before.best.owes_to(gone) { self.leaf_child(before.at) } else { Child { first, ..before } };
        if after != before {
            let branch = self.root[path.branch].at;
            self.branches[branch][path.leaf] = after;
            self.refresh_branch(path.branch, &before.best);
        }
    }

    fn refresh_branch(&mut self, branch: usize, gone: &Free) {
        let before = self.root[branch];
        let first = self.branches[before.at][0].first;
        self.root[branch] =
            if before.best.owes_to(gone) { self.branch_child(before.at) } else { Child { first, ..before } };
    }

    fn drop_leaf(&mut self, path: Path) {
        let branch = self.root[path.branch].at;
        let child = self.branches[branch].remove(path.leaf);
        self.leaves.give_back(child.at);
        if self.branches[branch].is_empty() {
            self.branches.give_back(branch);
            self.root.remove(path.branch);
        } else {
            self.refresh_branch(path.branch, &child.best);
            self.merge_branch(path.branch);
        }
    }

    /// Joins a small leaf with a neighbour in its branch, if they are not too many together.
    fn merge_leaf(&mut self, path: Path) {
        let branch = self.root[path.branch].at;
        let Some(lower) =
            joinable(path.leaf, LEAF, &self.branches[branch], |child| self.leaves[child.at].len())
        else {
            return;
        };
        let (into, from) = (self.branches[branch][lower].at, self.branches[branch][lower + 1].at);
        let mut entries = self.leaves.give_back(from);
        entries.iter().for_each(|entry| self.set_home(entry.slot, into));
        self.leaves[into].append(&mut entries);
        self.branches[branch][lower] = self.leaf_child(into);
        self.branches[branch].remove(lower + 1);
        self.merge_branch(path.branch);
    }

    fn merge_branch(&mut self, branch: usize) {
        if self.branches[self.root[branch].at].len() >= BRANCH / 4 {
            return;
        }
        let Some(lower) = joinable(branch, BRANCH, &self.root, |child| self.branches[child.at].len()) else {
            return;
        };
        let (into, from) = (self.root[lower].at, self.root[lower + 1].at);
        let mut leaves = self.branches.give_back(from);
        self.branches[into].append(&mut leaves);
        self.root[lower] = self.branch_child(into);
        self.root.remove(lower + 1);
    }

    fn leaf_child(&self, at: u32) -> Child {
        let entries = &self.leaves[at];
        let best = entries.iter().fold(Free::LEAST, |best, entry| best.or(entry.free));
        Child { first: entries[0].key(self.sorting), best, at }
    }

    fn branch_child(&self, at: u32) -> Child {
        let leaves = &self.branches[at];
        let best = leaves.iter().fold(Free::LEAST, |best, leaf| best.or(leaf.best));
        Child { first: leaves[0].first, best, at }
    }

    fn set_home(&mut self, slot: Slot, leaf: u32) {
        if self.homes.len() <= slot.index() {
            self.homes.resize(slot.index() + 1, NOWHERE);
        }
        self.homes[slot.index()] = leaf;
    }

    /// Forgets what the best of a branch has.
    #[cfg(test)]
    pub(super) fn forget_best(&mut self) {
        self.root.iter_mut().for_each(|branch| branch.best = Free::LEAST);
    }

    /// What is wrong with the tree, if something is.
    pub(super) fn check(&self, ids: impl Iterator<Item = Slot>) -> Result<(), String> {
        if !ids.map(|slot| self.ranks.get(slot)).is_sorted_by(|a, b| a < b) {
            return Err("the ranks are not in the order of the ids".to_owned());
        }
        let mut last = None;
        let mut count = 0;
        for branch in &self.root {
            if *branch != self.branch_child(branch.at) {
                return Err(format!("a branch is not as the root has it: {branch:?}"));
            }
            for leaf in &self.branches[branch.at] {
                if *leaf != self.leaf_child(leaf.at) {
                    return Err(format!("a leaf is not as its branch has it: {leaf:?}"));
                }
                for entry in &self.leaves[leaf.at] {
                    let key = entry.key(self.sorting);
                    if last.is_some_and(|last| last >= key) {
                        return Err(format!("out of order: {entry:?}"));
                    }
                    if self.homes[entry.slot.index()] != leaf.at || self.ranks.get(entry.slot) != entry.rank {
                        return Err(format!("another home or rank than its own: {entry:?}"));
                    }
                    last = Some(key);
                    count += 1;
                }
            }
        }
        if count != self.len {
            return Err(format!("{count} entries are counted as {}", self.len));
        }
        Ok(())
    }
}

/// The lower of two neighbours, one of them at that position, that fill three quarters together, or less.
fn joinable(
    position: usize,
    full: usize,
    children: &[Child],
    len: impl Fn(&Child) -> usize,
) -> Option<usize> {
    let fit = |lower: &usize| {
        children.get(lower + 1).is_some_and(|upper| len(&children[*lower]) + len(upper) <= full / 4 * 3)
    };
    [position.checked_sub(1), Some(position)].into_iter().flatten().find(fit)
}
