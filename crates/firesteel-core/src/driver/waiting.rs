//! The tasks that wait, sorted by what decides where they may run, so that none is looked at in vain.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::locality::{Locality, Located, Sites};
use firesteel_placement::{Cores, TaskResources};

use crate::ids::{ExecutorId, ProfileId, TaskId};

/// The tasks that wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Those that may run on one executor alone, by that and by what they need.
    bound: BTreeMap<(ExecutorId, Needs), BTreeSet<TaskId>>,
    /// Of the others, those that have failed nowhere, by what they need.
    fresh: BTreeMap<Needs, Fresh>,
    /// Those that have failed, by what they need and shun.
    failed: BTreeMap<(Needs, Shuns), BTreeSet<TaskId>>,
    /// How many there are of each profile that has some.
    counts: BTreeMap<ProfileId, usize>,
    /// How many of those that have failed nowhere prefer a host.
    picky: u64,
    /// How often one with a preference came or went.
    changes: u64,
}

/// What a task needs of an executor.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Needs {
    /// That it is of this profile.
    pub(super) profile: ProfileId,
    /// So many free cores.
    pub(super) cores: Cores,
    /// So much of its addresses.
    pub(super) resources: TaskResources,
}

impl Needs {
    /// All that tasks of one profile may need comes after it, before the next profile's.
    pub(super) fn least_of(profile: ProfileId) -> Self {
        Self { profile, cores: Cores(i64::MIN), resources: TaskResources::new() }
    }
}

/// Where a task that has failed does not want to run again.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shuns {
    /// If possible none of these, where it failed.
    pub(super) not_on: BTreeSet<ExecutorId>,
    /// If possible none of these hosts, where it failed several times.
    pub(super) not_at: BTreeSet<String>,
    /// Rather none of these hosts, where it failed.
    pub(super) rather_not_at: BTreeSet<String>,
}

impl Shuns {
    /// Whether the task has failed nowhere yet.
    pub(super) fn is_empty(&self) -> bool {
        self.rather_not_at.is_empty()
    }
}

/// Waiting tasks of equal needs that have failed nowhere, by the nearest level that they can have: where an
/// executor is or is about to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fresh {
    host: Located<TaskId>,
    rack: Located<TaskId>,
    any: Located<TaskId>,
}

impl Fresh {
    /// Those that can have that level and none nearer.
    pub(super) fn at(&self, level: Locality) -> &Located<TaskId> {
        match level {
            Locality::Host => &self.host,
            Locality::Rack => &self.rack,
            Locality::Any => &self.any,
        }
    }

    fn at_mut(&mut self, level: Locality) -> &mut Located<TaskId> {
        match level {
            Locality::Host => &mut self.host,
            Locality::Rack => &mut self.rack,
            Locality::Any => &mut self.any,
        }
    }

    /// Whether one of them could be nearer somewhere than anywhere.
    pub(super) fn any_near(&self) -> bool {
        !self.host.all().is_empty() || !self.rack.all().is_empty()
    }

    /// Whether one of them could be served at that level, and not as near beyond it.
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

/// A task's place among those that wait.
pub(super) struct Ticket<'a> {
    /// The only executor that it may run on.
    pub(super) on: Option<ExecutorId>,
    pub(super) needs: &'a Needs,
    pub(super) shuns: &'a Shuns,
    pub(super) sites: &'a Sites,
    /// The nearest level that it can have.
    pub(super) best: Locality,
}

