//! An independent record for one attempt, from its events and effects.

use std::collections::BTreeMap;

use firesteel_application_master::allocator::{AllocateFailure, HostExclusion};
use firesteel_application_master::{Config, Event, Exit, FinalStatus, Inbound, Mode, Silence};
use firesteel_placement::ExecutorLimit;
use firesteel_protocol::ids::{ContainerId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ClientToMaster, DriverToMaster, ExecutorState, ExecutorTarget, Outcome, Relaunch, Resumption,
};
use firesteel_protocol::process::ExitStatus;

/// How long an attempt waits for a driver that has disconnected, in virtual milliseconds.
const RECONNECT: u64 = 10_000;

/// The maximum time that an attempt waits for the requests of a newly registered driver, in virtual milliseconds.
const LISTENING: u64 = 1_000;

/// The facts about one attempt. They are derived from the attempt's events and effects, and share no code with the
/// state machine.
#[derive(Clone, Debug)]
pub(super) struct Books {
    pub(super) config: Config,
    pub(super) relaunch: Relaunch,
    pub(super) executors: BTreeMap<ExecutorId, Row>,
    /// The containers that the manager reported as granted, each with its host.
    pub(super) granted: BTreeMap<ContainerId, String>,
    /// The containers that have ended, each with its exit status.
    pub(super) gone: BTreeMap<ContainerId, i32>,
    /// The driver's connection, as the attempt knows it.
    pub(super) peer: Option<PeerId>,
    pub(super) manager: Manager,
    pub(super) call_is_open: bool,
    pub(super) program: Program,
    /// The number of executors that the driver wants, by profile.
    pub(super) wanted: BTreeMap<ProfileId, u64>,
    /// The final status and exit code that the attempt announced for its end.
    pub(super) finishing: Option<(FinalStatus, i32)>,
    pub(super) unregistering: bool,
    /// The time by which the attempt's allocator must know the driver's targets. Until then, the allocator waits for
    /// the driver's requests.
    pub(super) heard_by: u64,
    pub(super) exit: Option<Exit>,
    pub(super) facts: Facts,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) container: ContainerId,
    pub(super) profile: ProfileId,
    pub(super) fate: Fate,
    /// Whether the driver requested the attempt's end.
    pub(super) killed: bool,
    pub(super) started: bool,
    /// The end that the attempt reported to its driver, if any.
    pub(super) told: Option<ExecutorState>,
}

/// The state of an executor's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The process runs, as far as the attempt knows.
    Lives,
    NotStarted,
    /// The executor's container ended with this status.
    Ended(i32),
}

/// The state of the manager, as far as the attempt knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    Stranger,
    Asked,
    Known,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    None,
    Running,
    Ending,
    Ended(ExitStatus),
    NotStarted,
}

/// The facts that justify the end of an attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    started: u64,
    pub(super) driver: bool,
    away: Option<u64>,
    pub(super) done: bool,
    /// The outcome that the driver reported.
    outcome: Option<Outcome>,
    killed: bool,
    shutdown: bool,
    not_registered: bool,
    pub(super) unregistered: bool,
    pub(super) not_unregistered: bool,
    replaced: bool,
    errors: u32,
    failures: u64,
    avoids: bool,
}

impl Books {
    pub(super) fn new(config: Config, relaunch: Relaunch) -> Self {
        let avoids = !config.allocator.never.is_empty() || config.allocator.exclusion != HostExclusion::Off;
        Self {
            config,
            relaunch,
            executors: BTreeMap::new(),
            granted: BTreeMap::new(),
            gone: BTreeMap::new(),
            peer: None,
            manager: Manager::Stranger,
            call_is_open: false,
            program: Program::None,
            wanted: BTreeMap::new(),
            finishing: None,
            unregistering: false,
            heard_by: 0,
            exit: None,
            facts: Facts { avoids, ..Facts::default() },
        }
    }

    /// The executors whose end has not been reported.
    pub(super) fn live(&self) -> impl Iterator<Item = (ExecutorId, &Row)> {
        self.executors.iter().filter(|(_, row)| row.told.is_none()).map(|(id, row)| (*id, row))
    }

