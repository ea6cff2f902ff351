//! An outcome in a few numbers, by which set-ups of a Master can be held against each other.

use std::collections::BTreeMap;

use firesteel_placement::{Cores, MiB, ResourceAmounts};

use super::{Draft, DraftApplication, Outcome, WorkerOutcome};

/// An outcome in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Executors that were given.
    pub given: u64,
    /// Executors that were taken away to make room.
    pub taken: u64,
    /// Applications that ask and have no executor.
    pub waiting: u64,
    /// Applications that ask and have fewer executors than they asked for.
    pub short: u64,
    /// Workers with an executor at least.
    pub workers_used: u64,
    /// Workers in all.
    pub workers: u64,
    /// Cores that executors have.
    pub cores_used: Cores,
    /// Cores in all.
    pub cores: Cores,
    /// Free cores that nobody can use: on Workers that have too little memory, or too few addresses, for an executor
    /// of any application that asks.
    pub cores_stranded: Cores,
    /// Memory that executors have.
    pub memory_used: MiB,
    /// Memory in all.
    pub memory: MiB,
    /// By resource: addresses that executors have.
    pub resources_used: ResourceAmounts,
    /// By resource: addresses in all.
    pub resources: ResourceAmounts,
    /// By resource: free addresses that nobody can use, on Workers without the cores or the memory for an executor of
    /// any application that asks for the resource.
    pub resources_stranded: ResourceAmounts,
    /// The greatest number of executors that one application has on one host: what it loses with that host.
    pub most_on_one_host: u64,
}

impl Metrics {
    /// The numbers of an outcome of that draft.
    #[must_use]
    pub fn of(draft: &Draft, outcome: &Outcome) -> Self {
        let mut all = Self::default();
        for now in &outcome.applications {
            all.given += now.given;
            all.taken += now.taken;
            all.waiting += u64::from(now.kept + now.given == 0);
            all.short += u64::from(now.is_short());
        }
        let mut on_hosts: BTreeMap<(&str, usize), u64> = BTreeMap::new();
        for worker in &outcome.workers {
            all.count(worker, &draft.applications);
            for executor in &worker.executors {
                *on_hosts.entry((&worker.host, executor.app)).or_default() += 1;
            }
        }
        all.most_on_one_host = on_hosts.into_values().max().unwrap_or(0);
        all
    }

    fn count(&mut self, worker: &WorkerOutcome, asking: &[DraftApplication]) {
        self.workers += 1;
        self.workers_used += u64::from(!worker.executors.is_empty());
        self.cores += worker.cores;
        self.cores_used += worker.cores - worker.cores_free;
        self.memory += worker.memory;
        self.memory_used += worker.memory - worker.memory_free;
        self.cores_stranded += worker.cores_stranded(asking);
        for (name, &amount) in &worker.resources {
            let free = worker.resources_free.get(name).copied().unwrap_or(0);
            *self.resources.entry(name.clone()).or_default() += amount;
            *self.resources_used.entry(name.clone()).or_default() += amount - free;
            let stranded = self.resources_stranded.entry(name.clone()).or_default();
            let asks = |app: &&DraftApplication| asked(app, name) > 0;
            let mut of_it = asking.iter().filter(asks).peekable();
            if of_it.peek().is_some() && !of_it.any(|app| worker.has_memory(app) && worker.has_cores(app)) {
                *stranded += free;
            }
        }
    }
}

impl WorkerOutcome {
    /// Its free cores, if it has too little of something else for an executor of any of these applications.
    #[must_use]
    pub fn cores_stranded(&self, asking: &[DraftApplication]) -> Cores {
        let usable = asking.iter().any(|app| self.has_memory(app) && self.has_resources(app));
        if usable || asking.is_empty() { Cores::ZERO } else { self.cores_free.max(Cores::ZERO) }
    }

    fn has_cores(&self, app: &DraftApplication) -> bool {
        self.cores_free >= app.description.profile.cores.unwrap_or(Cores(1))
    }

    fn has_memory(&self, app: &DraftApplication) -> bool {
        self.memory_free >= app.description.profile.memory.unwrap_or(MiB::ZERO)
    }

    fn has_resources(&self, app: &DraftApplication) -> bool {
        let free = |name: &String| self.resources_free.get(name).copied().unwrap_or(0);
        app.description.profile.resources.iter().all(|(name, &amount)| free(name) >= amount)
    }
}

fn asked(app: &DraftApplication, name: &str) -> u64 {
    app.description.profile.resources.get(name).copied().unwrap_or(0)
}
