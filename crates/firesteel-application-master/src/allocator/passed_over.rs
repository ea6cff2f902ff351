//! Hosts that granted no container in time when they were asked.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_protocol::messages::MOST_PREFERRED;
use firesteel_protocol::time::Timestamp;

/// How long a host has to grant a request, measured between answers of the manager. By then, its machine has reported
/// to the manager twice.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a host that granted nothing is skipped. After that, it may have free resources again, because containers
/// end.
const PAUSE: Duration = Duration::from_secs(30);

/// The hosts that are skipped, each with the time when that ends.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedOver(BTreeMap<String, Timestamp>);

impl PassedOver {
    /// Whether a request that was made at `since` has waited long enough. `heard` is when the last answered call was
    /// made.
    pub(super) fn has_waited(since: Timestamp, heard: Timestamp) -> bool {
        heard.since(since) >= PATIENCE
    }

    /// Adds a host. The number of hosts is limited to the number of executors that can be wanted at once.
    pub(super) fn insert(&mut self, now: Timestamp, host: String) {
        if self.0.len() < MOST_PREFERRED {
            self.0.insert(host, now + PAUSE);
        }
    }

    /// Drops the hosts that may be asked again now.
    pub(super) fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, until| *until > now);
    }

    /// The preferred hosts that are not skipped.
    pub(super) fn open(&self, on_hosts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let open = on_hosts.iter().filter(|(host, _)| !self.0.contains_key(*host));
        open.map(|(host, tasks)| (host.clone(), *tasks)).collect()
    }
}
