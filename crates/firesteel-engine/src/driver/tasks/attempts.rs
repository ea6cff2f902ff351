//! The ends of attempts, and the handling of the attempts' output.

use bytes::Bytes;
use firesteel_placement::advanced::locality::{Locality, nearness};
use firesteel_protocol::ids::{AttemptId, ExecutorId, TaskId};
use firesteel_protocol::messages::{DriverToExecutor, Stream, TaskEnd, TaskState};
use firesteel_protocol::process::StartFailure;
use firesteel_protocol::time::Timestamp;

use super::TaskPhase;
use crate::driver::exclusion::health_tracker::Success;
use crate::driver::{Driver, Effect, ExecutorLoss, FailureCause, Note, TaskOutcome};

impl Driver {
    /// An executor reports an attempt's state. Late reports about an attempt that the driver gave up change nothing.
    pub(in crate::driver) fn on_status_update(
        &mut self,
        now: Timestamp,
        executor: ExecutorId,
        attempt: AttemptId,
        state: TaskState,
    ) {
        if self.tasks.executor_of(attempt) != Some(executor) {
            return;
        }
        let end = match state {
            TaskState::Running => return self.executors.started_task(executor),
            TaskState::Ended(end) => end,
        };
        self.executors.vacate(executor, attempt.task);
        self.executors.ended_task(executor);
        if matches!(self.tasks.phase(attempt.task), Some(TaskPhase::Cancelling { .. })) {
            self.end_cancelled(attempt.task);
            return;
        }
        let host = self.executors.live(executor).host.clone();
        match end {
            end if end.is_success() => self.finish_task(now, attempt, executor, &host),
            TaskEnd::Killed => {
                self.executors.leave(executor);
                self.repeat_attempt(attempt);
            }
            end => {
                self.fail_attempt(attempt, executor, &host, FailureCause::Ended(end));
            }
        }
    }

    pub(in crate::driver) fn on_task_output(
        &mut self,
        executor: ExecutorId,
        attempt: AttemptId,
        stream: Stream,
        bytes: Bytes,
    ) {
        // The output may be late: the task was cancelled, or the attempt runs elsewhere.
        let Some((_, credit)) = self.tasks.running_mut(attempt, executor) else { return };
        if bytes.is_empty() {
            return;
        }
        let sent = bytes.len() as u64;
        match credit.receive(sent) {
            Ok(()) => self.effects.push(Effect::Output { attempt, stream, bytes }),
            Err(exceeded) => {
                self.effects.note(Note::CreditExceeded {
                    executor,
                    attempt,
                    sent,
                    granted: exceeded.granted,
                });
                self.lose_executor(executor, ExecutorLoss::Misbehaved);
            }
        }
    }

    pub(in crate::driver) fn on_output_consumed(&mut self, attempt: AttemptId, bytes: u64) {
        // The attempt may have ended or been cancelled before the driver's owner wrote its output.
        let Some(executor) = self.tasks.executor_of(attempt) else { return };
        let Some((_, credit)) = self.tasks.running_mut(attempt, executor) else { return };
        let Some(bytes) = credit.consume(bytes) else { return };
        self.tell_executor(executor, DriverToExecutor::OutputCredit { attempt, bytes });
    }

    /// A user cancels a task. A waiting task ends immediately. A running task ends when its executor reports the end or
    /// is lost. Until then, its cores are not free.
    pub(in crate::driver) fn on_cancel_task(&mut self, task: TaskId) {
        if self.tasks.phase(task) == Some(&TaskPhase::Waiting) {
            self.end_cancelled(task);
            return;
        }
        // The task may have ended, or be cancelled already.
        let Some((executor, attempt)) = self.tasks.cancel_running(task) else { return };
        self.tell_executor(executor, DriverToExecutor::KillTask { attempt });
    }

    /// Ends a cancelled task, whatever the result of its attempt.
    pub(in crate::driver) fn end_cancelled(&mut self, task: TaskId) {
        self.health.over(task);
        self.clear_suspicion(task);
        self.tasks.drop_cancelled(task);
        self.effects.push(Effect::TaskEnded { task, outcome: TaskOutcome::Cancelled });
    }

