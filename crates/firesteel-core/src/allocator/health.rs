//! How many executors have failed, and which hosts are avoided.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::cause::Blame;
use super::config::HostExclusion;
use crate::time::Timestamp;

/// Failures within the window, and hosts that are avoided: those where nothing is ever wanted, those that the driver
/// names, and those where executors failed.
///
/// Source: Spark on YARN, 4.0.1.
#[derive(Clone, Debug)]
pub(super) struct Health {
    exclusion: HostExclusion,
    window: Option<Duration>,
    /// No more failures are remembered than are too many.
    most: usize,
    failures: VecDeque<Timestamp>,
    on_host: BTreeMap<String, VecDeque<Timestamp>>,
    never: BTreeSet<String>,
    by_driver: BTreeSet<String>,
    by_failures: BTreeMap<String, Timestamp>,
    /// What the manager was told, all calls included.
    told: BTreeSet<String>,
    /// Hosts that the last call named, whichever way.
    named: BTreeSet<String>,
    /// Hosts that were named in calls of which nobody knows whether they were heard.
    doubted: BTreeSet<String>,
}

/// What a failure led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing but that it counts, or not even that.
    Nothing,
    /// The host is avoided from now on; so many executors failed there.
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

    /// An executor failed there. On a host that is avoided for failures anyway it counts for nothing.
    pub(super) fn failed(&mut self, now: Timestamp, host: &str, blame: Blame) -> Verdict {
        let HostExclusion::On { failures: most, timeout } = self.exclusion else {
            return self.count(now, blame);
        };
        match blame {
            Blame::Nobody | Blame::Application => return self.count(now, blame),
            Blame::Host => {}
        }
        if self.by_driver.contains(host) || self.by_failures.contains_key(host) {
            return Verdict::Nothing;
        }
        self.count(now, blame);
        let window = self.window;
        let on_host = self.on_host.entry(host.to_owned()).or_default();
        on_host.push_back(now);
        let failures = count(on_host, now, window);
        // What would exclude it again is all that needs to be remembered of it.
        while on_host.len() as u64 > most.saturating_add(1) {
            on_host.pop_front();
        }
        if failures <= most {
            return Verdict::Nothing;
        }
        self.by_failures.insert(host.to_owned(), now + timeout);
        Verdict::Excluded { failures }
    }

    fn count(&mut self, now: Timestamp, blame: Blame) -> Verdict {
        if blame != Blame::Nobody {
            self.failures.push_back(now);
            while self.failures.len() > self.most {
                self.failures.pop_front();
            }
        }
        Verdict::Nothing
    }

    /// How many executors failed within the window; no more than are too many are counted.
    pub(super) fn failures(&mut self, now: Timestamp) -> u64 {
        count(&mut self.failures, now, self.window)
    }

    /// The driver's list, which replaces its last one.
    pub(super) fn exclude(&mut self, hosts: BTreeSet<String>) {
        self.by_driver = hosts;
    }

    /// What the manager must hear to know which hosts are avoided: those that are new, and those that are no more.
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

    /// The manager heard the last changes.
    pub(super) fn heard(&mut self) {
        self.doubted.clear();
    }

    /// Nobody knows whether the manager heard the last changes: they are named again, as they will be then.
    pub(super) fn doubt(&mut self) {
        self.doubted = std::mem::take(&mut self.named);
    }

    /// The manager has forgotten everything.
    pub(super) fn forget(&mut self) {
        self.told.clear();
        self.named.clear();
        self.doubted.clear();
    }

    /// Whether as many hosts are avoided as there are machines.
    pub(super) fn covers(&self, machines: u64) -> bool {
        machines > 0 && self.excluded().collect::<BTreeSet<_>>().len() as u64 >= machines
    }
}

/// Those within the window; the rest is forgotten.
fn count(times: &mut VecDeque<Timestamp>, now: Timestamp, window: Option<Duration>) -> u64 {
    if let Some(window) = window {
        while times.front().is_some_and(|time| *time < now - window) {
            times.pop_front();
        }
    }
    times.len() as u64
}
