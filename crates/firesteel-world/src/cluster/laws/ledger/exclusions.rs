//! The check of excluded Workers, and of applications that end because their executors fail.
//!
//! The Master may know more than these books: the Master stops counting failures on a Worker once an executor has run
//! there long enough. So the checks cover only Workers without a failure or early end of the application's executors.

use std::collections::BTreeMap;

use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{ExecutorLaunch, ExecutorState, Relaunch};
use firesteel_protocol::process::ExitStatus;

use super::Ledger;
use super::books::Availability;

/// How long an executor must run so that its Worker is proven to work, in milliseconds.
const PROVEN_AFTER: u64 = 5_000;
/// The shortest exclusion of a Worker, in milliseconds.
const SHORTEST: u64 = 1_000;

/// The early ends and failures of an application's executors, by Worker.
pub(super) type EarlyEnds = BTreeMap<(AppId, WorkerId), EarlyEndBook>;

/// The early ends and failures of the executors of one application on one Worker.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlyEndBook {
    /// Executors with a smaller number were launched before the last counted early end.
    counted_below: u32,
    /// The time of the last counted early end, in milliseconds.
    at: Option<u64>,
    /// Whether any of these ends was a failure.
    failed: bool,
    /// A Worker that the application could use when the last early end was counted, for executors of this profile.
    another: Option<(WorkerId, ProfileId)>,
}

impl Ledger {
    /// An executor's process has started.
    pub(super) fn start_reported(&mut self, peer: PeerId, key: &ExecutorKey) {
        let holds = self.worker_of.get(&peer).and_then(|worker| self.workers.get(worker));
        if holds.is_some_and(|book| book.grants.contains_key(key)) {
            self.started.entry(key.clone()).or_insert(self.now);
        }
    }

    /// An executor has ended by itself while the Master still counted it.
    pub(super) fn count_early_end(&mut self, worker: &WorkerId, key: &ExecutorKey, end: &ExecutorState) {
        let Some(app) = self.apps.get(&key.app) else { return };
        let started = self.started.remove(key);
        let is_early = started.is_none_or(|at| self.now < at + PROVEN_AFTER);
        let failed = match end {
            ExecutorState::Exited(_) if app.relaunch == Relaunch::WhenLost => return,
            ExecutorState::Exited(ExitStatus::Code(0)) => false,
            ExecutorState::Exited(_) | ExecutorState::Failed(_) => true,
            ExecutorState::Launching
            | ExecutorState::Running
            | ExecutorState::Killed(_)
            | ExecutorState::Lost(_) => return,
        };
        if !failed && !is_early {
            return;
        }
        let (next, another) = (app.next, self.clean_worker_of(&key.app, worker));
        let (now, place) = (self.now, (key.app.clone(), worker.clone()));
        let book = self.early_ends.entry(place).or_default();
        book.failed |= failed;
        if is_early {
            // These books may take an end for a part of an earlier one which the Master counts, because an executor was
            // proven in between.
            let is_part = key.executor.0 < book.counted_below;
            book.counted_below = next;
            (book.at, book.another) = if is_part { (None, None) } else { (Some(now), another) };
        }
    }

    /// Another Worker with an executor of the application, and without a failure or early end of such an executor. Also
    /// returns the profile of that executor.
    fn clean_worker_of(&self, app: &AppId, but: &WorkerId) -> Option<(WorkerId, ProfileId)> {
        let book = self.apps.get(app).filter(|book| !book.avoids)?;
        let is_clean = |(_, worker): &(_, &WorkerId)| *worker != but && self.is_clean(app, worker);
        book.executors.iter().filter(is_clean).find_map(|(number, worker)| {
            let key = ExecutorKey { app: app.clone(), executor: *number };
            let launch = self.workers.get(worker)?.grants.get(&key)?;
            Some((worker.clone(), launch.profile))
        })
    }

    fn is_clean(&self, app: &AppId, worker: &WorkerId) -> bool {
        let book = self.workers.get(worker);
        let serves =
            book.is_some_and(|book| book.availability == Availability::Serving && !book.cannot_start);
        serves && !self.early_ends.contains_key(&(app.clone(), worker.clone()))
    }

    /// Forgets everything about a Worker that has ended.
    pub(super) fn forget_early_ends(&mut self, worker: &WorkerId) {
        self.early_ends.retain(|(_, on), _| on != worker);
        for book in self.early_ends.values_mut() {
            book.another = book.another.take().filter(|(another, _)| another != worker);
        }
    }

    /// Checks the Worker of a launch. Fails if an executor of the application has just ended early on this Worker with
    /// exit code 0, or has just failed on it while another Worker is left.
    pub(super) fn check_excluded(&self, worker: &WorkerId, launch: &ExecutorLaunch) -> Result<(), String> {
        let app = &launch.executor.app;
        let Some(book) = self.early_ends.get(&(app.clone(), worker.clone())) else { return Ok(()) };
        let is_recent = book.at.is_some_and(|at| self.now < at + SHORTEST);
        let is_another = |(another, profile): &(WorkerId, ProfileId)| {
            *profile == launch.profile && self.is_clean(app, another)
        };
        let has_another = || book.another.as_ref().is_some_and(is_another);
        let avoids = || self.apps.get(app).is_some_and(|book| book.avoids);
        if is_recent && (!book.failed || (!avoids() && has_another())) {
            return Err(format!(
                "executor {} is launched on {worker}, where executors of its application ended early just now",
                launch.executor
            ));
        }
        Ok(())
    }

    /// Checks an application that the Master ends for failures: it must have no unproven executor on a Worker without
    /// failures.
    pub(super) fn check_failed(&self, peer: PeerId) -> Result<(), String> {
        let Some(app) = self.app_of.get(&peer) else { return Ok(()) };
        let Some(book) = self.apps.get(app) else { return Ok(()) };
        let on_trial = book.executors.iter().find(|(_, worker)| {
            !self.early_ends.get(&(app.clone(), (*worker).clone())).is_some_and(|book| book.failed)
        });
        match on_trial {
            Some((executor, worker)) => Err(format!(
                "{app} is ended for failures while executor {executor} is on trial on {worker}, where none has failed"
            )),
            None => Ok(()),
        }
    }
}
