//! The table of tasks that have not ended.

mod attempts;
mod credit;
pub(super) mod delay;
pub(super) mod exit_codes;
pub(super) mod needs;
mod offers;
pub(super) mod request;
pub(super) mod unfit;
pub(super) mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::Cores;
use firesteel_placement::advanced::locality::{Locality, Sites, Topology};
use firesteel_protocol::ids::{AttemptId, ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::TaskSpec;

use self::credit::Credit;
use self::waiting::{Name, Needs, TaskExclusions, Ticket, Waiting};
use super::TaskRequest;
use super::config::ExclusionPolicy;
use super::executors::reach::Reach;

/// The tasks that have not ended, with indexes and counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    rows: BTreeMap<TaskId, Task>,
    waiting: Waiting,
    tally: Tally,
    /// How many tasks have each size.
    sizes: BTreeMap<Needs, u64>,
    last_submitted: Option<TaskId>,
    /// For each profile, the most cores that any of its tasks has taken.
    largest: BTreeMap<ProfileId, Cores>,
}

/// A task that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) spec: TaskSpec,
    /// The task's own limit of failures, if it has one.
    pub(super) max_failures: Option<u32>,
    /// How many attempts have failed.
    pub(super) failures: u32,
    next_attempt: u32,
    needs: Needs,
    excludes: TaskExclusions,
    /// The executors where the task failed. Each has its host and the number of failures on this executor.
    failed_on: BTreeMap<ExecutorId, (String, u32)>,
    /// The hosts where the task cannot be started.
    barred: BTreeSet<String>,
    /// The only executor that the task may run on, if it is bound to one.
    on: Option<ExecutorId>,
    /// The hosts and racks that the task prefers.
    sites: Sites,
    /// The nearest locality level that the task can reach, while it waits.
    best: Locality,
    pub(super) phase: TaskPhase,
}

impl Task {
    fn ticket(&self) -> Ticket<'_> {
        Ticket {
            on: self.on,
            needs: &self.needs,
            excludes: &self.excludes,
            sites: &self.sites,
            best: self.best,
        }
    }
}

/// The phases of a task.
///
/// ```text
///  WAITING --launched--> RUNNING --ended------------------> (gone)
///     ^                   |   |                                ^
///     `--failed, or lost--'   `--given up--> CANCELLING --ended, or lost
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskPhase {
    Waiting,
    Running {
        executor: ExecutorId,
        attempt: AttemptId,
        credit: Credit,
    },
    /// The task's executor was told to end the task, and has not reported the end. The output is discarded.
    Cancelling {
        executor: ExecutorId,
        attempt: AttemptId,
    },
}

impl TaskPhase {
    /// The executor and the attempt, if the task is running or is being cancelled.
    pub(super) fn at(&self) -> Option<(ExecutorId, AttemptId)> {
        match self {
            Self::Running { executor, attempt, .. } | Self::Cancelling { executor, attempt } => {
                Some((*executor, *attempt))
            }
            Self::Waiting => None,
        }
    }
}

