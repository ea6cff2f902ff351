//! One run: from the first item to the end.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use firesteel_engine::driver::{self, ExecutorLoss, FailureCause, Note, TaskOutcome, TaskRequest, Until};
use firesteel_engine::map::{Effect, Event, Item, MapRun, Scope, Unusable};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{AttemptId, ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{ApplicationEnd, Stream, TaskDirectory, TaskEnd, TaskSpec};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::{EndRequest, Machine, Timestamp};

use super::sabotage::MapSabotage;
use super::scenario::{Fault, Scenario};
use super::truth::Truth;
use super::{all_kinds, see_effect};
use crate::Outcome;
use crate::queue::{Next, Queue};
use firesteel_sim::dice::Dice;

/// The time by which the run must have ended, in virtual milliseconds.
const OVER_BY: u64 = 1_000_000;

/// Runs a world with a correct map run.
#[must_use]
pub fn run(scenario: Scenario) -> Outcome {
    World::new(scenario, None).run()
}

/// Runs a world whose map run has this bug.
#[must_use]
pub fn run_sabotaged(scenario: Scenario, sabotage: MapSabotage) -> Outcome {
    World::new(scenario, Some(sabotage)).run()
}

#[derive(Clone, Debug)]
enum ScheduledEvent {
    Input,
    TaskEnds(TaskId),
    Tell(Event),
    Printed(TaskId),
    Fault(Fault),
}

/// The next result of reading the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Sound,
    Unusable,
    Unreadable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Open,
    Draining,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Printer {
    Open,
    Closing,
    Broken,
}

struct World {
    scenario: Scenario,
    dice: Dice,
    queue: Queue<ScheduledEvent>,
    run: MapRun,
    truth: Truth,
    sabotage: Option<MapSabotage>,
    input: Input,
    driver: Driver,
    /// Tasks of the driver that have not ended.
    tasks: BTreeSet<TaskId>,
    /// When the last report of the driver arrives. Reports stay in order.
    reported: u64,
    printer: Printer,
    unprinted: BTreeSet<TaskId>,
    printed_at: u64,
    record_is_lost: bool,
    outcome: Outcome,
}

impl World {
    fn new(scenario: Scenario, sabotage: Option<MapSabotage>) -> Self {
        Self {
            dice: Dice::new(scenario.seed ^ 0x00C0_FFEE),
            queue: Queue::starting_at(0),
            run: MapRun::new(scenario.config.clone()),
            truth: Truth::default(),
            sabotage,
            input: Input::Sound,
            driver: Driver::Open,
            tasks: BTreeSet::new(),
            reported: 0,
            printer: Printer::Open,
            unprinted: BTreeSet::new(),
            printed_at: 0,
            record_is_lost: false,
            outcome: Outcome::of(&all_kinds()),
            scenario,
        }
    }

    fn run(mut self) -> Outcome {
        for (at, fault) in self.scenario.faults.clone() {
            self.at(at, ScheduledEvent::Fault(fault));
        }
        if self.scenario.config.scope == Scope::Application {
            for (number, cores) in (0..).zip(self.scenario.executors.clone()) {
                let (executor, host) = (ExecutorId(number), "h".to_owned());
                let note = Note::ExecutorRegistered { executor, profile: ProfileId::DEFAULT, host, cores };
                let after = self.dice.below(200);
                self.at(after, ScheduledEvent::Tell(Event::NoteReceived(note)));
            }
        }
        self.tell(Event::Start);
        while self.outcome.violation.is_none() && !self.truth.is_finished() {
            if self.queue.now() > OVER_BY {
                self.outcome.violation = Some(format!("the run does not end: {:?}", self.run.tally().totals));
            } else {
                self.step();
            }
        }
        if self.outcome.violation.is_none() {
            self.outcome.coverage.count(self.run.ending());
            self.outcome.violation = self.truth.judge_end(&self.run, &self.scenario).err();
        }
        self.outcome
    }

    fn at(&mut self, at: u64, scheduled: ScheduledEvent) {
        self.queue.put(at, scheduled);
    }

    fn later(&mut self, most: u64, scheduled: ScheduledEvent) {
        let after = self.dice.below(most + 1);
        self.at(self.queue.now() + after, scheduled);
    }

    /// The driver sends a report, after all its earlier reports.
    fn report(&mut self, event: Event) {
        self.reported = self.reported.max(self.queue.now() + self.dice.below(5));
        self.at(self.reported, ScheduledEvent::Tell(event));
    }

    /// Runs the next event: an event in the world's queue, or the run's own deadline, which may come late.
    fn step(&mut self) {
        let deadline = self.run.next_deadline().map(|(at, _)| at.millis());
        match self.queue.next(deadline) {
            Next::Deadline => self.tell(Event::Deadline),
            Next::ScheduledEvent(scheduled) => self.happen(scheduled),
            Next::Nothing => {
                self.outcome.violation = Some(format!(
                    "nothing will ever happen again, and the run is not over: {:?}",
                    self.run.tally().totals
                ));
            }
        }
    }

    fn happen(&mut self, scheduled: ScheduledEvent) {
        match scheduled {
            // No outcome is needed once the remaining items are recorded.
            ScheduledEvent::Input if self.truth.left().is_some() => {}
            ScheduledEvent::Input => self.answer_input(),
            ScheduledEvent::TaskEnds(task) => {
                if self.tasks.remove(&task) {
                    self.end_task(task);
                }
            }
            ScheduledEvent::Tell(event) => self.tell(event),
            ScheduledEvent::Printed(task) => {
                if self.printer != Printer::Broken && self.unprinted.remove(&task) {
                    self.tell(Event::Printed { tasks: vec![task] });
                    self.close_printer();
                }
            }
            ScheduledEvent::Fault(fault) => self.strike(fault),
        }
    }

    fn answer_input(&mut self) {
        self.truth.answered();
        let number = self.truth.taken.len() as u64 + 1;
        let error = || "it is no text".to_owned();
        let event = match self.input {
            Input::Unreadable => Event::InputFailed { error: error(), item: Unusable::None },
            _ if number > self.scenario.items => Event::InputEnded,
            Input::Unusable => {
                self.truth.taken.insert(number);
                self.truth.unusable += 1;
                Event::InputFailed { error: error(), item: Unusable::Taken }
            }
            Input::Sound => {
                self.truth.taken.insert(number);
                let bytes = usize::try_from(self.dice.below(1000)).expect("it is small");
                Event::InputItem(Item { number, words: number.to_string(), bytes, request: request() })
            }
        };
        self.tell(event);
    }

    /// A task ends by itself, after one or two attempts.
    fn end_task(&mut self, task: TaskId) {
        let executor = ExecutorId(0);
        let fails = self.dice.one_in(self.scenario.failing);
        let last = if fails || self.dice.one_in(5) { 1 } else { 0 };
        for attempt in 0..=last {
            let attempt = AttemptId { task, attempt };
            let bytes = Bytes::from_static(b"out");
            self.report(Event::OutputReceived { attempt, stream: Stream::Stdout, bytes });
            if attempt.attempt < last {
                self.report(Event::OutputDiscarded { attempt });
            }
        }
        let attempt = AttemptId { task, attempt: last };
        let outcome = match fails {
            true => {
                let cause = FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(1)));
                TaskOutcome::Failed { attempt, executor, locality: None, failures: 2, cause }
            }
            false => TaskOutcome::Succeeded { attempt, executor, locality: None },
        };
        self.report(Event::TaskEnded { task, outcome });
        self.drain();
    }

    /// Ends the application once all tasks have ended and no more are submitted.
    fn drain(&mut self) {
        if self.driver == Driver::Draining && self.tasks.is_empty() {
            self.end_application(driver::Ending::Completed, 0);
        }
    }

    fn end_application(&mut self, ending: driver::Ending, leave: u64) {
        for task in std::mem::take(&mut self.tasks) {
            self.report(Event::TaskEnded { task, outcome: TaskOutcome::Cancelled });
        }
        self.driver = Driver::Over;
        self.report(Event::ApplicationEnded(ending));
        self.reported += leave;
        self.report(Event::DriverEnded);
    }

    fn strike(&mut self, fault: Fault) {
        let is_own = self.scenario.config.scope == Scope::Application;
        match fault {
            Fault::InputUnreadable => self.input = Input::Unreadable,
            Fault::ItemUnusable => self.input = Input::Unusable,
            Fault::Interrupt => self.interrupt(),
            Fault::InterruptTwice => {
                self.interrupt();
                self.queue.pass(50);
                self.interrupt();
            }
            Fault::ReaderLeaves => self.break_printer(Event::ReaderClosed),
            Fault::OutputLost => self.break_printer(Event::OutputLost { error: "full".to_owned() }),
            Fault::RecordLost if !self.record_is_lost => {
                self.record_is_lost = true;
                self.tell(Event::RecordLost { error: "full".to_owned() });
            }
            Fault::Killed if is_own && self.driver != Driver::Over => {
                let end = ApplicationEnd::Killed { by: "ann@host".to_owned() };
                self.end_application(driver::Ending::Removed(end), 0);
            }
            Fault::DriverPanics if self.driver != Driver::Over => {
                self.tasks.clear();
                self.driver = Driver::Over;
                self.report(Event::DriverEnded);
            }
            Fault::ExecutorLost => {
                let (executor, host) = (ExecutorId(0), "h".to_owned());
                let loss = ExecutorLoss::Disconnected;
                self.report(Event::NoteReceived(Note::ExecutorLost { executor, host, loss, tasks: 0 }));
            }
            Fault::RecordLost | Fault::Killed | Fault::DriverPanics => {}
        }
    }

    fn interrupt(&mut self) {
        let request = EndRequest::Interrupt;
        let echo = self.truth.requests.first().is_some_and(|(first, at)| {
            let after = Timestamp::from_millis(self.queue.now()).since(Timestamp::from_millis(*at));
            first.is_echoed_by(request, after)
        });
        if !echo {
            self.truth.requests.push((request, self.queue.now()));
        }
        self.tell(Event::EndRequested(request));
    }

    fn break_printer(&mut self, event: Event) {
        if self.printer != Printer::Broken {
            self.printer = Printer::Broken;
            self.tell(event);
        }
    }

    fn close_printer(&mut self) {
        if self.printer == Printer::Closing && self.unprinted.is_empty() {
            self.at(self.queue.now(), ScheduledEvent::Tell(Event::OutputClosed));
        }
    }

    /// Gives the run an event, and performs its effects.
    fn tell(&mut self, event: Event) {
        if self.outcome.violation.is_some() || self.truth.is_finished() {
            return;
        }
        self.outcome.events += 1;
        self.outcome.coverage.count(&event);
        self.outcome.trace.push(format!("{:>7} {event:?}", self.queue.now()));
        match &event {
            Event::TaskEnded { task, outcome } => self.truth.task_ended(*task, outcome),
            Event::Printed { tasks } => self.truth.printed(tasks),
            Event::InputEnded => self.truth.input_ended(),
            _ => {}
        }
        if self.sabotage.is_some_and(|sabotage| sabotage.misses(&event)) {
            return;
        }
        let mut effects = self.run.apply(Timestamp::from_millis(self.queue.now()), event);
        if let Err(violation) = self.run.check() {
            self.outcome.violation = Some(violation.to_string());
            return;
        }
        if let Some(sabotage) = self.sabotage {
            sabotage.effects(&mut effects);
        }
        for effect in effects {
            self.outcome.trace.push(format!("        -> {effect:?}"));
            see_effect(&mut self.outcome.coverage, &effect);
            if let Err(sentence) = self.truth.judge(&effect, &self.scenario) {
                self.outcome.violation.get_or_insert(sentence);
                return;
            }
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ReadItem => self.later(10, ScheduledEvent::Input),
            Effect::Submit { task, .. } => {
                if self.driver == Driver::Open {
                    self.tasks.insert(task);
                    self.later(200, ScheduledEvent::TaskEnds(task));
                }
            }
            Effect::FinishApplication { .. } => {
                if self.driver == Driver::Open {
                    self.driver = Driver::Draining;
                    self.drain();
                }
            }
            Effect::CancelApplication { until, .. } => {
                if self.driver != Driver::Over {
                    let leave = match until {
                        Until::NothingLeft if self.dice.one_in(3) => 40_000,
                        Until::NothingLeft | Until::Notified => 0,
                    };
                    self.end_application(driver::Ending::Cancelled, leave);
                }
            }
            Effect::CancelTasks { tasks } => {
                for task in tasks.into_iter().filter(|task| self.tasks.remove(task)).collect::<Vec<_>>() {
                    self.report(Event::TaskEnded { task, outcome: TaskOutcome::Cancelled });
                }
            }
            Effect::Print { task, .. } => {
                self.unprinted.insert(task);
                self.printed_at =
                    self.printed_at.max(self.queue.now()) + self.dice.below(self.scenario.slowness);
                self.at(self.printed_at, ScheduledEvent::Printed(task));
            }
            Effect::CloseOutput => {
                if self.printer == Printer::Open {
                    self.printer = Printer::Closing;
                    self.close_printer();
                } else {
                    self.at(
                        self.queue.now(),
                        ScheduledEvent::Tell(Event::OutputLost { error: "full".to_owned() }),
                    );
                }
            }
            Effect::LeaveRest => {
                let items = self.truth.left().filter(|_| !self.record_is_lost);
                self.later(10, ScheduledEvent::Tell(Event::RestLeft { items }));
            }
            Effect::Output { .. }
            | Effect::DiscardOutput { .. }
            | Effect::MarkDone { .. }
            | Effect::Remark(_)
            | Effect::Finish => {}
        }
    }
}

fn request() -> TaskRequest {
    let command = Command { program: "true".to_owned(), arguments: Vec::new(), environment: BTreeMap::new() };
    let directory = TaskDirectory::Executor;
    TaskSpec { command, directory, stdin: Bytes::new(), cores: Cores(1) }.into()
}