    pub(super) fn is_last(&self) -> bool {
        self.config.attempt >= self.config.most_attempts
    }

    /// Whether the manager accepts nothing more from this attempt.
    pub(super) fn is_given_up(&self) -> bool {
        self.facts.replaced || self.facts.not_registered
    }

    /// Whether the attempt was told to end immediately, without waiting for the manager.
    pub(super) fn was_hurried(&self) -> bool {
        self.facts.shutdown
    }

    /// Whether the attempt accepts targets from its driver.
    pub(super) fn serves(&self) -> bool {
        self.facts.driver && !self.facts.done && self.finishing.is_none()
    }

    /// Enters an event that the attempt is about to receive.
    pub(super) fn hear(&mut self, now: u64, event: &Event) {
        match event {
            Event::Start => self.facts.started = now,
            Event::Registered { .. } => (self.manager, self.heard_by) = (Manager::Known, now + LISTENING),
            Event::RegisterFailed { .. } => self.facts.not_registered = true,
            Event::Received { peer, message: Inbound::Driver(message) } => {
                if message.application().is_some() && !self.facts.driver {
                    self.heard_by = now + LISTENING;
                }
                self.hear_driver(*peer, message);
            }
            Event::Received { peer: _, message: Inbound::Client(message) } => {
                if let ClientToMaster::KillApplication { app, .. } = message {
                    self.facts.killed |=
                        *app == self.config.app.as_str() || (app == "sums" && self.facts.driver);
                }
            }
            Event::Disconnected { peer } => {
                if self.peer == Some(*peer) {
                    self.peer = None;
                    self.facts.away = Some(now);
                }
            }
            Event::Allocated { allocated, .. } => {
                (self.call_is_open, self.facts.errors) = (false, 0);
                for granted in &allocated.granted {
                    self.granted.insert(granted.container.clone(), granted.host.clone());
                }
                for completed in &allocated.completed {
                    self.lose(&completed.container, completed.status);
                }
            }
            Event::AllocateFailed(failure) => {
                self.call_is_open = false;
                self.facts.errors += 1;
                match failure {
                    AllocateFailure::NotRegistered => self.manager = Manager::Stranger,
                    AllocateFailure::Replaced => self.facts.replaced = true,
                    AllocateFailure::Failed(_) => {}
                }
            }
            Event::ContainerStarted { container } => {
                let row = self.executors.values_mut().find(|row| row.container == *container);
                row.into_iter().for_each(|row| row.started = true);
            }
            Event::ContainerStartFailed { container, .. } => {
                let row = self.executors.values_mut().find(|row| row.container == *container);
                if let Some(row) = row.filter(|row| row.fate == Fate::Lives) {
                    row.fate = Fate::NotStarted;
                    self.facts.failures += 1;
                }
            }
            Event::ProgramNotStarted(_) => self.program = Program::NotStarted,
            Event::ProgramEnded(status) => self.program = Program::Ended(*status),
            Event::Unregistered => self.facts.unregistered = true,
            Event::UnregisterFailed { .. } => self.facts.not_unregistered = true,
            Event::Shutdown => self.facts.shutdown = true,
            Event::Deadline => {}
        }
    }

    /// Enters the loss of a container, which the same response may have granted.
    fn lose(&mut self, container: &ContainerId, status: i32) {
        let first = self.gone.insert(container.clone(), status).is_none();
        let blames = !matches!(status, 0 | -100 | -101 | -102 | -105 | -106 | -107);
        self.facts.failures += u64::from(first && blames);
        let row = self.executors.values_mut().find(|row| row.container == *container);
        if let Some(row) = row.filter(|row| row.fate == Fate::Lives) {
            row.fate = Fate::Ended(status);
        }
    }

