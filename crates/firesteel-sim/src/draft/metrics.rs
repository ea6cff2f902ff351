//! An outcome in a few figures, by which set-ups of a Master are compared.

use std::collections::BTreeMap;

use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_placement::advanced::resources::serves;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::messages::{ClusterTotals, ProfileView, ShareState};

use super::{ApplicationOutcome, Outcome, WorkerOutcome};

/// The figures of one outcome.
///
/// An application *waits* if it has less than it requests ([`ApplicationOutcome::is_short`]). Free capacity is
/// *stranded* if a waiting application requests this kind of capacity, but no executor of such an application fits on
/// the Worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    pub given: u64,
    /// The number of executors that were preempted.
    pub taken: u64,
    /// Number of applications that wait and have no executor.
    pub waiting: u64,
    /// Number of applications that wait, with or without executors.
    pub short: u64,
    pub workers_used: u64,
    pub workers: u64,
    pub cores_used: Cores,
    pub cores: Cores,
    pub cores_stranded: Cores,
    pub memory_used: MiB,
    pub memory: MiB,
    /// Addresses of all executors, by resource.
    pub resources_used: ResourceQuantities,
    /// Addresses of all Workers, by resource.
    pub resources: ResourceQuantities,
    /// Free addresses that are stranded, by resource.
    pub resources_stranded: ResourceQuantities,
    /// The largest number of executors of one application on one host. If the host is lost, the application loses these
    /// executors.
    pub most_on_one_host: u64,
}

impl Metrics {
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let mut all = Self::default();
        for now in &outcome.applications {
            all.given += now.given;
            all.taken += now.taken;
            all.waiting += u64::from(now.is_short() && now.executors() == 0);
            all.short += u64::from(now.is_short());
        }
        let demands = outcome.waiting();
        let mut on_hosts: BTreeMap<(&str, usize), u64> = BTreeMap::new();
        for worker in &outcome.workers {
            all.count(worker, &demands);
            for executor in &worker.executors {
                *on_hosts.entry((&worker.host, executor.app)).or_default() += 1;
            }
        }
        let totals: ClusterTotals = outcome.workers.iter().map(WorkerOutcome::share).collect();
        let ClusterTotals { workers, cores, cores_used, memory, memory_used, .. } = totals;
        all = Self { workers, cores, cores_used, memory, memory_used, ..all };
        all.most_on_one_host = on_hosts.into_values().max().unwrap_or(0);
        all
    }

    /// Adds the figures of one Worker, if the Worker is alive.
    fn count(&mut self, worker: &WorkerOutcome, demands: &[&ProfileView]) {
        if !worker.share().counts() {
            return;
        }
        self.workers_used += u64::from(!worker.executors.is_empty());
        self.cores_stranded += worker.cores_stranded(demands);
        for (name, &amount) in &worker.resources {
            let free = worker.resources_free.get(name).copied().unwrap_or_default();
            *self.resources.entry(name.clone()).or_default() += amount;
            *self.resources_used.entry(name.clone()).or_default() += amount.less(free);
            let stranded = self.resources_stranded.entry(name.clone()).or_default();
            let asks = |demand: &&&ProfileView| {
                demand.resources.iter().any(|(asked, amount)| serves(name, asked) && !amount.is_none())
            };
            let of_it = demands.iter().filter(asks);
            if worker.state == ShareState::Serving && worker.has_no_room_for(of_it.copied()) {
                *stranded += free;
            }
        }
    }
}

impl Outcome {
    /// The requests of waiting applications: the profiles that may have more executors.
    #[must_use]
    pub fn waiting(&self) -> Vec<&ProfileView> {
        let waiting = self.applications.iter().filter(|app| app.is_short());
        let profiles = waiting.flat_map(ApplicationOutcome::profiles);
        profiles.filter(|profile| profile.may_have_more).collect()
    }
}

impl WorkerOutcome {
    /// The Worker's free cores if they are stranded, otherwise zero. `demands` come from [`Outcome::waiting`].
    #[must_use]
    pub fn cores_stranded(&self, demands: &[&ProfileView]) -> Cores {
        match self.has_no_room_for(demands.iter().copied()) {
            true => self.share().cores_free(),
            false => Cores::ZERO,
        }
    }

    /// Whether there are demands, but no executor of any of them fits on the Worker.
    fn has_no_room_for<'a>(&self, demands: impl Iterator<Item = &'a ProfileView>) -> bool {
        let mut demands = demands.peekable();
        demands.peek().is_some() && !demands.any(|demand| self.has_room_for(demand))
    }

    fn has_room_for(&self, demand: &ProfileView) -> bool {
        self.cores_free >= demand.size.step()
            && self.memory_free >= demand.memory
            && self.free.covers(&demand.resources)
    }
}
