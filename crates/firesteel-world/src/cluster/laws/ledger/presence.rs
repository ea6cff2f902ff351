//! The check of Workers that left or are late.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::{Config, Effect, Note};
use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::messages::{MasterView, WorkerRemark, WorkerState, WorkerToMaster};
use firesteel_protocol::time::millis;

use super::Ledger;
use super::books::{Availability, WorkerBook};

/// The presence of Workers, as the Workers have reported it.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// The Workers that announced their end, and had no processes left when their connections ended.
    left: BTreeSet<WorkerId>,
    /// For each Worker, when the latest heartbeat that the Master has handled arrived, in milliseconds.
    heard: BTreeMap<WorkerId, u64>,
}

impl Presence {
    /// A Worker registered and is now present.
    pub(super) fn register(&mut self, worker: &WorkerId) {
        self.left.remove(worker);
    }

    /// The connection of a Worker ended. The Master may have closed it because the Worker was silent for too long.
    pub(super) fn hang_up(&mut self, worker: &WorkerId, book: &WorkerBook, effects: &[Effect]) {
        let is_news = effects.iter().any(|effect| match effect {
            Effect::Note(Note::WorkerLeft { worker: gone } | Note::WorkerRemoved { worker: gone, .. }) => {
                gone == worker
            }
            _ => false,
        });
        let is_empty = book.grants.is_empty() && book.drivers.is_empty();
        if is_news && book.availability == Availability::Decommissioning && is_empty {
            self.left.insert(worker.clone());
        }
    }
}

impl Ledger {
    /// Whether the Worker of this connection has no executor and no cluster driver, as far as the Master knows.
    pub(crate) fn is_empty_worker(&self, peer: PeerId) -> bool {
        let book = self.worker_of.get(&peer).and_then(|worker| self.workers.get(worker));
        book.is_some_and(|book| book.grants.is_empty() && book.drivers.is_empty())
    }

    /// Enters the arrival time of a Worker's heartbeat.
    pub(super) fn hear(&mut self, peer: PeerId, arrived: u64, message: &WorkerToMaster) {
        if let WorkerToMaster::Heartbeat { worker, .. } = message
            && self.worker_of.get(&peer) == Some(worker)
        {
            let heard = self.presence.heard.entry(worker.clone()).or_default();
            *heard = arrived.max(*heard);
        }
    }

    /// Compares the Master's view of left and late Workers with the books.
    ///
    /// # Errors
    /// The first difference, as text.
    pub(crate) fn compare_presence(&self, view: &MasterView) -> Result<(), String> {
        let Presence { left, heard } = &self.presence;
        for worker in view.workers.iter().filter(|worker| worker.state.is_gone()) {
            let id = &worker.id;
            match (worker.state, left.contains(id)) {
                (WorkerState::Dead, true) => {
                    return Err(format!("{id} said goodbye with nothing left there, and is called DEAD"));
                }
                (WorkerState::Left, false) => {
                    return Err(format!("{id} is called LEFT, and did not say goodbye"));
                }
                _ => {}
            }
        }
        // Two heartbeats arrive in half of the timeout.
        let two = millis(Config::default().worker_timeout / 2);
        let late = view.workers.iter().filter(|worker| worker.remark == Some(WorkerRemark::Late));
        for id in late.map(|worker| &worker.id) {
            if let Some(heard) = heard.get(id).filter(|heard| **heard + two > view.now.millis()) {
                let silent = view.now.millis().saturating_sub(*heard);
                return Err(format!("{id} is called late, and was heard {silent} ms ago"));
            }
        }
        Ok(())
    }
}
