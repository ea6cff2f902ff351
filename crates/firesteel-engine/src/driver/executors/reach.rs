//! The hosts and racks of executors.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::locality::{Locality, LocalityIndex, Sites};
use firesteel_protocol::ids::{ExecutorId, ProfileId};

use crate::driver::tasks::waiting::Name;

/// The hosts and racks of executors that take tasks now or will soon, by profile. They decide how near to its preferred
/// hosts a task can run.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Reach {
    executors: BTreeMap<ProfileId, LocalityIndex<ExecutorId>>,
    /// The hosts and racks that got their first executor or lost their last one since this set was last taken.
    changed: BTreeSet<(ProfileId, Name)>,
}

impl Reach {
    /// The nearest locality level that a task with these preferences can reach in this profile.
    pub(in crate::driver) fn nearest(&self, profile: ProfileId, sites: &Sites) -> Locality {
        self.executors.get(&profile).map_or(Locality::Any, |executors| executors.nearest(sites))
    }

    /// The executors of a profile on a host, in order.
    pub(in crate::driver) fn on_host(
        &self,
        profile: ProfileId,
        host: &str,
    ) -> impl Iterator<Item = ExecutorId> {
        self.executors.get(&profile).into_iter().flat_map(move |executors| executors.on_host(host))
    }

    pub(in crate::driver) fn hosts(&self, profile: ProfileId) -> usize {
        self.executors.get(&profile).map_or(0, LocalityIndex::host_count)
    }

    pub(in crate::driver) fn is_on(&self, profile: ProfileId, host: &str) -> bool {
        self.on_host(profile, host).next().is_some()
    }

    /// Adds an executor that takes tasks, or will soon.
    pub(super) fn enter(&mut self, id: ExecutorId, profile: ProfileId, sites: &Sites) {
        self.note_change(profile, sites);
        self.executors.entry(profile).or_default().insert(id, sites);
    }

    /// Removes an executor that takes no more tasks, if it is in the table.
    pub(in crate::driver) fn leave(&mut self, id: ExecutorId, profile: ProfileId, sites: &Sites) {
        if self.executors.get_mut(&profile).is_some_and(|executors| executors.remove(id, sites)) {
            self.note_change(profile, sites);
            self.executors.retain(|_, executors| !executors.all().is_empty());
        }
    }

    /// Takes the set of hosts and racks that got their first executor or lost their last one.
    pub(in crate::driver) fn take_changed(&mut self) -> BTreeSet<(ProfileId, Name)> {
        std::mem::take(&mut self.changed)
    }

    /// Records the hosts and racks without another executor of the profile.
    fn note_change(&mut self, profile: ProfileId, sites: &Sites) {
        let here = self.executors.get(&profile);
        let is_new = |found: Option<ExecutorId>| found.is_none();
        let hosts = sites.hosts().filter(|host| is_new(here.and_then(|here| here.on_host(host).next())));
        let racks = sites.racks().filter(|rack| is_new(here.and_then(|here| here.in_rack(rack).next())));
        let hosts = hosts.map(|host| Name::Host(host.to_owned()));
        let names = hosts.chain(racks.map(|rack| Name::Rack(rack.to_owned())));
        self.changed.extend(names.map(|name| (profile, name)));
    }

    /// Whether both tables hold the same executors.
    pub(super) fn agrees(&self, expected: &Self) -> bool {
        self.executors == expected.executors
    }
}
