//! Read-only copies of a Master's tables.

use firesteel_placement::Cores;
use serde::Serialize;

use super::application::{Application, DEFAULT_MEMORY};
use super::{Config, Master};
use crate::ids::{ExecutorId, ExecutorKey, ProfileId};
use crate::messages::{ApplicationView, Deciding, ExecutorView, LeftOut, MasterView};
use crate::wire;

/// The number of bytes that the rows of one answer may take: half a frame, however long the names in it are.
const ANSWER: usize = wire::MAX_FRAME / 2;

/// The number of bytes left for rows of an answer.
struct AnswerBudget(usize);

impl Master {
    /// A copy of all tables, however large.
    #[must_use]
    pub fn view(&self) -> MasterView {
        MasterView {
            url: self.config.url.clone(),
            now: self.now,
            deciding: self.deciding(),
            workers: self.workers.views(),
            applications: self.applications.queue().map(|app| self.view_of(app)).collect(),
            completed: self.applications.completed().map(|ended| ended.view()).collect(),
            left_out: LeftOut::default(),
        }
    }

    /// The rows that fit one answer, in this order: applications, Workers, executors of live applications
    /// that have not ended, and the latest ended applications without their executors.
    pub(super) fn status(&self) -> MasterView {
        let mut room = AnswerBudget(ANSWER);
        let mut left_out = LeftOut::default();
        let rows = self.applications.queue().map(|app| self.row_of(app));
        let mut applications = room.fill(rows, &mut left_out.applications);
        let workers = room.fill(self.workers.views().into_iter(), &mut left_out.workers);
        for row in &mut applications {
            let live = self.applications.get(&row.id).into_iter().flat_map(|app| self.live_executors(app));
            row.executors = room.fill(live, &mut left_out.executors);
        }
        let rows = self.applications.completed().rev().map(|ended| ended.row.clone());
        let mut completed = room.fill(rows, &mut left_out.completed);
        completed.reverse();
        let (url, now) = (self.config.url.clone(), self.now);
        MasterView { url, now, deciding: self.deciding(), workers, applications, completed, left_out }
    }

    fn deciding(&self) -> Deciding {
        let Config { policy, strategy, worker_order, default_cores, backfill, preemption, .. } = self.config;
        let queues = self.config.queues.clone();
        Deciding { policy, strategy, worker_order, default_cores, queues, backfill, preemption }
    }

    /// A copy of a live application with all its remembered executors.
    pub(super) fn view_of(&self, app: &Application) -> ApplicationView {
        let mut executors: Vec<ExecutorView> = app.ended.iter().cloned().collect();
        executors.extend(self.live_executors(app));
        executors.sort_by_key(|executor| executor.id);
        ApplicationView { executors, ..self.row_of(app) }
    }

    /// A copy of a live application without its executors.
    pub(super) fn row_of(&self, app: &Application) -> ApplicationView {
        ApplicationView {
            id: app.id.clone(),
            name: app.description.name.clone(),
            user: app.description.user.clone(),
            state: app.state,
            end: None,
            outcome: None,
            submitted: app.submitted,
            ended: None,
            queue: self.config.queues.get(app.queue).map(|queue| queue.name.clone()),
            priority: app.description.priority,
            gang: app.description.gang,
            max_cores: (app.max_cores < Cores::UNLIMITED).then_some(app.max_cores),
            cores_granted: app.cores_granted,
            memory_per_executor: app.profiles.get(&ProfileId::DEFAULT).map_or(DEFAULT_MEMORY, |p| p.memory),
            executors_live: app.executors.len() as u64,
            executors_ended: app.ended.len() as u64 + app.forgotten,
            executors_forgotten: app.forgotten,
            executors: Vec::new(),
        }
    }

    /// Copies of an application's live executors, by number.
    fn live_executors(&self, app: &Application) -> impl Iterator<Item = ExecutorView> {
        app.executors.iter().map(|(id, executor)| {
            let key = ExecutorKey { app: app.id.clone(), executor: *id };
            let worker = self.workers.get(&executor.worker).expect("a live executor's Worker is alive");
            executor.view(&key, &worker.description)
        })
    }
}

/// Keeps only the executors that fit one answer, from that number on and at least one. Returns the number to
/// request next, if there are more.
pub(super) fn page(app: &mut ApplicationView, from: ExecutorId) -> Option<ExecutorId> {
    app.executors.retain(|executor| executor.id >= from);
    let mut room = AnswerBudget(ANSWER);
    let fit = app.executors.iter().take_while(|executor| room.takes(executor)).count().max(1);
    let next = app.executors.get(fit).map(|executor| executor.id);
    app.executors.truncate(fit);
    next
}

impl AnswerBudget {
    fn takes<T: Serialize>(&mut self, row: &T) -> bool {
        match self.0.checked_sub(wire::length(row)) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }

    /// The rows that fit. Counts the others in `left_out`.
    fn fill<T: Serialize>(&mut self, rows: impl Iterator<Item = T>, left_out: &mut u64) -> Vec<T> {
        let mut fitting = Vec::new();
        for row in rows {
            if self.takes(&row) {
                fitting.push(row);
            } else {
                *left_out += 1;
            }
        }
        fitting
    }
}
