//! Workers in the worker order, on shelves as long as few shelves are enough, and else in a tree.

use std::ops::ControlFlow;

use super::Slot;
use super::entry::{Direction, Entry, Sorting};
use super::shelves::{Shelves, TooMany};
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

    pub(super) fn get(&self, slot: Slot) -> Option<&Entry> {
        match self {
            Self::Shelves(shelves) => shelves.get(slot),
            Self::Tree(tree) => tree.get(slot),
        }
    }

    /// Adds a worker whose slot and rank are new, between those two in the order of ids.
    pub(super) fn insert(&mut self, entry: Entry, before: Option<Slot>, after: Option<Slot>) {
        match self {
            Self::Shelves(shelves) => match shelves.insert(entry, before, after) {
                Ok(()) => {}
                Err(TooMany) => self.grow_a_tree().insert(entry),
            },
            Self::Tree(tree) => tree.insert(entry),
        }
    }

    /// Takes a worker out.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Entry> {
        match self {
            Self::Shelves(shelves) => shelves.remove(slot),
            Self::Tree(tree) => tree.remove(slot),
        }
    }

    /// Changes what a worker has free.
    pub(super) fn replace(&mut self, entry: Entry) {
        match self {
            Self::Shelves(shelves) => match shelves.replace(entry) {
                Ok(()) => {}
                Err(TooMany) => self.grow_a_tree().replace(entry),
            },
            Self::Tree(tree) => tree.replace(entry),
        }
    }

    /// Gives workers other ranks, with which they are in the same order.
    pub(super) fn rank(&mut self, ranks: &[(Slot, u64)]) {
        match self {
            Self::Shelves(shelves) => shelves.rank(ranks),
            Self::Tree(tree) => tree.rank(ranks),
        }
    }

    /// Changes many workers at once.
    pub(super) fn change_all<T>(
        &mut self,
        changes: &[T],
        slot: impl Fn(&T) -> Slot,
        change: impl FnMut(Entry, &T) -> Entry,
    ) {
        match self {
            Self::Shelves(shelves) => match shelves.change_all(changes, slot, change) {
                Ok(()) => {}
                Err(TooMany) => _ = self.grow_a_tree(),
            },
            Self::Tree(tree) => tree.change_all(changes, slot, change),
        }
    }

    /// Shows the workers that have room, in order, until it is told to stop.
    pub(super) fn walk(
        &self,
        wants: &Wants<'_>,
        stock: &Stock,
        direction: Direction,
        visit: impl FnMut(&Entry) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::Shelves(shelves) => shelves.walk(wants, stock, direction, visit),
            Self::Tree(tree) => tree.walk(wants, stock, direction, visit),
        }
    }

    fn grow_a_tree(&mut self) -> &mut Tree {
        if let Self::Shelves(shelves) = self {
            let mut tree = Tree::new(shelves.sorting());
            tree.fill(shelves.entries());
            *self = Self::Tree(tree);
        }
        match self {
            Self::Tree(tree) => tree,
            Self::Shelves(_) => unreachable!("it was just made a tree"),
        }
    }

    /// What is wrong with it, if something is.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Shelves(shelves) => shelves.check(),
            Self::Tree(tree) => tree.check(),
        }
    }
}
