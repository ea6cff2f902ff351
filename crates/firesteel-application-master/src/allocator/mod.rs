//! The allocator gets containers for executors from the manager of another cluster.
//!
//! The *manager* (YARN's ResourceManager) decides which application gets which container. The allocator asks it for
//! containers on the hosts where tasks prefer to run. It matches granted containers with its requests: by host, then by
//! rack, then any. It launches executors in the matched containers, and gives back containers that it cannot use. It
//! counts failures, excludes hosts with many failures, and decides when the application has failed.
//!
//! The allocator does not use YARN's protocol. [`Effect::Allocate`] has the wanted number of containers at each
//! location, and [`Event::Allocated`] has the granted containers. `firesteel_placement` matches containers with
//! requests, by the same rule by which the Master ranks Workers near an application's preferred hosts.
//!
//! ```text
//!  RequestExecutors -> target --renew--> requests --asks--> manager
//!                        ^                  |                  | granted (late, elsewhere, too many)
//!                 ended  |                  `---- match <------'
//!                     executor <-- Launch ---------'  `-- no match --> release
//! ```

mod cause;
mod check;
mod config;
mod containers;
mod effect;
mod ends;
mod event;
mod grants;
mod health;
mod loss;
mod note;
mod pace;
mod passed_over;
mod profile;
mod requests;
mod size;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::messages::{MOST_PREFERRED, MOST_PROFILES};
use firesteel_protocol::time::Timestamp;

use self::containers::Containers;
use self::health::Health;
use self::loss::Losses;
use self::pace::{Pace, Wanted};
use self::profile::{Asking, Change, Profile};

pub use cause::{Cause, CountsAgainst, MemoryKind};
pub use config::{Config, Decommissioning, HostExclusion, default_most_failures};
pub use effect::{Ask, Call, Effect, Failure, Launch, Location};
pub use event::{AllocateFailure, Allocated, Completed, Event, Granted, Target};
pub use loss::Loss;
pub use note::Note;
pub use size::{Amount, BadAmount, ContainerSize, ExecutorNeeds, Sizing};
pub use view::{AllocatorView, ProfileView};

/// The maximum number of decommissioned hosts that are remembered.
const MOST_DECOMMISSIONING: usize = 200;

#[derive(Clone, Debug)]
pub struct Allocator {
    config: Config,
    phase: Phase,
    pace: Pace,
    /// The number of failed calls in a row.
    errors: u32,
    profiles: BTreeMap<ProfileId, Profile>,
    containers: Containers,
    next_executor: ExecutorId,
    losses: Losses,
    health: Health,
    machines: Option<u64>,
    /// When the last answered call was made.
    heard: Timestamp,
    /// The decommissioned hosts about which the driver was informed.
    decommissioning: VecDeque<String>,
    driver_is_stopping: bool,
    unexpected_ends: u64,
    effects: Effects<Effect>,
}

/// The phases of an allocator.
///
/// ```text
///  Unregistered --Registered--> Registered --too many failures--> Failed
///        ^                           |
///        `----- manager forgot it --------'
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Unregistered,
    Registered,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The next call to the manager is due.
    Call,
}

impl Allocator {
    #[must_use]
    pub fn new(config: Config) -> Self {
        let default = Profile::new(config.sizing.default_container(), config.initial_target);
        let health =
            Health::new(config.exclusion, config.failure_window, config.never.clone(), config.most_failures);
        Self {
            phase: Phase::Unregistered,
            pace: Pace::new(config.heartbeat, config.initial_pause),
            errors: 0,
            profiles: BTreeMap::from([(ProfileId::DEFAULT, default)]),
            containers: Containers::default(),
            next_executor: config.first_executor,
            losses: Losses::default(),
            health,
            machines: None,
            heard: Timestamp::default(),
            decommissioning: VecDeque::new(),
            driver_is_stopping: false,
            unexpected_ends: 0,
            effects: Effects::default(),
            config,
        }
    }

    /// The size of a container for an executor of this profile. `None` if the profile is not known.
    #[must_use]
    pub fn size(&self, profile: ProfileId) -> Option<Arc<ContainerSize>> {
        self.profiles.get(&profile).map(|profile| Arc::clone(&profile.size))
    }

