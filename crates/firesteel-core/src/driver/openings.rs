//! Where there is room for tasks.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;
use firesteel_placement::locality::{Located, Sites};

use crate::ids::ExecutorId;

/// The executors that take tasks, by what they have in all and what they have free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Openings {
    /// How many have how many cores in all.
    sizes: BTreeMap<Cores, usize>,
    /// Those that have free cores, by how many.
    free: BTreeMap<Cores, BTreeSet<ExecutorId>>,
    /// The same by where they are.
    places: Located<ExecutorId>,
}

impl Openings {
    /// Whether no executor takes tasks.
    pub(super) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The cores of the largest executor that takes tasks.
    pub(super) fn largest(&self) -> Option<Cores> {
        self.sizes.keys().next_back().copied()
    }

    /// The cores of all executors that take tasks.
    pub(super) fn cores(&self) -> Cores {
        let of_size = |(size, &count): (&Cores, &usize)| {
            Cores(size.0.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
        };
        self.sizes.iter().map(of_size).sum()
    }

    /// How many executors that take tasks have so many cores in all.
    pub(super) fn as_large(&self, cores: Cores) -> usize {
        self.sizes.range(cores..).map(|(_, count)| count).sum()
    }

    /// Whether some executor has so many cores free.
    pub(super) fn any_free(&self, cores: Cores) -> bool {
        self.free.last_key_value().is_some_and(|(most, _)| *most >= cores)
    }

    /// Executors with so many cores free, those with most first.
    pub(super) fn with_free(&self, cores: Cores) -> impl Iterator<Item = ExecutorId> {
        self.free.range(cores..).rev().flat_map(|(_, ids)| ids).copied()
    }

    /// Executors with free cores, by where they are.
    pub(super) fn places(&self) -> &Located<ExecutorId> {
        &self.places
    }

    /// An executor of that size takes tasks from now on, and has so much free.
    pub(super) fn put_up(&mut self, id: ExecutorId, size: Cores, free: Cores, sites: &Sites) {
        *self.sizes.entry(size).or_default() += 1;
        self.change(id, Cores::ZERO, free, sites);
    }

    /// An executor takes no more tasks.
    pub(super) fn withdraw(&mut self, id: ExecutorId, size: Cores, free: Cores, sites: &Sites) {
        self.change(id, free, Cores::ZERO, sites);
        if let Some(count) = self.sizes.get_mut(&size) {
            *count -= 1;
            if *count == 0 {
                self.sizes.remove(&size);
            }
        }
    }

    /// What an executor has free changes.
    pub(super) fn change(&mut self, id: ExecutorId, before: Cores, after: Cores, sites: &Sites) {
        if let Some(ids) = self.free.get_mut(&before) {
            ids.remove(&id);
            if ids.is_empty() {
                self.free.remove(&before);
            }
        }
        if after > Cores::ZERO {
            self.free.entry(after).or_default().insert(id);
        }
        match (before > Cores::ZERO, after > Cores::ZERO) {
            (false, true) => self.places.insert(id, sites),
            (true, false) => _ = self.places.remove(id, sites),
            (true, true) | (false, false) => {}
        }
    }
}
