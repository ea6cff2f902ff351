//! The ApplicationMaster: a Master for one application, with executors in the containers of another cluster.
//!
//! For drivers and launchers, the ApplicationMaster is a Master: they register, set the number of executors, and name
//! the hosts that they prefer. It informs them of executors that start and end. For the *manager* of the cluster
//! (YARN's ResourceManager), it is an application: it registers, asks for containers, and reports how the application
//! ended. Its [`Allocator`] decides which containers to ask for, and what to do with granted containers.
//!
//! ```text
//!            RegisterApplication                                     Register, Allocate, Unregister
//!  driver ----------------------> ApplicationMaster --- Allocator ---------------------------------> manager
//!         <----------------------                                 <---------------------------------
//!       ExecutorAdded, ExecutorUpdated           | Launch                containers granted, ended
//!                                                v
//!                                    a container's command, through its NodeManager
//!
//!  client mode:    register with the manager, so that the driver can find this process; wait for the driver
//!  cluster mode:   start the program; wait for its driver; register with the manager
//! ```
//!
//! Source: Spark's ApplicationMaster, 4.0.1. In Spark, the ApplicationMaster connects to the driver. In Firesteel, the
//! driver connects to the ApplicationMaster.

pub mod allocator;
mod check;
mod clients;
mod config;
mod driver;
mod effect;
mod ending;
mod event;
mod executors;
mod note;
#[cfg(test)]
mod tests;

use std::time::Duration;

use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;

use self::driver::Drivers;
use self::ending::Verdict;
use self::executors::Executors;
use crate::allocator::{Allocator, ContainerSize};

pub use config::{Config, Mode, Silence};
pub use effect::{Effect, Exit, FinalStatus, Launch, Outbound, Staging};
pub use event::{ContainerHandle, Event, Inbound, Node};
pub use note::Note;

const RECONNECT: Duration = Duration::from_secs(10);
/// How long a finished application waits for the ends of its executors, if its driver is connected.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct ApplicationMaster {
    config: Config,
    phase: Phase,
    manager: Manager,
    program: Program,
    drivers: Drivers,
    allocator: Allocator,
    executors: Executors,
    /// The size of the largest possible container, once the manager has reported it.
    largest: Option<ContainerSize>,
    started: Timestamp,
    effects: Effects<Effect>,
}

/// The phases of an ApplicationMaster.
///
/// ```text
///  Idle --Start--> Waiting --driver registers--> Serving --driver is done--> Stopping
///                     |                             |                           | executors are gone
///                     `--------- too late ----------+---- failure, the end -----+
///                                                   v
///                                               Finishing --the manager knows, or need not--> Done
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The driver has not registered yet.
    Waiting {
        /// The deadline for the driver's registration.
        until: Timestamp,
    },
    /// The driver has registered, and has not reported that it is done.
    Serving,
    /// The driver is done, and its executors are ending.
    Stopping {
        /// The verdict, and the latest time at which it takes effect. `None`: the end of the program decides.
        then: Option<(Verdict, Timestamp)>,
    },
    Finishing(Verdict),
    Done,
}

/// The state of the registration with the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Unregistered,
    Registering,
    Registered,
    /// The manager has given up this attempt, and gets no more messages.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// There is no program, or it has not started.
    None,
    Running,
    Ended(ExitStatus),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The next call to the manager is due.
    Call,
    /// The driver has not registered or returned in time.
    Driver,
    /// The driver's first host preferences have not come in time.
    HostPreferences,
    /// The executors have not ended in time.
    Patience,
}

impl ApplicationMaster {
    #[must_use]
    pub fn new(config: Config) -> Self {
        let allocator = Allocator::new(allocator::Config { initial_target: 0, ..config.allocator.clone() });
        Self {
            phase: Phase::Idle,
            manager: Manager::Unregistered,
            program: Program::None,
            drivers: Drivers::default(),
            allocator,
            executors: Executors::default(),
            largest: None,
            started: Timestamp::default(),
            effects: Effects::default(),
            config,
        }
    }

    #[must_use]
    pub fn view(&self, now: Timestamp) -> allocator::AllocatorView {
        self.allocator.view(now)
    }

    /// Whether the daemon should end: [`Effect::Exit`] was returned.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }
}

