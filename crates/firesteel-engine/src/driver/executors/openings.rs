//! The executors with free resources for tasks.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;
use firesteel_placement::advanced::locality::{LocalityIndex, Sites};
use firesteel_placement::advanced::resources::FreeAddresses;
use firesteel_protocol::ids::ExecutorId;

use super::executor::Executor;
use crate::driver::tasks::waiting::Needs;

/// The executors of one profile that take tasks, by size and by free amounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct Openings {
    /// How many executors have this size.
    sizes: BTreeMap<ExecutorTotal, usize>,
    /// The executors with free cores, by their free addresses.
    rooms: BTreeMap<FreeAddresses, FreeExecutors>,
}

/// All cores and addresses of an executor, free or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) struct ExecutorTotal {
    pub(in crate::driver) cores: Cores,
    /// The executor's addresses while no task uses them.
    pub(in crate::driver) room: FreeAddresses,
}

impl ExecutorTotal {
    /// Whether an idle executor of this size can run the task.
    pub(in crate::driver) fn holds(&self, needs: &Needs) -> bool {
        self.cores >= needs.cores && self.room.covers(&needs.resources)
    }
}

/// The free cores and addresses of an executor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct ExecutorFree {
    pub(in crate::driver) cores: Cores,
    pub(in crate::driver) room: FreeAddresses,
}

impl ExecutorFree {
    /// Whether the executor can run the task now.
    pub(in crate::driver) fn holds(&self, needs: &Needs) -> bool {
        self.cores >= needs.cores && self.room.covers(&needs.resources)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FreeExecutors {
    by_cores: BTreeMap<Cores, BTreeSet<ExecutorId>>,
    /// The executors by host and rack.
    located: LocalityIndex<ExecutorId>,
}

impl Openings {
    /// The openings of a profile that has no executors.
    pub(in crate::driver) const NONE: Self = Self { sizes: BTreeMap::new(), rooms: BTreeMap::new() };

    /// Whether no executor takes tasks.
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The most cores that any of these executors has, free or not.
    pub(in crate::driver) fn most_cores(&self) -> Option<Cores> {
        self.sizes.keys().next_back().map(|size| size.cores)
    }

    /// The number of executors that could run the task if they were idle.
    pub(super) fn as_large(&self, needs: &Needs) -> usize {
        self.sizes.iter().filter(|(size, _)| size.holds(needs)).map(|(_, count)| count).sum()
    }

    /// Whether any executor has enough free for the task.
    pub(in crate::driver) fn any_free(&self, needs: &Needs) -> bool {
        self.fitting(needs)
            .any(|free| free.by_cores.last_key_value().is_some_and(|(most, _)| *most >= needs.cores))
    }

    /// The executors with enough free for the task. Executors with the same free addresses come in order of free cores,
    /// most first.
    pub(super) fn with_free<'a>(&'a self, needs: &'a Needs) -> impl Iterator<Item = ExecutorId> {
        let cores = needs.cores;
        let enough =
            move |free: &'a FreeExecutors| free.by_cores.range(cores..).rev().flat_map(|(_, ids)| ids);
        self.fitting(needs).flat_map(enough).copied()
    }

    /// The executors with enough free addresses for the task, by host and rack. Some of these executors may have too
    /// few free cores.
    pub(in crate::driver) fn located<'a>(
        &'a self,
        needs: &'a Needs,
    ) -> impl Iterator<Item = &'a LocalityIndex<ExecutorId>> {
        self.fitting(needs).map(|free| &free.located)
    }

    fn fitting<'a>(&'a self, needs: &'a Needs) -> impl Iterator<Item = &'a FreeExecutors> {
        self.rooms.iter().filter(|(room, _)| room.covers(&needs.resources)).map(|(_, free)| free)
    }

    /// Adds an executor that takes tasks now.
    pub(super) fn add(&mut self, id: ExecutorId, row: &Executor) {
        *self.sizes.entry(row.size()).or_default() += 1;
        self.enter(id, &row.spare, &row.sites);
    }

    /// Removes an executor that takes no more tasks.
    pub(super) fn remove(&mut self, id: ExecutorId, row: &Executor) {
        self.leave(id, &row.spare, &row.sites);
        let size = row.size();
        let count = self.sizes.get_mut(&size).expect("an executor that takes tasks is counted by its size");
        *count -= 1;
        if *count == 0 {
            self.sizes.remove(&size);
        }
    }

    /// Updates the entry of an executor, whose free amounts were `before`.
    pub(in crate::driver) fn change(&mut self, id: ExecutorId, before: &ExecutorFree, row: &Executor) {
        self.leave(id, before, &row.sites);
        self.enter(id, &row.spare, &row.sites);
    }

    fn enter(&mut self, id: ExecutorId, spare: &ExecutorFree, sites: &Sites) {
        if spare.cores > Cores::ZERO {
            let free = self.rooms.entry(spare.room.clone()).or_default();
            free.by_cores.entry(spare.cores).or_default().insert(id);
            free.located.insert(id, sites);
        }
    }

    fn leave(&mut self, id: ExecutorId, spare: &ExecutorFree, sites: &Sites) {
        if spare.cores <= Cores::ZERO {
            return;
        }
        let free = self.rooms.get_mut(&spare.room).expect("an executor with free cores is in its room");
        let ids = free.by_cores.get_mut(&spare.cores).expect("an executor is listed by its free cores");
        ids.remove(&id);
        free.located.remove(id, sites);
        if ids.is_empty() {
            free.by_cores.remove(&spare.cores);
        }
        if free.by_cores.is_empty() {
            self.rooms.remove(&spare.room);
        }
    }
}
