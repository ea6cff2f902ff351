//! The driver owns an application and the application's tasks.
//!
//! The driver registers the application with a Master, accepts executors that register, and runs each submitted task on
//! an executor. A failed task is retried until it succeeds or reaches its limit of failures. The daemon around this
//! state machine submits tasks, writes their output, and reports when the output is written. The application's owner
//! decides how many tasks wait.
//!
//! Each concern has its folder or file:
//!
//! - `executors`: the table of executors: their registration and end (`membership`), free resources (`openings`), hosts
//!   and racks (`reach`), silence (`heartbeats`), and shortages of processes or memory (`shortage`);
//! - `tasks`: the table of tasks and the ends of attempts (`waiting`, `attempts`); the choice of an executor for each
//!   task (`offers`, `delay`); tasks that no executor can run (`unfit`); flow control of output (`credit`);
//! - `scaling`: the number of executors wanted (`targets`), dynamic allocation (`allocation`), idle executors that make
//!   way for another profile (`giving_back`), and the preferred hosts (`hints`);
//! - `exclusion`: failures, and the executors and hosts that get no tasks because of them (`health_tracker`: by
//!   comparison in `comparison`, `failure_rates` and `evidence`; by Spark's limits in `failure_limits`; before there is
//!   proof in `suspect`);
//! - `peers`: messages to and from peers; `question`: the owner's questions.
//!
//! The code that searches for a Master is shared with launcher and Worker (`master_search`). The code that finds out
//! why no executor comes is shared with the launcher (`applicant`).

mod check;
mod config;
mod effect;
mod event;
mod exclusion;
mod executors;
mod note;
mod peers;
mod question;
mod scaling;
mod tasks;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::master_search::Due;
use firesteel_protocol::messages::{DriverToExecutor, DriverToMaster, Outcome, RefusedExecutor};
use firesteel_protocol::time::Timestamp;

use self::exclusion::health_tracker::HealthTracker;
use self::executors::Executors;
use self::executors::executor::State;
use self::executors::membership::NewExecutor;
use self::question::Questions;
use self::scaling::Scaling;
use self::scaling::hints::Hints;
use self::scaling::targets::Targets;
use self::tasks::Tasks;
use self::tasks::delay::Delays;
use crate::applicant::peers::Closing;
use crate::applicant::registration::{Registration, Search};
use crate::applicant::starvation::Starvation;

pub use crate::applicant::ConnectTimeout;
pub use config::{
    Allocation, Config, DynamicAllocation, Exclusion, ExclusionPolicy, Heartbeats, LocalityWait, Ratio,
};
pub use effect::{Effect, Ending, FailureCause, Outbound, TaskOutcome};
pub use event::{Event, Inbound, Replacement, Until};
pub use exclusion::health_tracker::ExclusionCause;
pub use note::{ExecutorLoss, MasterStatus, Note, Readmission, RefusedProfile, Request};
pub use question::{Answer, Question, QuestionId};
pub use tasks::exit_codes::{BadExitCodes, ExitCodes};
pub use tasks::needs::TaskNeeds;
pub use tasks::request::TaskRequest;
pub use tasks::unfit::Unfit;
pub use view::{ExecutorView, ExecutorViewState, View};

/// How soon an application without executors learns the reason.
const FIRST_WORD: Duration = Duration::from_millis(1500);

/// How long a driver without a Master waits to report the end of its tasks. A lost Master may return within this time.
const FAREWELL: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub struct Driver {
    config: Config,
    registration: Registration,
    executors: Executors,
    /// Executors that know the secret and registered before the Master announced them.
    early: BTreeMap<PeerId, NewExecutor>,
    closing: Closing,
    tasks: Tasks,
    targets: Targets,
    delays: Delays,
    scaling: Scaling,
    /// When to send the next heartbeat to the executors, if any executor is connected.
    next_heartbeat: Option<Timestamp>,
    health: HealthTracker,
    hints: Hints,
    starvation: Starvation,
    questions: Questions,
    /// The profiles and task sizes that a note has already reported as too large.
    said_too_large: BTreeSet<(ProfileId, Cores)>,
    phase: Phase,
    /// When the driver ends without a report to a Master: see [`FAREWELL`].
    farewell: Option<Timestamp>,
    effects: Effects<Effect>,
}

/// The phases of a driver.
///
/// ```text
///  OPEN --Finish-->  DRAINING --last task ended--> DONE
///    |                     |                           ^ ^
///    |---------------------`------ removed, ... -------' |
///    `--cancelled--> LEAVING --executors gone, --------- '
///                              Master lost
/// ```
///
/// The application is over in LEAVING and in DONE. A driver that does not wait for its executors is DONE immediately.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// No more tasks are submitted. The driver waits until all tasks have ended.
    Draining {
        /// The result of the application's work, for the Master.
        outcome: Option<Outcome>,
    },
    /// The application has ended, and the driver waits for its executors to end.
    Leaving,
    Done,
}

