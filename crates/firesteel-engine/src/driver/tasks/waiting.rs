//! The waiting tasks, indexed by the conditions that decide where they may run.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;
use firesteel_placement::advanced::locality::{Locality, LocalityIndex, Sites};
use firesteel_placement::advanced::resources::TaskResources;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};

#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Waiting {
    /// Tasks that are bound to one executor, by executor and needs.
    bound: BTreeMap<(ExecutorId, Needs), BTreeSet<TaskId>>,
    /// Tasks that are not bound and have not failed, by needs.
    fresh: BTreeMap<Needs, Fresh>,
    /// Tasks that have failed, by their needs and by the executors and hosts that they exclude.
    failed: BTreeMap<(Needs, TaskExclusions), BTreeSet<TaskId>>,
    /// How many waiting tasks each profile has. Profiles without waiting tasks have no entry.
    counts: BTreeMap<ProfileId, usize>,
    /// How many waiting tasks have preferred hosts and have not failed.
    picky: u64,
    /// How many times a task that has not failed was added or removed.
    changes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) struct Needs {
    pub(in crate::driver) profile: ProfileId,
    pub(in crate::driver) cores: Cores,
    /// The amounts that the task takes of the executor's custom resources.
    pub(in crate::driver) resources: TaskResources,
}

impl Needs {
    /// A key that sorts before all needs of a profile, and after those of lower profiles.
    pub(super) fn least_of(profile: ProfileId) -> Self {
        Self { profile, cores: Cores(i64::MIN), resources: TaskResources::new() }
    }
}

/// The executors and hosts that a failed task excludes or avoids.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) struct TaskExclusions {
    /// Executors where the task failed too often. Used only if there is no other executor.
    pub(in crate::driver) not_on: BTreeSet<ExecutorId>,
    /// Hosts where the task failed too often. Used only if there is no other host.
    pub(in crate::driver) not_at: BTreeSet<String>,
    /// Hosts where the task failed at least once. Other hosts are preferred.
    pub(in crate::driver) rather_not_at: BTreeSet<String>,
}

impl TaskExclusions {
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.rather_not_at.is_empty()
    }
}

/// Waiting tasks of equal needs that have not failed, by the nearest locality level that they can reach. Executors that
/// exist now or will soon decide this level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct Fresh {
    host: LocalityIndex<TaskId>,
    rack: LocalityIndex<TaskId>,
    any: LocalityIndex<TaskId>,
}

impl Fresh {
    /// The tasks that can reach this level, but no nearer one.
    pub(in crate::driver) fn at(&self, level: Locality) -> &LocalityIndex<TaskId> {
        match level {
            Locality::Host => &self.host,
            Locality::Rack => &self.rack,
            Locality::Any => &self.any,
        }
    }

    fn at_mut(&mut self, level: Locality) -> &mut LocalityIndex<TaskId> {
        match level {
            Locality::Host => &mut self.host,
            Locality::Rack => &mut self.rack,
            Locality::Any => &mut self.any,
        }
    }

    /// Whether any of these tasks can run on a preferred host or in its rack.
    pub(super) fn any_near(&self) -> bool {
        !self.host.all().is_empty() || !self.rack.all().is_empty()
    }

    /// Whether any of these tasks can run at this level, but at no nearer one.
    pub(super) fn wants(&self, level: Locality) -> bool {
        match level {
            Locality::Host => !self.host.all().is_empty(),
            Locality::Rack => self.host.any_rack() || self.rack.any_rack(),
            Locality::Any => false,
        }
    }

    fn first(&self) -> Option<TaskId> {
        Locality::ALL.into_iter().filter_map(|level| self.at(level).all().first().copied()).min()
    }
}

/// The keys by which a waiting task is indexed.
pub(in crate::driver) struct Ticket<'a> {
    /// The only executor that the task may run on, if it is bound to one.
    pub(in crate::driver) on: Option<ExecutorId>,
    pub(in crate::driver) needs: &'a Needs,
    pub(in crate::driver) excludes: &'a TaskExclusions,
    pub(in crate::driver) sites: &'a Sites,
    /// The nearest locality level that the task can reach.
    pub(in crate::driver) best: Locality,
}

impl Waiting {
    pub(in crate::driver) fn count(&self) -> usize {
        self.counts.values().sum()
    }

    /// The number of waiting tasks of a profile that are not bound to one executor.
    pub(in crate::driver) fn unbound(&self, profile: ProfileId) -> usize {
        let bound = self.bound.iter().filter(|((_, needs), _)| needs.profile == profile);
        self.counts.get(&profile).copied().unwrap_or(0) - bound.map(|(_, ids)| ids.len()).sum::<usize>()
    }

    pub(in crate::driver) fn profiles(&self) -> impl Iterator<Item = ProfileId> {
        self.counts.keys().copied()
    }

    /// The bound tasks: one entry for each pair of executor and needs, with the first task.
    pub(super) fn bound(&self) -> impl Iterator<Item = (ExecutorId, &Needs, TaskId)> {
        let first = |ids: &BTreeSet<TaskId>| ids.first().copied();
        self.bound.iter().filter_map(move |((on, needs), ids)| Some((*on, needs, first(ids)?)))
    }

