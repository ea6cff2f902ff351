//! One run: from the first attempt, through the faults, to the end of the application.

use std::collections::BTreeMap;

use firesteel_application_master::allocator::Call;
use firesteel_application_master::{ApplicationMaster, Event, FinalStatus, Inbound, Mode};
use firesteel_protocol::ids::{ContainerId, PeerId, ProfileId};
use firesteel_protocol::messages::{ClientToMaster, DriverToMaster, ExecutorTarget, HostPreferences};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::{Machine as _, Timestamp};

use super::books::{Books, Program};
use super::coverage::AttemptCoverage;
use super::driver::Driver;
use super::plan::{Ending, Plan, target};
use super::sabotage::AttemptSabotage;
use super::supervisor::{AttemptState, Supervisor};
use crate::containers::Manager;
use firesteel_sim::dice::Dice;

/// How long the application may take to end after the last fault, in virtual milliseconds.
const OVER_AFTER: u64 = 3_600_000;

#[derive(Debug, Default)]
pub struct Outcome {
    pub coverage: AttemptCoverage,
    /// The broken law, if any: what should be true, and what was found.
    pub violation: Option<String>,
    /// Whether everything recovered after the faults, and the application ended as planned.
    pub as_planned: bool,
    /// The number of attempts that were begun.
    pub attempts: usize,
    /// One line for each event and effect.
    pub trace: Vec<String>,
}

/// Runs a world with correct ApplicationMasters.
#[must_use]
pub fn run(plan: Plan) -> Outcome {
    World::new(plan, None).run()
}

/// Runs a world whose ApplicationMasters have this bug.
#[must_use]
pub fn run_sabotaged(plan: Plan, sabotage: AttemptSabotage) -> Outcome {
    World::new(plan, Some(sabotage)).run()
}

/// An event in the queue. Attempts and drivers are counted from 0.
#[derive(Clone, Debug)]
pub(super) enum ScheduledEvent {
    Report(String),
    /// An attempt receives an event from its daemon or from a connection.
    Tell(usize, Event),
    /// A call reaches the manager, or is lost.
    Arrive(usize, Call, CallOutcome),
    /// An attempt's request to register reaches the manager.
    Register(usize),
    /// An attempt's request to unregister reaches the manager.
    Unregister(usize, FinalStatus),
    /// A container's process has started, or its start has failed.
    Started(usize, ContainerId),
    /// A container's process ends.
    Ends(ContainerId, i32),
    ProgramEnds(usize, ExitStatus),
    /// The manager notices that an attempt has ended, or gives it up.
    Lose(usize),
    Begin,
    /// A driver dials its ApplicationMaster.
    Dial(usize),
    HintRequest(usize),
    Whim(usize),
    /// A status client sends a request.
    Clients,
    /// A fault occurs at the manager.
    Mischief,
}

/// Whether a call and its response arrive.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallOutcome {
    Sound,
    RequestLost,
    ResponseLost,
}

pub(super) struct Attempt {
    pub(super) machine: ApplicationMaster,
    pub(super) books: Books,
    pub(super) alive: bool,
}

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) dice: Dice,
    pub(super) now: u64,
    queue: BTreeMap<(u64, u64), ScheduledEvent>,
    sequence: u64,
    pub(super) attempts: Vec<Attempt>,
    pub(super) drivers: Vec<Driver>,
    pub(super) supervisor: Supervisor,
    pub(super) manager: Manager,
    pub(super) next_peer: u64,
    pub(super) targets: Vec<ExecutorTarget>,
    pub(super) preferences: HostPreferences,
    sabotage: Option<AttemptSabotage>,
    pub(super) calm: bool,
    /// The ending that has begun. No attempt may begin after it.
    pub(super) ending: Option<Ending>,
    pub(super) outcome: Outcome,
}

