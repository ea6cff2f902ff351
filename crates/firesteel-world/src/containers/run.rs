//! One run: from the registration, through the faults, until everything has recovered.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_application_master::allocator::{
    AllocateFailure, Allocated, Allocator, Call, Effect, Event, ExecutorNeeds,
};
use firesteel_protocol::ids::{ContainerId, ExecutorId, ProfileId};
use firesteel_protocol::{Machine, Timestamp};

use super::manager::{GrantChoice, Manager};
use super::sabotage::{ContainerSabotage, Saboteur};
use super::scenario::Scenario;
use super::truth::Truth;
use super::{all_kinds, see_effect, see_event};
use crate::Outcome;
use firesteel_sim::dice::Dice;

/// How long after the last fault everything must have recovered, in virtual milliseconds.
const HEALED_AFTER: u64 = 600_000;

/// Runs a world with a correct allocator.
#[must_use]
pub fn run(scenario: Scenario) -> Outcome {
    World::new(scenario, None).run()
}

/// Runs a world whose allocator has this bug.
#[must_use]
pub fn run_sabotaged(scenario: Scenario, sabotage: ContainerSabotage) -> Outcome {
    World::new(scenario, Some(Saboteur::new(sabotage))).run()
}

#[derive(Clone, Debug)]
enum ScheduledEvent {
    Report(String),
    /// A call reaches the manager, or is lost.
    Arrive(Call, CallOutcome),
    /// The allocator learns how its call ended.
    Tell(Event),
    /// A container's process has started, or its start has failed.
    Start(ContainerId),
    End(ContainerId, i32),
    Driver,
    /// A fault occurs at the manager.
    Mischief,
}

/// Whether a call and its response arrive.
#[derive(Clone, Copy, Debug)]
enum CallOutcome {
    Sound,
    RequestLost,
    ResponseLost,
    /// The manager was restarted and has lost its state.
    Forgotten,
    /// The manager has begun another attempt.
    Replaced,
}

struct World {
    scenario: Scenario,
    dice: Dice,
    now: u64,
    queue: BTreeMap<(u64, u64), ScheduledEvent>,
    sequence: u64,
    allocator: Allocator,
    manager: Manager,
    truth: Truth,
    saboteur: Option<Saboteur>,
    calm: bool,
    stopping: bool,
    call_is_open: bool,
    questions: u64,
    /// The last response, which may be repeated.
    last: Allocated,
    /// Whether the allocator gave up the application for a valid reason.
    failed: bool,
    outcome: Outcome,
}

impl World {
    fn new(scenario: Scenario, saboteur: Option<Saboteur>) -> Self {
        let manager = Manager::new(scenario.config.topology.clone(), scenario.machines.clone());
        Self {
            dice: Dice::new(scenario.seed ^ 0x00C0_FFEE),
            now: 1_000_000,
            queue: BTreeMap::new(),
            sequence: 0,
            allocator: Allocator::new(scenario.config.clone()),
            manager,
            truth: Truth::default(),
            saboteur,
            calm: false,
            stopping: false,
            call_is_open: false,
            questions: 0,
            last: Allocated::default(),
            failed: false,
            outcome: Outcome::of(&all_kinds()),
            scenario,
        }
    }

    fn run(mut self) -> Outcome {
        let start = self.now;
        for host in self.scenario.machines.keys().cloned().collect::<Vec<_>>() {
            self.later(1, 500, ScheduledEvent::Report(host));
        }
        self.later(0, 1_000, ScheduledEvent::Driver);
        self.later(100, 500, ScheduledEvent::Mischief);
        self.later(0, 50, ScheduledEvent::Tell(Event::Registered));
        while self.outcome.violation.is_none() && !self.failed {
            if !self.calm && self.now >= start + self.scenario.until {
                self.calm_down();
            }
            if self.calm && !self.call_is_open && self.is_well() {
                let live = self.manager.containers().keys().cloned().collect();
                self.outcome.violation = self.truth.judge_end(&live).err();
                break;
            }
            if self.now > start + self.scenario.until + HEALED_AFTER {
                let view = self.allocator.view(Timestamp::from_millis(self.now));
                let wants = self.manager.wants();
                let (avoids, held) = (self.manager.excluded(), self.manager.containers().len());
                self.outcome.violation = Some(format!(
                    "not all is well long after the last fault: the manager still wants {wants:?}, avoids \
                     {avoids:?}, has {held} containers; the allocator: {view:?}"
                ));
                break;
            }
            self.step();
        }
        self.outcome
    }

