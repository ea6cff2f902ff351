//! How failures of executors are counted, and when they end an application.

use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::{AppId, ExecutorKey};
use firesteel_protocol::messages::{ApplicationEnd, EarlyEnd, ExecutorState, LossReason};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::{Timestamp, doubled, millis};

use crate::tables::applications::exclusions::{CountedEnd, Exclusions};
use crate::tables::executors::executor::Probation;
use crate::{Exclusion, Master, Note, Retries};

/// The wait after the second failure in a row. The wait doubles with every further failure.
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The number of failures in a row that end an application if none of its executors ever ran. Only failures count that
/// would happen to the next executor, too: the driver's host is unknown, or nothing listens there.
const CERTAIN_FAILURES: u32 = 3;
const LONGEST_DELAY: Duration = Duration::from_secs(5);

impl Master {
    /// Counts an end that the Worker reported, and that nobody had requested. A failure is an exit code other than 0, a
    /// signal, a process that could not be started, or one that used more than its Worker allows. If too many executors
    /// fail in a row, the application is at fault and is ended.
    ///
    /// Source: Spark Master, 4.0.1. Firesteel differs:
    ///
    /// - An executor is proven when it has run for a while, not when it has started.
    /// - Workers where executors end before they are proven are excluded for a while (see `exclusions`). Failures of
    ///   executors that were launched together on a Worker count as one.
    /// - From the second failure in a row on, the Master waits before it launches another executor.
    /// - If a Worker itself ended an executor, this is no failure.
    /// - A final end does not count, because the executor is not replaced.
    /// - If Firesteel's own executors report that their driver cannot be reached, the application is ended sooner.
    pub(super) fn count_end(
        &mut self,
        now: Timestamp,
        executor: &ExecutorKey,
        (worker, probation): (Slot, Probation),
        (end, trouble): (ExecutorState, Option<ExecutorTrouble>),
    ) {
        let app = &executor.app;
        let is_final = self.applications.live(app).description.relaunch.is_final(&end);
        let Some(blamed) = counted_end(&end, probation, is_final) else { return };
        let counts = self.count_failure(now, executor, worker, blamed);
        if !counts || is_final || blamed == CountedEnd::Early(EarlyEnd::Finished) {
            return;
        }
        let application = self.applications.live_mut(app);
        application.failures.in_a_row += 1;
        let failures = application.failures.in_a_row;
        self.applications.mark(app);
        let application = self.applications.live(app);
        let retries = match trouble {
            Some(trouble) if trouble.is_certain() => self.config.retries.at_most(CERTAIN_FAILURES),
            Some(_) | None => self.config.retries,
        };
        if application.failures.proven == 0
            && retries.are_used_up(failures)
            && !self.may_be_sound(app, retries)
        {
            return self.remove_application(
                now,
                app,
                ApplicationEnd::ExecutorsFailed { failures, last: end },
            );
        }
        if let Some(delay) = relaunch_delay(failures) {
            self.applications.hold(app, Some(now + delay));
            self.effects.note(Note::RelaunchDelayed { app: app.clone(), failures, millis: millis(delay) });
        }
    }

    /// Records the end of an executor in the failure history of its Worker. Excludes the Worker for the application if
    /// another one can be used. Returns `false` if the end belongs to an earlier one that was already counted.
    fn count_failure(
        &mut self,
        now: Timestamp,
        executor: &ExecutorKey,
        worker: Slot,
        end: CountedEnd,
    ) -> bool {
        let exclusion = self.config.effective_exclusion();
        if exclusion == Exclusion::Off {
            return true;
        }
        let (app, number) = (&executor.app, executor.executor);
        let next = self.applications.live(app).next_executor;
        let count = |exclusions: &mut Exclusions| exclusions.count(worker, number, next, end);
        let Some(early_ends) = self.applications.change_exclusions(app, count) else { return false };
        let CountedEnd::Early(early) = end else { return true };
        if early == EarlyEnd::Failed {
            self.global_exclusion(now, app, worker);
        }
        if early == EarlyEnd::Failed && !self.has_another_worker(app, worker) {
            self.applications.change_exclusions(app, Exclusions::forgive_failures);
            return true;
        }
        if let Some(delay) = exclusion.delay(early_ends) {
            self.applications.change_exclusions(app, |exclusions| exclusions.exclude(worker, now + delay));
            self.effects.note(Note::WorkerExcluded {
                worker: self.workers.row(worker).description.id.clone(),
                app: app.clone(),
                end: early,
                millis: millis(delay),
            });
        }
        true
    }

