//! Hosts that granted nothing when they were asked.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_protocol::messages::MOST_PREFERRED;
use firesteel_protocol::time::Timestamp;

/// How long a host has to grant a request, measured by the manager's answers. Its machine has reported twice by then.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a host that granted nothing is skipped. Containers end, so it may have room later.
const PAUSE: Duration = Duration::from_secs(30);

/// The hosts that are skipped, each until a time.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedOver(BTreeMap<String, Timestamp>);

impl PassedOver {
    /// Whether a request made at `since` has waited long enough. `heard` is the time of the last answered
    /// call.
    pub(super) fn has_waited(since: Timestamp, heard: Timestamp) -> bool {
        heard.since(since) >= PATIENCE
    }

    /// Adds a host. The number of hosts is limited to what can be wanted at once.
    pub(super) fn insert(&mut self, now: Timestamp, host: String) {
        if self.0.len() < MOST_PREFERRED {
            self.0.insert(host, now + PAUSE);
        }
    }

    /// Drops hosts that may be asked again.
    pub(super) fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, until| *until > now);
    }

    /// The preferred hosts that are not skipped.
    pub(super) fn open(&self, on_hosts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let open = on_hosts.iter().filter(|(host, _)| !self.0.contains_key(*host));
        open.map(|(host, tasks)| (host.clone(), *tasks)).collect()
    }
}
