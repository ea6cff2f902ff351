//! The events of a world, and the performance of an attempt's effects.

use std::collections::BTreeMap;

use firesteel_application_master::allocator::{AllocateFailure, Call, ContainerSize};
use firesteel_application_master::{ContainerHandle, Effect, Event, FinalStatus, Mode, Node, Outbound};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ContainerId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{ClientToMaster, Requester, StateCursor};
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};

use super::driver::{Connection, Reaction};
use super::plan::node_address;
use super::supervisor::AttemptState;
use super::world::{CallOutcome, ScheduledEvent, World};
use crate::containers::GrantChoice;

impl World {
    pub(super) fn happen(&mut self, scheduled: ScheduledEvent) {
        match scheduled {
            ScheduledEvent::Report(host) => self.report(host),
            ScheduledEvent::Tell(attempt, event) => self.tell(attempt, event),
            ScheduledEvent::Arrive(attempt, call, outcome) => self.arrive(attempt, &call, outcome),
            ScheduledEvent::Register(attempt) => self.register(attempt),
            ScheduledEvent::Unregister(attempt, status) => self.unregister(attempt, status),
            ScheduledEvent::Started(attempt, container) => self.started(attempt, container),
            ScheduledEvent::Ends(container, status) => {
                if !self.calm {
                    self.manager.end(&container, status);
                }
            }
            ScheduledEvent::ProgramEnds(attempt, status) => self.end_program(attempt, status),
            ScheduledEvent::Lose(attempt) => self.lose(attempt),
            ScheduledEvent::Begin => self.begin(),
            ScheduledEvent::Dial(driver) => self.dial(driver),
            ScheduledEvent::HintRequest(driver) => self.wish(driver),
            ScheduledEvent::Whim(driver) => self.whim(driver),
            ScheduledEvent::Clients => self.clients(),
            ScheduledEvent::Mischief => self.mischief(),
        }
    }

    fn report(&mut self, host: String) {
        let care = if self.strikes(1) { GrantChoice::Anywhere } else { GrantChoice::Nearest };
        if !self.strikes(1) {
            self.manager.offer(&host, care);
        }
        if self.strikes(8) {
            self.manager.grant(&host, ProfileId(0), 0);
        }
        self.later(100, 1_000, ScheduledEvent::Report(host));
    }

    fn arrive(&mut self, attempt: usize, call: &Call, outcome: CallOutcome) {
        let failed = |words: &str| Event::AllocateFailed(AllocateFailure::Failed(words.to_owned()));
        let state = self.supervisor.state;
        let event = match outcome {
            CallOutcome::RequestLost => failed("the call was lost"),
            _ if !self.supervisor.accepts(attempt) => Event::AllocateFailed(AllocateFailure::Replaced),
            _ if state == AttemptState::Forgotten => Event::AllocateFailed(AllocateFailure::NotRegistered),
            CallOutcome::ResponseLost => {
                self.manager.hear(call);
                failed("the answer was lost")
            }
            CallOutcome::Sound => {
                self.manager.hear(call);
                let mut allocated = self.manager.answer();
                if self.strikes(3) {
                    allocated.decommissioning = self.manager.hosts().take(1).map(str::to_owned).collect();
                }
                let node = |host: &str| Node {
                    address: node_address(host),
                    logs: format!("http://{host}/logs"),
                    handle: ContainerHandle::default(),
                };
                let nodes: BTreeMap<ContainerId, Node> = allocated
                    .granted
                    .iter()
                    .map(|granted| (granted.container.clone(), node(&granted.host)))
                    .collect();
                Event::Allocated { allocated, nodes }
            }
        };
        self.later(1, 30, ScheduledEvent::Tell(attempt, event));
    }

    fn register(&mut self, attempt: usize) {
        if !self.supervisor.accepts(attempt) || self.strikes(60) {
            let error = "the manager does not want it".to_owned();
            return self.tell(attempt, Event::RegisterFailed { error });
        }
        self.supervisor.state = AttemptState::Known;
        let (cores, memory) = (Cores(64), MiB(1 << 20));
        let largest = ContainerSize { cores, memory, ..ContainerSize::default() };
        self.tell(attempt, Event::Registered { largest });
        // The submitting client learns where the new ApplicationMaster runs.
        if self.plan.config.mode == Mode::Client {
            if self.drivers[0].connection.is_some_and(|connection| connection.attempt != attempt) {
                self.hang_up(0);
            }
            self.later(10, 2_000, ScheduledEvent::Dial(0));
        }
    }