impl Waiting {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.counts.values().sum()
    }

    /// How many of a profile another executor could run: all but those that may run on one alone.
    pub(super) fn unbound(&self, profile: ProfileId) -> usize {
        let bound = self.bound.iter().filter(|((_, needs), _)| needs.profile == profile);
        self.counts.get(&profile).copied().unwrap_or(0) - bound.map(|(_, ids)| ids.len()).sum::<usize>()
    }

    /// The profiles that some are of.
    pub(super) fn profiles(&self) -> impl Iterator<Item = ProfileId> {
        self.counts.keys().copied()
    }

    /// Those that may run on one executor alone: that one, and what they need, with the first of each kind.
    pub(super) fn bound(&self) -> impl Iterator<Item = (ExecutorId, &Needs, TaskId)> {
        let first = |ids: &BTreeSet<TaskId>| ids.first().copied();
        self.bound.iter().filter_map(move |((on, needs), ids)| Some((*on, needs, first(ids)?)))
    }

    /// Those that may run on that executor alone.
    pub(super) fn bound_to(&self, executor: ExecutorId) -> impl Iterator<Item = TaskId> {
        let first = (executor, Needs::least_of(ProfileId::DEFAULT));
        let kinds = self.bound.range(first..).take_while(move |((on, _), _)| *on == executor);
        kinds.flat_map(|(_, ids)| ids.iter().copied())
    }

    /// Those of a profile that have failed nowhere, by what they need.
    pub(super) fn fresh(&self, profile: ProfileId) -> impl Iterator<Item = (&Needs, &Fresh)> {
        self.fresh.range(Needs::least_of(profile)..).take_while(move |(needs, _)| needs.profile == profile)
    }

    /// Those that have failed: what they need and shun, with the first of each kind.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&Needs, &Shuns, TaskId)> {
        self.failed.iter().filter_map(|((needs, shuns), ids)| Some((needs, shuns, *ids.first()?)))
    }

    /// What those that wait need, with the first of each kind; one need may come several times.
    pub(super) fn needs(&self) -> impl Iterator<Item = (&Needs, TaskId)> {
        let fresh = self.fresh.iter().filter_map(|(needs, fresh)| Some((needs, fresh.first()?)));
        fresh.chain(self.failed().map(|(needs, _, first)| (needs, first)))
    }

    /// How often a task with a preference has come or gone.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// How many waiting tasks that have failed nowhere prefer each host. A host may come several times.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&str, usize)> {
        let levels = self.fresh.values().flat_map(|fresh| Locality::ALL.map(|level| fresh.at(level)));
        levels.flat_map(Located::hosts)
    }

    /// How many waiting tasks that have failed nowhere prefer some host.
    pub(super) fn picky(&self) -> u64 {
        self.picky
    }

    pub(super) fn insert(&mut self, id: TaskId, ticket: Ticket<'_>) {
        *self.counts.entry(ticket.needs.profile).or_default() += 1;
        self.changes += u64::from(!ticket.sites.is_empty());
        if let Some(on) = ticket.on {
            self.bound.entry((on, ticket.needs.clone())).or_default().insert(id);
        } else if ticket.shuns.is_empty() {
            self.picky += u64::from(!ticket.sites.is_empty());
            let fresh = self.fresh.entry(ticket.needs.clone()).or_default();
            fresh.at_mut(ticket.best).insert(id, ticket.sites);
        } else {
            self.failed.entry((ticket.needs.clone(), ticket.shuns.clone())).or_default().insert(id);
        }
    }

    /// Takes one out, by the place that it had.
    pub(super) fn remove(&mut self, id: TaskId, ticket: Ticket<'_>) {
        let count = self.counts.get_mut(&ticket.needs.profile).expect("a waiting task is counted");
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&ticket.needs.profile);
        }
        self.changes += u64::from(!ticket.sites.is_empty());
        if let Some(on) = ticket.on {
            remove_from(&mut self.bound, (on, ticket.needs.clone()), id);
        } else if ticket.shuns.is_empty() {
            self.picky -= u64::from(!ticket.sites.is_empty());
            let fresh = self.fresh.get_mut(ticket.needs).expect("a waiting task is listed by its needs");
            fresh.at_mut(ticket.best).remove(id, ticket.sites);
            if fresh.first().is_none() {
                self.fresh.remove(ticket.needs);
            }
        } else {
            remove_from(&mut self.failed, (ticket.needs.clone(), ticket.shuns.clone()), id);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self { changes: self.changes, ..Self::default() };
    }

    /// Those of a profile that prefer that host, or one in that rack, and have failed nowhere.
    pub(super) fn preferring(&self, profile: ProfileId, name: &Name) -> BTreeSet<TaskId> {
        let levels = self.fresh(profile).flat_map(|(_, fresh)| Locality::ALL.map(|level| fresh.at(level)));
        match name {
            Name::Host(host) => levels.flat_map(|tasks| tasks.on_host(host)).collect(),
            Name::Rack(rack) => levels.flat_map(|tasks| tasks.in_rack(rack)).collect(),
        }
    }

    /// For the invariants: the same tasks in the same places, with no empty ones.
    pub(super) fn contradiction(&self, expected: &Self) -> Option<String> {
        let same = (&self.bound, &self.fresh, &self.failed, &self.counts, self.picky)
            == (&expected.bound, &expected.fresh, &expected.failed, &expected.counts, expected.picky);
        (!same).then(|| format!("the waiting are {self:?}, the rows say {expected:?}"))
    }
}

/// Takes a task out of those of its kind, of which there may be none after it.
fn remove_from<Kind: Ord>(tasks: &mut BTreeMap<Kind, BTreeSet<TaskId>>, kind: Kind, id: TaskId) {
    if let Entry::Occupied(mut ids) = tasks.entry(kind) {
        ids.get_mut().remove(&id);
        if ids.get().is_empty() {
            ids.remove();
        }
    }
}

/// A host or a rack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Host(String),
    Rack(String),
}
