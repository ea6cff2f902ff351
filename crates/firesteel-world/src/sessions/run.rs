//! One run: from the registration to the end.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_engine::driver::{self, FailureCause, Note, TaskOutcome};
use firesteel_engine::session::{Commands, Event, MapEnd, Reader, Session};
use firesteel_placement::Cores;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, TaskId};
use firesteel_protocol::messages::{ApplicationEnd, ExecutorState, TaskDirectory, TaskEnd, TaskSpec};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::{EndRequest, Machine, Timestamp};

use super::cluster::{Cluster, Standing, outcome};
use super::sabotage::SessionSabotage;
use super::scenario::{Fault, Scenario};
use super::truth::Truth;
use super::{all_kinds, commands, see_effect, see_event};
use crate::Outcome;
use crate::queue::{Next, Queue};
use firesteel_sim::dice::Dice;

/// The time by which the session must be over, in virtual milliseconds.
const OVER_BY: u64 = 20_000_000;

/// Runs a world with a correct session.
#[must_use]
pub fn run(scenario: Scenario) -> Outcome {
    World::new(scenario, None).run()
}

/// Runs a world whose session has this bug.
#[must_use]
pub fn run_sabotaged(scenario: Scenario, sabotage: SessionSabotage) -> Outcome {
    World::new(scenario, Some(sabotage)).run()
}

/// A happening in the queue.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// The session is told of this.
    Tell(Event),
    /// The answer to the question of this number comes, unless nobody waits for it.
    Answer(u64, Event),
    /// The same for the driver's tables, and for what the Master says: as they are then.
    Look(u64),
    Explain(u64),
    /// A line is read.
    Line,
    /// A task ends by itself.
    TaskEnds(TaskId),
    /// The map run ends.
    MapEnds(u8),
    /// The Master assigns an executor.
    Assign,
    /// An executor registers.
    Register(ExecutorId),
    /// An executor that was asked to end does.
    Leave(ExecutorId),
    /// A fault strikes.
    Fault(Fault),
}

pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) dice: Dice,
    pub(super) queue: Queue<Happening>,
    session: Session,
    truth: Truth,
    sabotage: Option<SessionSabotage>,
    pub(super) cluster: Cluster,
    /// When the last report of the driver arrives. Reports keep their order.
    pub(super) reported: u64,
    /// The number of the last question.
    questions: u64,
    /// Lines that were read.
    lines: u64,
    lines_fail: bool,
    pub(super) reader_is_gone: bool,
    outcome: Outcome,
}

impl World {
    fn new(scenario: Scenario, sabotage: Option<SessionSabotage>) -> Self {
        Self {
            dice: Dice::new(scenario.seed ^ 0x00C0_FFEE),
            queue: Queue::starting_at(0),
            session: Session::new(scenario.config.clone()),
            truth: Truth::new(&scenario.config),
            sabotage,
            cluster: Cluster::default(),
            reported: 0,
            questions: 0,
            lines: 0,
            lines_fail: false,
            reader_is_gone: false,
            outcome: Outcome::of(&all_kinds()),
            scenario,
        }
    }

    fn run(mut self) -> Outcome {
        for (at, fault) in self.scenario.faults.clone() {
            self.queue.put(at, Happening::Fault(fault));
        }
        match self.dice.one_in(30) {
            true => {
                let ending = driver::Ending::NoMaster { errors: Vec::new() };
                self.end_application(ending, 100);
            }
            false => self.report(Event::NoteReceived(Cluster::registered())),
        }
        self.assign_soon();
        while self.outcome.violation.is_none() && !self.truth.is_finished() {
            if self.queue.now() > OVER_BY {
                self.outcome.violation = Some("the session does not end".to_owned());
            } else {
                self.step();
            }
        }
        self.outcome
    }

    pub(super) fn later(&mut self, most: u64, happening: Happening) {
        let at = self.queue.now() + self.dice.below(most + 1);
        self.queue.put(at, happening);
    }

    /// The driver sends a report, after all its earlier reports.
    pub(super) fn report(&mut self, event: Event) {
        self.report_as(Happening::Tell(event));
    }