    fn unregister(&mut self, attempt: usize, status: FinalStatus) {
        let refused = !self.supervisor.accepts(attempt) || self.supervisor.state != AttemptState::Known;
        let event = if refused || self.strikes(4) {
            Event::UnregisterFailed { error: "the manager did not hear it".to_owned() }
        } else {
            self.supervisor.state = AttemptState::Over(Some(status));
            match self.strikes(4) {
                true => Event::UnregisterFailed { error: "the answer was lost".to_owned() },
                false => Event::Unregistered,
            }
        };
        self.tell(attempt, event);
    }

    fn started(&mut self, attempt: usize, container: ContainerId) {
        if !self.attempts[attempt].alive {
            return;
        }
        if self.strikes(2) || !self.manager.containers().contains_key(&container) {
            let error = "it cannot be started".to_owned();
            return self.tell(attempt, Event::ContainerStartFailed { container, error });
        }
        if self.strikes(1) {
            let status = *self.dice.pick(&[0, 1, 1, 137, -100, -101, -102, -103, -104, -105, -106, -1000]);
            self.later(0, 10_000, ScheduledEvent::Ends(container.clone(), status));
        }
        // An executor connects to its driver without being told.
        let rows = self.attempts[attempt].books.executors.iter();
        let number = rows.clone().find(|(_, row)| row.container == container).map(|(number, _)| *number);
        let driver = self.driver_of(attempt);
        if let Some(number) = number
            && self.dice.one_in(2)
        {
            self.drivers[driver].met.insert(number, container.clone());
        }
        self.tell(attempt, Event::ContainerStarted { container });
    }

    /// Ends a program together with its driver.
    fn end_program(&mut self, attempt: usize, status: ExitStatus) {
        if self.plan.config.mode != Mode::Cluster || !self.attempts[attempt].alive {
            return;
        }
        self.hang_up(attempt);
        self.drivers[attempt].vanished = true;
        self.tell(attempt, Event::ProgramEnded(status));
    }

    /// The manager notices that an attempt has ended, or assumes so. The attempt's containers end.
    fn lose(&mut self, attempt: usize) {
        if !self.supervisor.accepts(attempt) {
            return;
        }
        self.manager.end_all();
        if self.supervisor.lose() {
            self.later(100, 3_000, ScheduledEvent::Begin);
        }
    }

    /// Removes an attempt's process with all its connections.
    fn end_process(&mut self, attempt: usize) {
        self.attempts[attempt].alive = false;
        let driver = self.driver_of(attempt);
        if self.drivers[driver].connection.is_some_and(|connection| connection.attempt == attempt) {
            self.drivers[driver].connection = None;
            self.drivers[driver].registered = false;
            self.later(10, 3_000, ScheduledEvent::Dial(driver));
        }
        if self.plan.config.mode == Mode::Cluster {
            self.drivers[driver].vanished = true;
        }
        match self.supervisor.is_over() {
            true => self.manager.end_all(),
            false => self.later(10, 2_000, ScheduledEvent::Lose(attempt)),
        }
    }

    fn clients(&mut self) {
        self.later(100, 5_000, ScheduledEvent::Clients);
        let attempt = self.supervisor.current;
        let name = |dice: &mut firesteel_sim::dice::Dice| {
            (*dice.pick(&["sums", "application_1_0001", "differences"])).to_owned()
        };
        let app = name(&mut self.dice);
        let message = match self.dice.below(9) {
            0 => ClientToMaster::RequestReadyz,
            8 => ClientToMaster::DecommissionWorkers {
                which: "worker-1".to_owned(),
                within_millis: None,
                by: Requester::default(),
            },
            1..4 => ClientToMaster::RequestMasterState { from: StateCursor::beginning() },
            _ => ClientToMaster::RequestApplication { app: app.clone(), executors_from: ExecutorId(0) },
        };
        self.client_says(attempt, message);
        if self.strikes(60) {
            self.client_says(attempt, ClientToMaster::KillApplication { app, by: "bob@host".into() });
        }
    }

