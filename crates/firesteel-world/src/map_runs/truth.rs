//! The facts of a world with one map run, with which the run's effects are compared.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_engine::driver::{TaskOutcome, Until};
use firesteel_engine::map::{Effect, Ending, MapRun};
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::Outcome;

use super::scenario::Scenario;

/// A broken law, if any: what should be true, and what was found.
pub(super) type Verdict = Result<(), String>;

/// The maximum number of items that can run or wait at once. There are at most 24 cores.
const MOST_OPEN: usize = 24 * 5 + 64;

/// The facts of a world.
#[derive(Debug, Default)]
pub(super) struct Truth {
    reads: bool,
    /// The items that were read from the input.
    pub(super) taken: BTreeSet<u64>,
    /// Items that could not become a task.
    pub(super) unusable: u64,
    /// Whether the run was told that the input has no more items.
    input_is_over: bool,
    /// Every task that was submitted, with its item.
    submitted: BTreeMap<TaskId, u64>,
    /// Whether the run ended the application because all its tasks had ended.
    has_finished: bool,
    pub(super) cancelled: Option<Until>,
    /// How tasks ended, as far as the run learned of the ends in time.
    ended: BTreeMap<TaskId, Ended>,
    /// Tasks whose output is to be printed.
    to_print: BTreeSet<TaskId>,
    /// Tasks whose output was printed. The run may not have learned of this yet.
    printed: BTreeSet<TaskId>,
    output_closed: bool,
    /// Items that are marked as done in the run record.
    pub(super) marked: BTreeSet<u64>,
    /// Requests to end that were not repeated signals.
    pub(super) requests: Vec<(EndRequest, u64)>,
    /// The number of remaining items, once the run has recorded them.
    left: Option<u64>,
    finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Succeeded,
    Failed,
    Cancelled,
}

impl Truth {
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The run gets the answer to its request: an item, or the end of the input.
    pub(super) fn answered(&mut self) {
        self.reads = false;
    }

    /// The run learns of the end of a task. If the remaining items were already recorded, this is too late.
    pub(super) fn task_ended(&mut self, task: TaskId, outcome: &TaskOutcome) {
        if self.left.is_none() {
            self.ended.insert(
                task,
                match outcome {
                    TaskOutcome::Succeeded { .. } => Ended::Succeeded,
                    TaskOutcome::Failed { .. } | TaskOutcome::Unfit(_) => Ended::Failed,
                    TaskOutcome::Cancelled => Ended::Cancelled,
                },
            );
        }
    }

    /// The run learns that the input has no more items.
    pub(super) fn input_ended(&mut self) {
        self.input_is_over = true;
    }

    /// The run learns which outputs were printed.
    pub(super) fn printed(&mut self, tasks: &[TaskId]) {
        if self.left.is_none() {
            self.printed.extend(tasks);
        }
    }

    /// Compares an effect with the facts.
    pub(super) fn judge(&mut self, effect: &Effect, scenario: &Scenario) -> Verdict {
        if self.finished {
            return Err(format!("{effect:?} comes after the end of the run"));
        }
        let held = |holds: bool, sentence: &str| if holds { Ok(()) } else { Err(sentence.to_owned()) };
        match effect {
            Effect::ReadItem => {
                held(!self.reads, "an item is read while one is awaited")?;
                self.reads = true;
                let open = self.submitted.len() - self.ended.len();
                held(open < MOST_OPEN, "items are read ahead without end")
            }
            Effect::Submit { task, .. } => self.judge_submission(*task),
            Effect::FinishApplication { outcome } => {
                held(!self.has_finished && self.cancelled.is_none(), "the application is ended twice")?;
                self.has_finished = true;
                let all = self.submitted.len() == self.ended.len();
                held(all, "the application is ended as if all were done")?;
                self.judge_finish(outcome, scenario)
            }
            Effect::CancelApplication { outcome, until } => {
                held(!self.has_finished && self.cancelled.is_none(), "the application is ended twice")?;
                self.cancelled = Some(*until);
                self.judge_cancel(outcome, scenario)
            }
            Effect::CancelTasks { tasks } => {
                let open = self.submitted.keys().filter(|task| !self.ended.contains_key(task));
                held(open.eq(tasks), "other tasks are ended than those that are open")
            }
            Effect::Output { .. } | Effect::DiscardOutput { .. } | Effect::Remark(_) => Ok(()),
            Effect::Print { task, .. } => {
                held(self.submitted.contains_key(task), "a task is printed that never was")?;
                held(!self.output_closed, "a task is printed after the output was closed")?;
                held(self.to_print.insert(*task), "a task is printed twice")
            }
            Effect::CloseOutput => {
                self.output_closed = true;
                let all = self.to_print.len() == self.submitted.len();
                held(all, "the output is closed, and not every task is printed")
            }
            Effect::MarkDone { number } => self.judge_mark(*number),
            Effect::LeaveRest => {
                let unread = scenario.config.items.map_or(0, |items| items - self.taken.len() as u64);
                self.left = Some((self.taken.len() - self.marked.len()) as u64 + unread);
                Ok(())
            }
            Effect::Finish => {
                self.finished = true;
                Ok(())
            }
        }
    }