    /// Whether an application can get another Worker that is large enough for one of its executors. The Worker may have
    /// too few free resources now.
    fn has_another_worker(&self, app: &AppId, worker: Slot) -> bool {
        let application = self.applications.live(app);
        let others = self
            .workers
            .slots()
            .filter(|(slot, row)| *slot != worker && row.stays() && !application.excludes(*slot, row));
        let mut others = others.map(|(_, row)| row.whole_offer());
        others.any(|offer| application.fits(&offer))
    }

    /// Whether an application with failing executors may still be sound, because its Workers may be bad. It may be
    /// sound if one of its executors is on probation on a Worker without failures, or can be launched on one. If
    /// executors failed on a single Worker, another Worker must be large enough. If they failed on several, another
    /// Worker must have enough free resources now. If they failed on as many Workers as the application may have
    /// failures, the application is at fault.
    fn may_be_sound(&self, app: &AppId, retries: Retries) -> bool {
        let application = self.applications.live(app);
        let has_failures = |slot| application.exclusions.has_failures_on(slot);
        if self.config.effective_exclusion() == Exclusion::Off {
            return false;
        }
        if application.executors.values().any(|executor| !has_failures(executor.slot)) {
            return true;
        }
        let blamed = application.exclusions.failed_workers();
        if retries.are_used_up(u32::try_from(blamed).unwrap_or(u32::MAX)) {
            return false;
        }
        let others = self
            .workers
            .slots()
            .filter(|(slot, row)| row.stays() && !has_failures(*slot) && application.may_use(row));
        let mut others = others.map(|(_, row)| if blamed > 1 { row.offer() } else { row.whole_offer() });
        others.any(|offer| application.fits(&offer))
    }

    /// Marks executors that ran long enough as proven. Their application no longer waits, and the failure histories of
    /// their Workers are cleared.
    pub(crate) fn end_probations(&mut self, now: Timestamp, app: &AppId) {
        let proven = self.applications.live_mut(app).end_probations(now, self.config.proven_after);
        if proven.is_empty() {
            return;
        }
        self.applications.hold(app, None);
        self.weigh_proof(app, &proven);
        self.applications.change_exclusions(app, |exclusions| {
            proven.into_iter().for_each(|(worker, executor)| exclusions.prove(worker, executor));
        });
    }
}

/// Classifies an end for which a Worker or the application may be at fault. `None` if neither is, or if the end is the
/// result of the application's program.
fn counted_end(end: &ExecutorState, probation: Probation, is_final: bool) -> Option<CountedEnd> {
    let end = match end {
        // If a program is not replaced, its end is its result.
        ExecutorState::Exited(_) | ExecutorState::Lost(LossReason::OverLimit { .. }) if is_final => {
            return None;
        }
        ExecutorState::Exited(ExitStatus::Code(0)) => EarlyEnd::Finished,
        ExecutorState::Exited(_)
        | ExecutorState::Failed(_)
        | ExecutorState::Lost(LossReason::OverLimit { .. }) => EarlyEnd::Failed,
        ExecutorState::Killed(_)
        | ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Lost(_) => return None,
    };
    match (probation, end) {
        (Probation::Launching | Probation::Running { .. }, end) => Some(CountedEnd::Early(end)),
        (Probation::Proven { .. }, EarlyEnd::Failed) => Some(CountedEnd::LateFailure),
        (Probation::Proven { .. }, EarlyEnd::Finished) => None,
    }
}

impl Retries {
    /// Lowers the limit to this number of failures in a row. Unlimited retries stay unlimited.
    fn at_most(self, failures: u32) -> Self {
        match self {
            Self::AtMost(most) => Self::AtMost(most.min(failures)),
            Self::Unlimited => Self::Unlimited,
        }
    }

    fn are_used_up(self, failures: u32) -> bool {
        match self {
            Self::AtMost(most) => failures >= most,
            Self::Unlimited => false,
        }
    }
}

/// The wait after this number of failures in a row. `None` after the first failure, which may be chance.
fn relaunch_delay(failures: u32) -> Option<Duration> {
    Some(doubled(FIRST_DELAY, failures.checked_sub(2)?, LONGEST_DELAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_the_second_failure_up_to_its_bound() {
        let millis: Vec<_> = (0..10).map(|n| relaunch_delay(n).map(|delay| delay.as_millis())).collect();
        let expected = [0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
        assert_eq!(millis, expected.map(|n| (n > 0).then_some(n)));
        assert_eq!(relaunch_delay(u32::MAX), Some(LONGEST_DELAY));
    }
}
