//! The journal records of the current event.

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::time::Timestamp;

use crate::durable::record::Record;
use crate::tables::applications::application::Application;
use crate::tables::applications::health::ApplicationHealth;
use crate::tables::workers::health::WorkerHealth;
use crate::tables::workers::table::WorkerTable;
use crate::{Durability, Effect, Master};

/// The journal records of the current event. Empty if the Master is not durable.
#[derive(Debug)]
pub(crate) struct Records {
    durability: Durability,
    batch: Vec<Record>,
}

impl Records {
    pub(crate) fn new(durability: Durability) -> Self {
        Self { durability, batch: Vec::new() }
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.durability == Durability::Durable
    }

    pub(crate) fn add(&mut self, now: Timestamp, record: Record) {
        if !self.are_wanted() {
            return;
        }
        if self.batch.is_empty() {
            self.batch.push(Record::Time(now));
        }
        self.batch.push(record);
    }

    /// Whether the records so far must be durable before anybody is told of them.
    pub(crate) fn must_precede(&self) -> bool {
        !Record::may_wait(&self.batch)
    }

    /// The effect that makes the records of the event durable, if there are any.
    pub(crate) fn take(&mut self) -> Option<Effect> {
        let records = std::mem::take(&mut self.batch);
        (!records.is_empty()).then_some(Effect::Persist(records))
    }
}

impl Master {
    /// Records the changed standings of applications and Workers in the current event. A standing is compared with the
    /// recorded one, so that every change is found, whichever code made it.
    pub(crate) fn record_healths(&mut self, now: Timestamp) {
        for app in self.applications.take_changed() {
            let Some(application) = self.applications.recorded_mut(app) else { continue };
            if let Some(health) = application.changed_health(&self.workers) {
                let health = Box::new(health);
                self.records.add(now, Record::ApplicationChanged { app, health });
            }
        }
        for slot in self.workers.take_changed() {
            let Some((worker, health)) = self.workers.changed_health(slot) else { continue };
            let health = Box::new(health);
            self.records.add(now, Record::WorkerChanged { worker, health });
        }
    }
}

impl Application {
    pub(crate) fn health(&self, workers: &WorkerTable) -> ApplicationHealth {
        let number = |slot| workers.row(slot).number;
        let mut failure_history: Vec<_> = self
            .exclusions
            .failure_history()
            .map(|(slot, failure_history)| (number(slot), *failure_history))
            .collect();
        failure_history.sort_by_key(|(worker, _)| *worker);
        let mut health = ApplicationHealth {
            in_a_row: self.failures.in_a_row,
            hold_until: self.failures.hold_until,
            proven_until: None,
            failure_history,
        };
        if health != ApplicationHealth::default() {
            let proven = self.executors.values().filter(|executor| executor.probation.is_proven());
            health.proven_until = proven.filter_map(|executor| executor.probation.started()).max();
        }
        health
    }

    /// The application's standing, if it differs from the recorded one. From now on it counts as recorded.
    fn changed_health(&mut self, workers: &WorkerTable) -> Option<ApplicationHealth> {
        let is_clean =
            self.failures.in_a_row == 0 && self.failures.hold_until.is_none() && self.exclusions.knows_none();
        if is_clean && self.recorded.is_none() {
            return None;
        }
        let health = self.health(workers);
        let recorded = self.recorded.replace(Box::new(health.clone()));
        if is_clean {
            self.recorded = None;
        }
        (recorded.as_deref() != Some(&health)).then_some(health)
    }
}

impl WorkerTable {
    /// A Worker's number and standing, if the Worker is alive and its standing differs from the recorded one. From now
    /// on it counts as recorded.
    fn changed_health(&mut self, slot: Slot) -> Option<(u64, WorkerHealth)> {
        if !self.is_alive(slot) {
            return None;
        }
        let row = self.row_mut(slot);
        let health = row.health().clone();
        let is_clean = health == WorkerHealth::default();
        if is_clean && row.recorded.is_none() || row.recorded.as_deref() == Some(&health) {
            return None;
        }
        row.recorded = (!is_clean).then(|| Box::new(health.clone()));
        Some((row.number, health))
    }
}