    fn judge_submission(&mut self, task: TaskId) -> Verdict {
        let number = *self.taken.last().expect("an item was taken");
        let expected = self.submitted.keys().next_back().map(|last| TaskId(last.0 + 1));
        if expected.is_some_and(|expected| task != expected) {
            return Err(format!("task {task} is submitted, and {expected:?} is next"));
        }
        if self.has_finished || self.cancelled.is_some() {
            return Err(format!("task {task} is submitted after the last one"));
        }
        self.submitted.insert(task, number);
        Ok(())
    }

    fn count(&self, ended: Ended) -> u64 {
        self.ended.values().filter(|other| **other == ended).count() as u64
    }

    /// Checks the outcome of a finished application: how many items failed, or which other error occurred.
    fn judge_finish(&self, outcome: &Outcome, scenario: &Scenario) -> Verdict {
        let (failed, taken) = (self.count(Ended::Failed), self.taken.len());
        let is_told = match outcome {
            Outcome::Succeeded => failed == 0 && self.unusable == 0,
            Outcome::Failed(_) => {
                let words = outcome.words().unwrap_or_default();
                let counts = words.starts_with(&format!("{failed} of {taken} item"));
                (failed > 0 && counts) || (!scenario.faults.is_empty() && words.contains(": "))
            }
            Outcome::Cancelled(_) => false,
        };
        match is_told {
            true => Ok(()),
            false => Err(format!("the Master is told {outcome:?}, and {failed} of {taken} items failed")),
        }
    }

    /// Checks the outcome of an application that is ended early. It must contain the number of items that are not done.
    fn judge_cancel(&self, outcome: &Outcome, scenario: &Scenario) -> Verdict {
        let taken = self.taken.len() as u64;
        let left = taken - self.count(Ended::Succeeded);
        let all = match (scenario.config.items, self.input_is_over) {
            (Some(items), _) => Some(items),
            (None, true) => Some(taken),
            (None, false) => None,
        };
        let words = match all {
            Some(_) | None if left == 0 => String::new(),
            Some(all) if left == taken => format!("none of {all} item"),
            Some(all) => format!("{} of {all} item", left + all - taken),
            None => format!("at least {left} item"),
        };
        match outcome.words().is_some_and(|told| told.contains(&words)) {
            true => Ok(()),
            false => Err(format!("the Master is told {outcome:?}, and what is not done is {words:?}")),
        }
    }

    fn judge_mark(&mut self, number: u64) -> Verdict {
        let done =
            |task: &TaskId| self.ended.get(task) == Some(&Ended::Succeeded) && self.printed.contains(task);
        let task = self.submitted.iter().find(|(_, item)| **item == number).map(|(task, _)| task);
        if !task.is_some_and(done) {
            return Err(format!("item {number} is marked as done, and it is not"));
        }
        match self.marked.insert(number) {
            true => Ok(()),
            false => Err(format!("item {number} is marked as done twice")),
        }
    }

    /// The number of items that should remain.
    pub(super) fn left(&self) -> Option<u64> {
        self.left
    }

    /// Checks that every item is accounted for exactly once, and that the run ended for a reason.
    pub(super) fn judge_end(&self, run: &MapRun, scenario: &Scenario) -> Verdict {
        let Some(left) = self.left else { return Err("the rest was not left".to_owned()) };
        let totals = run.tally().totals;
        let (succeeded, failed) = (self.count(Ended::Succeeded), self.count(Ended::Failed));
        let unread = scenario.items - self.taken.len() as u64;
        let equal = |what: &str, told: u64, found: u64| match told == found {
            true => Ok(()),
            false => Err(format!("{told} items are said to be {what}, and {found} are")),
        };
        equal("taken", totals.taken, self.taken.len() as u64)?;
        equal("succeeded", totals.succeeded, succeeded)?;
        equal("failed", totals.failed, failed)?;
        equal("unusable", totals.unusable, self.unusable)?;
        equal("cancelled", totals.cancelled, self.taken.len() as u64 - succeeded - failed - self.unusable)?;
        equal("left", totals.left(), left)?;
        equal("done", totals.succeeded - totals.unprinted, self.marked.len() as u64)?;
        if let Some(told) = totals.unread {
            equal("unread", told, unread)?;
        }
        match scenario.config.items {
            Some(items) => equal("left or done", left + self.marked.len() as u64, items)?,
            None => equal("left or done", left + self.marked.len() as u64, self.taken.len() as u64)?,
        }
        match run.ending() {
            Ending::Completed => {
                equal("unread", 0, unread)?;
                equal("left by a complete run", left, failed)
            }
            Ending::Asked(_) if self.requests.is_empty() => Err("nobody asked for the end".to_owned()),
            Ending::Abandoned(_) if self.requests.is_empty() => Err("nobody asked for the end".to_owned()),
            Ending::Asked(_)
            | Ending::Abandoned(_)
            | Ending::BadInput { .. }
            | Ending::ReaderGone
            | Ending::OutputLost { .. }
            | Ending::RecordLost { .. }
            | Ending::DriverLost
            | Ending::Over(_) => match scenario.faults.is_empty() {
                true => Err(format!("{:?} without a fault", run.ending())),
                false => Ok(()),
            },
        }
    }
}
