//! Where there is room for tasks.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::locality::{Located, Sites};
use firesteel_placement::{Cores, ResourceAmounts, Room};

use super::executor::Executor;
use super::waiting::Needs;
use crate::ids::ExecutorId;

/// The executors of one profile that take tasks, by what they have in all and what they have free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Openings {
    /// How many have how much in all.
    sizes: BTreeMap<Size, usize>,
    /// Those that have free cores, by what is free of their addresses.
    rooms: BTreeMap<Room, FreeExecutors>,
}

/// What an executor has in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size {
    pub(super) cores: Cores,
    pub(super) resources: ResourceAmounts,
}

impl Size {
    /// Whether a task can run on such an executor once nothing else does.
    pub(super) fn holds(&self, needs: &Needs) -> bool {
        let has = |name| self.resources.get(name).copied().unwrap_or(0);
        self.cores >= needs.cores
            && needs.resources.iter().all(|(name, amount)| has(name) >= amount.addresses())
    }
}

/// What an executor has free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spare {
    pub(super) cores: Cores,
    pub(super) room: Room,
}

impl Spare {
    /// Whether a task can run there now.
    pub(super) fn holds(&self, needs: &Needs) -> bool {
        self.cores >= needs.cores && self.room.covers(&needs.resources)
    }
}

/// Executors with free cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FreeExecutors {
    /// By how many.
    by_cores: BTreeMap<Cores, BTreeSet<ExecutorId>>,
    /// By where they are.
    located: Located<ExecutorId>,
}

impl Openings {
    /// Of a profile without executors.
    pub(super) const NONE: Self = Self { sizes: BTreeMap::new(), rooms: BTreeMap::new() };

    /// Whether no executor takes tasks.
    pub(super) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The most cores that an executor that takes tasks has in all.
    pub(super) fn most_cores(&self) -> Option<Cores> {
        self.sizes.keys().next_back().map(|size| size.cores)
    }

    /// The cores of all executors that take tasks.
    pub(super) fn cores(&self) -> Cores {
        let of_size = |(size, &count): (&Size, &usize)| {
            Cores(size.cores.0.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
        };
        self.sizes.iter().map(of_size).sum()
    }

    /// How many executors that take tasks could take such a one if nothing else ran there.
    pub(super) fn as_large(&self, needs: &Needs) -> usize {
        self.sizes.iter().filter(|(size, _)| size.holds(needs)).map(|(_, count)| count).sum()
    }

    /// Whether some executor has room for such a task.
    pub(super) fn any_free(&self, needs: &Needs) -> bool {
        self.fitting(needs)
            .any(|free| free.by_cores.last_key_value().is_some_and(|(most, _)| *most >= needs.cores))
    }

    /// Executors with room for such a task, of each kind those with most cores first.
    pub(super) fn with_free<'a>(&'a self, needs: &'a Needs) -> impl Iterator<Item = ExecutorId> {
        let cores = needs.cores;
        let enough =
            move |free: &'a FreeExecutors| free.by_cores.range(cores..).rev().flat_map(|(_, ids)| ids);
        self.fitting(needs).flat_map(enough).copied()
    }

    /// Executors whose addresses leave enough for such a task, by where they are. Their free cores may be too few.
    pub(super) fn located<'a>(&'a self, needs: &'a Needs) -> impl Iterator<Item = &'a Located<ExecutorId>> {
        self.fitting(needs).map(|free| &free.located)
    }

    fn fitting<'a>(&'a self, needs: &'a Needs) -> impl Iterator<Item = &'a FreeExecutors> {
        self.rooms.iter().filter(|(room, _)| room.covers(&needs.resources)).map(|(_, free)| free)
    }

    /// An executor takes tasks from now on.
    pub(super) fn put_up(&mut self, id: ExecutorId, row: &Executor) {
        *self.sizes.entry(row.size()).or_default() += 1;
        self.enter(id, &row.spare, &row.sites);
    }

    /// An executor takes no more tasks.
    pub(super) fn withdraw(&mut self, id: ExecutorId, row: &Executor) {
        self.leave(id, &row.spare, &row.sites);
        let size = row.size();
        let count = self.sizes.get_mut(&size).expect("an executor that takes tasks is counted by its size");
        *count -= 1;
        if *count == 0 {
            self.sizes.remove(&size);
        }
    }

    /// An executor had so much free before.
    pub(super) fn change(&mut self, id: ExecutorId, before: &Spare, row: &Executor) {
        self.leave(id, before, &row.sites);
        self.enter(id, &row.spare, &row.sites);
    }

    fn enter(&mut self, id: ExecutorId, spare: &Spare, sites: &Sites) {
        if spare.cores > Cores::ZERO {
            let free = self.rooms.entry(spare.room.clone()).or_default();
            free.by_cores.entry(spare.cores).or_default().insert(id);
            free.located.insert(id, sites);
        }
    }

    fn leave(&mut self, id: ExecutorId, spare: &Spare, sites: &Sites) {
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