    /// Decides at random whether a fault occurs.
    fn strikes(&mut self, rarer: u64) -> bool {
        !self.calm && self.dice.one_in(self.scenario.faults * rarer)
    }

    fn later(&mut self, first: u64, last: u64, scheduled: ScheduledEvent) {
        let at = self.now + self.dice.between(first, last);
        self.sequence += 1;
        self.queue.insert((at, self.sequence), scheduled);
    }

    /// Runs the next event: an event in the world's queue, or the allocator's own deadline, which may come late.
    fn step(&mut self) {
        let deadline = self.allocator.next_deadline().map(|(at, _)| at.millis());
        let head = self.queue.keys().next().copied();
        match (deadline, head) {
            (Some(at), head) if head.is_none_or(|(first, _)| at <= first) => {
                let late = if self.strikes(2) { self.dice.below(30) } else { 0 };
                let first = head.map_or(u64::MAX, |(first, _)| first);
                self.now = self.now.max(at.saturating_add(late).min(first.max(at)));
                self.tell(Event::Deadline);
            }
            (_, Some(head)) => {
                self.now = self.now.max(head.0);
                let scheduled = self.queue.remove(&head).expect("it is the first");
                self.happen(scheduled);
            }
            (_, None) => self.outcome.violation = Some("nothing will ever happen again".to_owned()),
        }
    }

    fn happen(&mut self, scheduled: ScheduledEvent) {
        match scheduled {
            ScheduledEvent::Report(host) => self.report(host),
            ScheduledEvent::Arrive(call, outcome) => self.arrive(&call, outcome),
            ScheduledEvent::Tell(event) => self.hear(event),
            ScheduledEvent::Start(container) => self.start(container),
            ScheduledEvent::End(container, status) => {
                if !self.calm || self.stopping {
                    self.manager.end(&container, status);
                }
            }
            ScheduledEvent::Driver => self.driver(),
            ScheduledEvent::Mischief => self.mischief(),
        }
    }

    fn report(&mut self, host: String) {
        let care = if self.strikes(1) { GrantChoice::Anywhere } else { GrantChoice::Nearest };
        // The deadline comes late, now and then.
        if !self.strikes(1) {
            self.manager.offer(&host, care);
        }
        if self.strikes(4) {
            let profile = ProfileId(u32::try_from(self.dice.below(4)).expect("it is small"));
            let missing = i64::from(self.dice.one_in(3));
            self.manager.grant(&host, profile, missing);
        }
        self.later(100, 1_000, ScheduledEvent::Report(host));
    }

    fn arrive(&mut self, call: &Call, outcome: CallOutcome) {
        let failed = |words: &str| Event::AllocateFailed(AllocateFailure::Failed(words.to_owned()));
        let event = match outcome {
            CallOutcome::Sound => {
                self.manager.hear(call);
                let mut answer = self.manager.answer();
                if self.strikes(3) {
                    answer.decommissioning = self.manager.hosts().take(1).map(str::to_owned).collect();
                }
                Event::Allocated(answer)
            }
            CallOutcome::RequestLost => failed("the call was lost"),
            CallOutcome::ResponseLost => {
                self.manager.hear(call);
                failed("the answer was lost")
            }
            CallOutcome::Forgotten => {
                self.manager.forget();
                Event::AllocateFailed(AllocateFailure::NotRegistered)
            }
            CallOutcome::Replaced => Event::AllocateFailed(AllocateFailure::Replaced),
        };
        self.later(1, 30, ScheduledEvent::Tell(event));
    }

