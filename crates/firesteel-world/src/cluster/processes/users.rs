//! The actions of drivers' users, who cancel tasks and ask questions.

use firesteel_engine::driver::{self, Answer, ExecutorViewState, Question, QuestionId};
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::{DriverToMaster, Outcome};

use super::node::{Body, DriverBody, NodeEvent};
use crate::cluster::faults::Fault;
use crate::cluster::laws::truth::Asked;
use crate::cluster::scenario::TaskFate;
use crate::cluster::world::{NodeIndex, World};

/// How long an answer may take if a Master could give it, in milliseconds.
const ANSWERED_AFTER: u64 = 60_000;

impl DriverBody {
    /// Remembers an action of the driver's user.
    pub(crate) fn hear(&mut self, event: &driver::Event, now: u64) {
        match event {
            driver::Event::OutputConsumed { attempt, bytes } => self.tasks.consume(*attempt, *bytes),
            driver::Event::CancelTask { task } => self.tasks.cancel(task.0),
            driver::Event::Ask { number, question } => self.questions.ask(*number, *question, now),
            driver::Event::Start
            | driver::Event::Connected { .. }
            | driver::Event::ConnectFailed { .. }
            | driver::Event::Received { .. }
            | driver::Event::ArrivedHandled { .. }
            | driver::Event::Disconnected { .. }
            | driver::Event::Submit { .. }
            | driver::Event::Finish { .. }
            | driver::Event::AddProfile { .. }
            | driver::Event::RequestExecutors { .. }
            | driver::Event::KillExecutors { .. }
            | driver::Event::MastersMoved { .. }
            | driver::Event::Removed { .. }
            | driver::Event::Cancel { .. }
            | driver::Event::Deadline => {}
        }
    }
}

/// The outcome that this application's owner reports.
pub(crate) fn outcome_of(app: usize) -> Option<Outcome> {
    match app % 4 {
        0 => Some(Outcome::failed(format!("{app} of 100 items failed"))),
        1 => Some(Outcome::cancelled(format!("{app} of 100 items not done"))),
        2 => Some(Outcome::Succeeded),
        _ => None,
    }
}

impl World {
    /// A user cancels a task, which may already have ended.
    pub(crate) fn cancel_some_task(&mut self, fault: Fault, node: NodeIndex) {
        let Some(submitted) = self.driver_mut(node).map(|body| body.tasks.submitted()) else { return };
        if submitted == 0 {
            return;
        }
        // Mostly a late task, which has not ended.
        let back = self.dice.between(1, 8).min(submitted);
        let task = if self.dice.one_in(4) { self.dice.below(submitted) } else { submitted - back };
        self.fault(fault);
        self.tell(node, NodeEvent::Driver(driver::Event::CancelTask { task: TaskId(task) }));
    }

    pub(crate) fn ask(&mut self, node: NodeIndex, question: Question) {
        let Some(number) = self.driver_mut(node).map(|body| body.questions.next()) else { return };
        self.tell(node, NodeEvent::Driver(driver::Event::Ask { number, question }));
    }

    pub(crate) fn cancel_driver(&mut self, node: NodeIndex) {
        let Some(app) = self.driver_mut(node).map(|body| body.app) else { return };
        let (outcome, until) = (outcome_of(app), driver::Until::Notified);
        self.tell(node, NodeEvent::Driver(driver::Event::Cancel { outcome, until }));
    }

    /// Checks that a driver reports its owner's outcome to its Master.
    pub(crate) fn hold_told_outcome(&mut self, app: usize, message: &DriverToMaster) {
        if let DriverToMaster::UnregisterApplication { outcome, .. } = message
            && *outcome != outcome_of(app)
        {
            let said = outcome_of(app);
            self.violate(format!("a driver tells its Master {outcome:?}, its owner said {said:?}"));
        }
    }

