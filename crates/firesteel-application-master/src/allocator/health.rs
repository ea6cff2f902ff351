//! Counts failed executors, and excludes hosts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use firesteel_protocol::time::Timestamp;

use super::cause::CountsAgainst;
use super::config::HostExclusion;

/// The failures within the window, and the excluded hosts. Hosts are excluded by the settings, by the driver, or
/// because executors failed there.
///
/// Source: Spark on YARN, 4.0.1.
#[derive(Clone, Debug)]
pub(super) struct Health {
    exclusion: HostExclusion,
    window: Option<Duration>,
    /// The maximum number of remembered failures: with this number, the application ends.
    most: usize,
    failures: VecDeque<Timestamp>,
    on_host: BTreeMap<String, VecDeque<Timestamp>>,
    never: BTreeSet<String>,
    by_driver: BTreeSet<String>,
    by_failures: BTreeMap<String, Timestamp>,
    told: BTreeSet<String>,
    /// The excluded hosts that the last call named.
    named: BTreeSet<String>,
    /// The hosts in calls that the manager may not have received.
    doubted: BTreeSet<String>,
}

/// The result of counting a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing more happens. The failure may have been counted or not.
    Nothing,
    /// The host is excluded from now on, after this number of failures.
    Excluded { failures: u64 },
}

impl Health {
    pub(super) fn new(
        exclusion: HostExclusion,
        window: Option<Duration>,
        never: BTreeSet<String>,
        most_failures: u64,
    ) -> Self {
        Self {
            exclusion,
            window: window.filter(|window| !window.is_zero()),
            most: usize::try_from(most_failures).unwrap_or(usize::MAX).max(1),
            failures: VecDeque::new(),
            on_host: BTreeMap::new(),
            never,
            by_driver: BTreeSet::new(),
            by_failures: BTreeMap::new(),
            told: BTreeSet::new(),
            named: BTreeSet::new(),
            doubted: BTreeSet::new(),
        }
    }

    /// Counts an executor that failed on this host. If the host is already excluded because of failures, the failure
    /// does not count.
    pub(super) fn failed(&mut self, now: Timestamp, host: &str, counts_against: CountsAgainst) -> Verdict {
        let HostExclusion::On { failures: most, timeout } = self.exclusion else {
            return self.count(now, counts_against);
        };
        match counts_against {
            CountsAgainst::None | CountsAgainst::Application => return self.count(now, counts_against),
            CountsAgainst::Host => {}
        }
        if self.by_driver.contains(host) || self.by_failures.contains_key(host) {
            return Verdict::Nothing;
        }
        self.count(now, counts_against);
        let window = self.window;
        let on_host = self.on_host.entry(host.to_owned()).or_default();
        on_host.push_back(now);
        let failures = count(on_host, now, window);
        // To exclude the host again, no more failures than these are needed.
        while on_host.len() as u64 > most.saturating_add(1) {
            on_host.pop_front();
        }
        if failures <= most {
            return Verdict::Nothing;
        }
        self.by_failures.insert(host.to_owned(), now + timeout);
        Verdict::Excluded { failures }
    }

    fn count(&mut self, now: Timestamp, counts_against: CountsAgainst) -> Verdict {
        if counts_against != CountsAgainst::None {
            self.failures.push_back(now);
            while self.failures.len() > self.most {
                self.failures.pop_front();
            }
        }
        Verdict::Nothing
    }

    /// The number of failed executors within the window, at most the limit.
    pub(super) fn failures(&mut self, now: Timestamp) -> u64 {
        count(&mut self.failures, now, self.window)
    }

    /// Replaces the hosts that the driver excludes.
    pub(super) fn exclude(&mut self, hosts: BTreeSet<String>) {
        self.by_driver = hosts;
    }

    /// The changes to send to the manager: hosts that are newly excluded, and hosts that are no longer excluded.
    pub(super) fn changes(&mut self, now: Timestamp) -> (Vec<String>, Vec<String>) {
        self.by_failures.retain(|_, until| *until > now);
        self.on_host.retain(|_, times| count(times, now, self.window) > 0);
        let excluded: BTreeSet<String> = self.excluded().cloned().collect();
        self.named = self.told.symmetric_difference(&excluded).chain(&self.doubted).cloned().collect();
        self.told = excluded;
        self.named.iter().cloned().partition(|host| self.told.contains(host))
    }

    fn excluded(&self) -> impl Iterator<Item = &String> {
        self.never.iter().chain(&self.by_driver).chain(self.by_failures.keys())
    }

    /// Records that the manager received the last changes.
    pub(super) fn heard(&mut self) {
        self.doubted.clear();
    }

    /// Records that the manager may not have received the last changes. The next call names these hosts again.
    pub(super) fn resend_all(&mut self) {
        self.doubted = std::mem::take(&mut self.named);
    }

    /// Records that the manager has forgotten everything.
    pub(super) fn forget(&mut self) {
        self.told.clear();
        self.named.clear();
        self.doubted.clear();
    }

    /// Whether at least as many hosts are excluded as there are machines.
    pub(super) fn covers(&self, machines: u64) -> bool {
        machines > 0 && self.excluded().collect::<BTreeSet<_>>().len() as u64 >= machines
    }
}

/// The number of failures within the window. Forgets older failures.
fn count(times: &mut VecDeque<Timestamp>, now: Timestamp, window: Option<Duration>) -> u64 {
    if let Some(window) = window {
        while times.front().is_some_and(|time| *time < now - window) {
            times.pop_front();
        }
    }
    times.len() as u64
}