    pub(super) fn report_as(&mut self, happening: Happening) {
        self.reported = self.reported.max(self.queue.now() + self.dice.below(5));
        self.queue.put(self.reported, happening);
    }

    /// An answer to what the session asks now. It asks for one thing at a time.
    pub(super) fn answer(&mut self, most: u64, event: Event) {
        let number = self.ask();
        self.later(most, Happening::Answer(number, event));
    }

    pub(super) fn ask(&mut self) -> u64 {
        self.questions += 1;
        self.questions
    }

    fn step(&mut self) {
        let deadline = self.session.next_deadline().map(|(at, _)| at.millis());
        match self.queue.next(deadline) {
            Next::Deadline => self.tell(Event::Deadline),
            Next::Happening(happening) => self.happen(happening),
            Next::Nothing => {
                let sentence = "nothing will ever happen again, and the session is not over";
                self.outcome.violation = Some(sentence.to_owned());
            }
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Tell(event) => self.tell(event),
            Happening::Answer(number, event) if number == self.questions => self.tell(event),
            Happening::Look(number) if number == self.questions => {
                self.tell(Event::TablesSeen(self.cluster.view()));
            }
            Happening::Explain(number) if number == self.questions => {
                self.tell(Event::MasterAnswered(self.cluster.explain()));
            }
            Happening::Answer(..) | Happening::Look(_) | Happening::Explain(_) => {}
            Happening::Line => self.read_line(),
            Happening::TaskEnds(task) => self.end_task(task),
            Happening::MapEnds(code) => self.end_map(code),
            Happening::Assign => {
                if let Some(id) = self.cluster.assign().filter(|_| self.cluster.is_up()) {
                    self.later(self.scenario.delay, Happening::Register(id));
                    self.assign_soon();
                }
            }
            Happening::Register(id) => {
                if let Some(note) = self.cluster.register(id).filter(|_| self.cluster.is_up()) {
                    self.report(Event::NoteReceived(note));
                }
            }
            Happening::Leave(id) => self.lose(id, ExecutorState::Killed(None)),
            Happening::Fault(fault) => self.strike(fault),
        }
    }

    pub(super) fn assign_soon(&mut self) {
        self.later(self.scenario.delay / 4, Happening::Assign);
    }

    fn lose(&mut self, id: ExecutorId, state: ExecutorState) {
        if let Some(note) = self.cluster.lose(id, state).filter(|_| self.cluster.is_up()) {
            self.report(Event::NoteReceived(note));
            self.assign_soon();
        }
    }

    fn read_line(&mut self) {
        let number = self.lines + 1;
        if self.lines_fail {
            return self.tell(Event::LinesFailed { error: "it is no text".to_owned() });
        }
        if number > self.scenario.lines {
            return self.tell(Event::LinesEnded);
        }
        if self.scenario.config.commands == Commands::Typed && self.dice.one_in(10) {
            return self.tell(Event::LineDiscarded);
        }
        self.lines = number;
        let line = match (number, self.scenario.crowd) {
            (1, crowd @ 1..) => commands::crowd(crowd),
            (_, _) => commands::line(&mut self.dice, number),
        };
        self.tell(Event::LineRead(line));
    }

    fn end_task(&mut self, task: TaskId) {
        if !self.cluster.tasks.remove(&task) || !self.cluster.is_up() {
            return;
        }
        if self.dice.one_in(10) {
            self.report(Event::OutputDiscarded { attempt: AttemptId { task, attempt: 0 } });
        }
        let outcome = outcome(&mut self.dice, task, self.scenario.failing);
        self.report(Event::TaskEnded { task, outcome });
    }

    /// The map run ends by itself with 0, or by a ctrl-c.
    fn end_map(&mut self, code: u8) {
        if self.truth.is_mapping() {
            let failed = if self.dice.one_in(3) { 1 } else { 0 };
            let code = if code == 0 && failed > 0 { 1 } else { code };
            let reader = if self.dice.one_in(20) { Reader::Gone } else { Reader::Reads };
            let items = self.dice.below(5);
            self.tell(Event::MapEnded(MapEnd { items, failed, code, reader }));
        }
    }

