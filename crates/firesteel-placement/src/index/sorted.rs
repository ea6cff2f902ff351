//! Workers in the worker order, on shelves as long as few shelves are enough, and else in a tree.

use std::ops::ControlFlow;

use super::free::Free;
use super::shelves::{Shelves, TooMany};
use super::sorting::{Direction, Sorting};
use super::stock::Stock;
use super::transfer::Transfer;
use super::tree::Tree;
use super::wants::Wants;
use super::{Share, Slot};

#[derive(Debug)]
pub(super) enum Sorted {
    /// Few different amounts: the cores of ordinary machines.
    Shelves(Shelves),
    /// Many: memory, as a rule. Once there were many, it stays a tree.
    Tree(Tree),
}

impl Sorted {
    pub(super) fn new(sorting: Sorting) -> Self {
        Self::Shelves(Shelves::new(sorting))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Shelves(shelves) => shelves.len(),
            Self::Tree(tree) => tree.len(),
        }
    }

    pub(super) fn get(&self, slot: Slot) -> Option<Free> {
        match self {
            Self::Shelves(shelves) => shelves.get(slot),
            Self::Tree(tree) => tree.get(slot),
        }
    }

    /// Where a worker stands among all: by an amount, and among equals by id.
    pub(super) fn standing(&self, slot: Slot) -> Option<(i64, u64)> {
        match self {
            Self::Shelves(shelves) => shelves.standing(slot),
            Self::Tree(tree) => tree.standing(slot),
        }
    }

    /// Adds a worker whose slot is new, between one and those that follow in the order of ids.
    pub(super) fn insert(
        &mut self,
        slot: Slot,
        free: Free,
        before: Option<Slot>,
        following: impl Iterator<Item = Slot> + Clone,
    ) {
        match self {
            Self::Shelves(shelves) => {
                let inserted = shelves.insert(slot, free, before, following.clone().next());
                self.or_a_tree(inserted);
            }
            Self::Tree(tree) => tree.insert(slot, free, before, following),
        }
    }

    /// Takes a worker out.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Free> {
        match self {
            Self::Shelves(shelves) => shelves.remove(slot),
            Self::Tree(tree) => tree.remove(slot),
        }
    }

    /// Sets what a worker has free, who is there.
    pub(super) fn set(&mut self, slot: Slot, free: Free) {
        match self {
            Self::Shelves(shelves) => {
                let set = shelves.set(slot, free);
                self.or_a_tree(set);
            }
            Self::Tree(tree) => tree.replace(slot, free),
        }
    }

    /// Changes what workers have free by their shares, one after the other. Workers who are not there are passed over.
    pub(super) fn change(&mut self, shares: &[Share], transfer: Transfer<'_>, stock: &mut Stock) {
        match self {
            Self::Shelves(shelves) => {
                let changed = shelves.change(shares, transfer, stock);
                self.or_a_tree(changed);
            }
            Self::Tree(tree) => tree.change(shares, transfer, stock),
        }
    }

    /// Shows the workers that have room, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::Shelves(shelves) => shelves.walk(wants, stock, direction, visit),
            Self::Tree(tree) => tree.walk(wants, stock, direction, visit),
        }
    }

    /// Adds a share like `each` for every one of the first workers that have room, until there are so many shares. Whether
    /// there are.
    pub(super) fn first(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        most: usize,
        each: Share,
        shares: &mut Vec<Share>,
    ) -> bool {
        match self {
            Self::Shelves(shelves) => shelves.first(wants, stock, direction, most, each, shares),
            Self::Tree(tree) => {
                let all = tree.walk(wants, stock, direction, |slot, _| {
                    shares.push(Share { slot, ..each });
                    if shares.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                all.is_break()
            }
        }
    }

    /// From now on a tree, where there would be too many shelves.
    fn or_a_tree(&mut self, done: Result<(), TooMany>) {
        if let (Self::Shelves(shelves), Err(TooMany)) = (&*self, done) {
            let workers: Vec<_> = shelves.all().collect();
            *self = Self::Tree(Tree::of(shelves.sorting(), &workers));
        }
    }

    /// Forgets what the best of a part has.
    #[cfg(test)]
    pub(super) fn forget_best(&mut self) {
        match self {
            Self::Shelves(shelves) => shelves.forget_best(),
            Self::Tree(tree) => tree.forget_best(),
        }
    }

    /// What is wrong with it, if something is. `ids` are the workers in the order of their ids.
    pub(super) fn check(&self, ids: impl Iterator<Item = Slot>) -> Result<(), String> {
        match self {
            Self::Shelves(shelves) => shelves.check(ids),
            Self::Tree(tree) => tree.check(ids),
        }
    }
}