    /// The executors that were launched and whose ends are not reported, by number.
    pub(crate) fn executors(&self) -> impl Iterator<Item = ExecutorId> {
        self.containers.executors()
    }

    #[must_use]
    pub fn view(&self, now: Timestamp) -> AllocatorView {
        let view = |profile: &Profile| ProfileView {
            target: profile.target(),
            pending: profile.requests.pending(),
            starting: profile.starting,
            running: profile.running,
            on_host: profile.on_host.iter().map(|(host, count)| (host.to_string(), *count)).collect(),
        };
        let released = self.containers.iter().filter(|(_, container)| container.stage.live().is_none());
        AllocatorView {
            profiles: self.profiles.iter().map(|(id, profile)| (*id, view(profile))).collect(),
            machines: self.machines,
            failures: self.health.clone().failures(now),
            unexpected_ends: self.unexpected_ends,
            released: released.count() as u64,
        }
    }
}

impl Machine for Allocator {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if self.phase == Phase::Failed {
            return Vec::new();
        }
        match event {
            Event::Registered => self.on_registered(now),
            Event::DriverKnown { first_executor, needs } => self.on_driver(first_executor, needs),
            Event::RequestExecutors { targets, excluded } => self.on_request(now, targets, excluded),
            Event::KillExecutors(executors) => executors.into_iter().for_each(|id| self.kill(id)),
            Event::AskLoss { question, executor } => self.on_question(now, question, executor),
            Event::DriverStopping => self.driver_is_stopping = true,
            Event::Allocated(allocated) => self.on_allocated(now, allocated),
            Event::AllocateFailed(failure) => self.on_allocate_failed(now, failure),
            Event::ContainerStarted { container } => self.on_started(&container),
            Event::ContainerStartFailed { container, error } => {
                self.on_start_failed(now, &container, error);
            }
            Event::Deadline => {}
        }
        self.settle(now);
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        self.pace.deadline().map(|due| (due, Reason::Call))
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl Allocator {
    /// Handles the manager's registration of the application. After a registration, the manager knows only the
    /// containers that it has granted.
    fn on_registered(&mut self, now: Timestamp) {
        self.phase = Phase::Registered;
        self.errors = 0;
        self.health.forget();
        self.containers.forget();
        self.profiles.values_mut().for_each(|profile| profile.requests.forget());
        self.pace.start(now);
    }

    /// Handles the driver's registration. Its default profile takes precedence over the settings.
    fn on_driver(&mut self, first_executor: ExecutorId, needs: ExecutorNeeds) {
        self.next_executor = self.next_executor.max(first_executor);
        let profile =
            self.profiles.get_mut(&ProfileId::DEFAULT).expect("the default profile is always there");
        if profile.target() > 0 || profile.launched() > 0 || profile.requests.pending() > 0 {
            return;
        }
        let ExecutorNeeds { cores, memory, overhead, off_heap, python, resources } = needs;
        let default = &mut self.config.sizing.default;
        default.cores = cores.or(default.cores);
        default.memory = memory.or(default.memory);
        default.overhead = overhead.or(default.overhead);
        default.off_heap = off_heap.or(default.off_heap);
        default.python = python.or(default.python);
        default.resources.extend(resources);
        profile.size = Arc::new(self.config.sizing.default_container());
    }

    /// Handles the driver's request, which replaces its previous one. The request contains the tasks' preferences for
    /// all profiles, and targets for some profiles.
    ///
    /// Source: Spark on YARN, 4.0.1. Spark excludes hosts only if a target changes at the same time.
    fn on_request(&mut self, now: Timestamp, targets: Vec<Target>, excluded: BTreeSet<String>) {
        self.health.exclude(excluded.into_iter().take(MOST_PREFERRED).collect());
        let mut change = Change::None;
        for (&id, profile) in &mut self.profiles {
            profile.clear_hints();
            if targets.is_empty() && profile.set_target(0) == Change::Some {
                change = Change::Some;
                self.effects.note(Note::TargetSet { profile: id, total: 0 });
            }
        }
        for target in targets {
            if self.set_target(target) == Change::Some {
                change = Change::Some;
            }
        }
        if change == Change::Some {
            self.pace.wake(now);
        }
    }

    fn set_target(&mut self, mut target: Target) -> Change {
        let id = target.profile;
        let room = self.profiles.len() < MOST_PROFILES || self.profiles.contains_key(&id);
        if !room {
            self.effects.note(Note::TooManyProfiles { profile: id });
            return Change::None;
        }
        let (sizing, initial) = (&self.config.sizing, self.config.initial_target);
        let profile =
            self.profiles.entry(id).or_insert_with(|| Profile::new(sizing.container(&target.needs), initial));
        profile.set_hints(&mut target);
        let change = profile.set_target(target.total);
        let total = profile.target();
        if change == Change::Some {
            self.effects.note(Note::TargetSet { profile: id, total });
        }
        change
    }

    /// Handles the manager's answer: machines, granted containers, and ended containers.
    fn on_allocated(&mut self, now: Timestamp, allocated: Allocated) {
        if !self.pace.is_called() {
            // The answer belongs to no known call, but its containers are still valid.
            self.effects.note(Note::UnexpectedAnswer);
        } else {
            self.errors = 0;
            self.heard = self.pace.called().unwrap_or(now);
            self.health.heard();
            self.containers.heard();
        }
        self.machines = Some(allocated.machines);
        self.on_decommissioning(allocated.decommissioning);
        self.on_granted(allocated.granted);
        for completed in allocated.completed {
            self.on_completed(now, completed);
        }
        self.pace.answered(now, self.wanted());
    }

    fn on_decommissioning(&mut self, hosts: Vec<String>) {
        match self.config.decommissioning {
            Decommissioning::Ignored => return,
            Decommissioning::Notified => {}
        }
        for host in hosts {
            if !self.decommissioning.contains(&host) {
                if self.decommissioning.len() >= MOST_DECOMMISSIONING {
                    self.decommissioning.pop_front();
                }
                self.decommissioning.push_back(host.clone());
                self.effects.push(Effect::Decommission { host });
            }
        }
    }

    fn on_allocate_failed(&mut self, now: Timestamp, failure: AllocateFailure) {
        if !self.pace.is_called() {
            return self.effects.note(Note::UnexpectedAnswer);
        }
        self.errors += 1;
        match failure {
            AllocateFailure::NotRegistered => {
                self.effects.note(Note::CallFailed { failure, errors: self.errors });
                self.phase = Phase::Unregistered;
                self.pace.stop();
                self.effects.push(Effect::Register);
            }
            AllocateFailure::Failed(_) if self.errors < self.config.most_errors => {
                self.effects.note(Note::CallFailed { failure, errors: self.errors });
                self.health.resend_all();
                self.containers.resend_all();
                self.profiles.values_mut().for_each(|profile| profile.requests.resend_all());
                self.pace.answered(now, self.wanted());
            }
            AllocateFailure::Failed(_) | AllocateFailure::Replaced => {
                self.fail(Failure::Manager { errors: self.errors, last: failure });
            }
        }
    }

    /// Whether the next call may bring a container or an answer that is wanted.
    fn wanted(&self) -> Wanted {
        let pending = self.profiles.values().any(|profile| profile.requests.pending() > 0);
        if pending || self.losses.is_awaited() { Wanted::Something } else { Wanted::Nothing }
    }

    /// If a call is due, calls the manager with all changes since the last call.
    fn settle(&mut self, now: Timestamp) {
        if !self.pace.is_due(now) {
            return;
        }
        let failures = self.health.failures(now);
        if failures >= self.config.most_failures {
            return self.fail(Failure::ExecutorsFailed { failures });
        }
        if let Some(machines) = self.machines.filter(|machines| self.health.covers(*machines)) {
            return self.fail(Failure::AllExcluded { machines });
        }
        let mut call = Call::default();
        let how = Asking { topology: &self.config.topology, naming: self.config.naming, heard: self.heard };
        for (id, profile) in &mut self.profiles {
            profile.renew(now, &how);
            let ask = |(location, containers)| {
                let size = profile.size.clone();
                Ask { profile: *id, location, containers, size }
            };
            call.asks.extend(profile.requests.asks().into_iter().map(ask));
        }
        call.release = self.containers.releases();
        (call.exclude, call.include) = self.health.changes(now);
        self.pace.call(now);
        self.effects.push(Effect::Allocate(call));
    }

    fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Failed;
        self.pace.stop();
        self.effects.push(Effect::Fail(failure));
    }
}