    /// An attempt failed. The task is retried, unless it has reached its limit of failures or would fail again.
    pub(in crate::driver) fn fail_attempt(
        &mut self,
        attempt: AttemptId,
        executor: ExecutorId,
        host: &str,
        cause: FailureCause,
    ) {
        self.health.failed(attempt.task);
        let failures = self.tasks.count_failure(attempt.task, executor, host, &self.config.exclusion);
        let limit = self.tasks.live(attempt.task).max_failures.unwrap_or(self.config.max_task_failures);
        let cause = match cause {
            FailureCause::Ended(TaskEnd::Exited(status))
                if failures < limit && self.config.fatal_exit_codes.contains(status) =>
            {
                FailureCause::FatalExit(status)
            }
            other => other,
        };
        self.effects.note(Note::TaskFailed {
            attempt,
            executor,
            host: host.to_owned(),
            cause: cause.clone(),
            failures,
            limit,
        });
        let hopeless = match &cause {
            FailureCause::Ended(TaskEnd::NotStarted(failure)) if failure.is_of_the_machine() => {
                self.starts_nowhere(attempt.task, host, failure)
            }
            FailureCause::FatalExit(_) | FailureCause::StartsNowhere { .. } => Some(cause.clone()),
            FailureCause::Ended(_) | FailureCause::ExecutorDied(_) => None,
        };
        if failures < limit && hopeless.is_none() {
            self.suspect(attempt.task, executor, host);
            self.repeat_attempt(attempt);
        } else {
            let cause = hopeless.unwrap_or(cause);
            let locality = self.locality(attempt.task, host);
            self.health.over(attempt.task);
            self.clear_suspicion(attempt.task);
            self.tasks.finish(attempt.task);
            self.tasks.tally_mut().failed += 1;
            let outcome = TaskOutcome::Failed { attempt, executor, locality, failures, cause };
            self.effects.push(Effect::TaskEnded { task: attempt.task, outcome });
        }
    }

    /// If neither this host nor any other host with executors can start the task, returns this as the cause of its
    /// final failure.
    fn starts_nowhere(&mut self, task: TaskId, host: &str, failure: &StartFailure) -> Option<FailureCause> {
        let (profile, barred) = self.tasks.bar(task, host);
        let reach = self.executors.reach();
        let left = reach.hosts(profile) - barred.iter().filter(|host| reach.is_on(profile, host)).count();
        let (failure, hosts) = (failure.clone(), barred.len());
        (left == 0).then_some(FailureCause::StartsNowhere { failure, hosts })
    }

    /// An attempt ended without a result that counts. The task waits again.
    pub(in crate::driver) fn repeat_attempt(&mut self, attempt: AttemptId) {
        self.effects.push(Effect::DiscardOutput { attempt });
        self.tasks.requeue(attempt.task, self.executors.reach());
    }

    fn finish_task(&mut self, now: Timestamp, attempt: AttemptId, executor: ExecutorId, host: &str) {
        let failed_on = self.tasks.failed_on(attempt.task);
        let live =
            failed_on.iter().map(|(id, _)| *id).filter(|id| self.executors.get(*id).is_some()).collect();
        let (task, profile, host_name) =
            (attempt.task, self.executors.live(executor).profile, host.to_owned());
        let success = Success { task, profile, on: executor, host: host_name, failed_on, live };
        self.health.succeeded(success, now);
        self.clear_suspicion(attempt.task);
        self.executors.believe(executor);
        let locality = self.locality(attempt.task, host);
        self.tasks.finish(attempt.task);
        self.tasks.tally_mut().succeeded += 1;
        let outcome = TaskOutcome::Succeeded { attempt, executor, locality };
        self.effects.push(Effect::TaskEnded { task: attempt.task, outcome });
    }

    /// How near a host is to the preferred hosts of a task. `None` if the task has no preferred hosts.
    fn locality(&self, task: TaskId, host: &str) -> Option<Locality> {
        let wanted = self.tasks.sites(task);
        (!wanted.is_empty()).then(|| nearness(wanted, &self.config.topology.sites([host])))
    }
}
