//! The hosts that an application prefers and excludes, as the Master stores them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::locality::{Locality, LocalityIndex, Topology};
use firesteel_protocol::messages::{HostPreferences, MOST_PREFERRED, MOST_ROWS};

use crate::limits::weight_of;

/// An application's host preferences, cut to the limits that a valid driver keeps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitedPreferences {
    topology: Topology,
    preferred: BTreeMap<String, u64>,
    /// The preferred hosts, and the hosts in their racks.
    near: BTreeSet<String>,
    located: LocalityIndex<()>,
    avoided: BTreeSet<String>,
    /// The memory that the preferences take, in bytes.
    weight: u64,
}

impl LimitedPreferences {
    pub(crate) fn new(preferences: HostPreferences) -> Self {
        let topology: Topology = preferences.racks.into_iter().take(MOST_ROWS).collect();
        let preferred: BTreeMap<_, _> = preferences.preferred.into_iter().take(MOST_PREFERRED).collect();
        let mut located = LocalityIndex::default();
        for host in preferred.keys() {
            located.insert((), &topology.sites([host.as_str()]));
        }
        let racks: BTreeSet<&str> = preferred.keys().filter_map(|host| topology.rack(host)).collect();
        let neighbours =
            topology.iter().filter(|(_, rack)| racks.contains(rack)).map(|(host, _)| host.to_owned());
        let near = preferred.keys().cloned().chain(neighbours).collect();
        let avoided = preferences.avoided.into_iter().take(MOST_PREFERRED).collect();
        let mut limited = Self { topology, preferred, near, located, avoided, weight: 0 };
        let message = limited.to_message();
        if message != HostPreferences::default() {
            limited.weight = weight_of(&message);
        }
        limited
    }

    /// The preferences as a message, in the form in which a driver sends them.
    pub(crate) fn to_message(&self) -> HostPreferences {
        let racks = self.topology.iter().map(|(host, rack)| (host.to_owned(), rack.to_owned())).collect();
        let (preferred, avoided) = (self.preferred.clone(), self.avoided.clone());
        HostPreferences { tasks: 0, preferred, racks, avoided }
    }

    /// The memory that the preferences take, in bytes. 0 if there are none.
    pub(crate) fn weight(&self) -> u64 {
        self.weight
    }

    /// Whether the application has no preferences, so that all Workers have the same rank.
    pub(crate) fn is_empty(&self) -> bool {
        self.preferred.is_empty() && self.avoided.is_empty()
    }

    /// Whether no executor is to be launched on this host.
    pub(crate) fn avoids(&self, host: &str) -> bool {
        self.avoided.contains(host)
    }

    /// The hosts that may be preferred to other hosts.
    pub(crate) fn near(&self) -> impl Iterator<Item = &str> {
        self.near.iter().map(String::as_str)
    }

    /// The rank of Workers on this host. Preferred hosts come first, in the order of the number of tasks that prefer
    /// them. Then come hosts in their racks, and last all others.
    pub(crate) fn rank(&self, host: &str) -> (Locality, Reverse<u64>) {
        let wanted = self.preferred.get(host).copied().unwrap_or(0);
        (self.located.nearest(&self.topology.sites([host])), Reverse(wanted))
    }
}