/// Why the driver set its next deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The search for a Master must continue, or has taken too long.
    Registration(Due),
    /// A deadline of this executor has passed. The executor has not registered or has sent nothing, or the Master has
    /// not reported the executor's end.
    ExecutorDelay(ExecutorId),
    /// Heartbeats to the executors are due.
    Heartbeat,
    /// The application has had no executor for some time.
    Starvation,
    /// Cores were kept free long enough for tasks that prefer nearby hosts.
    Locality,
    /// The initial target of dynamic allocation no longer applies.
    InitialTarget,
    /// Tasks of this profile have waited long enough for more executors.
    Backlog(ProfileId),
    /// An executor has been idle for too long.
    IdleExecutor(ExecutorId),
    /// An exclusion expires.
    ExclusionOver,
    /// An executor on a machine that is short of resources tries one more task.
    Shortage,
    /// The preferred hosts of tasks may have to be sent to the Master.
    Hints,
    /// No Master returned to receive the report of the end.
    Farewell,
}

impl Driver {
    #[must_use]
    pub fn new(mut config: Config) -> Self {
        if let Allocation::Dynamic(bounds) = config.allocation {
            config.description.initial_limit = ExecutorLimit::AtMost(bounds.clamp(bounds.initial));
        }
        let search = Search {
            masters: config.masters.clone(),
            timeout: config.registration_timeout,
            seed: config.seed,
        };
        Self {
            registration: Registration::new(search, config.description.clone()),
            executors: Executors::default(),
            early: BTreeMap::new(),
            closing: Closing::default(),
            tasks: Tasks::default(),
            targets: Targets::new(&config.description),
            delays: Delays::new(config.locality_wait),
            scaling: Scaling::new(),
            next_heartbeat: None,
            health: HealthTracker::new(config.exclusion),
            hints: Hints::default(),
            starvation: Starvation::early(FIRST_WORD, config.starvation_timeout),
            questions: Questions::default(),
            said_too_large: BTreeSet::new(),
            phase: Phase::Open,
            farewell: None,
            effects: Effects::default(),
            config,
        }
    }

    /// The application's id, once a Master has given one.
    #[must_use]
    pub fn app(&self) -> Option<&AppId> {
        self.registration.app()
    }

    /// Whether an attempt has been launched and has not ended, as far as the driver knows.
    #[must_use]
    pub fn runs(&self, attempt: AttemptId) -> bool {
        self.tasks.executor_of(attempt).is_some()
    }

    /// Whether the application has ended: [`Effect::Done`] was returned.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match self.phase {
            Phase::Open | Phase::Draining { .. } => false,
            Phase::Leaving | Phase::Done => true,
        }
    }
}

