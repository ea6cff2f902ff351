//! The orders that a Worker got for its executors and cluster drivers. The Worker's state machine does not store all of
//! this.

use std::collections::{BTreeMap, VecDeque};

use firesteel_placement::{MiB, Resources};
use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_worker::ExecutorPlan;

/// The environment variable with which Spark's drivers pass the user to their executors.
const SPARK_USER: &str = "SPARK_USER";

/// The part of an order that is shown on pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) app_name: String,
    /// The user of the application. Only Spark's drivers report the user.
    pub(super) user: String,
    pub(super) memory: MiB,
    pub(super) resources: Resources,
}

#[derive(Debug)]
pub(super) struct Plans {
    /// The number of ended executors that are listed.
    retained: usize,
    table: BTreeMap<ExecutorKey, Plan>,
    /// The executors in the order of their starts.
    order: VecDeque<ExecutorKey>,
    /// The cluster drivers in the order of their first starts.
    drivers: VecDeque<DriverId>,
}

impl Plans {
    /// Plans for a Worker that lists this number of ended executors.
    pub(super) fn of(retained: usize) -> Self {
        Self { retained, table: BTreeMap::new(), order: VecDeque::new(), drivers: VecDeque::new() }
    }

    /// Adds a plan, and drops plans of executors that started long before. If very many executors have started since, a
    /// plan may be dropped while its executor is still listed.
    pub(super) fn add(&mut self, plan: &ExecutorPlan, live: usize) {
        let ExecutorPlan { executor, app_name, command, memory, on_worker, .. } = plan;
        let shown = Plan {
            app_name: app_name.clone(),
            user: command.environment().get(SPARK_USER).cloned().unwrap_or_default(),
            memory: *memory,
            resources: on_worker.clone(),
        };
        if self.table.insert(executor.clone(), shown).is_none() {
            self.order.push_back(executor.clone());
        }
        while self.order.len() > 2 * self.retained + live + 1 {
            let oldest = self.order.pop_front().expect("there are more");
            self.table.remove(&oldest);
        }
    }

    /// Adds a cluster driver that is started, and drops cluster drivers that were started long before.
    pub(super) fn add_driver(&mut self, driver: &DriverId) {
        if !self.drivers.contains(driver) {
            self.drivers.push_back(driver.clone());
        }
        while self.drivers.len() > self.retained.max(1) {
            self.drivers.pop_front();
        }
    }

    /// The cluster drivers that were started here, the latest first.
    pub(super) fn drivers(&self) -> impl Iterator<Item = &DriverId> {
        self.drivers.iter().rev()
    }

    pub(super) fn get(&self, executor: &ExecutorKey) -> Plan {
        self.table.get(executor).cloned().unwrap_or_default()
    }
}