    pub(super) fn bound_to(&self, executor: ExecutorId) -> impl Iterator<Item = TaskId> {
        let first = (executor, Needs::least_of(ProfileId::DEFAULT));
        let kinds = self.bound.range(first..).take_while(move |((on, _), _)| *on == executor);
        kinds.flat_map(|(_, ids)| ids.iter().copied())
    }

    /// The tasks of a profile that have not failed, by needs.
    pub(in crate::driver) fn fresh(&self, profile: ProfileId) -> impl Iterator<Item = (&Needs, &Fresh)> {
        self.fresh.range(Needs::least_of(profile)..).take_while(move |(needs, _)| needs.profile == profile)
    }

    /// The failed tasks: one entry for each pair of needs and exclusions, with the first task.
    pub(in crate::driver) fn failed(&self) -> impl Iterator<Item = (&Needs, &TaskExclusions, TaskId)> {
        self.failed.iter().filter_map(|((needs, excludes), ids)| Some((needs, excludes, *ids.first()?)))
    }

    /// The needs of the waiting tasks, each with the first task that has them. The same needs can occur more than once.
    pub(in crate::driver) fn needs(&self) -> impl Iterator<Item = (&Needs, TaskId)> {
        let fresh = self.fresh.iter().filter_map(|(needs, fresh)| Some((needs, fresh.first()?)));
        fresh.chain(self.failed().map(|(needs, _, first)| (needs, first)))
    }

    /// How many times a task with preferred hosts was added or removed.
    pub(in crate::driver) fn changes(&self) -> u64 {
        self.changes
    }

    /// For each host, how many waiting tasks prefer it and have not failed. A host can occur more than once.
    pub(in crate::driver) fn hosts(&self) -> impl Iterator<Item = (&str, usize)> {
        let levels = self.fresh.values().flat_map(|fresh| Locality::ALL.map(|level| fresh.at(level)));
        levels.flat_map(LocalityIndex::hosts)
    }

    /// How many waiting tasks have preferred hosts and have not failed.
    pub(in crate::driver) fn picky(&self) -> u64 {
        self.picky
    }

    pub(in crate::driver) fn insert(&mut self, id: TaskId, ticket: Ticket<'_>) {
        *self.counts.entry(ticket.needs.profile).or_default() += 1;
        self.changes += u64::from(!ticket.sites.is_empty());
        if let Some(on) = ticket.on {
            self.bound.entry((on, ticket.needs.clone())).or_default().insert(id);
        } else if ticket.excludes.is_empty() {
            self.picky += u64::from(!ticket.sites.is_empty());
            let fresh = self.fresh.entry(ticket.needs.clone()).or_default();
            fresh.at_mut(ticket.best).insert(id, ticket.sites);
        } else {
            self.failed.entry((ticket.needs.clone(), ticket.excludes.clone())).or_default().insert(id);
        }
    }

    /// Removes a task. The ticket must be the one with which the task was added.
    pub(in crate::driver) fn remove(&mut self, id: TaskId, ticket: Ticket<'_>) {
        let count = self.counts.get_mut(&ticket.needs.profile).expect("a waiting task is counted");
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&ticket.needs.profile);
        }
        self.changes += u64::from(!ticket.sites.is_empty());
        if let Some(on) = ticket.on {
            remove_from(&mut self.bound, (on, ticket.needs.clone()), id);
        } else if ticket.excludes.is_empty() {
            self.picky -= u64::from(!ticket.sites.is_empty());
            let fresh = self.fresh.get_mut(ticket.needs).expect("a waiting task is listed by its needs");
            fresh.at_mut(ticket.best).remove(id, ticket.sites);
            if fresh.first().is_none() {
                self.fresh.remove(ticket.needs);
            }
        } else {
            remove_from(&mut self.failed, (ticket.needs.clone(), ticket.excludes.clone()), id);
        }
    }

    pub(in crate::driver) fn clear(&mut self) {
        *self = Self { changes: self.changes, ..Self::default() };
    }

    /// The tasks of a profile that prefer this host or rack and have not failed.
    pub(super) fn preferring(&self, profile: ProfileId, name: &Name) -> BTreeSet<TaskId> {
        let levels = self.fresh(profile).flat_map(|(_, fresh)| Locality::ALL.map(|level| fresh.at(level)));
        match name {
            Name::Host(host) => levels.flat_map(|tasks| tasks.on_host(host)).collect(),
            Name::Rack(rack) => levels.flat_map(|tasks| tasks.in_rack(rack)).collect(),
        }
    }

    /// Compares the index with `expected`, which was rebuilt from the rows.
    pub(in crate::driver) fn contradiction(&self, expected: &Self) -> Option<String> {
        let same = (&self.bound, &self.fresh, &self.failed, &self.counts, self.picky)
            == (&expected.bound, &expected.fresh, &expected.failed, &expected.counts, expected.picky);
        (!same).then(|| format!("the waiting are {self:?}, the rows say {expected:?}"))
    }
}

/// Removes a task from the set of its kind, and removes the set if it is empty.
fn remove_from<Kind: Ord>(tasks: &mut BTreeMap<Kind, BTreeSet<TaskId>>, kind: Kind, id: TaskId) {
    if let Entry::Occupied(mut ids) = tasks.entry(kind) {
        ids.get_mut().remove(&id);
        if ids.get().is_empty() {
            ids.remove();
        }
    }
}

/// The name of a host or of a rack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) enum Name {
    Host(String),
    Rack(String),
}
