//! The cost of freeing resources on each Worker by ending executors. The costs are kept from one preemption to the
//! next.
//!
//! For many applications of high priority, tens of thousands of executors are ended one after the other. Each end
//! changes one Worker. So the costs of all Workers are computed for the first application of a kind, and after that
//! only for Workers that have changed.

use std::cmp::Reverse;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::policy::Changes;
use firesteel_placement::advanced::preemption::{Cost, Costs, PreemptibleWorker, Victim};
use firesteel_placement::{Demand, ExecutorSize, MiB, ResourceAmounts};
use firesteel_protocol::ids::ExecutorKey;

use crate::Master;
use crate::scheduler::reach::Reach;
use crate::tables::applications::application::Application;
use crate::tables::capacity;
use crate::tables::executors::executor::Executor;
use crate::tables::workers::row::WorkerRow;

/// Costs are kept for this number of kinds of applications. A further kind replaces the kind that was not used for the
/// longest time.
const KINDS: usize = 4;

/// The costs for the applications of a few kinds.
///
/// The owner calls [`changed`](Self::changed) when a Worker's free amounts or executors change, and
/// [`clear`](Self::clear) when Workers are added or removed.
#[derive(Debug, Default)]
pub(crate) struct PreemptionCosts {
    /// The Workers in the order of their ids. A Worker's position is its number.
    slots: Vec<Slot>,
    /// The numbers of the Workers, by slot.
    numbers: Vec<usize>,
    /// The kinds of applications. The most recently used one is last.
    kinds: Vec<Kind>,
}

/// The costs for applications with the same queue, priority and executor needs.
#[derive(Debug)]
struct Kind {
    queue: usize,
    priority: i32,
    size: ExecutorSize,
    memory: MiB,
    resources: ResourceAmounts,
    costs: Costs,
    /// The Workers that changed since the costs were computed. A Worker may be listed more than once.
    changed: Vec<Slot>,
}

impl PreemptionCosts {
    /// Receives the Workers whose free amounts or executors changed.
    pub(super) fn hear(&mut self, changes: &Changes) {
        match changes {
            Changes::All => self.clear(),
            Changes::These(slots) => slots.iter().for_each(|slot| self.changed(*slot)),
        }
    }

    /// Reports that the free amounts of a Worker or its executors change in this event.
    fn changed(&mut self, slot: Slot) {
        let most = 4 * self.slots.len() + 1024;
        self.kinds.retain_mut(|kind| {
            kind.changed.push(slot);
            kind.changed.len() <= most
        });
    }

    /// Forgets everything.
    fn clear(&mut self) {
        *self = Self::default();
    }

    /// The executors to end so that `executors` of the demand fit. `None` if more than `most` would have to end, or if
    /// this does not help.
    pub(super) fn choose(
        &mut self,
        master: &Master,
        application: &Application,
        reach: Reach,
        demand: &Demand,
        executors: u64,
        most: usize,
    ) -> Option<Vec<ExecutorKey>> {
        let at = self.kinds.iter().position(|kind| kind.is_for(application, demand));
        let preemptible = |row| master.preemptible(application, reach, row);
        let cost = |slot| master.preemption_cost(application, reach, demand, slot);
        let mut kind = match at {
            Some(at) => self.kinds.remove(at),
            None => {
                self.number(master);
                let costs = Costs::new(self.slots.iter().map(|slot| cost(*slot)));
                Kind::new(application, demand, costs)
            }
        };
        let mut changed = std::mem::take(&mut kind.changed);
        changed.sort_unstable();
        changed.dedup();
        for slot in changed {
            kind.costs.set(self.numbers[slot.index()], cost(slot));
        }
        let worker = |number: usize| {
            let slot = self.slots[number];
            let row = master.workers.row(slot);
            master.preemptible_worker(slot, row, &preemptible(row))
        };
        let chosen = kind.costs.choose(demand, executors, most, worker);
        if self.kinds.len() >= KINDS {
            self.kinds.remove(0);
        }
        self.kinds.push(kind);
        let mut ended = Vec::new();
        for (number, victims) in chosen? {
            let here = preemptible(master.workers.row(self.slots[number]));
            ended.extend(victims.into_iter().map(|victim| here[victim].key.clone()));
        }
        Some(ended)
    }

    fn number(&mut self, master: &Master) {
        if self.kinds.is_empty() {
            self.slots = master.workers.slots().map(|(slot, _)| slot).collect();
            let slots = self.slots.iter().map(|slot| slot.index() + 1).max().unwrap_or(0);
            self.numbers = vec![0; slots];
            for (number, slot) in self.slots.iter().enumerate() {
                self.numbers[slot.index()] = number;
            }
        }
    }
}

impl Kind {
    fn new(application: &Application, demand: &Demand, costs: Costs) -> Self {
        Self {
            queue: application.queue,
            priority: application.description.priority,
            size: demand.size,
            memory: demand.memory,
            resources: demand.resources.clone(),
            costs,
            changed: Vec::new(),
        }
    }

    fn is_for(&self, application: &Application, demand: &Demand) -> bool {
        (self.queue, self.priority) == (application.queue, application.description.priority)
            && (self.size, self.memory) == (demand.size, demand.memory)
            && self.resources == demand.resources
    }
}

/// An executor that may be ended for another application.
struct Preemptible<'a> {
    key: &'a ExecutorKey,
    priority: i32,
    executor: &'a Executor,
}

impl Master {
    /// The cost of one more executor on a Worker. `None` if it cannot fit there, or if the application excludes the
    /// Worker.
    fn preemption_cost(
        &self,
        application: &Application,
        reach: Reach,
        demand: &Demand,
        slot: Slot,
    ) -> Option<Cost> {
        let row = self.workers.row(slot);
        if !row.serves() || application.excludes(slot, row) {
            return None;
        }
        self.preemptible_worker(slot, row, &self.preemptible(application, reach, row)).cost(demand)
    }

    /// The executors on a Worker that may be ended for an application, in the order of preemption.
    fn preemptible<'a>(
        &'a self,
        application: &Application,
        reach: Reach,
        row: &'a WorkerRow,
    ) -> Vec<Preemptible<'a>> {
        let mut here: Vec<_> = Vec::new();
        for key in row.executors.iter() {
            let other = self.applications.live(&key.app);
            let priority = other.description.priority;
            let executor =
                other.executors.get(key.executor).expect("an executor that a Worker lists is live");
            if !reach.includes(application, other, executor) {
                continue;
            }
            let age = (priority, Reverse(executor.launched), Reverse(other.sequence), Reverse(key.executor));
            here.push((age, Preemptible { key, priority, executor }));
        }
        here.sort_by_key(|(age, _)| *age);
        here.into_iter().map(|(_, one)| one).collect()
    }

    fn preemptible_worker(&self, slot: Slot, row: &WorkerRow, here: &[Preemptible<'_>]) -> PreemptibleWorker {
        let victims = here.iter().map(|Preemptible { priority, executor, .. }| {
            let capacity::Holding { cores, memory, resources } = executor.grant.amounts();
            let launched = executor.launched.millis();
            Victim { priority: *priority, launched, cores, memory, resources }
        });
        let victims = victims.collect();
        PreemptibleWorker { victims, ..PreemptibleWorker::new(&self.workers.open_offer(slot, row)) }
    }
}