impl World {
    fn new(plan: Plan, sabotage: Option<AttemptSabotage>) -> Self {
        let cluster = &plan.cluster;
        let manager = Manager::new(cluster.config.topology.clone(), cluster.machines.clone());
        let mut dice = Dice::new(plan.seed ^ 0x00C0_FFEE);
        let targets = plan.targets(&mut dice);
        Self {
            dice,
            now: 1_000_000,
            queue: BTreeMap::new(),
            sequence: 0,
            attempts: Vec::new(),
            drivers: Vec::new(),
            supervisor: Supervisor::new(plan.config.most_attempts),
            manager,
            next_peer: 0,
            targets,
            preferences: HostPreferences::default(),
            sabotage,
            calm: false,
            ending: None,
            outcome: Outcome::default(),
            plan,
        }
    }

    fn run(mut self) -> Outcome {
        let start = self.now;
        self.outcome.coverage.runs = 1;
        self.outcome.coverage.mode.count(&self.plan.config.mode);
        for host in self.plan.cluster.machines.keys().cloned().collect::<Vec<_>>() {
            self.later(1, 500, ScheduledEvent::Report(host));
        }
        self.later(0, 2_000, ScheduledEvent::Clients);
        self.later(100, 1_000, ScheduledEvent::Mischief);
        if self.plan.config.mode != Mode::Cluster {
            self.add_driver();
        }
        self.begin();
        while self.outcome.violation.is_none() {
            if !self.calm && self.now >= start + self.plan.cluster.until {
                self.calm_down();
            }
            if self.supervisor.is_over() && self.attempts.iter().all(|attempt| !attempt.alive) {
                self.outcome.violation = self.judge_over().err();
                break;
            }
            if self.calm && self.ending.is_none() && self.is_well() {
                self.end();
            }
            if self.now > start + self.plan.cluster.until + OVER_AFTER {
                self.outcome.violation = Some(self.unfinished());
                break;
            }
            self.step();
        }
        self.outcome.attempts = self.attempts.len();
        self.outcome
    }

    /// Decides at random whether a fault occurs.
    pub(super) fn strikes(&mut self, rarer: u64) -> bool {
        !self.calm && self.dice.one_in(self.plan.cluster.faults * rarer)
    }

    pub(super) fn later(&mut self, first: u64, last: u64, scheduled: ScheduledEvent) {
        let at = self.now + self.dice.between(first, last);
        self.sequence += 1;
        self.queue.insert((at, self.sequence), scheduled);
    }

    /// Runs the next event: an event in the world's queue, or an attempt's own deadline, which may come late.
    fn step(&mut self) {
        let due = |(index, attempt): (usize, &Attempt)| {
            let deadline = attempt.machine.next_deadline().filter(|_| attempt.alive);
            deadline.map(|(at, _)| (at.millis(), index))
        };
        let deadline = self.attempts.iter().enumerate().filter_map(due).min();
        let head = self.queue.keys().next().copied();
        match (deadline, head) {
            (Some((at, index)), head) if head.is_none_or(|(first, _)| at <= first) => {
                let late = if self.strikes(2) { self.dice.below(30) } else { 0 };
                let first = head.map_or(u64::MAX, |(first, _)| first);
                self.now = self.now.max(at.saturating_add(late).min(first.max(at)));
                self.tell(index, Event::Deadline);
            }
            (_, Some(head)) => {
                self.now = self.now.max(head.0);
                let scheduled = self.queue.remove(&head).expect("it is the first");
                self.happen(scheduled);
            }
            (_, None) => self.outcome.violation = Some("nothing will ever happen again".to_owned()),
        }
    }

    pub(super) fn begin(&mut self) {
        let index = self.attempts.len();
        let mut config = self.plan.config_of(u32::try_from(index).unwrap_or(u32::MAX) + 1);
        let books = Books::new(config.clone(), self.plan.relaunch);
        if let Some(sabotage) = self.sabotage {
            sabotage.config(&mut config);
        }
        self.attempts.push(Attempt { machine: ApplicationMaster::new(config), books, alive: true });
        self.supervisor.current = index;
        self.supervisor.state = AttemptState::Begun;
        if self.plan.config.mode == Mode::Cluster {
            self.add_driver();
        }
        if self.ending.is_some() {
            self.ending = None;
            self.plan.ending = Ending::DriverDone;
        }
        // A driver may connect before its ApplicationMaster has begun.
        if self.plan.config.mode == Mode::Unmanaged && self.dice.one_in(4) {
            self.dial(0);
        }
        self.tell(index, Event::Start);
    }

