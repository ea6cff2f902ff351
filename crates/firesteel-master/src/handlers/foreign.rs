//! Executors and cluster drivers that belong to another state of a Master.
//!
//! A Master may have a new state because it was started in the wrong directory, or because its directory was removed.
//! Workers then return with executors of applications that the Master does not know. The Master does not end these
//! executors at once: it logs them, and leaves them alone for `recovery_timeout`. Meanwhile their Workers get no new
//! executors, because the Master does not know how much the foreign ones use. A driver with such executors gets no
//! answer, so it keeps waiting for its Master. After this time the Master ends the executors, and their drivers
//! register anew.

use std::collections::BTreeSet;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{MasterToWorker, Resumption};
use firesteel_protocol::time::Timestamp;

use crate::tables::workers::unknown_processes::{UnknownProcess, UnknownProcesses};
use crate::{Master, Note, Pass, Record};

/// How long the Master leaves foreign executors alone.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    /// When foreign executors are ended. `None`: they are not left alone.
    until: Option<Timestamp>,
    /// The applications whose drivers have returned, and wait for an answer.
    waiting: BTreeSet<AppId>,
}

impl Hold {
    /// Whether this driver has not returned before.
    pub(super) fn is_first(&mut self, app: &AppId) -> bool {
        self.waiting.insert(app.clone())
    }
}

impl Master {
    /// Whether foreign executors are left alone.
    pub(crate) fn holds_foreign(&self) -> bool {
        self.hold.until.is_some()
    }

    pub(crate) fn next_foreign_end(&self) -> Option<Timestamp> {
        self.hold.until
    }

    /// Leaves foreign executors alone until this time. `None`: no longer.
    pub(crate) fn hold_foreign_until(&mut self, until: Option<Timestamp>) {
        self.hold.until = until;
    }

    /// Whether an executor belongs to an application that is not in this Master's state, and is left alone for now.
    pub(super) fn is_held(&self, executor: &ExecutorKey) -> bool {
        self.holds_foreign()
            && self.applications.get(&executor.app).is_none()
            && self.applications.ended().get(&executor.app).is_none()
    }

    /// Whether a cluster driver is not in this Master's state, and is left alone for now.
    pub(super) fn is_driver_held(&self, driver: &DriverId) -> bool {
        self.holds_foreign() && self.drivers.number(driver).is_none() && self.drivers.ended(driver).is_none()
    }

    /// Records a foreign executor or cluster driver on a Worker, which is left alone.
    pub(crate) fn hold(&mut self, slot: Slot, unknown_process: UnknownProcess) {
        let row = self.workers.row_mut(slot);
        let is_first = row.unknown_processes.is_none();
        let unknown_processes = row.unknown_processes.get_or_insert_default();
        match unknown_process {
            UnknownProcess::Executor(executor) => unknown_processes.executors.insert(executor),
            UnknownProcess::Driver(driver) => unknown_processes.drivers.insert(driver),
        };
        if is_first {
            self.workers.set_unknown_processes(slot);
        }
    }

    /// Records the end of a foreign executor or cluster driver. If it was the last one, its Worker gets executors
    /// again.
    pub(super) fn see_unknown_process_end(&mut self, slot: Slot, unknown_process: &UnknownProcess) {
        let Some(unknown_processes) = self.workers.row_mut(slot).unknown_processes.as_mut() else { return };
        match unknown_process {
            UnknownProcess::Executor(executor) => unknown_processes.executors.remove(executor),
            UnknownProcess::Driver(driver) => unknown_processes.drivers.remove(driver),
        };
        if unknown_processes.executors.is_empty() && unknown_processes.drivers.is_empty() {
            self.forget_unknown_processes(slot);
        }
    }

    /// Forgets the foreign executors and cluster drivers on a Worker, so that it gets executors again.
    pub(super) fn forget_unknown_processes(&mut self, slot: Slot) {
        if self.workers.row_mut(slot).unknown_processes.take().is_some() {
            self.workers.set_unknown_processes(slot);
            self.pass = Pass::Due;
        }
    }

    /// Logs the foreign executors and cluster drivers of a newly registered Worker, if they are left alone.
    pub(super) fn note_unknown_processes(&mut self, now: Timestamp, slot: Slot) {
        let row = self.workers.row(slot);
        let (Some(unknown_processes), Some(until)) = (&row.unknown_processes, self.hold.until) else {
            return;
        };
        self.effects.note(Note::ForeignHeld {
            worker: row.description.id.clone(),
            executors: unknown_processes.executors.len(),
            drivers: unknown_processes.drivers.len(),
            place: self.config.state_place.clone(),
            remaining: until.since(now),
        });
    }

    /// Whether the answer to a returned driver is delayed, because its application is unknown and its executors are
    /// left alone. The driver asks again every second.
    pub(super) fn keeps_waiting(&mut self, now: Timestamp, peer: PeerId, resumption: &Resumption) -> bool {
        let Resumption { app, executors, .. } = resumption;
        let Some(until) = self.hold.until else { return false };
        let is_known = self.applications.get(app).is_some() || self.applications.ended().get(app).is_some();
        if is_known || executors.is_empty() || self.applications.of_peer(peer).is_some() {
            return false;
        }
        if self.hold.is_first(app) {
            let remaining = until.since(now);
            self.effects.note(Note::ForeignDriverWaits {
                app: app.clone(),
                executors: executors.len(),
                place: self.config.state_place.clone(),
                remaining,
            });
        }
        true
    }

    /// Ends foreign executors if their time is over. All messages of returning Workers that arrived before
    /// `heard_until` have been handled.
    pub(crate) fn end_foreign(&mut self, now: Timestamp, heard_until: Timestamp) {
        let Some(until) = self.hold.until.filter(|until| *until <= now) else { return };
        if until > heard_until {
            self.hold.until = Some(now + until.since(heard_until));
            return;
        }
        self.hold = Hold::default();
        self.records.add(now, Record::ForeignHeld(false));
        let slots: Vec<Slot> = self.workers.slots().map(|(slot, _)| slot).collect();
        for slot in slots {
            let row = self.workers.row_mut(slot);
            let (worker, link) = (row.description.id.clone(), row.link);
            let Some(unknown_processes) = row.unknown_processes.take() else { continue };
            self.workers.set_unknown_processes(slot);
            let UnknownProcesses { executors, drivers } = *unknown_processes;
            for executor in executors {
                self.effects
                    .note(Note::UnknownExecutor { executor: executor.clone(), worker: worker.clone() });
                self.tell_worker(link, MasterToWorker::KillExecutor { executor });
            }
            for driver in drivers {
                self.effects.note(Note::UnknownDriver { driver: driver.clone(), worker: worker.clone() });
                self.tell_worker(link, MasterToWorker::KillDriver { driver });
            }
            self.pass = Pass::Due;
        }
    }
}
