//! One run: from the registration to the end.

use firesteel_engine::driver::{self, FailureCause, Note, TaskOutcome};
use firesteel_engine::session::{Commands, Event, MapEnd, Reader, Session};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, TaskId};
use firesteel_protocol::messages::{ApplicationEnd, ExecutorState, TaskEnd};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::{EndRequest, Machine, Timestamp};

use super::cluster::{Cluster, DriverState, outcome};
use super::sabotage::SessionSabotage;
use super::scenario::{Fault, Scenario};
use super::truth::Truth;
use super::{all_kinds, commands, see_effect, see_event};
use crate::Outcome;
use crate::queue::{Next, Queue};
use firesteel_sim::dice::Dice;

/// The time by which the session must have ended, in virtual milliseconds.
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

/// An event in the world at some time.
type ScheduledEvent = Box<dyn FnOnce(&mut World)>;

pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) dice: Dice,
    queue: Queue<ScheduledEvent>,
    session: Session,
    truth: Truth,
    sabotage: Option<SessionSabotage>,
    pub(super) cluster: Cluster,
    /// When the last report of the driver arrives. Reports stay in order.
    reported: u64,
    /// The number of the session's last request. The session waits only for the answer to this request.
    questions: u64,
    /// The number of lines that were read.
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
            self.queue.put(at, Box::new(move |world| world.strike(fault)));
        }
        match self.dice.one_in(30) {
            true => self.end_application(driver::Ending::NoMaster { errors: Vec::new() }, 100),
            false => self.report(Event::NoteReceived(Cluster::registered())),
        }
        self.assign_soon();
        while self.outcome.violation.is_none() && !self.truth.finished {
            let deadline = self.session.next_deadline().map(|(at, _)| at.millis());
            match self.queue.next(deadline) {
                _ if self.queue.now() > OVER_BY => self.fail("the session does not end"),
                Next::Deadline => self.tell(Event::Deadline),
                Next::ScheduledEvent(scheduled) => scheduled(&mut self),
                Next::Nothing => self.fail("nothing will ever happen again, and the session is not over"),
            }
        }
        self.outcome
    }

    fn fail(&mut self, sentence: &str) {
        self.outcome.violation = Some(sentence.to_owned());
    }

    /// Plans an event within this many milliseconds.
    pub(super) fn later(&mut self, most: u64, scheduled: impl FnOnce(&mut Self) + 'static) {
        let at = self.queue.now() + self.dice.below(most + 1);
        self.queue.put(at, Box::new(scheduled));
    }

    /// The driver sends a report, after all its earlier reports.
    pub(super) fn report(&mut self, event: Event) {
        self.report_as(0, |world| world.tell(event));
    }

    fn report_as(&mut self, after: u64, scheduled: impl FnOnce(&mut Self) + 'static) {
        self.reported = self.reported.max(self.queue.now() + after + self.dice.below(5));
        self.queue.put(self.reported, Box::new(scheduled));
    }

    /// The number of the session's new request.
    pub(super) fn ask(&mut self) -> u64 {
        self.questions += 1;
        self.questions
    }

    /// Plans an answer to the session's latest request.
    pub(super) fn answer(&mut self, most: u64, event: Event) {
        let number = self.ask();
        self.later(most, move |world| world.answer_to(number, |_| event));
    }

    /// Plans an answer that comes in order with the driver's reports. Its contents are computed at that time.
    pub(super) fn answer_as_driver(&mut self, after: u64, answer: fn(&Cluster) -> Event) {
        let number = self.ask();
        if self.cluster.is_up() {
            self.report_as(after, move |world| world.answer_to(number, answer));
        }
    }

    fn answer_to(&mut self, number: u64, answer: impl FnOnce(&Cluster) -> Event) {
        if number == self.questions {
            self.tell(answer(&self.cluster));
        }
    }

    pub(super) fn assign_soon(&mut self) {
        let delay = self.scenario.delay;
        self.later(delay / 4, move |world| {
            if let Some(id) = world.cluster.assign().filter(|_| world.cluster.is_up()) {
                world.later(delay, move |world| {
                    if let Some(note) = world.cluster.register(id).filter(|_| world.cluster.is_up()) {
                        world.report(Event::NoteReceived(note));
                    }
                });
                world.assign_soon();
            }
        });
    }

    pub(super) fn lose(&mut self, id: ExecutorId, state: ExecutorState) {
        if let Some(note) = self.cluster.lose(id, state).filter(|_| self.cluster.is_up()) {
            self.report(Event::NoteReceived(note));
            self.assign_soon();
        }
    }

    pub(super) fn read_line(&mut self) {
        let event = match self.lines + 1 {
            _ if self.lines_fail => Event::LinesFailed("it is no text".to_owned()),
            number if number > self.scenario.lines => Event::LinesEnded,
            _ if self.scenario.config.commands == Commands::Typed && self.dice.one_in(10) => {
                Event::LineDiscarded
            }
            number => {
                self.lines = number;
                Event::LineRead(match (number, self.scenario.crowd) {
                    (1, crowd @ 1..) => commands::crowd(crowd),
                    (_, _) => commands::line(&mut self.dice),
                })
            }
        };
        self.tell(event);
    }

    /// A task ends by itself.
    pub(super) fn end_task(&mut self, task: TaskId) {
        if !self.cluster.tasks.remove(&task) || !self.cluster.is_up() {
            return;
        }
        if self.dice.one_in(10) {
            self.report(Event::OutputDiscarded(task));
        }
        let outcome = outcome(&mut self.dice, task, self.scenario.failing);
        self.report(Event::TaskEnded(task, outcome));
    }

    /// The map run ends by itself with code 0, or because of a ctrl-c.
    pub(super) fn end_map(&mut self, code: u8) {
        if self.truth.maps {
            let failed = u64::from(self.dice.one_in(3));
            let code = if code == 0 && failed > 0 { 1 } else { code };
            let reader = if self.dice.one_in(20) { Reader::Gone } else { Reader::Reads };
            let items = self.dice.below(5);
            self.tell(Event::MapEnded(MapEnd { items, failed, code, reader }));
        }
    }

    pub(super) fn end_application(&mut self, ending: driver::Ending, leave: u64) {
        for task in std::mem::take(&mut self.cluster.tasks) {
            self.report(Event::TaskEnded(task, TaskOutcome::Cancelled));
        }
        self.cluster.state = DriverState::Over;
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
                    self.later(2_000, |world| world.tell(Event::EndRequested(EndRequest::Terminate)));
                }
            }
            Fault::ReaderLeaves => {
                self.reader_is_gone = true;
                self.tell(Event::ReaderClosed);
            }
            Fault::LinesFail => self.lines_fail = true,
            _ if !self.cluster.is_up() => {}
            Fault::Killed => {
                let end = ApplicationEnd::Killed { by: "ann@host".to_owned() };
                self.end_application(driver::Ending::Removed(end), 0);
            }
            Fault::DriverPanics => {
                self.cluster.tasks.clear();
                self.cluster.state = DriverState::Over;
                self.report(Event::DriverEnded);
            }
            Fault::DriverHangs => self.cluster.state = DriverState::Hanging,
            Fault::MasterLost => {
                self.cluster.has_master = false;
                let master = Address::new("master", 7077);
                self.report(Event::NoteReceived(Note::MasterLost { master }));
            }
            Fault::MasterRestarted => {
                self.cluster.has_master = true;
                self.report(Event::NoteReceived(Cluster::registered()));
            }
            Fault::AttemptFails => {
                if let Some(task) = self.cluster.tasks.first().copied() {
                    let attempt = AttemptId { task, attempt: 0 };
                    let cause = FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(1)));
                    let (executor, host) = (ExecutorId(0), "host1".to_owned());
                    let note = Note::TaskFailed { attempt, executor, host, cause, failures: 1, limit: 2 };
                    self.report(Event::NoteReceived(note));
                    self.report(Event::OutputDiscarded(task));
                }
            }
            Fault::ExecutorLost => {
                if let Some(id) = self.cluster.any() {
                    self.lose(id, ExecutorState::Exited(ExitStatus::Code(1)));
                }
            }
        }
    }

    /// Gives the session an event, and performs its effects.
    pub(super) fn tell(&mut self, event: Event) {
        if self.outcome.violation.is_some() || self.truth.finished {
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
        let mut effects = self.session.apply(Timestamp::from_millis(now), event);
        if let Err(violation) = self.session.check() {
            return self.fail(&violation.to_string());
        }
        if let Some(sabotage) = self.sabotage {
            effects = effects.into_iter().flat_map(|effect| sabotage.tamper(effect)).collect();
        }
        for effect in effects {
            self.outcome.trace.push(format!("        -> {effect:?}"));
            see_effect(&mut self.outcome.coverage, &effect);
            if let Err(sentence) = self.truth.judge(&effect) {
                return self.fail(&sentence);
            }
            self.perform(effect);
        }
        self.outcome.violation = self.truth.judge_state(now, &self.session).err();
    }
}