    fn add_driver(&mut self) {
        let driver = self.drivers.len();
        let wanted = self.targets.iter().map(|target| (target.id, target.total)).collect();
        self.drivers.push(Driver { wanted, ..Driver::default() });
        self.later(0, 3_000, ScheduledEvent::Dial(driver));
        self.later(0, 3_000, ScheduledEvent::Whim(driver));
    }

    pub(super) fn driver_of(&self, attempt: usize) -> usize {
        match self.plan.config.mode {
            Mode::Cluster => attempt,
            Mode::Client | Mode::Unmanaged => 0,
        }
    }

    /// Gives an attempt an event, checks its effects and performs them.
    pub(super) fn tell(&mut self, index: usize, mut event: Event) {
        if !self.attempts[index].alive || self.outcome.violation.is_some() {
            return;
        }
        let now = Timestamp::from_millis(self.now);
        let driver = self.driver_of(index);
        let attempt = &mut self.attempts[index];
        self.outcome.coverage.see_event(&event);
        self.outcome.trace.push(format!("{} attempt {}: {event:?}", self.now, index + 1));
        attempt.books.hear(self.now, &event);
        let truth = event.clone();
        if let Some(sabotage) = self.sabotage {
            sabotage.event(attempt.books.peer, &mut event);
        }
        let mut effects = attempt.machine.apply(now, event);
        if let Some(sabotage) = self.sabotage {
            sabotage.effects(&truth, &mut effects);
        }
        for effect in &effects {
            self.outcome.coverage.see_effect(effect);
            self.outcome.trace.push(format!("{}     {effect:?}", self.now));
        }
        let verdict = attempt.machine.check().map_err(|violation| violation.to_string());
        let (driver, view) = (&self.drivers[driver], attempt.machine.view(now));
        let verdict = verdict.and_then(|()| attempt.books.judge(self.now, &truth, &effects, driver, &view));
        if let Err(sentence) = verdict {
            self.outcome.violation = Some(sentence);
            return;
        }
        effects.into_iter().for_each(|effect| self.perform(index, effect));
    }

    /// Whether the driver has the executors of its targets and knows them, and nothing more is requested.
    fn is_well(&self) -> bool {
        let current = self.supervisor.current;
        let (attempt, driver) = (&self.attempts[current], &self.drivers[self.driver_of(current)]);
        if self.supervisor.state != AttemptState::Known || !attempt.alive || attempt.books.finishing.is_some()
        {
            return false;
        }
        let connected =
            driver.connection.is_some_and(|connection| connection.attempt == current) && driver.registered;
        let live: BTreeMap<_, _> = attempt.books.live().map(|(id, row)| (id, row.profile)).collect();
        let held = |(id, total): (&ProfileId, &u64)| {
            live.values().filter(|profile| *profile == id).count() as u64 == *total
        };
        let view = attempt.machine.view(Timestamp::from_millis(self.now));
        let settled = |profile: &firesteel_application_master::allocator::ProfileView| {
            profile.pending == 0 && profile.starting == 0 && profile.running == profile.target
        };
        connected
            && !driver.done
            && driver.live.iter().eq(live.keys())
            && attempt.books.wanted.iter().all(held)
            && view.profiles.values().all(settled)
            && view.released == 0
            && live.len() == self.manager.containers().len()
            && self.manager.undelivered().next().is_none()
            && self.manager.wants().is_empty()
            && *self.manager.excluded() == self.plan.cluster.config.never
    }

    /// Stops all faults. The driver sends its requests once more, and ends all executors that run.
    fn calm_down(&mut self) {
        self.calm = true;
        self.targets = self.plan.targets(&mut self.dice);
        self.preferences = HostPreferences::default();
        for driver in 0..self.drivers.len() {
            let targets = self.targets.iter().map(|target| (target.id, target.total)).collect();
            self.drivers[driver].wanted = targets;
            self.wish(driver);
        }
    }

