//! Where executors are, or are about to be.

use std::collections::BTreeSet;

use firesteel_placement::locality::{Locality, Located, Sites};

use super::waiting::Name;
use crate::ids::ExecutorId;

/// Where executors are that take tasks, or are about to: how near to its hosts a task can hope to run.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    executors: Located<ExecutorId>,
    /// Hosts and racks that were reached first, or are no longer, since that was last asked.
    changed: BTreeSet<Name>,
}

impl Reach {
    /// The nearest level that a task with these preferences can have.
    pub(super) fn nearest(&self, sites: &Sites) -> Locality {
        self.executors.nearest(sites)
    }

    /// The executors on a host, in order.
    pub(super) fn on_host(&self, host: &str) -> impl Iterator<Item = ExecutorId> {
        self.executors.on_host(host)
    }

    /// An executor takes tasks from now on, or is about to.
    pub(super) fn enter(&mut self, id: ExecutorId, sites: &Sites) {
        self.note_change(sites);
        self.executors.insert(id, sites);
    }

    /// An executor takes no more tasks. Nothing if it took none.
    pub(super) fn leave(&mut self, id: ExecutorId, sites: &Sites) {
        if self.executors.remove(id, sites) {
            self.note_change(sites);
        }
    }

    /// The hosts and racks that executors came to first, or left last, since this was asked.
    pub(super) fn take_changed(&mut self) -> BTreeSet<Name> {
        std::mem::take(&mut self.changed)
    }

    /// Remembers which of the names nobody else is at.
    fn note_change(&mut self, sites: &Sites) {
        let hosts = sites.hosts().filter(|host| self.executors.on_host(host).next().is_none());
        let racks = sites.racks().filter(|rack| self.executors.in_rack(rack).next().is_none());
        let hosts = hosts.map(|host| Name::Host(host.to_owned()));
        self.changed.extend(hosts.chain(racks.map(|rack| Name::Rack(rack.to_owned()))));
    }

    /// For the invariants: whether the same executors are in both.
    pub(super) fn agrees(&self, expected: &Self) -> bool {
        self.executors == expected.executors
    }
}