impl Machine for ApplicationMaster {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        match event {
            _ if self.phase == Phase::Done => {}
            Event::Start => self.on_start(now),
            Event::Registered { largest } => self.on_registered(now, largest),
            Event::RegisterFailed { error } => self.on_register_failed(error),
            Event::Received { peer, message: Inbound::Driver(message) } => {
                // A driver may connect before the ApplicationMaster has started.
                self.on_start(now);
                self.on_driver_message(now, peer, message);
            }
            Event::Received { peer, message: Inbound::Client(message) } => {
                self.on_client_message(now, peer, message);
            }
            Event::Disconnected { peer } => self.on_disconnected(now, peer),
            Event::Allocated { allocated, nodes } => {
                self.executors.set_nodes(nodes);
                self.allocate(now, allocator::Event::Allocated(allocated));
            }
            Event::AllocateFailed(failure) => {
                self.allocate(now, allocator::Event::AllocateFailed(failure));
            }
            Event::ContainerStarted { container } => self.on_container_started(now, container),
            Event::ContainerStartFailed { container, error } => {
                self.allocate(now, allocator::Event::ContainerStartFailed { container, error });
            }
            Event::ProgramNotStarted(failure) => self.on_program_not_started(&failure),
            Event::ProgramEnded(status) => self.on_program_ended(status),
            Event::Unregistered => self.on_unregistered(),
            Event::UnregisterFailed { error } => self.on_unregister_failed(error),
            Event::Shutdown => self.on_shutdown(),
            Event::Deadline => self.on_deadline(now),
        }
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        let driver = match &self.phase {
            Phase::Waiting { until } => Some((*until, Reason::Driver)),
            Phase::Serving => {
                let away = self.drivers.away().map(|until| (until, Reason::Driver));
                let preferences = self.drivers.listening().map(|until| (until, Reason::HostPreferences));
                [away, preferences].into_iter().flatten().min()
            }
            Phase::Stopping { then: Some((_, until)) } => Some((*until, Reason::Patience)),
            Phase::Idle | Phase::Stopping { then: None } => None,
            Phase::Finishing(_) | Phase::Done => return None,
        };
        let call = self.allocator.next_deadline().map(|(due, _)| (due, Reason::Call));
        [call, driver].into_iter().flatten().min()
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl ApplicationMaster {
    fn on_start(&mut self, now: Timestamp) {
        if self.phase != Phase::Idle {
            return;
        }
        self.started = now;
        self.phase = Phase::Waiting { until: now + self.config.wait_time };
        match self.config.mode {
            Mode::Client | Mode::Unmanaged => self.register(),
            Mode::Cluster => {
                self.program = Program::Running;
                self.effects.push(Effect::StartProgram);
            }
        }
    }

    fn register(&mut self) {
        if self.manager == Manager::Unregistered {
            self.manager = Manager::Registering;
            self.effects.push(Effect::Register);
        }
    }

    fn on_registered(&mut self, now: Timestamp, largest: ContainerSize) {
        if self.manager != Manager::Registering {
            return;
        }
        self.manager = Manager::Registered;
        self.largest = Some(largest);
        self.effects.note(Note::Registered);
        match &self.phase {
            Phase::Finishing(_) => self.unregister(),
            Phase::Idle | Phase::Waiting { .. } | Phase::Serving | Phase::Stopping { .. } | Phase::Done => {
                // The first call may already end the application, if the cluster has no usable machine.
                self.confirm_registration();
                self.listen(now);
                self.allocate(now, allocator::Event::Registered);
            }
        }
    }

    fn on_deadline(&mut self, now: Timestamp) {
        if self.drivers.listening().is_some_and(|until| until <= now) {
            self.stop_listening(now);
        }
        self.allocate(now, allocator::Event::Deadline);
        match &self.phase {
            Phase::Waiting { until } if *until <= now => self.give_up_waiting(),
            Phase::Serving if self.drivers.away().is_some_and(|until| until <= now) => {
                self.on_driver_silent();
            }
            Phase::Stopping { then: Some((verdict, until)) } if *until <= now => {
                let verdict = verdict.clone();
                self.finish(verdict);
            }
            Phase::Idle
            | Phase::Waiting { .. }
            | Phase::Serving
            | Phase::Stopping { .. }
            | Phase::Finishing(_)
            | Phase::Done => {}
        }
    }
}
