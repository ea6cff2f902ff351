//! Peers whose connections ended: they keep what they have until they return or their time is over.

use std::collections::BTreeSet;

use firesteel_master::{Effect, Event, Inbound, Note};
use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{ApplicationEnd, WorkerToMaster};

use super::books::Availability;
use super::{EventOutcome, Ledger};
use crate::cluster::faults::absences::AWAY;

/// How late a busy Master may notice that somebody's time is over, in milliseconds.
const SLACK: u64 = 120_000;

impl Ledger {
    /// A connection ended. A Worker that announced its end and has nothing left is gone; others are away.
    pub(super) fn hang_up(&mut self, peer: PeerId, effects: &[Effect], released: &mut BTreeSet<ExecutorKey>) {
        let until = self.now + AWAY;
        if let Some(worker) = self.worker_of.remove(&peer)
            && let Some(book) = self.workers.get_mut(&worker)
        {
            self.presence.hang_up(&worker, book, effects);
            let is_empty = book.grants.is_empty() && book.drivers.is_empty();
            let has_left = book.availability == Availability::Decommissioning && is_empty;
            match has_left {
                true => self.remove_worker(&worker, released),
                false => (book.peer, book.away_until) = (None, Some(until)),
            }
        }
        let app = self.app_of.remove(&peer);
        if let Some(book) = app.and_then(|app| self.apps.get_mut(&app)) {
            (book.peer, book.away_until) = (None, Some(until));
        }
    }

    /// Enters the losses of Workers, and of drivers that were away, and the ends of executors of which no driver was
    /// told, because it is away.
    ///
    /// # Errors
    /// A Worker or driver is lost before its time to return was over.
    pub(super) fn lose_absent(
        &mut self,
        event: &Event,
        effects: &[Effect],
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) -> Result<(), String> {
        let is_overdue = |until: Option<u64>| until.is_some_and(|until| until + SLACK < self.now);
        let worker =
            self.workers.iter().find(|(_, book)| is_overdue(book.away_until)).map(|(id, _)| id.to_string());
        let app =
            self.apps.iter().find(|(_, book)| is_overdue(book.away_until)).map(|(id, _)| id.to_string());
        if let Some(overdue) = worker.or(app) {
            return Err(format!("{overdue} is away for longer than the Master waits"));
        }
        for effect in effects {
            let Effect::Note(note) = effect else { continue };
            match note {
                Note::WorkerRemoved { worker, .. } | Note::WorkerLeft { worker } => {
                    let Some(book) = self.workers.get(worker) else { continue };
                    let is_early = book.away_until.is_some_and(|until| self.now < until);
                    if is_early && !ends_absence(event, worker, &book.total.host, book.total.port) {
                        return Err(format!("{worker} is removed although it may still return"));
                    }
                    self.remove_worker(worker, released);
                }
                Note::ApplicationRemoved { app, end } if self.is_away(app) => {
                    let book = self.apps.remove(app).expect("it is away");
                    let is_early = book.away_until.is_some_and(|until| self.now < until);
                    if is_early && *end == ApplicationEnd::DriverLost {
                        return Err(format!("the driver of {app} is lost although it may still return"));
                    }
                    self.release_all(app, book.executors, released, outcome);
                    outcome.ended.push(end.clone());
                }
                Note::ExecutorEnded { executor, .. } if self.is_away(&executor.app) => {
                    self.release(executor, released);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_away(&self, app: &AppId) -> bool {
        self.apps.get(app).is_some_and(|book| book.peer.is_none())
    }
}

/// Whether an event shows that the process of an absent Worker has ended: nothing listens at its address, or another
/// Worker does.
fn ends_absence(event: &Event, absent: &WorkerId, host: &str, port: u16) -> bool {
    match event {
        Event::WorkerGone { worker, .. } => worker == absent,
        Event::Received {
            message: Inbound::Worker(WorkerToMaster::RegisterWorker { worker, .. }), ..
        } => worker.id != *absent && (worker.host.as_str(), worker.port) == (host, port),
        _ => false,
    }
}
