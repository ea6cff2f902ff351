//! Executors on machines that are short of processes, open files or memory.
//!
//! Such an executor gives tasks back, and takes as many as it runs. Like `xargs`, it then waits until one of its processes ends,
//! and tries one more. It also tries one more after a pause, since what it lacks may be held by others.

use std::time::Duration;

use firesteel_protocol::ids::{AttemptId, ExecutorId};
use firesteel_protocol::messages::TaskEnd;
use firesteel_protocol::process::StartFailure;
use firesteel_protocol::time::Timestamp;

use super::Executors;
use crate::driver::tasks::TaskPhase;
use crate::driver::{Driver, FailureCause, Note};

/// The first pause before another try. It doubles with each try until one succeeds.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// An executor that runs nothing and can start nothing for this time does not only lack something for now: then an attempt that
/// is given back has failed.
pub(super) const PASSES_WITHIN: Duration = Duration::from_secs(60);

/// What is known of the shortage of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Shortage {
    /// The number of tasks that the executor takes.
    pub(in crate::driver) most: usize,
    /// How long it waits for an end before it tries one more.
    pause: Duration,
    /// When it tries one more.
    pub(in crate::driver) again: Timestamp,
    /// Since when it has run nothing, and started nothing.
    stuck_since: Option<Timestamp>,
}

impl Shortage {
    /// The shortage of an executor that begins to give tasks back.
    pub(in crate::driver) fn begin(now: Timestamp) -> Self {
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
    pub(in crate::driver) fn started(&mut self) {
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

impl Executors {
    /// An executor gave a task back that it has no part of any more: it takes as many as it runs. Returns whether it has
    /// been able to start nothing for too long.
    pub(super) fn gave_back(&mut self, id: ExecutorId, now: Timestamp) -> bool {
        self.short.insert(id);
        self.change(id, |row| {
            let running = row.running().len();
            row.shortage.get_or_insert_with(|| Shortage::begin(now)).given_back(now, running)
        })
    }

    /// A task has started on an executor.
    pub(in crate::driver) fn started_task(&mut self, id: ExecutorId) {
        if let Some(shortage) = &mut self.live_mut(id).shortage {
            shortage.started();
        }
    }

    /// A task has ended on an executor: if its machine is short of something, it takes one more than before.
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
            // Each task takes a core, so it has run as many as it has cores for.
            if shortage.most > cores {
                row.shortage = None;
            }
            row.shortage.is_none().then_some(())
        });
        if is_over.is_some() {
            self.short.remove(&id);
        }
    }

    /// When an executor whose machine is short of something takes one more task, though none has ended.
    pub(in crate::driver) fn next_try(&self) -> Option<Timestamp> {
        self.short.iter().filter_map(|id| Some(self.live(*id).shortage.as_ref()?.again)).min()
    }

    /// Gives one more task to executors whose pauses are over.
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
    /// An executor could not start an attempt, since its machine is short of something: the attempt does not count. The
    /// first time, a note says so.
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
            // It has no output that could be discarded.
            self.tasks.requeue(attempt.task, self.executors.reach());
        }
    }
}
