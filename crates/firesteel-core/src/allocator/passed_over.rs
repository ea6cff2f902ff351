//! Hosts that gave nothing when they were asked.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::messages::MOST_PREFERRED;
use crate::time::Timestamp;

/// A host has so long to give what it is asked for, by what the manager has told: by then its machine has reported twice.
const PATIENCE: Duration = Duration::from_secs(2);

/// A host that has given nothing is not asked for so long: containers end, and it may have room again.
const PAUSE: Duration = Duration::from_secs(30);

/// Hosts that are not asked, each until then.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedOver(BTreeMap<String, Timestamp>);

impl PassedOver {
    /// Whether a request that was made then has waited for its host long enough, given when the manager was last called
    /// and told what it had granted.
    pub(super) fn has_waited(since: Timestamp, heard: Timestamp) -> bool {
        heard.since(since) >= PATIENCE
    }

    /// Passes a host over; no more of them than can be wanted at once.
    pub(super) fn insert(&mut self, now: Timestamp, host: String) {
        if self.0.len() < MOST_PREFERRED {
            self.0.insert(host, now + PAUSE);
        }
    }

    /// Those that have waited may be asked again.
    pub(super) fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, until| *until > now);
    }

    /// The hosts that may be asked, of those that tasks would like.
    pub(super) fn open(&self, on_hosts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let open = on_hosts.iter().filter(|(host, _)| !self.0.contains_key(*host));
        open.map(|(host, tasks)| (host.clone(), *tasks)).collect()
    }
}
