//! Decommissioning: Workers get no more executors, but their present executors keep running.

use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::{ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    DecommissionAnswer, LeavingWorker, MOST_LEAVING, MasterToDriver, MasterToWorker,
};
use firesteel_protocol::time::{Timestamp, millis};

use crate::tables::workers::health::Leave;
use crate::{Master, Note};

impl Master {
    /// Handles a Worker's message that it will end. Its executors count as live until their ends are reported.
    pub(crate) fn on_worker_decommissioning(&mut self, peer: PeerId, worker: &WorkerId) {
        if let Some(slot) = self.own_slot(peer, worker) {
            self.let_leave(slot);
        }
    }

    /// Handles a client's request to decommission Workers: the Worker with this id, or all Workers on this host. The
    /// Master informs the Workers even if a request is repeated, because the time limit may differ.
    ///
    /// Source: Spark Master, 4.0.1 (`DecommissionWorkersOnHosts`). Spark takes the executors of these Workers from
    /// their applications at once. In Firesteel they count until they end, so that an application never has more than
    /// its maximum.
    pub(crate) fn decommission_workers(
        &mut self,
        now: Timestamp,
        which: &str,
        within_millis: Option<u64>,
    ) -> DecommissionAnswer {
        let slots: Vec<Slot> = match self.workers.slot(&WorkerId::new(which)) {
            Some(slot) => vec![slot],
            None => self.workers.on_host(which).collect(),
        };
        if slots.is_empty() {
            return DecommissionAnswer::Unknown;
        }
        let leave = Leave { by: within_millis.map(|millis| now + Duration::from_millis(millis)) };
        let mut workers = Vec::new();
        for slot in slots {
            self.let_leave(slot);
            self.workers.ask_to_leave(slot, leave);
            self.tell_to_leave(now, slot);
            let row = self.workers.row(slot);
            let (id, executors) = (row.description.id.clone(), row.executors.len() as u64);
            let drivers = row.drivers.len() as u64;
            workers.push(LeavingWorker {
                id,
                executors,
                drivers,
                ends_itself: row.description.label.is_none(),
            });
        }
        workers.sort_by(|a, b| a.id.cmp(&b.id));
        let more = workers.len().saturating_sub(MOST_LEAVING) as u64;
        workers.truncate(MOST_LEAVING);
        DecommissionAnswer::Leaving { workers, more }
    }

    /// Orders a Worker to leave, if a client asked for this. A repeated order has the same time limit.
    pub(super) fn tell_to_leave(&mut self, now: Timestamp, slot: Slot) {
        let row = self.workers.row(slot);
        if let Some(Leave { by }) = row.health().asked {
            let within_millis = by.map(|by| millis(by.since(now)));
            self.tell_worker(row.link, MasterToWorker::DecommissionWorker { within_millis });
        }
    }

    /// Gives a Worker no more executors, and informs the drivers that their executors on it will end.
    fn let_leave(&mut self, slot: Slot) {
        if !self.workers.decommission(slot) {
            return;
        }
        let row = self.workers.row(slot);
        let (worker, host) = (row.description.id.clone(), row.description.host.clone());
        let executors = row.executors.clone();
        self.effects.note(Note::WorkerLeaving { worker });
        for ExecutorKey { app, executor } in executors {
            let driver = self.applications.live(&app).link;
            let host = Some(host.clone());
            self.tell_driver(driver, MasterToDriver::ExecutorLeaving { executor, host });
        }
    }
}