/// How many tasks are in each state.
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

    /// Adds a task, unless the task's number is too low. Returns whether the task was added.
    pub(super) fn submit(
        &mut self,
        id: TaskId,
        request: TaskRequest,
        topology: &Topology,
        reach: &Reach,
    ) -> bool {
        if self.last_submitted.is_some_and(|last| id <= last) {
            return false;
        }
        self.last_submitted = Some(id);
        self.tally.submitted += 1;
        let TaskRequest { spec, profile, resources, preferred_hosts, on, max_failures } = request;
        let needs = Needs { profile, cores: spec.cores_taken(), resources };
        *self.sizes.entry(needs.clone()).or_default() += 1;
        let sites = topology.sites(preferred_hosts.iter().map(String::as_str));
        let (excludes, best, phase) = (TaskExclusions::default(), Locality::Any, TaskPhase::Waiting);
        let largest = self.largest.entry(profile).or_default();
        *largest = needs.cores.max(*largest);
        let failed_on = BTreeMap::new();
        let task = Task {
            spec,
            max_failures,
            failures: 0,
            next_attempt: 0,
            needs,
            excludes,
            failed_on,
            barred: BTreeSet::new(),
            on,
            sites,
            best,
            phase,
        };
        self.rows.insert(id, task);
        self.wait(id, reach);
        true
    }

    /// Looks up a task that another table of the driver refers to. The task must not have ended.
    pub(super) fn live(&self, id: TaskId) -> &Task {
        self.rows.get(&id).expect("the task has not ended")
    }

    /// The command and the credit of an attempt, if the attempt runs on this executor.
    pub(super) fn running_mut(
        &mut self,
        attempt: AttemptId,
        on: ExecutorId,
    ) -> Option<(&TaskSpec, &mut Credit)> {
        let task = self.rows.get_mut(&attempt.task)?;
        match &mut task.phase {
            TaskPhase::Running { executor, attempt: current, credit }
                if *current == attempt && *executor == on =>
            {
                Some((&task.spec, credit))
            }
            TaskPhase::Running { .. } | TaskPhase::Cancelling { .. } | TaskPhase::Waiting => None,
        }
    }

    pub(super) fn executor_of(&self, attempt: AttemptId) -> Option<ExecutorId> {
        let (executor, current) = self.rows.get(&attempt.task)?.phase.at()?;
        (current == attempt).then_some(executor)
    }

    pub(super) fn phase(&self, id: TaskId) -> Option<&TaskPhase> {
        self.rows.get(&id).map(|task| &task.phase)
    }

    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    pub(super) fn sites(&self, id: TaskId) -> &Sites {
        &self.live(id).sites
    }

    /// Updates the locality of waiting tasks, after executors on their preferred hosts and racks have changed.
    pub(super) fn reconsider(&mut self, changed: &BTreeSet<(ProfileId, Name)>, reach: &Reach) {
        let preferring = changed.iter().flat_map(|(profile, name)| self.waiting.preferring(*profile, name));
        let preferring: BTreeSet<TaskId> = preferring.collect();
        for id in preferring {
            self.stop_waiting(id);
            self.wait(id, reach);
        }
    }

    /// The task's needs of an executor, if the task has not ended.
    pub(super) fn needs(&self, id: TaskId) -> Option<&Needs> {
        self.rows.get(&id).map(|task| &task.needs)
    }

    /// Starts a new attempt at a waiting task. Returns the attempt, its command and its needs.
    pub(super) fn launch(
        &mut self,
        id: TaskId,
        executor: ExecutorId,
        window: u64,
    ) -> (AttemptId, TaskSpec, &Needs) {
        let task = self.rows.get_mut(&id).expect("a task is launched from those that wait");
        let attempt = AttemptId { task: id, attempt: task.next_attempt };
        task.next_attempt = task.next_attempt.saturating_add(1);
        task.phase = TaskPhase::Running { executor, attempt, credit: Credit::new(window) };
        let spec = task.spec.clone();
        self.stop_waiting(id);
        self.tally.running += 1;
        (attempt, spec, &self.rows[&id].needs)
    }

    /// Removes a waiting task that can never run.
    pub(super) fn give_up(&mut self, id: TaskId) {
        self.stop_waiting(id);
        self.remove(id);
        self.tally.failed += 1;
    }

    /// Counts a failed attempt on this executor. Returns how many attempts at the task have failed in all.
    pub(super) fn count_failure(
        &mut self,
        id: TaskId,
        executor: ExecutorId,
        host: &str,
        policy: &ExclusionPolicy,
    ) -> u32 {
        self.tally.failed_attempts += 1;
        let task = self.rows.get_mut(&id).expect("a task that runs has not ended");
        task.failures = task.failures.saturating_add(1);
        let (_, there) = task.failed_on.entry(executor).or_insert((host.to_owned(), 0));
        *there = there.saturating_add(1);
        if *there >= policy.max_task_attempts_per_executor {
            task.excludes.not_on.insert(executor);
        }
        let at_host = task.failed_on.values().filter(|(at, _)| at == host).map(|(_, count)| count);
        if at_host.sum::<u32>() >= policy.max_task_attempts_per_host {
            task.excludes.not_at.insert(host.to_owned());
        }
        task.excludes.rather_not_at.insert(host.to_owned());
        task.failures
    }

    /// Records that a task cannot be started on this host. Returns the task's profile, and all hosts where the task
    /// cannot be started.
    pub(super) fn bar(&mut self, id: TaskId, host: &str) -> (ProfileId, &BTreeSet<String>) {
        let task = self.rows.get_mut(&id).expect("a task that runs has not ended");
        if !task.barred.contains(host) {
            task.barred.insert(host.to_owned());
        }
        (task.needs.profile, &task.barred)
    }

    /// The executors where a task failed, with their hosts.
    pub(super) fn failed_on(&self, id: TaskId) -> Vec<(ExecutorId, String)> {
        let failed_on = self.live(id).failed_on.iter();
        failed_on.map(|(executor, (host, _))| (*executor, host.clone())).collect()
    }

    /// Whether the task may run only on one executor.
    pub(super) fn is_bound(&self, id: TaskId) -> bool {
        self.live(id).on.is_some()
    }

    /// Forgets on which executors tasks failed, because the Master starts to number executors again.
    pub(super) fn forget_executors(&mut self) {
        self.rows.values_mut().for_each(|task| task.failed_on.clear());
    }

    /// The most cores that any task of a profile has taken.
    pub(super) fn largest(&self, profile: ProfileId) -> Cores {
        self.largest.get(&profile).copied().unwrap_or_default()
    }

    /// Puts a running task back among the waiting tasks, before all later tasks.
    pub(super) fn requeue(&mut self, id: TaskId, reach: &Reach) {
        let task = self.rows.get_mut(&id).expect("a task that runs has not ended");
        task.phase = TaskPhase::Waiting;
        self.tally.running -= 1;
        self.wait(id, reach);
    }

    /// Removes a running task that has ended and will not run again.
    pub(super) fn finish(&mut self, id: TaskId) {
        self.remove(id);
        self.tally.running -= 1;
    }

    /// Marks a running task as cancelled. It stays in the table until its executor reports its end. Returns the
    /// executor and the attempt.
    pub(super) fn cancel_running(&mut self, id: TaskId) -> Option<(ExecutorId, AttemptId)> {
        let task = self.rows.get_mut(&id)?;
        match task.phase {
            TaskPhase::Running { executor, attempt, .. } => {
                task.phase = TaskPhase::Cancelling { executor, attempt };
                Some((executor, attempt))
            }
            TaskPhase::Cancelling { .. } | TaskPhase::Waiting => None,
        }
    }

    pub(super) fn drop_cancelled(&mut self, id: TaskId) {
        match self.live(id).phase {
            TaskPhase::Waiting => self.stop_waiting(id),
            TaskPhase::Running { .. } | TaskPhase::Cancelling { .. } => self.tally.running -= 1,
        }
        self.remove(id);
        self.tally.cancelled += 1;
    }

    /// The sizes of the unfinished tasks of a profile, with the number of each.
    pub(super) fn unfinished(&self, profile: ProfileId) -> impl Iterator<Item = (&Needs, u64)> {
        let sizes = self.sizes.range(Needs::least_of(profile)..);
        sizes.take_while(move |(needs, _)| needs.profile == profile).map(|(needs, &count)| (needs, count))
    }

    fn remove(&mut self, id: TaskId) {
        let task = self.rows.remove(&id).expect("the task has not ended");
        let count = self.sizes.get_mut(&task.needs).expect("a task is counted by its size");
        *count -= 1;
        if *count == 0 {
            self.sizes.remove(&task.needs);
        }
    }

    /// Removes all tasks. Returns the numbers of these tasks in order.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = TaskId> + use<> {
        self.waiting.clear();
        self.sizes.clear();
        self.tally.waiting = 0;
        self.tally.running = 0;
        std::mem::take(&mut self.rows).into_keys()
    }

    fn stop_waiting(&mut self, id: TaskId) {
        self.waiting.remove(id, self.rows[&id].ticket());
        self.tally.waiting = self.waiting.count();
    }

    fn wait(&mut self, id: TaskId, reach: &Reach) {
        let task = self.rows.get_mut(&id).expect("a task that waits has not ended");
        task.best = reach.nearest(task.needs.profile, &task.sites);
        self.waiting.insert(id, task.ticket());
        self.tally.waiting = self.waiting.count();
    }

    /// Checks that each task is in exactly one index, and that the counts are right.
    pub(super) fn contradiction(&self, reach: &Reach) -> Option<String> {
        let mut waiting = Waiting::default();
        for (id, task) in self.iter() {
            match &task.phase {
                TaskPhase::Waiting => {
                    let best = reach.nearest(task.needs.profile, &task.sites);
                    if task.excludes.is_empty() && task.on.is_none() && best != task.best {
                        return Some(format!(
                            "task {id} could be at {best} and waits as if at {}",
                            task.best
                        ));
                    }
                    waiting.insert(id, task.ticket());
                }
                TaskPhase::Running { credit, attempt, .. } => {
                    if let Some(wrong) = credit.contradiction() {
                        return Some(format!("task {attempt}: {wrong}"));
                    }
                }
                TaskPhase::Cancelling { .. } => {}
            }
        }
        let running = self.rows.len() - waiting.count();
        if (waiting.count(), running) != (self.tally.waiting, self.tally.running) {
            return Some(format!(
                "{} tasks wait and {running} run, but the tally is {:?}",
                waiting.count(),
                self.tally
            ));
        }
        let mut sizes: BTreeMap<Needs, u64> = BTreeMap::new();
        for task in self.rows.values() {
            *sizes.entry(task.needs.clone()).or_default() += 1;
        }
        if sizes != self.sizes {
            return Some(format!("the tasks' sizes are {sizes:?}, {:?} are counted", self.sizes));
        }
        self.waiting.contradiction(&waiting)
    }
}
