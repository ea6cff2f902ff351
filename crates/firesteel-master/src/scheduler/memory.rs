//! What the scheduler remembers between passes, so that it need not look at all Workers and all demands.

use firesteel_placement::Demand;
use firesteel_placement::advanced::policy::Chooser;

use super::preemption_costs::PreemptionCosts;
use crate::tables::workers::table::WorkerTable;

/// What the scheduler remembers between passes. Without it, the decisions would be the same.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Chooses Workers by any policy, and remembers what the policies need.
    pub(super) chooser: Chooser,
    /// The cost of freeing resources by preemption, for each Worker.
    pub(super) preemption_costs: PreemptionCosts,
}

impl Memory {
    /// Counts executors that an application asks for.
    pub(crate) fn see(&mut self, one: &Demand, executors: u64) {
        self.chooser.see(one, executors);
    }

    /// The costs of freeing resources, for the present state of the Workers. The caller gives them back.
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
