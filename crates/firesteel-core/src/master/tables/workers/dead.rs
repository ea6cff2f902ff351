//! The lost Workers that are remembered for a while.

use std::time::Duration;

use firesteel_placement::Resources;

use super::table::WorkerTable;
use crate::master::tables::workers::row::WorkerRow;
use crate::messages::{Departure, WorkerRemark, WorkerView};
use crate::time::Timestamp;

/// The maximum number of lost Workers that are remembered.
pub(super) const DEAD_LIMIT: usize = 1000;

/// A lost Worker.
#[derive(Debug)]
pub(super) struct DeadWorker {
    pub(super) view: WorkerView,
    pub(super) forgotten_at: Timestamp,
}

impl WorkerTable {
    /// Remembers a Worker that was removed, and forgets those that are overdue.
    pub(crate) fn bury(&mut self, row: &WorkerRow, departure: Departure, remember: Duration) {
        self.forget_dead(departure.at);
        self.dead.retain(|dead| dead.view.id != row.description.id);
        if self.dead.len() >= DEAD_LIMIT {
            self.dead.pop_front();
        }
        let forgotten_at = row.last_heartbeat.time() + remember;
        // A Worker can have thousands of addresses, and nobody asks for those of a lost one, or for what was wrong with it.
        let (resources, resources_used) = (Resources::default(), Resources::default());
        let (impairment, state) = (None, departure.cause.state());
        let remark = Some(WorkerRemark::Gone(departure));
        let view = WorkerView { resources, resources_used, impairment, remark, ..row.view(state) };
        self.bury_view(view, forgotten_at);
    }

    /// Remembers a lost Worker until this time.
    pub(crate) fn bury_view(&mut self, view: WorkerView, forgotten_at: Timestamp) {
        self.dead.push_back(DeadWorker { view, forgotten_at });
    }

    /// The lost Workers that are remembered at this time, each with the time when it is forgotten, in the order of their losses.
    pub(crate) fn dead(&self, now: Timestamp) -> impl Iterator<Item = (&WorkerView, Timestamp)> {
        let remembered = self.dead.iter().filter(move |dead| dead.forgotten_at > now);
        remembered.map(|dead| (&dead.view, dead.forgotten_at))
    }

    /// Forgets lost Workers that are overdue. Called before they are shown.
    pub(crate) fn forget_dead(&mut self, now: Timestamp) {
        self.dead.retain(|dead| dead.forgotten_at > now);
    }
}
