//! What the scheduler remembers of Workers and demands between passes, so that it need not look at all of them.

use firesteel_placement::Demand;
use firesteel_placement::advanced::index::Share;
use firesteel_placement::advanced::policy::{Lesson, PlacementCache, SeenDemands};

use super::measured::Measured;
use super::preemption_costs::PreemptionCosts;
use crate::tables::workers::moved::Moved;
use crate::tables::workers::row::WorkerRow;
use crate::tables::workers::table::WorkerTable;

/// What the scheduler remembers. Decisions are the same without it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The heaps of Workers that policies keep between placements.
    cache: PlacementCache,
    /// What it costs to make room by preemption.
    preemption_costs: PreemptionCosts,
    /// What applications have asked for, for policies that learn.
    seen: SeenDemands,
}

impl Memory {
    /// Places a demand by a policy's measure, on Workers that are all alike to its application.
    pub(super) fn place_by(
        &mut self,
        policy: Measured<'_>,
        workers: &mut WorkerTable,
        demand: &Demand,
    ) -> Vec<Share> {
        self.catch_up(workers);
        let workers = &*workers;
        if policy == Measured::LearnedFragmentation && self.seen.is_lesson_due() {
            self.seen.learn(workers.iter().map(WorkerRow::offer));
            self.cache.clear();
        }
        let whole_offer = |slot| workers.whole_offer(slot);
        let measure = policy.measure(self.seen.lesson(), &whole_offer);
        let plain = |slot| workers.plain(slot);
        let offer = |slot| workers.offer_at(slot);
        self.cache.place(measure, demand, workers.whole(), workers.all_slots(), plain, offer)
    }

    /// Counts executors that an application asks for.
    pub(crate) fn see(&mut self, one: &Demand, executors: u64) {
        self.seen.add(one, executors);
    }

    /// What was learned of the executors that applications ask for.
    pub(super) fn lesson(&self) -> &Lesson {
        self.seen.lesson()
    }

    /// The costs of making room, as the Workers are now. The caller gives them back.
    pub(super) fn take_preemption_costs(&mut self, workers: &mut WorkerTable) -> PreemptionCosts {
        self.catch_up(workers);
        std::mem::take(&mut self.preemption_costs)
    }

    /// Gives back the costs that were taken.
    pub(super) fn keep_preemption_costs(&mut self, costs: PreemptionCosts) {
        self.preemption_costs = costs;
    }

    /// Forgets what is out of date.
    fn catch_up(&mut self, workers: &mut WorkerTable) {
        match workers.take_moved() {
            Moved::All => {
                self.cache.clear();
                self.preemption_costs.clear();
            }
            Moved::These(slots) => {
                for slot in slots {
                    self.cache.changed(slot);
                    self.preemption_costs.changed(slot);
                }
            }
        }
    }
}