    fn end(&mut self) {
        let current = self.supervisor.current;
        let driver = self.driver_of(current);
        self.outcome.as_planned = true;
        self.ending = Some(self.plan.ending);
        self.outcome.coverage.ending.count(&self.plan.ending);
        match self.plan.ending {
            Ending::DriverDone => self.finish_driver(driver),
            Ending::DriverVanishes => {
                self.hang_up(driver);
                self.drivers[driver].vanished = true;
            }
            Ending::ProgramFails => {
                let status =
                    *self.dice.pick(&[ExitStatus::Code(1), ExitStatus::Code(7), ExitStatus::Signal(9)]);
                self.later(0, 0, ScheduledEvent::ProgramEnds(current, status));
            }
            Ending::Killed => {
                let app = self.plan.config.app.to_string();
                self.client_says(current, ClientToMaster::KillApplication { app, by: "ann@host".into() });
            }
            Ending::Shutdown => self.tell(current, Event::Shutdown),
        }
    }

    /// Checks that the application has ended and has left nothing behind.
    fn judge_over(&self) -> Result<(), String> {
        let AttemptState::Over(status) = self.supervisor.state else { return Ok(()) };
        let (begun, most) = (self.attempts.len(), self.plan.config.most_attempts);
        if status.is_none() && (begun as u64) < u64::from(most) {
            return Err(format!("the application was given up after {begun} of {most} attempts"));
        }
        let expected = match self.ending {
            Some(Ending::DriverDone) => Some(self.plan.status()),
            Some(Ending::Killed) => Some(FinalStatus::Killed),
            Some(Ending::DriverVanishes | Ending::ProgramFails | Ending::Shutdown) | None => None,
        };
        match expected {
            Some(expected) if status != Some(expected) => {
                Err(format!("the application ended as {status:?}, it should have as {expected}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn unfinished(&self) -> String {
        let current = self.supervisor.current;
        let attempt = &self.attempts[current];
        let driver = &self.drivers[self.driver_of(current)];
        format!(
            "not all is well, or over, long after the last fault: the manager is {:?} and wants {:?}, has {} containers; \
             attempt {} has executors {:?}, wants {:?}, {:?}; the driver knows {:?}, is done: {}, heard the end: {:?}",
            self.supervisor,
            self.manager.wants(),
            self.manager.containers().len(),
            current + 1,
            attempt.books.live().map(|(id, _)| id.0).collect::<Vec<_>>(),
            attempt.books.wanted,
            attempt.machine.view(Timestamp::from_millis(self.now)).profiles,
            driver.live,
            driver.done,
            driver.removed,
        )
    }

    pub(super) fn new_peer(&mut self) -> PeerId {
        self.next_peer += 1;
        PeerId(self.next_peer)
    }

    pub(super) fn driver_says(&mut self, driver: usize, message: DriverToMaster) {
        if let Some(connection) = self.drivers[driver].connection {
            let (peer, message) = (connection.peer, Inbound::Driver(message));
            self.tell(connection.attempt, Event::Received { peer, message });
        }
    }

    pub(super) fn client_says(&mut self, attempt: usize, message: ClientToMaster) {
        let peer = self.new_peer();
        self.tell(attempt, Event::Received { peer, message: Inbound::Client(message) });
    }

    /// Marks a driver as done. The driver's program ends once the driver learns that no executor is left.
    pub(super) fn finish_driver(&mut self, driver: usize) {
        if self.drivers[driver].connection.is_some() {
            self.drivers[driver].done = true;
            let (app, outcome) = (self.plan.config.app.clone(), self.plan.outcome());
            self.driver_says(driver, DriverToMaster::UnregisterApplication { app, outcome });
        }
    }

    /// The driver's current target for each profile.
    pub(super) fn current_targets(&self, driver: usize) -> Vec<ExecutorTarget> {
        self.drivers[driver].wanted.iter().map(|(id, total)| target(id.0, *total)).collect()
    }

    pub(super) fn has_program(&self, attempt: usize) -> bool {
        self.attempts[attempt].alive && self.attempts[attempt].books.program == Program::Running
    }
}
