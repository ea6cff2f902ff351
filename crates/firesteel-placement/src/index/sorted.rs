//! Workers in the worker order, on shelves as long as few shelves are enough, and else in a tree.

use std::ops::ControlFlow;

use super::Slot;
use super::free::Free;
use super::shelves::{Shelves, TooMany};
use super::sorting::{Direction, Sorting};
use super::stock::Stock;
use super::tree::Tree;
use super::wants::Wants;

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

    pub(super) fn get(&self, slot: Slot) -> Option<&Free> {
        match self {
            Self::Shelves(shelves) => shelves.get(slot),
            Self::Tree(tree) => tree.get(slot),
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

    /// Changes what workers have free. Those that have no such slot are passed over.
    pub(super) fn change_each<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        change: impl FnMut(Free, &T) -> Free,
    ) {
        match self {
            Self::Shelves(shelves) => {
                let changed = shelves.change_each(changes, slot, change);
                self.or_a_tree(changed);
            }
            Self::Tree(tree) => tree.change(changes, slot, change),
        }
    }

    /// The same with changes that make equal workers equal if they are alike.
    pub(super) fn change_alike<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        change: impl Fn(Free, &T) -> Free,
        alike: impl Fn(&T, &T) -> bool,
    ) {
        match self {
            Self::Shelves(shelves) => {
                let changed = shelves.change_alike(changes, slot, change, alike);
                self.or_a_tree(changed);
            }
            Self::Tree(tree) => tree.change(changes, slot, change),
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

    /// From now on a tree, where there would be too many shelves.
    fn or_a_tree(&mut self, done: Result<(), TooMany>) {
        if let (Self::Shelves(shelves), Err(TooMany)) = (&*self, done) {
            let workers: Vec<_> = shelves.all().collect();
            *self = Self::Tree(Tree::of(shelves.sorting(), &workers));
        }
    }

    /// Forgets what the best of a part has.
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
