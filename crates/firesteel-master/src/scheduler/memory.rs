//! What the scheduler remembers between passes, so that it need not look at all Workers and demands.

use firesteel_placement::Demand;
use firesteel_placement::advanced::policy::Chooser;

use super::preemption_costs::PreemptionCosts;
use crate::tables::workers::table::WorkerTable;

/// The memory of the scheduler between passes. Decisions are the same without it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Chooses Workers by any policy, and remembers what these need.
    pub(super) chooser: Chooser,
    /// What it costs to make room by preemption.
    pub(super) preemption_costs: PreemptionCosts,
}

impl Memory {
    /// Counts executors that an application asks for.
    pub(crate) fn see(&mut self, one: &Demand, executors: u64) {
        self.chooser.see(one, executors);
    }

    /// The costs of making room, for the Workers as they are now. The caller gives them back.
    pub(super) fn take_preemption_costs(&mut self, workers: &mut WorkerTable) -> PreemptionCosts {
        let changes = workers.take_moved();
        self.chooser.hear(&changes);
        self.preemption_costs.hear(&changes);
        std::mem::take(&mut self.preemption_costs)
    }

    /// Gives back the costs that [`take_preemption_costs`](Self::take_preemption_costs) returned.
    pub(super) fn keep_preemption_costs(&mut self, costs: PreemptionCosts) {
        self.preemption_costs = costs;
    }
}