    fn hear_driver(&mut self, peer: PeerId, message: &DriverToMaster) {
        let is_own = self.peer == Some(peer);
        match message {
            DriverToMaster::RegisterApplication(description)
            | DriverToMaster::ResumeApplication(Resumption { description, .. }) => {
                let is_the_driver = description.name == "sums" && description.files.is_none();
                if !is_the_driver || self.finishing.is_some() {
                    return;
                }
                if !self.facts.driver
                    && let ExecutorLimit::AtMost(total) = description.initial_limit
                {
                    self.wanted.insert(ProfileId::DEFAULT, total);
                }
                (self.peer, self.facts.away, self.facts.driver) = (Some(peer), None, true);
            }
            DriverToMaster::UnregisterApplication { app, outcome } => {
                if is_own && *app == self.config.app && self.serves() {
                    self.facts.done = true;
                    self.facts.outcome.clone_from(outcome);
                    self.wanted.values_mut().for_each(|total| *total = 0);
                    self.executors.values_mut().for_each(|row| row.killed = true);
                }
            }
            DriverToMaster::RequestExecutors { app, targets } => {
                if is_own && *app == self.config.app && self.serves() && are_sound(targets) {
                    self.wanted.extend(targets.iter().map(|target| (target.id, target.total)));
                }
            }
            DriverToMaster::KillExecutors { app, executors } => {
                if is_own && *app == self.config.app {
                    for executor in executors {
                        let row = self.executors.get_mut(executor);
                        row.into_iter().for_each(|row| row.killed = true);
                    }
                }
            }
            DriverToMaster::PreferHosts { preferences, .. } => {
                self.facts.avoids |= !preferences.avoided.is_empty()
            }
            DriverToMaster::RequestShortfall { .. } => {}
        }
    }

    /// Whether a driver outside a program has reported that the driver's work failed.
    fn driver_failed(&self) -> bool {
        self.config.mode != Mode::Cluster && matches!(self.facts.outcome, Some(Outcome::Failed(_)))
    }

    /// Whether an attempt that ends with this status and code is the last attempt of the application.
    pub(super) fn is_for_good(&self, status: FinalStatus, code: i32) -> bool {
        match status {
            FinalStatus::Succeeded | FinalStatus::Killed => true,
            FinalStatus::Failed | FinalStatus::Undefined => {
                self.is_last() || (code == 15 && self.driver_failed())
            }
        }
    }

    /// The outcome that status clients must receive.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.facts.outcome.as_ref()
    }

    /// Whether the attempt has a reason to end with this status and code.
    pub(super) fn has_reason(&self, now: u64, status: FinalStatus, code: i32) -> bool {
        let facts = &self.facts;
        let gone = facts.away.is_some_and(|since| now >= since + RECONNECT);
        let of_program = match self.program {
            Program::Ended(ended) => Some(ended.shell_code()),
            Program::None | Program::Running | Program::Ending | Program::NotStarted => None,
        };
        let mode = self.config.mode;
        let late = now >= facts.started + self.config.wait_time.as_millis() as u64;
        let has_succeeded = facts.done && matches!(facts.outcome, None | Some(Outcome::Succeeded));
        match (status, code) {
            (FinalStatus::Succeeded, 0) => match mode {
                Mode::Cluster => of_program == Some(0),
                Mode::Client => has_succeeded || (gone && self.config.silence == Silence::Success),
                Mode::Unmanaged => has_succeeded,
            },
            (FinalStatus::Killed, 16) => {
                facts.killed
                    || (mode != Mode::Cluster && matches!(facts.outcome, Some(Outcome::Cancelled(_))))
            }
            (FinalStatus::Undefined, 16) => facts.shutdown && mode != Mode::Cluster,
            (FinalStatus::Failed, code) => {
                let own = match code {
                    10 => facts.not_registered || self.program == Program::NotStarted,
                    11 => facts.avoids || facts.failures >= self.config.allocator.most_failures,
                    12 => facts.replaced || facts.errors >= self.config.allocator.most_errors,
                    13 => !facts.driver && late,
                    15 => self.driver_failed(),
                    16 => facts.shutdown && mode == Mode::Cluster,
                    17 => mode == Mode::Client && gone && self.config.silence == Silence::Failure,
                    _ => false,
                };
                own || (mode == Mode::Cluster && code != 0 && of_program == Some(code))
            }
            (FinalStatus::Succeeded | FinalStatus::Killed | FinalStatus::Undefined, _) => false,
        }
    }
}

/// Whether the manager can ever grant these targets.
pub(super) fn are_sound(targets: &[ExecutorTarget]) -> bool {
    targets.iter().all(|target| target.profile.check().is_ok() && target.id.0 < 100)
}
