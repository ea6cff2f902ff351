//! The choice of Workers for an application's executors: the data about Workers that a rule may use, from the
//! application's point of view.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::locality::Locality;
use firesteel_placement::advanced::policy::{Changes, ClusterTotal, Rest, Workers};
use firesteel_placement::{Demand, Offer};
use firesteel_protocol::ids::WorkerId;

use crate::config::Config;
use crate::scheduler::lifetimes::RunningTimes;
use crate::scheduler::memory::Memory;
use crate::scheduler::preemption_costs::PreemptionCosts;
use crate::tables::applications::application::Application;
use crate::tables::workers::row::WorkerRow;
use crate::tables::workers::table::WorkerTable;

/// A Worker's rank for an application: the lowest comes first. Without host preferences all Workers have the same rank.
type Rank = Option<(Locality, Reverse<u64>)>;

/// Chooses the Workers for an application's executors, in the order in which the executors are launched.
pub(super) fn choose(
    config: &Config,
    (workers, memory): (&mut WorkerTable, &mut Memory),
    times: RunningTimes<'_>,
    application: &Application,
    demand: &Demand,
) -> Vec<Share> {
    let rule = config.rule_for(application.description.policy);
    let costs = &mut memory.preemption_costs;
    let mut seen = WorkersOf { workers, costs, times, application };
    memory.chooser.choose(&rule, config.strategy, demand, &mut seen)
}

/// Whether an application treats all these Workers alike: it prefers none and excludes none.
pub(super) fn is_indifferent(application: &Application, workers: &WorkerTable) -> bool {
    application.preferences.is_empty()
        && application.exclusions.is_empty()
        && workers.all_admit(application.label.as_ref())
}

/// The Workers, from an application's point of view.
struct WorkersOf<'m> {
    workers: &'m mut WorkerTable,
    /// Receives the same changes of Workers as the chooser.
    costs: &'m mut PreemptionCosts,
    times: RunningTimes<'m>,
    application: &'m Application,
}

impl Workers for WorkersOf<'_> {
    type Id = WorkerId;
    type Rank = Rank;

    fn index(&self) -> &Index<WorkerId> {
        self.workers.index()
    }

    fn total(&self) -> &ClusterTotal {
        self.workers.whole()
    }

    fn offer(&self, slot: Slot) -> Option<Offer<'_>> {
        self.workers.offer_at(slot)
    }

    fn total_offer(&self, slot: Slot) -> Option<Offer<'_>> {
        self.workers.whole_offer(slot)
    }

    fn host(&self, slot: Slot) -> &str {
        &self.workers.row(slot).description.host
    }

    fn free(&self) -> impl Iterator<Item = Offer<'_>> {
        self.workers.iter().map(WorkerRow::offer)
    }

    fn take_changes(&mut self) -> Changes {
        let changes = self.workers.take_moved();
        self.costs.hear(&changes);
        changes
    }

    fn rank(&self, slot: Slot) -> Rank {
        let preferences = &self.application.preferences;
        (!preferences.is_empty()).then(|| preferences.rank(self.host(slot)))
    }

    fn are_alike(&self) -> bool {
        is_indifferent(self.application, self.workers)
    }

    fn excludes(&self, slot: Slot) -> bool {
        self.application.excludes(slot, self.workers.row(slot))
    }

    fn has_late(&self) -> bool {
        !self.workers.late().is_empty()
    }

    fn is_late(&self, slot: Slot) -> bool {
        self.workers.row(slot).is_late
    }

    /// Workers near preferred hosts come first, and late ones last.
    fn ends(&self) -> [Vec<Vec<Slot>>; 2] {
        [self.near(), self.late()]
    }

    fn held(&self) -> impl Iterator<Item = Slot> {
        self.application.executors.values().map(|executor| executor.slot)
    }

    fn rest(&self) -> Rest {
        self.times.rest(self.application)
    }
}

impl WorkersOf<'_> {
    /// The Workers that come before all others, by rank.
    fn near(&self) -> Vec<Vec<Slot>> {
        let (workers, preferences) = (&*self.workers, &self.application.preferences);
        let mut ranks: BTreeMap<_, Vec<Slot>> = BTreeMap::new();
        for host in preferences.near() {
            let prompt = workers.on_host(host).filter(|slot| !workers.late().contains(slot));
            ranks.entry(preferences.rank(host)).or_default().extend(prompt);
        }
        // Workers of this rank are handled together with all others.
        ranks.remove(&(Locality::Any, Reverse(0)));
        ranks.into_values().collect()
    }

    /// The Workers that come after all others, by rank.
    fn late(&self) -> Vec<Vec<Slot>> {
        let mut ranks: BTreeMap<_, Vec<Slot>> = BTreeMap::new();
        for slot in self.workers.late() {
            ranks.entry(self.application.preferences.rank(self.host(*slot))).or_default().push(*slot);
        }
        ranks.into_values().collect()
    }
}
