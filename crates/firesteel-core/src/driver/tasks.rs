//! The tasks that have not ended.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;

use super::TaskRequest;
use super::credit::Credit;
use crate::ids::{AttemptId, ExecutorId, TaskId};
use crate::messages::TaskSpec;

/// The tasks that have not ended. Those that wait are sorted by what they need of an executor, so that none is
/// looked at in vain.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    rows: BTreeMap<TaskId, Task>,
    waiting: BTreeMap<Needs, BTreeSet<TaskId>>,
    tally: Tally,
    last_submitted: Option<TaskId>,
}

/// A task that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) spec: TaskSpec,
    /// How many attempts of it have failed.
    pub(super) failures: u32,
    /// The number of its next attempt.
    next_attempt: u32,
    needs: Needs,
    pub(super) place: Place,
}

/// ```text
///  WAITING --launched--> RUNNING --ended------------------> (gone)
///     ^                   |   |                                ^
///     `--failed, or lost--'   `--given up--> CANCELLING --ended, or lost
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Waiting,
    Running {
        executor: ExecutorId,
        attempt: AttemptId,
        credit: Credit,
    },
    /// Its executor was told to end it, and has not said that it has. Nobody wants its output any more.
    Cancelling {
        executor: ExecutorId,
        attempt: AttemptId,
    },
}

impl Place {
    /// Where the task runs, whether or not that is still wanted, and which attempt.
    pub(super) fn at(&self) -> Option<(ExecutorId, AttemptId)> {
        match self {
            Self::Running { executor, attempt, .. } | Self::Cancelling { executor, attempt } => {
                Some((*executor, *attempt))
            }
            Self::Waiting => None,
        }
    }
}

/// What a task needs of an executor.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Needs {
    /// So many free cores.
    pub(super) cores: Cores,
    /// If possible none of these, where it failed.
    pub(super) not_on: BTreeSet<ExecutorId>,
    /// Rather none of these hosts, where it failed.
    pub(super) rather_not_at: BTreeSet<String>,
}

impl Needs {
    /// Whether the task has failed nowhere yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.not_on.is_empty() && self.rather_not_at.is_empty()
    }
}

/// How many tasks there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) submitted: u64,
    pub(super) waiting: usize,
    pub(super) running: usize,
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) failed_attempts: u64,
}

