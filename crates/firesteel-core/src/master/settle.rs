//! The scheduling pass.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use firesteel_placement::index::{Share, Slot};
use firesteel_placement::locality::Locality;
use firesteel_placement::policy::{Candidate, best_fit, least_fragmentation, spread_held};
use firesteel_placement::{Demand, Offer, PlacedExecutor, Policy, place_ranked};

use super::application::Application;
use super::worker_table::WorkerRow;
use super::{Master, Pass};
use crate::ids::{AppId, ProfileId, WorkerId};
use crate::time::Timestamp;

impl Master {
    /// Runs the scheduling pass if the event called for one.
    ///
    /// Applications are served first in, first out, each with its profiles in the order of their numbers. An
    /// application that cannot use what is free does not keep the next one from it. Those for which nothing can have
    /// changed since the last pass are passed over (see `backlog`).
    ///
    /// Source: Spark Master, 4.0.1 (`startExecutorsOnWorkers`).
    pub(super) fn settle(&mut self, now: Timestamp) {
        if std::mem::replace(&mut self.pass, Pass::NotDue) == Pass::NotDue {
            return;
        }
        let mut line = self.applications.line_up(&self.workers);
        let mut last = None;
        while let Some((app, turn)) = self.applications.next_turn(&mut line, &self.workers, last) {
            let (_, profile) = turn;
            self.place(now, &app, profile);
            last = Some(turn);
        }
        self.applications.file();
        self.workers.settle();
    }

    /// Has the next pass go through all applications, as if nothing were known of them. It decides the same, and takes
    /// longer: for laws, and for whoever doubts.
    pub fn doubt(&mut self) {
        self.applications.touch_all();
    }

    /// Launches the executors of one profile of one application that there is room for.
    fn place(&mut self, now: Timestamp, app: &AppId, profile: ProfileId) {
        let Some(application) = self.applications.get(app) else { return };
        let Some(wanted) = application.profiles.get(&profile) else { return };
        let demand = application.demand(wanted);
        let shares = self.decide(application, &demand);
        self.workers.reserve(&demand, &shares);
        for Share { slot, executors, cores } in shares {
            for _ in 0..executors {
                self.launch_executor(now, app, profile, &demand, slot, cores);
            }
        }
    }

    /// Where executors go, in the order in which they are launched.
    fn decide(&self, application: &Application, demand: &Demand) -> Vec<Share> {
        let whole = self.workers.whole();
        match application.policy(&self.config) {
            Policy::Spark => self.decide_as_spark(application, demand),
            Policy::BestFit => best_fit(demand, self.candidates(application), whole),
            Policy::LeastFragmentation => least_fragmentation(demand, self.candidates(application), whole),
            Policy::SpreadHeld => self.spread_held(application, demand),
        }
    }

    /// Workers near the hosts that the application prefers come first; without such wishes the decision is Spark's.
    fn decide_as_spark(&self, application: &Application, demand: &Demand) -> Vec<Share> {
        let (by, strategy) = (self.config.worker_order, self.config.strategy);
        if application.wishes.is_empty() {
            return self.workers.place(demand, strategy);
        }
        let hosts: BTreeMap<&str, &str> = self
            .workers
            .iter()
            .map(|row| (row.description.id.as_str(), row.description.host.as_str()))
            .collect();
        let rank = |offer: &Offer<'_>| application.wishes.rank(hosts[offer.worker]);
        let placement = place_ranked(demand, self.offers(application), by, strategy, rank);
        let one = |executor: PlacedExecutor<'_>| {
            let slot = self.workers.slot(&WorkerId::new(executor.worker))?;
            Some(Share { slot, executors: 1, cores: executor.cores })
        };
        placement.executors().filter_map(one).collect()
    }

    fn spread_held(&self, application: &Application, demand: &Demand) -> Vec<Share> {
        let mut on_worker: BTreeMap<Slot, u64> = BTreeMap::new();
        let mut on_host: BTreeMap<&str, u64> = BTreeMap::new();
        for executor in application.executors.values() {
            *on_worker.entry(executor.slot).or_default() += 1;
            if let Some(row) = self.workers.at(executor.slot) {
                *on_host.entry(row.description.host.as_str()).or_default() += 1;
            }
        }
        let held = |slot: Slot| on_worker.get(&slot).copied().unwrap_or(0);
        let held_on_host = |host: &str| on_host.get(host).copied().unwrap_or(0);
        let candidates = self.candidates(application);
        spread_held(demand, candidates, self.config.worker_order, held, held_on_host)
    }

    /// The Workers that a policy may choose for an application: all but those on hosts that it avoids. Ranks are as they
    /// are where there is no policy, and all equal where there are no wishes.
    fn candidates<'a>(
        &'a self,
        application: &'a Application,
    ) -> impl Iterator<Item = Candidate<'a, Option<(Locality, Reverse<u64>)>>> {
        let wishes = &application.wishes;
        self.workers.slots().filter_map(|(slot, row)| {
            let host = row.description.host.as_str();
            let rank = (!wishes.is_empty()).then(|| wishes.rank(host));
            (!wishes.avoids(host)).then(|| Candidate { slot, offer: row.offer(), host, rank })
        })
    }

    /// What Workers have free for an application: all but those on hosts that it avoids.
    pub(super) fn offers<'a>(&'a self, application: &'a Application) -> impl Iterator<Item = Offer<'a>> {
        let rows = self.workers.iter().filter(|row| !application.wishes.avoids(&row.description.host));
        rows.map(WorkerRow::offer)
    }
}