    /// The allocator learns how a call, or its registration, ended.
    fn hear(&mut self, event: Event) {
        match &event {
            Event::Allocated(answer) => {
                self.call_is_open = false;
                self.truth.answered(Some(answer));
                self.last = answer.clone();
            }
            Event::AllocateFailed(_) => {
                self.call_is_open = false;
                self.truth.answered(None);
            }
            Event::Registered => self.truth.registered(),
            _ => {}
        }
        self.tell(event);
    }

    fn start(&mut self, container: ContainerId) {
        if self.strikes(1) {
            let error = "it cannot be started".to_owned();
            return self.tell(Event::ContainerStartFailed { container, error });
        }
        if self.strikes(1) || (self.stopping && self.dice.one_in(2)) {
            let status = *self.dice.pick(&[0, 1, 1, 137, -100, -101, -102, -103, -104, -105, -106, -1000]);
            self.later(0, 10_000, ScheduledEvent::End(container.clone(), status));
        }
        self.tell(Event::ContainerStarted { container });
    }

    fn driver(&mut self) {
        if self.calm {
            return;
        }
        if self.dice.one_in(8) {
            let first_executor = ExecutorId(u32::try_from(self.dice.below(40)).expect("it is small"));
            self.tell(Event::DriverKnown { first_executor, needs: ExecutorNeeds::default() });
        }
        if self.dice.one_in(2) {
            let (targets, excluded) = self.scenario.preferences(&mut self.dice);
            self.tell(Event::RequestExecutors { targets, excluded });
        }
        if self.strikes(20) {
            let mut targets = self.scenario.last_requests(&mut self.dice);
            let one = targets[0].clone();
            let many = (100..170).map(|profile| {
                let profile = ProfileId(profile);
                firesteel_application_master::allocator::Target { profile, total: 0, ..one.clone() }
            });
            targets.extend(many);
            self.tell(Event::RequestExecutors { targets, excluded: BTreeSet::new() });
        }
        if self.dice.one_in(3) {
            let living: Vec<ExecutorId> = self.truth.living().filter(|_| self.dice.one_in(4)).collect();
            self.kill(living);
        }
        if self.dice.one_in(3) {
            self.questions += 1;
            let executor = ExecutorId(u32::try_from(self.dice.below(40)).expect("it is small"));
            let question = self.questions;
            self.truth.asked(question, executor);
            self.tell(Event::AskLoss { question, executor });
        }
        self.later(50, 4_000, ScheduledEvent::Driver);
    }

    fn kill(&mut self, executors: Vec<ExecutorId>) {
        self.truth.killed(&executors);
        self.tell(Event::KillExecutors(executors));
    }

    fn mischief(&mut self) {
        if self.calm {
            return;
        }
        if self.strikes(1) {
            self.manager.grant_again(&mut self.dice);
        }
        if self.strikes(1) {
            self.manager.end_again();
        }
        if self.strikes(1) {
            let all: Vec<ContainerId> = self.manager.containers().keys().cloned().collect();
            if let Some(index) = self.dice.index(all.len()) {
                let status = *self.dice.pick(&[-100, -102, 1]);
                self.manager.end(&all[index], status);
            }
        }
        if self.strikes(8) && !self.call_is_open {
            let (again, failed) = (self.last.clone(), AllocateFailure::Failed("late".to_owned()));
            match self.dice.one_in(2) {
                true => self.tell(Event::Allocated(again)),
                false => self.tell(Event::AllocateFailed(failed)),
            }
        }
        self.later(50, 1_000, ScheduledEvent::Mischief);
    }

