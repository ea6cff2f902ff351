//! Executors on machines that are short of processes, open files or memory.
//!
//! An executor on such a machine gives tasks back, and then takes no more tasks than it runs. Like `xargs`, it waits
//! until one of its processes ends, and then tries one more task. It also tries one more task after a pause, because
//! other programs may hold the resource.

use std::time::Duration;

use firesteel_protocol::ids::{AttemptId, ExecutorId};
use firesteel_protocol::messages::TaskEnd;
use firesteel_protocol::process::StartFailure;
use firesteel_protocol::time::Timestamp;

use super::Executors;
use crate::driver::tasks::TaskPhase;
use crate::driver::{Driver, FailureCause, Note};

/// The first pause before another try. Each pause is twice as long as the one before, until a try succeeds.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long a shortage may last on an executor that runs no task. After that, an attempt that the executor gives back
/// counts as failed.
pub(super) const PASSES_WITHIN: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Shortage {
    /// The maximum number of tasks that the executor takes now.
    pub(in crate::driver) most: usize,
    /// The next pause before the executor tries one more task.
    pause: Duration,
    /// When the executor tries one more task.
    pub(in crate::driver) again: Timestamp,
    /// Since when the executor has run no task and started none.
    stuck_since: Option<Timestamp>,
}

impl Shortage {
    /// The shortage of an executor that has begun to give tasks back.
    pub(in crate::driver) fn begin(now: Timestamp) -> Self {
        Self { most: 0, pause: FIRST_PAUSE, again: now + FIRST_PAUSE, stuck_since: None }
    }

    /// The executor gave a task back while it runs `running` tasks. Returns whether the executor has been unable to
    /// start any task for too long.
    pub(super) fn given_back(&mut self, now: Timestamp, running: usize) -> bool {
        self.most = running;
        self.again = now + self.pause;
        if running > 0 {
            self.stuck_since = None;
            return false;
        }
        now.since(*self.stuck_since.get_or_insert(now)) >= PASSES_WITHIN
    }

    /// A task of the executor has started: the pauses are short again.
    pub(in crate::driver) fn started(&mut self) {
        self.pause = FIRST_PAUSE;
        self.stuck_since = None;
    }

    /// A process has ended, or the pause is over: the executor takes one more task.
    pub(super) fn relax(&mut self, running: usize) {
        self.most = self.most.max(running).saturating_add(1);
    }

    /// Ends a pause and makes the next one longer.
    pub(super) fn lengthen(&mut self, now: Timestamp) {
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        self.again = now + self.pause;
    }
}

impl Executors {
    /// An executor gave back a task, which is no longer among its tasks. The executor now takes no more tasks than it
    /// runs. Returns whether it has been unable to start any task for too long.
    pub(super) fn gave_back(&mut self, id: ExecutorId, now: Timestamp) -> bool {
        self.short.insert(id);
        self.change(id, |row| {
            let running = row.running().len();
            row.shortage.get_or_insert_with(|| Shortage::begin(now)).given_back(now, running)
        })
    }

    /// A task has started on an executor. So the executor's shortage is less severe.
    pub(in crate::driver) fn started_task(&mut self, id: ExecutorId) {
        if let Some(shortage) = &mut self.live_mut(id).shortage {
            shortage.started();
        }
    }

    /// A task has ended on an executor. If its machine has a shortage, the executor takes one more task than before.
    pub(in crate::driver) fn ended_task(&mut self, id: ExecutorId) {
        if self.short.contains(&id) {
            self.relax(id);
        }
    }

    fn relax(&mut self, id: ExecutorId) {
        let is_over = self.change(id, |row| {
            let (running, cores) = (row.running().len(), usize::try_from(row.cores.0).unwrap_or(0));
            let shortage = row.shortage.as_mut()?;
            shortage.relax(running);
            // Each task takes a core, so it has run as many tasks as it has cores.
            if shortage.most > cores {
                row.shortage = None;
            }
            row.shortage.is_none().then_some(())
        });
        if is_over.is_some() {
            self.short.remove(&id);
        }
    }

    /// When an executor with a shortage next tries one more task although no task has ended.
    pub(in crate::driver) fn next_try(&self) -> Option<Timestamp> {
        self.short.iter().filter_map(|id| Some(self.live(*id).shortage.as_ref()?.again)).min()
    }

    /// Lets executors whose pauses are over take one more task.
    pub(in crate::driver) fn try_again(&mut self, now: Timestamp) {
        let is_due =
            |id: &ExecutorId| self.live(*id).shortage.as_ref().is_some_and(|shortage| shortage.again <= now);
        let due: Vec<ExecutorId> = self.short.iter().copied().filter(is_due).collect();
        for id in due {
            if let Some(shortage) = &mut self.live_mut(id).shortage {
                shortage.lengthen(now);
            }
            self.relax(id);
        }
    }
}

impl Driver {
    /// An executor could not start an attempt because its machine is short of a resource. The attempt does not count as
    /// a failure. The first time, a note is written.
    pub(in crate::driver) fn on_task_given_back(
        &mut self,
        now: Timestamp,
        executor: ExecutorId,
        attempt: AttemptId,
        failure: StartFailure,
    ) {
        if self.tasks.executor_of(attempt) != Some(executor) {
            return;
        }
        self.executors.vacate(executor, attempt.task);
        let row = self.executors.live(executor);
        let (host, running, is_new) = (row.host.clone(), row.running().len(), row.shortage.is_none());
        if is_new {
            let (host, failure) = (host.clone(), failure.clone());
            self.effects.note(Note::ExecutorShort { executor, host, failure, running });
        }
        let is_stuck = self.executors.gave_back(executor, now);
        if matches!(self.tasks.phase(attempt.task), Some(TaskPhase::Cancelling { .. })) {
            self.end_cancelled(attempt.task);
        } else if is_stuck {
            let cause = FailureCause::Ended(TaskEnd::NotStarted(failure));
            self.fail_attempt(attempt, executor, &host, cause);
        } else {
            // The attempt has no output that would have to be discarded.
            self.tasks.requeue(attempt.task, self.executors.reach());
        }
    }
}