    pub(super) fn end_application(&mut self, ending: driver::Ending, leave: u64) {
        for task in std::mem::take(&mut self.cluster.tasks) {
            self.report(Event::TaskEnded { task, outcome: TaskOutcome::Cancelled });
        }
        self.cluster.standing = Standing::Over;
        self.report(Event::ApplicationEnded(ending));
        self.reported += leave;
        self.report(Event::DriverEnded);
    }

    fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Interrupt => self.tell(Event::EndRequested(EndRequest::Interrupt)),
            Fault::Terminate => {
                self.tell(Event::EndRequested(EndRequest::Terminate));
                if self.dice.one_in(3) {
                    self.later(2_000, Happening::Tell(Event::EndRequested(EndRequest::Terminate)));
                }
            }
            Fault::ReaderLeaves => {
                self.reader_is_gone = true;
                self.tell(Event::ReaderClosed);
            }
            Fault::LinesFail => self.lines_fail = true,
            Fault::Killed if self.cluster.is_up() => {
                let end = ApplicationEnd::Killed { by: "ann@host".to_owned() };
                self.end_application(driver::Ending::Removed(end), 0);
            }
            Fault::DriverPanics if self.cluster.is_up() => {
                self.cluster.tasks.clear();
                self.cluster.standing = Standing::Over;
                self.report(Event::DriverEnded);
            }
            Fault::DriverHangs if self.cluster.is_up() => self.cluster.standing = Standing::Hanging,
            Fault::MasterLost if self.cluster.is_up() => {
                self.cluster.has_master = false;
                let master = Address::new("master", 7077);
                self.report(Event::NoteReceived(Note::MasterLost { master }));
            }
            Fault::MasterRestarted if self.cluster.is_up() => {
                self.cluster.has_master = true;
                self.report(Event::NoteReceived(Cluster::registered()));
            }
            Fault::AttemptFails if self.cluster.is_up() => {
                if let Some(task) = self.cluster.tasks.first().copied() {
                    let attempt = AttemptId { task, attempt: 0 };
                    let cause = FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(1)));
                    let (executor, host) = (ExecutorId(0), "host1".to_owned());
                    let note = Note::TaskFailed { attempt, executor, host, cause, failures: 1, limit: 2 };
                    self.report(Event::NoteReceived(note));
                    self.report(Event::OutputDiscarded { attempt });
                }
            }
            Fault::ExecutorLost if self.cluster.is_up() => {
                if let Some(id) = self.cluster.any() {
                    self.lose(id, ExecutorState::Exited(ExitStatus::Code(1)));
                }
            }
            Fault::Killed
            | Fault::DriverPanics
            | Fault::DriverHangs
            | Fault::MasterLost
            | Fault::MasterRestarted
            | Fault::AttemptFails
            | Fault::ExecutorLost => {}
        }
    }

    /// Gives the session an event, and performs its effects.
    fn tell(&mut self, event: Event) {
        if self.outcome.violation.is_some() || self.truth.is_finished() {
            return;
        }
        let now = self.queue.now();
        self.outcome.events += 1;
        see_event(&mut self.outcome.coverage, &event);
        self.outcome.trace.push(format!("{now:>7} {event:?}"));
        self.truth.told(now, &event);
        if self.sabotage.is_some_and(|sabotage| sabotage.misses(&event)) {
            return;
        }
        let effects = self.session.apply(Timestamp::from_millis(now), event);
        if let Err(violation) = self.session.check() {
            self.outcome.violation = Some(violation.to_string());
            return;
        }
        let effects = match self.sabotage {
            Some(sabotage) => sabotage.effects(effects),
            None => effects,
        };
        for effect in effects {
            self.outcome.trace.push(format!("        -> {effect:?}"));
            see_effect(&mut self.outcome.coverage, &effect);
            if let Err(sentence) = self.truth.judge(&effect) {
                self.outcome.violation = Some(sentence);
                return;
            }
            self.perform(effect);
        }
        self.outcome.violation = self.truth.judge_state(now, &self.session).err();
    }
}

/// A task for nothing.
pub(super) fn spec(directory: TaskDirectory) -> TaskSpec {
    let command = Command { program: "true".to_owned(), arguments: Vec::new(), environment: BTreeMap::new() };
    TaskSpec { command, directory, stdin: Bytes::new(), cores: Cores(1) }
}
