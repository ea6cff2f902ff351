//! One resource profile: the executors wanted, launched, and asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use firesteel_placement::advanced::locality::{
    Expected, HostPreference, Naming, Pending, Topology, host_preferences, needs, single_host_preferences,
};
use firesteel_protocol::messages::MOST_PREFERRED;
use firesteel_protocol::time::Timestamp;

use super::event::Target;
use super::passed_over::PassedOver;
use super::requests::Requests;
use super::size::ContainerSize;

/// The maximum number of executors of a profile. Managers count in 32 bits.
const MOST_EXECUTORS: u64 = i32::MAX as u64;

#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) size: Arc<ContainerSize>,
    target: u64,
    tasks: u64,
    tasks_per_executor: u64,
    on_hosts: BTreeMap<String, u64>,
    pub(super) running: u64,
    /// The number of executors whose process is being started.
    pub(super) starting: u64,
    /// The number of running and starting executors on each host.
    pub(super) on_host: BTreeMap<Arc<str>, u64>,
    pub(super) requests: Requests,
    passed_over: PassedOver,
}

/// The facts on which new requests depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking<'a> {
    pub(super) topology: &'a Topology,
    pub(super) naming: Naming,
    /// When the last answered call was made.
    pub(super) heard: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Some,
}

impl Profile {
    pub(super) fn new(size: ContainerSize, target: u64) -> Self {
        Self {
            size: Arc::new(size),
            target: target.min(MOST_EXECUTORS),
            tasks: 0,
            tasks_per_executor: 1,
            on_hosts: BTreeMap::new(),
            running: 0,
            starting: 0,
            on_host: BTreeMap::new(),
            requests: Requests::default(),
            passed_over: PassedOver::default(),
        }
    }

    pub(super) fn target(&self) -> u64 {
        self.target
    }

    pub(super) fn set_target(&mut self, total: u64) -> Change {
        let total = total.min(MOST_EXECUTORS);
        let change = if total == self.target { Change::None } else { Change::Some };
        self.target = total;
        change
    }

    /// Replaces the facts about waiting tasks, cut to the limits that a valid driver keeps.
    pub(super) fn set_hints(&mut self, target: &mut Target) {
        self.tasks = target.tasks;
        self.tasks_per_executor = target.tasks_per_executor;
        self.on_hosts = std::mem::take(&mut target.on_hosts).into_iter().take(MOST_PREFERRED).collect();
    }

    /// Forgets the facts about waiting tasks.
    pub(super) fn clear_hints(&mut self) {
        self.tasks = 0;
        self.on_hosts.clear();
    }

    /// The number of executors that were launched and have not ended.
    pub(super) fn launched(&self) -> u64 {
        self.running + self.starting
    }

    /// Adds or withdraws requests until executors and requests together equal the target.
    ///
    /// If no executor is missing, pending requests stay as they are, even if tasks now prefer other hosts. A request
    /// for a single host is repeated for another host if the first one did not grant it in time.
    ///
    /// Source: Spark on YARN, 4.0.1. Among the executors of a host, Spark does not count those that are being started.
    pub(super) fn renew(&mut self, now: Timestamp, how: &Asking<'_>) {
        match how.naming {
            Naming::Many => {}
            Naming::One => self.pass_over(now, how.heard),
        }
        let (pending, has) = (self.requests.pending(), self.launched());
        let missing = self.target.saturating_sub(pending + has);
        let excess = (pending + has).saturating_sub(self.target).min(pending);
        if missing == 0 && excess == 0 {
            return;
        }
        let parts = self.requests.parts(&self.on_hosts);
        if excess > 0 {
            let mut left = excess;
            for part in [&parts.stale, &parts.any, &parts.local] {
                left -= self.requests.cancel(part, left);
            }
            return;
        }
        let stale = self.requests.cancel(&parts.stale, u64::MAX);
        let available = missing + stale;
        let potential = available + self.requests.count(&parts.any);
        let preferences = self.preferences(potential, &self.requests.naming(&parts.local), how);
        let mut located = 0;
        for HostPreference { sites, executors } in preferences {
            if !sites.is_empty() {
                located += executors;
                self.requests.add(now, sites, executors);
            }
        }
        match available.checked_sub(located) {
            Some(rest) => self.requests.add(now, how.topology.sites([]), rest),
            None => _ = self.requests.cancel(&parts.any, located - available),
        }
    }

    /// Withdraws requests for hosts that had time to grant them. These hosts are skipped for a while.
    fn pass_over(&mut self, now: Timestamp, heard: Timestamp) {
        self.passed_over.expire(now);
        let waited = self.requests.of_one_host().filter(|(.., since)| PassedOver::has_waited(*since, heard));
        let waited: Vec<(u64, String)> = waited.map(|(id, host, _)| (id, host.to_owned())).collect();
        for (id, host) in waited {
            self.requests.cancel(&[id], u64::MAX);
            self.passed_over.insert(now, host);
        }
    }

    /// The preferred hosts of this number of new executors, according to the needs of tasks.
    fn preferences(&self, executors: u64, pending: &Pending, how: &Asking<'_>) -> Vec<HostPreference> {
        let held = |host: &str| self.on_host.get(host).copied().unwrap_or(0);
        let expected =
            |on_hosts| Expected { tasks: self.tasks, tasks_per_executor: self.tasks_per_executor, on_hosts };
        let many = || {
            let needs = needs(&expected(&self.on_hosts), held, pending);
            host_preferences(executors, &needs, how.topology)
        };
        match how.naming {
            Naming::Many => many(),
            Naming::One => {
                let open = self.passed_over.open(&self.on_hosts);
                match open.is_empty() {
                    true => many(),
                    false => {
                        single_host_preferences(executors, &expected(&open), held, pending, how.topology)
                    }
                }
            }
        }
    }
}