    /// Stops all faults. The driver sends its targets once more, and ends all executors that run.
    fn calm_down(&mut self) {
        self.calm = true;
        self.stopping = self.dice.one_in(4);
        let targets = match self.stopping {
            true => Vec::new(),
            false => self.scenario.last_requests(&mut self.dice),
        };
        if self.stopping {
            self.tell(Event::DriverStopping);
        }
        self.tell(Event::RequestExecutors { targets, excluded: BTreeSet::new() });
        let living: Vec<ExecutorId> = self.truth.living().collect();
        match self.stopping {
            true => {
                let all: Vec<ContainerId> = self.manager.containers().keys().cloned().collect();
                for container in all {
                    let status = *self.dice.pick(&[0, 1, 143]);
                    self.later(0, 2_000, ScheduledEvent::End(container, status));
                }
            }
            false => self.kill(living),
        }
    }

    /// Whether there are exactly as many executors as wanted, nothing more is requested, and both sides agree.
    fn is_well(&self) -> bool {
        let view = self.allocator.view(Timestamp::from_millis(self.now));
        let settled = view.profiles.values().all(|profile| {
            profile.pending == 0 && profile.starting == 0 && profile.running >= profile.target
        });
        let running: u64 = view.profiles.values().map(|profile| profile.running).sum();
        settled
            && view.released == 0
            && running == self.manager.containers().len() as u64
            && self.manager.undelivered().next().is_none()
            && self.manager.wants().is_empty()
            && *self.manager.excluded() == self.scenario.config.never
    }

    /// Gives the allocator an event, checks its effects and performs them.
    fn tell(&mut self, mut event: Event) {
        if let Some(saboteur) = &self.saboteur {
            saboteur.event(&mut event);
        }
        let now = Timestamp::from_millis(self.now);
        self.outcome.events += 1;
        see_event(&mut self.outcome.coverage, &event);
        self.outcome.trace.push(format!("{} {event:?}", self.now));
        let mut effects = self.allocator.apply(now, event);
        if let Some(saboteur) = &self.saboteur {
            saboteur.effects(&mut effects);
        }
        for effect in &effects {
            see_effect(&mut self.outcome.coverage, effect);
            self.outcome.trace.push(format!("{}     {effect:?}", self.now));
        }
        let verdict = self.allocator.check().map_err(|violation| violation.to_string());
        let view = self.allocator.view(now);
        let verdict =
            verdict.and_then(|()| self.truth.judge(now, &effects, &view, &self.scenario.config.topology));
        if let Err(sentence) = verdict {
            self.outcome.violation = Some(sentence);
            return;
        }
        effects.into_iter().for_each(|effect| self.perform(effect));
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Allocate(call) => {
                self.call_is_open = true;
                let outcome = self.call_outcome();
                let slow = if self.strikes(2) { 5_000 } else { 30 };
                self.later(1, slow, ScheduledEvent::Arrive(call, outcome));
            }
            Effect::Register => self.later(1, 500, ScheduledEvent::Tell(Event::Registered)),
            Effect::Launch(launch) => self.later(1, 300, ScheduledEvent::Start(launch.container)),
            Effect::Fail(failure) => {
                self.failed = true;
                if self.scenario.faults == 0 {
                    self.outcome.violation = Some(format!("{failure}, though nothing goes wrong"));
                }
            }
            Effect::ExecutorEnded { .. }
            | Effect::Decommission { .. }
            | Effect::AnswerLoss { .. }
            | Effect::Note(_) => {}
        }
    }

    fn call_outcome(&mut self) -> CallOutcome {
        if self.strikes(400) {
            CallOutcome::Replaced
        } else if self.strikes(10) {
            CallOutcome::Forgotten
        } else if self.strikes(2) {
            CallOutcome::RequestLost
        } else if self.strikes(2) {
            CallOutcome::ResponseLost
        } else {
            CallOutcome::Sound
        }
    }
}
