//! The kinds of executors that applications have asked for.

use std::collections::BTreeMap;

use super::DemandModel;
use crate::policy::room::Room;
use crate::{Cores, Demand, MiB, Offer, ResourceAmounts};

/// The maximum number of kinds that are remembered. A further kind replaces the kind with the lowest count.
const MAX_KINDS: usize = 256;
/// When this number of executors has been counted, all counts are halved, so that recent demands count more.
const MAX_EXECUTORS: u64 = 1 << 16;
/// A new demand model is made after this number of executors. On smaller clusters, it is made after as many executors
/// as there are Workers.
const PERIOD: u64 = 1024;

/// How often applications asked for each kind of executor with custom resources.
#[derive(Debug, Default)]
pub struct DemandStatistics {
    counts: BTreeMap<Kind, u64>,
    /// The sum of the counts.
    executors: u64,
    /// The number of executors that were counted since the last demand model.
    new: u64,
    /// The number of new executors at which the next demand model is due.
    due: u64,
    demand_model: DemandModel,
}

/// The amounts that one executor of a kind asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) resources: ResourceAmounts,
}

impl DemandStatistics {
    /// Counts executors that were asked for. Executors without custom resources are not counted.
    pub fn add(&mut self, demand: &Demand, executors: u64) {
        let executors = executors.min(MAX_EXECUTORS / 4);
        let asks = demand.resources.values().any(|amount| !amount.is_none());
        if executors == 0 || !asks {
            return;
        }
        let Demand { size, memory, resources, .. } = demand;
        let kind = Kind { cores: size.step(), memory: *memory, resources: resources.clone() };
        if self.counts.len() == MAX_KINDS && !self.counts.contains_key(&kind) {
            let least = self.counts.iter().min_by_key(|(_, count)| **count).map(|(kind, _)| kind.clone());
            self.executors -= least.and_then(|least| self.counts.remove(&least)).unwrap_or(0);
        }
        *self.counts.entry(kind).or_default() += executors;
        self.executors += executors;
        self.new += executors;
        if self.executors >= MAX_EXECUTORS {
            self.counts.values_mut().for_each(|count| *count /= 2);
            self.counts.retain(|_, count| *count > 0);
            self.executors = self.counts.values().sum();
        }
    }

    /// Whether enough executors were counted since the last demand model. Making a model looks at every Worker, so
    /// large clusters make fewer models.
    #[must_use]
    pub fn is_demand_model_due(&self) -> bool {
        self.new > 0 && self.new >= self.due
    }

    /// Makes the next demand model from the free amounts of all Workers.
    pub fn learn<'a>(&mut self, offers: impl Iterator<Item = Offer<'a>>) {
        let rooms: Vec<Room<'a>> = offers.map(|offer| Room::of(&offer)).collect();
        self.demand_model = DemandModel::of(&self.counts, &rooms);
        self.new = 0;
        self.due = self.executors.min(PERIOD.max(rooms.len() as u64));
    }

    /// The latest demand model.
    #[must_use]
    pub fn demand_model(&self) -> &DemandModel {
        &self.demand_model
    }
}
