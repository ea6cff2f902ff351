//! The Workers that are excluded for all applications.
//!
//! One application's failures on a Worker may be its own fault. If several applications fail on a Worker but have
//! proven executors on others, the Worker is bad. The Worker is excluded for all applications, each time for twice as
//! long, until an executor is proven on it. At most half of the Workers are excluded in this way.

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_protocol::time::{Timestamp, millis};

use crate::tables::workers::health::Availability;
use crate::{Master, Note};

impl Master {
    /// Counts an executor that failed on a Worker before it was proven. If enough applications failed there but run
    /// elsewhere, excludes the Worker for all applications.
    pub(crate) fn global_exclusion(&mut self, now: Timestamp, app: &AppId, worker: Slot) {
        let runs_elsewhere = self.runs_elsewhere(app, worker);
        let may_exclude = (self.workers.excluded() + 1) * 2 <= self.workers.alive_count();
        self.workers.change_health(worker, |health| {
            health.global_exclusion.last_failure = now;
            if runs_elsewhere {
                health.global_exclusion.add(app);
            }
        });
        let row = self.workers.row(worker);
        let is_bad = row.health().global_exclusion.is_enough() && row.availability() == Availability::Serving;
        if !is_bad || !may_exclude {
            return;
        }
        let id = row.description.id.clone();
        let times = row.health().global_exclusion.times.saturating_add(1);
        self.workers.change_health(worker, |health| health.global_exclusion.times = times);
        let Some(delay) = self.config.effective_exclusion().delay(times) else { return };
        self.workers.exclude(worker, now + delay);
        self.effects.note(Note::WorkerDistrusted { worker: id, millis: millis(delay) });
    }

    /// Whether an application has a proven executor on another Worker.
    fn runs_elsewhere(&self, app: &AppId, worker: Slot) -> bool {
        let mut executors = self.applications.live(app).executors.values();
        executors.any(|executor| executor.probation.is_proven() && executor.slot != worker)
    }

    /// Considers newly proven executors of an application. They show that their Workers can start executors. They also
    /// show that Workers where other executors of the application failed may be bad.
    pub(super) fn weigh_proof(&mut self, app: &AppId, proven: &[(Slot, ExecutorId)]) {
        let application = self.applications.live(app);
        for (slot, executor) in proven {
            let started =
                application.executors.get(*executor).and_then(|executor| executor.probation.started());
            let started = started.unwrap_or_default();
            self.workers.change_health(*slot, |health| health.global_exclusion.lift(started));
        }
        if application.exclusions.failed_workers() == 0 {
            return;
        }
        let blamed: Vec<Slot> = application
            .exclusions
            .remembered()
            .filter(|slot| application.exclusions.has_failures_on(*slot))
            .collect();
        for slot in blamed {
            if self.runs_elsewhere(app, slot) {
                self.workers.change_health(slot, |health| health.global_exclusion.add(app));
            }
        }
    }
}