impl Machine for Driver {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        match self.phase {
            Phase::Open | Phase::Draining { .. } => {}
            Phase::Leaving => return self.hear_of_the_end(&event),
            Phase::Done => return Vec::new(),
        }
        match event {
            Event::Start => {
                let orders = self.registration.search.start(now);
                self.follow(orders);
            }
            Event::Connected { peer, master, leadership } => {
                let orders = self.registration.search.on_connected(now, peer, master, leadership);
                self.follow(orders);
            }
            Event::ConnectFailed { master, error } => {
                let orders = self.registration.search.on_connect_failed(now, master, error);
                self.follow(orders);
            }
            Event::Received { peer, message } => match message {
                Inbound::Master(message) => self.on_master_message(now, peer, message),
                Inbound::Executor(message) => self.on_executor_message(now, peer, message),
            },
            Event::ArrivedHandled { peer } => self.on_arrived_handled(now, peer),
            Event::Disconnected { peer } => self.on_disconnected(now, peer),
            Event::Submit { task, request } => self.on_submit(task, request),
            Event::Finish { outcome } => self.phase = Phase::Draining { outcome },
            Event::AddProfile { profile, needs, total } => self.on_add_profile(profile, needs, total),
            Event::RequestExecutors { profile, total } => self.on_request_executors(profile, total),
            Event::KillExecutors { executors, replacement } => {
                self.on_kill_executors(executors, replacement);
            }
            Event::OutputConsumed { attempt, bytes } => self.on_output_consumed(attempt, bytes),
            Event::CancelTask { task } => self.on_cancel_task(task),
            Event::Ask { number, question } => {
                // The answer shows the tables after the event.
                self.settle(now);
                self.on_ask(number, question);
            }
            Event::MastersMoved { masters } => {
                let orders = self.registration.search.move_to(now, &masters);
                self.follow(orders);
            }
            Event::Removed { end } => self.finish(Ending::Removed(end), None, Until::Notified),
            Event::Cancel { outcome, until } => self.finish(Ending::Cancelled, outcome, until),
            Event::Deadline => self.on_deadline(now),
        }
        self.settle(now);
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        if self.is_done() {
            return None;
        }
        let deadlines = [
            self.registration.search.next_deadline().map(|(at, due)| (at, Reason::Registration(due))),
            self.executors.next_due().map(|(at, executor)| (at, Reason::ExecutorDelay(executor))),
            self.next_heartbeat.map(|at| (at, Reason::Heartbeat)),
            self.starvation.deadline().map(|at| (at, Reason::Starvation)),
            self.delays.deadline().map(|at| (at, Reason::Locality)),
            self.scaling.next_deadline(),
            self.health.deadline().map(|at| (at, Reason::ExclusionOver)),
            self.executors.next_try().map(|at| (at, Reason::Shortage)),
            self.hints_due().map(|at| (at, Reason::Hints)),
            self.farewell.map(|at| (at, Reason::Farewell)),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl Driver {
    /// Handles a submitted task. A task that no executor can ever run fails immediately. A task that is too long for a
    /// frame also fails, because it would end the connection of each executor in turn.
    fn on_submit(&mut self, task: TaskId, request: TaskRequest) {
        let unfit = self.unfit(&request);
        let (topology, reach) = (&self.config.topology, self.executors.reach());
        if self.phase != Phase::Open || !self.tasks.submit(task, request, topology, reach) {
            self.effects.note(Note::UnexpectedTask { task });
        } else if let Some(unfit) = unfit {
            self.tasks.give_up(task);
            self.effects.push(Effect::TaskEnded { task, outcome: TaskOutcome::Unfit(unfit) });
        }
    }

    fn on_deadline(&mut self, now: Timestamp) {
        let orders = self.registration.search.on_deadline(now);
        self.follow(orders);
        if self.is_done() {
            return;
        }
        self.send_heartbeats(now);
        self.excuse_executors(now);
        while let Some((at, executor)) = self.executors.next_due()
            && at <= now
        {
            match self.executors.live(executor).state {
                State::Announced | State::Expected(_) => self.replace_absent(executor),
                State::Offering(_) | State::Leaving(_) => self.look_for_life(now, executor),
                State::Away { .. } => self.lose_executor(executor, ExecutorLoss::Disconnected),
            }
        }
        self.executors.try_again(now);
        self.complain(now);
    }

    /// Brings everything up to date, at the end of each event.
    fn settle(&mut self, now: Timestamp) {
        match &self.phase {
            Phase::Leaving | Phase::Done => return,
            Phase::Draining { outcome } if self.tasks.is_empty() => {
                let outcome = outcome.clone();
                if !self.waits_for_a_master(now) {
                    return self.finish(Ending::Completed, outcome, Until::Notified);
                }
            }
            Phase::Open | Phase::Draining { .. } => {}
        }
        self.end_drained();
        loop {
            self.update_exclusions(now);
            self.hold_suspects();
            self.offer(now);
            if self.release_suspects() {
                self.offer(now);
            }
            self.scale(now);
            // Scaling may leave only excluded executors: each round readmits one. If a trial began, the tasks wait for
            // other executors.
            if !self.health.take_trial_began() && self.last_resort().is_none() {
                break;
            }
        }
        self.hint(now);
        self.note_too_large();
        if self.registration.master().is_none() {
            self.answer_open(&Answer::NoMaster);
        }
        if self.is_served() {
            self.starvation.fed();
        } else if self.registration.app().is_some() {
            self.starvation.hungry(now);
        }
    }

    /// Whether every profile with waiting tasks has an executor that takes tasks.
    fn is_served(&self) -> bool {
        let waiting = self.tasks.waiting();
        self.executors.any_offering()
            && waiting.profiles().all(|profile| !self.executors.openings(profile).is_empty())
    }

    /// All tasks have ended. Returns whether the driver waits for a Master, to report the end. A Master that was asked
    /// may still answer, and a lost Master may soon return.
    fn waits_for_a_master(&mut self, now: Timestamp) -> bool {
        if self.registration.master().is_some() || !self.registration.may_come() {
            return false;
        }
        now < *self.farewell.get_or_insert(now + FAREWELL)
    }

    /// The application has ended. The driver waits for its executors to end only if `until` requires it and a Master
    /// received the end, because that Master reports the ends of executors.
    fn finish(&mut self, ending: Ending, outcome: Option<Outcome>, until: Until) {
        for task in self.tasks.clear() {
            self.effects.push(Effect::TaskEnded { task, outcome: TaskOutcome::Cancelled });
        }
        let executors = std::mem::take(&mut self.executors);
        for peer in executors.iter().filter_map(|(_, executor)| executor.peer()) {
            self.send_executor(peer, DriverToExecutor::StopExecutor);
        }
        for peer in std::mem::take(&mut self.early).into_keys() {
            self.send_executor(peer, DriverToExecutor::RegisterExecutorFailed(RefusedExecutor::Stopping));
        }
        let is_master_told = match ending {
            Ending::Completed | Ending::Cancelled => self.unregister(outcome),
            Ending::Removed(_) | Ending::NoMaster { .. } => false,
        };
        self.effects.push(Effect::Done(ending));
        self.phase = match (until, is_master_told) {
            (Until::NothingLeft, true) => Phase::Leaving,
            (Until::NothingLeft, false) | (Until::Notified, _) => {
                self.effects.push(Effect::Exit);
                Phase::Done
            }
        };
    }

    /// Reports the end of the application to the Master. Returns whether there is a Master.
    fn unregister(&mut self, outcome: Option<Outcome>) -> bool {
        let (Some(app), true) = (self.registration.app().cloned(), self.registration.master().is_some())
        else {
            return false;
        };
        self.send_master(DriverToMaster::UnregisterApplication { app, outcome });
        true
    }
}
