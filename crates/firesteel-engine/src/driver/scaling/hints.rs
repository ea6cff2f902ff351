//! Informs the Master which hosts are preferred for executors.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_protocol::messages::{DriverToMaster, HostPreferences, MOST_PREFERRED, MOST_ROWS};
use firesteel_protocol::time::Timestamp;

use crate::driver::Driver;

/// The delay of the first message about preferred hosts, so that the message covers all tasks that come at the same
/// time. A cluster manager does not change its first request because of later preferences.
const FIRST: Duration = Duration::from_millis(100);
/// The least time between two messages about preferred hosts.
const PAUSE: Duration = Duration::from_secs(1);

/// The host preferences that the Master knows, and the time of the next check for changes.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Hints {
    /// The preferences that the Master has. `None` if this is uncertain.
    sent: Option<HostPreferences>,
    /// The count of changes when the waiting tasks were last checked.
    seen: u64,
    /// When to check next. `None` until there is a Master and something to check.
    next: Option<Timestamp>,
}

impl Default for Hints {
    /// The state before the Master has received any preferences.
    fn default() -> Self {
        Self { sent: Some(HostPreferences::default()), seen: 0, next: None }
    }
}

impl Hints {
    /// A new Master has the application and knows no preferences.
    pub(in crate::driver) fn forget(&mut self) {
        *self = Self::default();
    }

    /// A Master has registered the application again, with the preferences that the Master last received. Later
    /// messages may have been lost.
    pub(in crate::driver) fn resend(&mut self) {
        *self = Self { sent: None, ..Self::default() };
    }

    /// When to check again, given the current count of changes.
    pub(in crate::driver) fn deadline(&self, changes: u64) -> Option<Timestamp> {
        self.next.filter(|_| self.seen != changes)
    }

    /// Whether to check now. The first change is checked after the time `first`.
    fn is_due(&mut self, now: Timestamp, changes: u64, first: Duration) -> bool {
        self.seen != changes && *self.next.get_or_insert(now + first) <= now
    }

    fn looked(&mut self, now: Timestamp, changes: u64) {
        (self.seen, self.next) = (changes, Some(now + PAUSE));
    }
}

impl Driver {
    /// Sends the Master the preferred hosts of waiting tasks, and the excluded hosts. Sends at most once a second, and
    /// only after a considerable change.
    pub(in crate::driver) fn hint(&mut self, now: Timestamp) {
        let changes = self.hint_changes();
        let first = if self.health.changes() > 0 { Duration::ZERO } else { FIRST };
        if self.registration.master().is_none() || !self.hints.is_due(now, changes, first) {
            return;
        }
        self.hints.looked(now, changes);
        let preferences = self.preferences();
        if self.hints.sent.as_ref().is_none_or(|sent| differs(sent, &preferences))
            && let Some(app) = self.registration.app().cloned()
        {
            self.hints.sent = Some(preferences.clone());
            self.send_master(DriverToMaster::PreferHosts { app, preferences: Box::new(preferences) });
        }
    }

    /// When to check the preferences again, if there is a Master.
    pub(in crate::driver) fn hints_due(&self) -> Option<Timestamp> {
        self.registration.master()?;
        self.hints.deadline(self.hint_changes())
    }

    /// A count that rises whenever the preferences may have changed.
    fn hint_changes(&self) -> u64 {
        self.tasks.waiting().changes() + self.health.changes()
    }

    fn preferences(&self) -> HostPreferences {
        let mut counts = BTreeMap::<&str, u64>::new();
        for (host, count) in self.tasks.waiting().hosts() {
            *counts.entry(host).or_default() += count as u64;
        }
        let mut most: Vec<(&str, u64)> = counts.into_iter().collect();
        most.sort_by_key(|(host, count)| (std::cmp::Reverse(*count), *host));
        most.truncate(MOST_PREFERRED);
        let topology = &self.config.topology;
        let racks: BTreeSet<&str> = most.iter().filter_map(|(host, _)| topology.rack(host)).collect();
        let rows = topology.iter().filter(|(_, rack)| racks.contains(rack)).take(MOST_ROWS);
        HostPreferences {
            tasks: self.tasks.waiting().picky(),
            preferred: most.into_iter().map(|(host, count)| (host.to_owned(), count)).collect(),
            racks: rows.map(|(host, rack)| (host.to_owned(), rack.to_owned())).collect(),
            avoided: self.health.hosts().into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Whether the preferences differ considerably. They do if other hosts are preferred or excluded, or if the number of
/// tasks that prefer a host has at least doubled or halved.
fn differs(sent: &HostPreferences, preferences: &HostPreferences) -> bool {
    let rough = |preferences: &HostPreferences| -> Vec<(String, u32)> {
        preferences
            .preferred
            .iter()
            .map(|(host, count)| (host.clone(), count.checked_ilog2().unwrap_or(0)))
            .collect()
    };
    sent.avoided != preferences.avoided || rough(sent) != rough(preferences)
}