impl Tasks {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    pub(super) fn tally_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.rows.iter().map(|(&id, task)| (id, task))
    }

    /// Adds a task, unless its number is not above all earlier ones.
    pub(super) fn submit(&mut self, id: TaskId, request: TaskRequest) -> bool {
        if self.last_submitted.is_some_and(|last| id <= last) {
            return false;
        }
        self.last_submitted = Some(id);
        self.tally.submitted += 1;
        let TaskRequest { spec } = request;
        let needs = Needs { cores: spec.cores_taken(), ..Needs::default() };
        let task = Task { spec, failures: 0, next_attempt: 0, needs, place: Place::Waiting };
        self.rows.insert(id, task);
        self.wait(id);
        true
    }

    /// The attempt, if it is the one that runs, and runs there.
    pub(super) fn running_mut(
        &mut self,
        attempt: AttemptId,
        on: ExecutorId,
    ) -> Option<(&TaskSpec, &mut Credit)> {
        let task = self.rows.get_mut(&attempt.task)?;
        match &mut task.place {
            Place::Running { executor, attempt: current, credit }
                if *current == attempt && *executor == on =>
            {
                Some((&task.spec, credit))
            }
            Place::Running { .. } | Place::Cancelling { .. } | Place::Waiting => None,
        }
    }

    /// The executor on which the attempt runs, if it is the one that runs.
    pub(super) fn executor_of(&self, attempt: AttemptId) -> Option<ExecutorId> {
        let (executor, current) = self.rows.get(&attempt.task)?.place.at()?;
        (current == attempt).then_some(executor)
    }

    /// Where a task is, if it has not ended.
    pub(super) fn place(&self, id: TaskId) -> Option<&Place> {
        self.rows.get(&id).map(|task| &task.place)
    }

    /// The needs of those waiting, with the first task of each, in an order without meaning.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&Needs, TaskId)> {
        self.waiting.iter().filter_map(|(needs, ids)| Some((needs, *ids.first()?)))
    }

    /// What a task runs.
    pub(super) fn spec(&self, id: TaskId) -> Option<&TaskSpec> {
        self.rows.get(&id).map(|task| &task.spec)
    }

    /// Makes a new attempt at a task that waits; the attempt and what to run.
    pub(super) fn launch(&mut self, id: TaskId, executor: ExecutorId, window: u64) -> (AttemptId, TaskSpec) {
        let task = self.rows.get_mut(&id).expect("a task is launched from those that wait");
        let attempt = AttemptId { task: id, attempt: task.next_attempt };
        task.next_attempt = task.next_attempt.saturating_add(1);
        task.place = Place::Running { executor, attempt, credit: Credit::new(window) };
        let spec = task.spec.clone();
        self.stop_waiting(id);
        self.tally.running += 1;
        (attempt, spec)
    }

    /// Takes out a task that waits and can never run.
    pub(super) fn give_up(&mut self, id: TaskId) {
        self.stop_waiting(id);
        self.rows.remove(&id);
        self.tally.failed += 1;
    }

    /// An attempt failed there. How often the task has failed now.
    pub(super) fn count_failure(&mut self, id: TaskId, executor: ExecutorId, host: &str) -> u32 {
        self.tally.failed_attempts += 1;
        let task = self.rows.get_mut(&id).expect("a task that runs has not ended");
        task.failures = task.failures.saturating_add(1);
        task.needs.not_on.insert(executor);
        task.needs.rather_not_at.insert(host.to_owned());
        task.failures
    }

    /// A task that ran waits again, before all later ones.
    pub(super) fn requeue(&mut self, id: TaskId) {
        let task = self.rows.get_mut(&id).expect("a task that runs has not ended");
        task.place = Place::Waiting;
        self.tally.running -= 1;
        self.wait(id);
    }

    /// Takes out a task that ran and has ended for good.
    pub(super) fn finish(&mut self, id: TaskId) {
        self.rows.remove(&id);
        self.tally.running -= 1;
    }

    /// A task that runs is given up: it stays until its executor says that it has ended. Where it runs.
    pub(super) fn cancel_running(&mut self, id: TaskId) -> Option<(ExecutorId, AttemptId)> {
        let task = self.rows.get_mut(&id)?;
        match task.place {
            Place::Running { executor, attempt, .. } => {
                task.place = Place::Cancelling { executor, attempt };
                Some((executor, attempt))
            }
            Place::Cancelling { .. } | Place::Waiting => None,
        }
    }

    /// Takes out a task that was given up.
    pub(super) fn drop_cancelled(&mut self, id: TaskId) {
        match self.place(id) {
            Some(Place::Waiting) => self.stop_waiting(id),
            Some(Place::Running { .. } | Place::Cancelling { .. }) => self.tally.running -= 1,
            None => return,
        }
        self.rows.remove(&id);
        self.tally.cancelled += 1;
    }

    /// Takes out every task; their numbers in order.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = TaskId> + use<> {
        self.waiting.clear();
        self.tally.waiting = 0;
        self.tally.running = 0;
        std::mem::take(&mut self.rows).into_keys()
    }

    fn stop_waiting(&mut self, id: TaskId) {
        let needs = &self.rows[&id].needs;
        let ids = self.waiting.get_mut(needs).expect("a task that waits is sorted by its needs");
        ids.remove(&id);
        if ids.is_empty() {
            self.waiting.remove(needs);
        }
        self.tally.waiting -= 1;
    }

    fn wait(&mut self, id: TaskId) {
        let needs = self.rows[&id].needs.clone();
        self.waiting.entry(needs).or_default().insert(id);
        self.tally.waiting += 1;
    }

    /// For the invariants: each task is in exactly one place, and the counts are right.
    pub(super) fn contradiction(&self) -> Option<String> {
        let waits =
            |id: TaskId, task: &Task| self.waiting.get(&task.needs).is_some_and(|ids| ids.contains(&id));
        for (id, task) in self.iter() {
            if waits(id, task) != (task.place == Place::Waiting) {
                return Some(format!("task {id} is in two places or none: {:?}", task.place));
            }
            if let Place::Running { credit, attempt, .. } = &task.place
                && let Some(wrong) = credit.contradiction()
            {
                return Some(format!("task {attempt}: {wrong}"));
            }
        }
        let waiting: usize = self.waiting.values().map(BTreeSet::len).sum();
        let running = self.rows.values().filter(|task| task.place != Place::Waiting).count();
        if (waiting, running) != (self.tally.waiting, self.tally.running) {
            return Some(format!(
                "{waiting} tasks wait and {running} run, but the tally is {:?}",
                self.tally
            ));
        }
        if self.waiting.values().any(BTreeSet::is_empty) {
            return Some("needs that no task has are kept".to_owned());
        }
        None
    }
}
