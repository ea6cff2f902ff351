//! The Workers that are excluded for all applications.
//!
//! One application's failures on a Worker may be its own. If different applications fail there and have proven executors
//! elsewhere, the Worker is bad: it is excluded for all, for a while that doubles, until an executor is proven there.
//! At most half of the Workers are excluded this way.

use std::collections::BTreeSet;

use firesteel_placement::index::Slot;
use serde::{Deserialize, Serialize};

use crate::ids::{AppId, ExecutorId};
use crate::master::tables::workers::row::{Availability, WorkerRow};
use crate::master::tables::workers::table::WorkerTable;
use crate::master::{Master, Note};
use crate::time::{Timestamp, first_due, millis};

/// The number of applications that must have failed on a Worker and have proven executors elsewhere.
const ENOUGH: usize = 2;

/// What speaks against a Worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Distrust {
    /// Applications that failed there and had proven executors elsewhere, at most [`ENOUGH`]. They may be over.
    by: BTreeSet<AppId>,
    /// The time of the last failure.
    last_failure: Timestamp,
    /// The number of times in a row that the Worker was excluded.
    pub(crate) times: u32,
    /// The Worker is excluded until then.
    pub(crate) until: Option<Timestamp>,
}

impl Distrust {
    fn add(&mut self, app: &AppId) {
        if self.by.len() < ENOUGH {
            self.by.insert(app.clone());
        }
    }
}

impl WorkerRow {
    /// An executor is proven there that started at this time.
    fn trust(&mut self, started: Timestamp) {
        if self.distrust.until.is_none() && started >= self.distrust.last_failure {
            self.distrust = Distrust::default();
        }
    }
}

impl WorkerTable {
    /// Gives a Worker no executors before `until`.
    pub(crate) fn exclude(&mut self, slot: Slot, until: Timestamp) {
        self.forget_exclusion(slot);
        self.row_mut(slot).distrust.until = Some(until);
        self.mark(slot);
        self.excluded.insert((until, slot));
        self.set_availability(slot, Availability::Excluded);
    }

    /// The Workers that are excluded for all applications.
    pub(crate) fn excluded_slots(&self) -> impl Iterator<Item = Slot> {
        self.excluded.iter().map(|(_, slot)| *slot)
    }

    /// The number of Workers that are excluded for all applications.
    pub(crate) fn excluded(&self) -> usize {
        self.excluded.len()
    }

    /// When the next exclusion for all applications ends.
    pub(crate) fn next_readmission(&self) -> Option<Timestamp> {
        self.excluded.first().map(|(time, _)| *time)
    }

    /// Ends the exclusions whose time is over. Returns whether there were any.
    pub(crate) fn readmit(&mut self, now: Timestamp) -> bool {
        let mut readmitted = false;
        while let Some(slot) = first_due(&self.excluded, now) {
            self.forget_exclusion(slot);
            self.set_availability(slot, Availability::Serving);
            readmitted = true;
        }
        readmitted
    }

    /// Forgets when a Worker's exclusion ends.
    pub(crate) fn forget_exclusion(&mut self, slot: Slot) {
        if let Some(until) = self.row_mut(slot).distrust.until.take() {
            self.mark(slot);
            self.excluded.remove(&(until, slot));
        }
    }
}

impl Master {
    /// An application's executor failed on a Worker before it was proven. Excludes the Worker for all applications if
    /// enough of them failed there and run elsewhere.
    pub(crate) fn distrust(&mut self, now: Timestamp, app: &AppId, worker: Slot) {
        let runs_elsewhere = self.runs_elsewhere(app, worker);
        let may_exclude = (self.workers.excluded() + 1) * 2 <= self.workers.alive_count();
        self.workers.mark(worker);
        let row = self.workers.row_mut(worker);
        row.distrust.last_failure = now;
        if runs_elsewhere {
            row.distrust.add(app);
        }
        let is_bad = row.distrust.by.len() >= ENOUGH && row.availability == Availability::Serving;
        if !is_bad || !may_exclude {
            return;
        }
        row.distrust.times = row.distrust.times.saturating_add(1);
        let Some(delay) = self.config.effective_exclusion().delay(row.distrust.times) else { return };
        let id = row.description.id.clone();
        self.workers.exclude(worker, now + delay);
        self.effects.note(Note::WorkerDistrusted { worker: id, millis: millis(delay) });
    }

    /// Whether an application has a proven executor on another Worker.
    fn runs_elsewhere(&self, app: &AppId, worker: Slot) -> bool {
        let mut executors = self.applications.live(app).executors.values();
        executors.any(|executor| executor.probation.is_proven() && executor.slot != worker)
    }

    /// Executors of an application are proven: their Workers can start executors, and those where others of its
    /// executors failed may be bad.
    pub(crate) fn weigh_proof(&mut self, app: &AppId, proven: &[(Slot, ExecutorId)]) {
        let application = self.applications.live(app);
        for (slot, executor) in proven {
            let started =
                application.executors.get(*executor).and_then(|executor| executor.probation.started());
            self.workers.row_mut(*slot).trust(started.unwrap_or_default());
            self.workers.mark(*slot);
        }
        if application.exclusions.blamed() == 0 {
            return;
        }
        let blamed: Vec<Slot> =
            application.exclusions.remembered().filter(|slot| application.exclusions.blames(*slot)).collect();
        for slot in blamed {
            if self.runs_elsewhere(app, slot) {
                self.workers.row_mut(slot).distrust.add(app);
                self.workers.mark(slot);
            }
        }
    }
}
