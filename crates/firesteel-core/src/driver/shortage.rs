//! Executors on machines that are short of processes, open files or memory.
//!
//! Such an executor gives tasks back, and takes as many as it runs. Like `xargs`, it then waits until one of its processes ends,
//! and tries one more. It also tries one more after a pause, since what it lacks may be held by others.

use std::time::Duration;

use super::tasks::TaskPhase;
use super::{Driver, FailureCause, Note};
use crate::ids::{AttemptId, ExecutorId};
use crate::messages::TaskEnd;
use crate::process::StartFailure;
use crate::time::Timestamp;

/// The first pause before another try. It doubles with each try until one succeeds.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// An executor that runs nothing and can start nothing for this time does not only lack something for now: then an attempt that
/// is given back has failed.
pub(super) const PASSES_WITHIN: Duration = Duration::from_secs(60);

/// What is known of the shortage of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shortage {
    /// The number of tasks that the executor takes.
    pub(super) most: usize,
    /// How long it waits for an end before it tries one more.
    pause: Duration,
    /// When it tries one more.
    pub(super) again: Timestamp,
    /// Since when it has run nothing, and started nothing.
    stuck_since: Option<Timestamp>,
}

impl Shortage {
    /// The shortage of an executor that begins to give tasks back.
    pub(super) fn begin(now: Timestamp) -> Self {
        Self { most: 0, pause: FIRST_PAUSE, again: now + FIRST_PAUSE, stuck_since: None }
    }

    /// An executor that runs this number of tasks gave one back. Returns whether it has been stuck for too long.
    pub(super) fn given_back(&mut self, now: Timestamp, running: usize) -> bool {
        self.most = running;
        self.again = now + self.pause;
        if running > 0 {
            self.stuck_since = None;
            return false;
        }
        now.since(*self.stuck_since.get_or_insert(now)) >= PASSES_WITHIN
    }

    /// One of its tasks has started.
    pub(super) fn started(&mut self) {
        self.pause = FIRST_PAUSE;
        self.stuck_since = None;
    }

    /// A process has ended, or the pause is over: it takes one more.
    pub(super) fn relax(&mut self, running: usize) {
        self.most = self.most.max(running).saturating_add(1);
    }

    /// The pause is over, and the next one is longer.
    pub(super) fn lengthen(&mut self, now: Timestamp) {
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        self.again = now + self.pause;
    }
}

impl Driver {
    /// An executor could not start an attempt, since its machine is short of something: the attempt does not count. The
    /// first time, a note says so.
    pub(super) fn on_task_given_back(
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
            // It has no output that could be discarded.
            self.tasks.requeue(attempt.task, self.executors.reach());
        }
    }
}