    /// Cancels the tasks of an application that never end by themselves.
    pub(crate) fn cancel_hanging_tasks(&mut self, node: NodeIndex, app: usize) {
        let hangs = |task: &&usize| self.scenario.apps[app].tasks[**task].fate == TaskFate::Hangs;
        let all: Vec<usize> = (0..self.scenario.apps[app].tasks.len()).collect();
        let hanging: Vec<usize> = all.iter().filter(hangs).copied().collect();
        for task in hanging {
            let task = TaskId(task as u64);
            self.tell(node, NodeEvent::Driver(driver::Event::CancelTask { task }));
        }
    }

    /// Checks that a user's action took effect immediately. The executor of a cancelled task is told, if it is
    /// connected. A question about the driver's tables is answered.
    pub(crate) fn check_heard(&mut self, node: NodeIndex, event: &driver::Event) {
        let Body::Driver(body) = &self.node(node).body else { return };
        let wrong = match event {
            driver::Event::CancelTask { task } if body.tasks.goes_on(task.0) => {
                let view = body.machine.view();
                let untold = view.executors.iter().find(|executor| {
                    matches!(
                        executor.state,
                        ExecutorViewState::Offering
                            | ExecutorViewState::Excluded
                            | ExecutorViewState::Leaving
                    ) && executor.running.contains(task)
                });
                untold.map(|executor| {
                    format!("task {task} was given up, and executor {} is not told", executor.id)
                })
            }
            driver::Event::Ask { number, question: Question::Look } if body.questions.is_open(*number) => {
                Some(format!("question {number} was about the tables, and is not answered at once"))
            }
            _ => None,
        };
        if let Some(sentence) = wrong {
            self.violate(sentence);
        }
    }

    /// Checks that a cancelled task that has ended has no process on any of the driver's executors.
    pub(crate) fn check_given_up(&mut self, node: NodeIndex, task: TaskId) {
        let Body::Driver(body) = &self.node(node).body else { return };
        if body.machine.is_done() {
            return;
        }
        let view = body.machine.view();
        let left = self.living_processes().into_iter().find_map(|process| {
            let process = self.process(process)?;
            let is_held = view.app.as_ref() == Some(&process.key.app)
                && view.executors.iter().any(|executor| executor.id == process.key.executor);
            let runs = process.tasks.keys().any(|attempt| attempt.task == task);
            (is_held && runs).then(|| process.key.clone())
        });
        if let Some(key) = left {
            self.violate(format!("task {task} is told to be given up, and executor {key} still runs it"));
        }
    }

    /// Checks an answer: its question was open, and its contents are correct.
    pub(crate) fn take_answer(&mut self, node: NodeIndex, number: QuestionId, answer: &Answer) {
        self.coverage.answer.count(answer);
        let Some(body) = self.driver_mut(node) else { return };
        let result = body.questions.answer(number).and_then(|question| match (question, answer) {
            (Question::Look, Answer::View(view)) if *view == body.machine.view() => Ok(()),
            (Question::Explain, Answer::Shortfalls(_) | Answer::NoMaster) => Ok(()),
            (Question::Look, Answer::View(_)) => Err(format!("answer {number} is not how the tables look")),
            (Question::Look, Answer::Shortfalls(_) | Answer::NoMaster)
            | (Question::Explain, Answer::View(_)) => {
                Err(format!("question {number} was {question:?}, and the answer is {answer:?}"))
            }
        });
        self.hold(result);
    }

    /// Checks that no question stays open for long after the faults have stopped.
    pub(crate) fn check_questions(&mut self) {
        let now = self.now;
        for node in self.living_drivers() {
            let oldest = self.driver_mut(node).and_then(|body| body.questions.oldest());
            if let Some(Asked { number, at, .. }) = oldest
                && now - at > ANSWERED_AFTER
            {
                let name = self.node(node).body.name();
                self.violate(format!("{name} has not answered question {number} after a minute"));
            }
        }
    }
}
