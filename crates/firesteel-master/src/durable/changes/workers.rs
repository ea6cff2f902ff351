//! The durable changes of Workers: registration, health, loss and departure.

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::messages::{Departure, DepartureCause, WorkerDescription};
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::durable::record::Record;
use crate::tables::link::Link;
use crate::tables::workers::row::WorkerRow;

impl Master {
    /// Adds a Worker with a new id, address and number. Returns its slot.
    pub(crate) fn add_worker(
        &mut self,
        now: Timestamp,
        number: u64,
        description: WorkerDescription,
        link: Link,
    ) -> Slot {
        if self.records.are_wanted() {
            let description = Box::new(description.clone());
            self.records.add(now, Record::WorkerRegistered { worker: number, description });
        }
        self.workers.insert(WorkerRow::new(number, description, link, now), self.config.worker_timeout)
    }

    /// Removes a Worker that is lost or has left, and has no executors or cluster drivers any more.
    pub(crate) fn retire_worker(&mut self, now: Timestamp, slot: Slot, cause: DepartureCause) {
        self.applications.forget_worker(slot);
        let id = self.workers.row(slot).description.id.clone();
        let row = self.workers.remove(&id);
        if self.records.are_wanted() {
            let (worker, cause, last_seen) = (row.number, cause.clone(), row.last_heartbeat.time());
            self.records.add(now, Record::WorkerRemoved { worker, cause, last_seen });
        }
        let times = self.config.dead_worker_persistence.saturating_add(1);
        let remember = self.config.worker_timeout.saturating_mul(times);
        self.workers.retire(&row, Departure { at: now, cause }, remember);
    }
}
