//! Workers in the ledger: their registrations, their reports, and their ends.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::Effect;
use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::{ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ExecutorLaunch, ExecutorReport, ExecutorState, Relaunch, WorkerDescription, WorkerToMaster,
};

use super::Ledger;
use super::books::{Availability, WorkerBook};
use crate::cluster::laws::ledger::registration;

impl Ledger {
    pub(super) fn on_worker_event(
        &mut self,
        peer: PeerId,
        message: &WorkerToMaster,
        effects: &[Effect],
        released: &mut BTreeSet<ExecutorKey>,
    ) {
        match message {
            WorkerToMaster::ExecutorStateChanged(report) => self.end_reported(peer, report, released),
            WorkerToMaster::RegisterWorker { worker, executors, drivers } => {
                let book = self.workers.get(&worker.id);
                let is_elsewhere = book.is_some_and(|book| book.peer != Some(peer));
                if let Some(duplicate) = registration(peer, effects) {
                    self.register_worker(peer, worker, duplicate, released);
                    if is_elsewhere {
                        self.forget_unlisted_drivers(&worker.id, drivers);
                    }
                    for report in executors {
                        self.end_reported(peer, report, released);
                    }
                }
            }
            WorkerToMaster::WorkerLatestState { worker, executors } => {
                if self.worker_of.get(&peer) == Some(worker) {
                    for report in executors {
                        self.end_reported(peer, report, released);
                    }
                }
            }
            WorkerToMaster::DriverStateChanged(_) => {}
            WorkerToMaster::WorkerDecommissioning { worker } => {
                if self.worker_of.get(&peer) == Some(worker) {
                    self.let_leave(worker);
                }
            }
            WorkerToMaster::StartsChecked { worker, error } => {
                if self.worker_of.get(&peer) == Some(worker)
                    && let Some(book) = self.workers.get_mut(worker)
                {
                    book.cannot_start = error.is_some();
                }
            }
            WorkerToMaster::Heartbeat { .. }
            | WorkerToMaster::WorkerReported(_)
            | WorkerToMaster::DriverRestarted { .. } => {}
        }
    }

    /// Marks a Worker as leaving: it may get no more executors.
    pub(super) fn let_leave(&mut self, worker: &WorkerId) {
        if let Some(book) = self.workers.get_mut(worker) {
            book.availability = Availability::Decommissioning;
        }
    }

    fn register_worker(
        &mut self,
        peer: PeerId,
        worker: &WorkerDescription,
        duplicate: bool,
        released: &mut BTreeSet<ExecutorKey>,
    ) {
        if let Some(former) = self.worker_of.remove(&peer)
            && former != worker.id
        {
            self.remove_worker(&former, released);
        }
        let is_away = self.workers.get(&worker.id).is_some_and(|book| book.peer.is_none());
        let same = (duplicate || is_away).then(|| self.workers.get_mut(&worker.id)).flatten();
        match same {
            Some(book) => {
                book.away_until = None;
                if let Some(old) = book.peer.replace(peer) {
                    self.worker_of.remove(&old);
                }
            }
            None => {
                self.remove_worker(&worker.id, released);
                let book = WorkerBook {
                    total: worker.clone(),
                    peer: Some(peer),
                    away_until: None,
                    availability: Availability::Serving,
                    is_asked: false,
                    cannot_start: false,
                    grants: BTreeMap::new(),
                    drivers: BTreeMap::new(),
                };
                self.workers.insert(worker.id.clone(), book);
            }
        }
        self.presence.register(&worker.id);
        self.worker_of.insert(peer, worker.id.clone());
    }

    fn end_reported(&mut self, peer: PeerId, report: &ExecutorReport, released: &mut BTreeSet<ExecutorKey>) {
        if report.state == ExecutorState::Running {
            self.start_reported(peer, &report.executor);
        }
        let Some(worker) = self.worker_of.get(&peer).cloned() else { return };
        // Only a Master may report an executor as lost.
        let counts = match report.state {
            ExecutorState::Killed(_) | ExecutorState::Failed(_) | ExecutorState::Exited(_) => true,
            ExecutorState::Launching | ExecutorState::Running | ExecutorState::Lost(_) => false,
        };
        let launch = self.workers.get(&worker).and_then(|book| book.grants.get(&report.executor)).cloned();
        if let (true, Some(launch)) = (counts, launch) {
            self.release(&report.executor.clone(), released);
            let is_full = self.workers.get(&worker).is_some_and(|book| book.cannot_start);
            if is_full && matches!(report.state, ExecutorState::Failed(_)) {
                // No Worker is at fault.
                return;
            }
            self.count_final_end(&report.executor, &report.state, &launch);
            self.count_early_end(&worker, &report.executor, &report.state);
        }
    }

    /// Counts an executor that ended by itself. Such an executor is not replaced: only lost executors are.
    fn count_final_end(&mut self, key: &ExecutorKey, end: &ExecutorState, launch: &ExecutorLaunch) {
        let by_itself = matches!(end, ExecutorState::Exited(_) | ExecutorState::Failed(_));
        let Some(book) = self.apps.get_mut(&key.app) else { return };
        if !by_itself || book.relaunch == Relaunch::WhenEnded {
            return;
        }
        let others = book.executors.keys().filter_map(|number| {
            let key = ExecutorKey { app: key.app.clone(), executor: *number };
            self.workers.values().find_map(|worker| worker.grants.get(&key))
        });
        let held = others.filter(|other| other.profile == launch.profile).count() as u64;
        let has_maximum = book.max_cores < Cores::UNLIMITED;
        if has_maximum {
            book.max_cores -= launch.cores;
        }
        if let Some(limit) = book.limits.get_mut(&launch.profile) {
            *limit = match *limit {
                ExecutorLimit::AtMost(most) => ExecutorLimit::AtMost(most.saturating_sub(1)),
                ExecutorLimit::Unlimited if has_maximum => ExecutorLimit::Unlimited,
                ExecutorLimit::Unlimited => ExecutorLimit::AtMost(held),
            };
        }
    }

    pub(super) fn remove_worker(&mut self, id: &WorkerId, released: &mut BTreeSet<ExecutorKey>) {
        self.forget_early_ends(id);
        self.lose_drivers(id);
        let Some(book) = self.workers.remove(id) else { return };
        if let Some(peer) = book.peer {
            self.worker_of.remove(&peer);
        }
        for key in book.grants.into_keys() {
            if let Some(app) = self.apps.get_mut(&key.app) {
                app.executors.remove(&key.executor);
            }
            released.insert(key);
        }
    }
}
