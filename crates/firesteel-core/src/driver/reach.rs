//! Where executors are, or are about to be.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::locality::{Locality, Located, Sites};

use super::waiting::Name;
use crate::ids::{ExecutorId, ProfileId};

/// Where executors of each profile are that take tasks, or are about to: how near to its hosts a task can hope to
/// run.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    executors: BTreeMap<ProfileId, Located<ExecutorId>>,
    /// Hosts and racks that were reached first, or are no longer, since that was last asked.
    changed: BTreeSet<(ProfileId, Name)>,
}

impl Reach {
    /// The nearest level that a task of that profile with these preferences can have.
    pub(super) fn nearest(&self, profile: ProfileId, sites: &Sites) -> Locality {
        self.executors.get(&profile).map_or(Locality::Any, |executors| executors.nearest(sites))
    }

    /// The executors of a profile on a host, in order.
    pub(super) fn on_host(&self, profile: ProfileId, host: &str) -> impl Iterator<Item = ExecutorId> {
        self.executors.get(&profile).into_iter().flat_map(move |executors| executors.on_host(host))
    }

    /// How many hosts have executors of a profile.
    pub(super) fn hosts(&self, profile: ProfileId) -> usize {
        self.executors.get(&profile).map_or(0, Located::host_count)
    }

    /// Whether a host has executors of a profile.
    pub(super) fn is_on(&self, profile: ProfileId, host: &str) -> bool {
        self.on_host(profile, host).next().is_some()
    }

    /// An executor takes tasks from now on, or is about to.
    pub(super) fn enter(&mut self, id: ExecutorId, profile: ProfileId, sites: &Sites) {
        self.note_change(profile, sites);
        self.executors.entry(profile).or_default().insert(id, sites);
    }

    /// An executor takes no more tasks. Nothing if it took none.
    pub(super) fn leave(&mut self, id: ExecutorId, profile: ProfileId, sites: &Sites) {
        if self.executors.get_mut(&profile).is_some_and(|executors| executors.remove(id, sites)) {
            self.note_change(profile, sites);
            self.executors.retain(|_, executors| !executors.all().is_empty());
        }
    }

    /// The hosts and racks that executors of a profile came to first, or left last, since this was asked.
    pub(super) fn take_changed(&mut self) -> BTreeSet<(ProfileId, Name)> {
        std::mem::take(&mut self.changed)
    }

    /// Remembers which of the names no other executor of the profile is at.
    fn note_change(&mut self, profile: ProfileId, sites: &Sites) {
        let here = self.executors.get(&profile);
        let is_new = |found: Option<ExecutorId>| found.is_none();
        let hosts = sites.hosts().filter(|host| is_new(here.and_then(|here| here.on_host(host).next())));
        let racks = sites.racks().filter(|rack| is_new(here.and_then(|here| here.in_rack(rack).next())));
        let hosts = hosts.map(|host| Name::Host(host.to_owned()));
        let names = hosts.chain(racks.map(|rack| Name::Rack(rack.to_owned())));
        self.changed.extend(names.map(|name| (profile, name)));
    }

    /// For the invariants: whether the same executors are in both.
    pub(super) fn agrees(&self, expected: &Self) -> bool {
        self.executors == expected.executors
    }
}