    fn mischief(&mut self) {
        if self.calm {
            return;
        }
        self.later(50, 1_500, ScheduledEvent::Mischief);
        let attempt = self.supervisor.current;
        if self.strikes(1) {
            let all: Vec<ContainerId> = self.manager.containers().keys().cloned().collect();
            if let Some(index) = self.dice.index(all.len()) {
                let status = *self.dice.pick(&[-100, -102, 1, 143]);
                self.manager.end(&all[index], status);
            }
        }
        if self.strikes(2) {
            self.manager.grant_again(&mut self.dice);
        }
        if self.strikes(4) && self.supervisor.state == AttemptState::Known {
            self.supervisor.state = AttemptState::Forgotten;
            self.manager.forget();
        }
        if self.strikes(15) && self.attempts[attempt].alive && self.plan.config.mode != Mode::Unmanaged {
            self.outcome.trace.push(format!("{} attempt {} crashes", self.now, attempt + 1));
            self.end_process(attempt);
        }
        if self.strikes(25) {
            self.lose(attempt);
        }
        if self.strikes(60) {
            self.tell(attempt, Event::Shutdown);
        }
        if self.strikes(20) && self.has_program(attempt) {
            let status = *self.dice.pick(&[ExitStatus::Code(0), ExitStatus::Code(3), ExitStatus::Signal(11)]);
            self.end_program(attempt, status);
        }
    }

    pub(super) fn perform(&mut self, attempt: usize, effect: Effect) {
        match effect {
            Effect::Register => {
                let slow = if self.strikes(4) { 8_000 } else { 500 };
                self.later(1, slow, ScheduledEvent::Register(attempt));
            }
            Effect::Allocate(call) => {
                let outcome = match (self.strikes(2), self.strikes(2)) {
                    (true, _) => CallOutcome::RequestLost,
                    (false, true) => CallOutcome::ResponseLost,
                    (false, false) => CallOutcome::Sound,
                };
                let slow = if self.strikes(2) { 5_000 } else { 30 };
                self.later(1, slow, ScheduledEvent::Arrive(attempt, call, outcome));
            }
            Effect::Launch(launch) => self.later(1, 300, ScheduledEvent::Started(attempt, launch.container)),
            Effect::StartProgram => self.start_program(attempt),
            Effect::EndProgram => {
                self.later(0, 2_000, ScheduledEvent::ProgramEnds(attempt, ExitStatus::Signal(15)));
            }
            Effect::Send { peer, message: Outbound::Driver(message) } => {
                self.deliver(attempt, peer, &message)
            }
            Effect::Send { message: Outbound::Client(_), .. } | Effect::Note(_) => {}
            Effect::Close { peer } => {
                for driver in 0..self.drivers.len() {
                    if self.drivers[driver].connection == Some(Connection { attempt, peer }) {
                        self.drivers[driver].connection = None;
                        self.drivers[driver].registered = false;
                        self.later(10, 3_000, ScheduledEvent::Dial(driver));
                    }
                }
                self.later(0, 50, ScheduledEvent::Tell(attempt, Event::Disconnected { peer }));
            }
            Effect::Unregister { status, .. } => {
                self.later(1, 500, ScheduledEvent::Unregister(attempt, status));
            }
            Effect::Exit(_) => self.end_process(attempt),
        }
    }

    fn start_program(&mut self, attempt: usize) {
        if self.strikes(40) {
            let failure = StartFailure { step: StartStep::Program, error: "no such file".to_owned() };
            self.drivers[attempt].vanished = true;
            self.later(0, 10, ScheduledEvent::Tell(attempt, Event::ProgramNotStarted(failure)));
        }
    }

    fn deliver(
        &mut self,
        attempt: usize,
        peer: PeerId,
        message: &firesteel_protocol::messages::MasterToDriver,
    ) {
        let driver = self.driver_of(attempt);
        if self.drivers[driver].connection != Some(Connection { attempt, peer }) {
            return;
        }
        let rows = &self.attempts[attempt].books.executors;
        let container = |executor: ExecutorId| rows.get(&executor).map(|row| row.container.clone());
        let reaction = self.drivers[driver].hear(message, self.plan.relaunch, container);
        match reaction {
            Reaction::Request => self.later(0, 50, ScheduledEvent::HintRequest(driver)),
            Reaction::None => {}
        }
        if self.drivers[driver].gone {
            self.later(0, 5_000, ScheduledEvent::ProgramEnds(attempt, ExitStatus::Code(0)));
        }
    }
}
