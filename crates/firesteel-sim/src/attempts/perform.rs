//! What happens in a world, and what becomes of an attempt's effects.

use std::collections::BTreeMap;

use firesteel_core::allocator::{AllocateFailure, Call, ContainerSize};
use firesteel_core::application_master::{Effect, Event, FinalStatus, Inbound, Mode, Node, Outbound};
use firesteel_core::ids::{AppId, ContainerId, ExecutorId, PeerId, ProfileId};
use firesteel_core::messages::{
    ApplicationFiles, ClientToMaster, DriverToMaster, ExecutorTarget, ResourceProfile,
};
use firesteel_core::process::{ExitStatus, StartFailure, StartStep};
use firesteel_placement::{Cores, MiB};

use super::driver::{Line, Reaction};
use super::plan::{node_address, target};
use super::supervisor::Standing;
use super::world::{Happening, Way, World};
use crate::containers::Care;

impl World {
    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Report(host) => self.report(host),
            Happening::Tell(attempt, event) => self.tell(attempt, event),
            Happening::Arrive(attempt, call, way) => self.arrive(attempt, &call, way),
            Happening::Register(attempt) => self.register(attempt),
            Happening::Unregister(attempt, status) => self.unregister(attempt, status),
            Happening::Started(attempt, container) => self.started(attempt, container),
            Happening::Ends(container, status) => {
                if !self.calm {
                    self.manager.end(&container, status);
                }
            }
            Happening::ProgramEnds(attempt, status) => self.end_program(attempt, status),
            Happening::Lose(attempt) => self.lose(attempt),
            Happening::Begin => self.begin(),
            Happening::Dial(driver) => self.dial(driver),
            Happening::Wish(driver) => self.wish(driver),
            Happening::Whim(driver) => self.whim(driver),
            Happening::Clients => self.clients(),
            Happening::Mischief => self.mischief(),
        }
    }

    fn report(&mut self, host: String) {
        let care = if self.strikes(1) { Care::Anywhere } else { Care::Nearest };
        if !self.strikes(1) {
            self.manager.offer(&host, care);
        }
        if self.strikes(8) {
            self.manager.grant(&host, ProfileId(0), 0);
        }
        self.later(100, 1_000, Happening::Report(host));
    }

    fn arrive(&mut self, attempt: usize, call: &Call, way: Way) {
        let failed = |words: &str| Event::AllocateFailed(AllocateFailure::Failed(words.to_owned()));
        let standing = self.supervisor.standing;
        let event = match way {
            Way::LostThere => failed("the call was lost"),
            _ if !self.supervisor.accepts(attempt) => Event::AllocateFailed(AllocateFailure::Replaced),
            _ if standing == Standing::Forgotten => Event::AllocateFailed(AllocateFailure::NotRegistered),
            Way::LostBack => {
                self.manager.hear(call);
                failed("the answer was lost")
            }
            Way::Sound => {
                self.manager.hear(call);
                let mut allocated = self.manager.answer();
                if self.strikes(3) {
                    allocated.decommissioning = self.manager.hosts().take(1).map(str::to_owned).collect();
                }
                let node =
                    |host: &str| Node { address: node_address(host), logs: format!("http://{host}/logs") };
                let nodes: BTreeMap<ContainerId, Node> = allocated
                    .granted
                    .iter()
                    .map(|granted| (granted.container.clone(), node(&granted.host)))
                    .collect();
                Event::Allocated { allocated, nodes }
            }
        };
        self.later(1, 30, Happening::Tell(attempt, event));
    }

    fn register(&mut self, attempt: usize) {
        if !self.supervisor.accepts(attempt) || self.strikes(60) {
            let error = "the manager does not want it".to_owned();
            return self.tell(attempt, Event::RegisterFailed { error });
        }
        self.supervisor.standing = Standing::Known;
        let (cores, memory) = (Cores(64), MiB(1 << 20));
        let largest = ContainerSize { cores, memory, ..ContainerSize::default() };
        self.tell(attempt, Event::Registered { largest });
        // Whoever submitted the application learns where its ApplicationMaster is now.
        if self.plan.config.mode == Mode::Client {
            if self.drivers[0].line.is_some_and(|line| line.attempt != attempt) {
                self.hang_up(0);
            }
            self.later(10, 2_000, Happening::Dial(0));
        }
    }

    fn unregister(&mut self, attempt: usize, status: FinalStatus) {
        let refused = !self.supervisor.accepts(attempt) || self.supervisor.standing != Standing::Known;
        let event = if refused || self.strikes(4) {
            Event::UnregisterFailed { error: "the manager did not hear it".to_owned() }
        } else {
            self.supervisor.standing = Standing::Over(Some(status));
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
            self.later(0, 10_000, Happening::Ends(container.clone(), status));
        }
        // An executor dials its driver by itself.
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

    /// A program ends, and its driver with it.
    fn end_program(&mut self, attempt: usize, status: ExitStatus) {
        if self.plan.config.mode != Mode::Cluster || !self.attempts[attempt].alive {
            return;
        }
        self.hang_up(attempt);
        self.drivers[attempt].vanished = true;
        self.tell(attempt, Event::ProgramEnded(status));
    }

    /// The manager notices that an attempt is gone, or takes it for gone: its containers end.
    fn lose(&mut self, attempt: usize) {
        if !self.supervisor.accepts(attempt) {
            return;
        }
        self.manager.end_all();
        if self.supervisor.lose() {
            self.later(100, 3_000, Happening::Begin);
        }
    }

    /// An attempt's process is gone, with all its connections.
    fn bury(&mut self, attempt: usize) {
        self.attempts[attempt].alive = false;
        let driver = self.driver_of(attempt);
        if self.drivers[driver].line.is_some_and(|line| line.attempt == attempt) {
            self.drivers[driver].line = None;
            self.drivers[driver].registered = false;
            self.later(10, 3_000, Happening::Dial(driver));
        }
        if self.plan.config.mode == Mode::Cluster {
            self.drivers[driver].vanished = true;
        }
        match self.supervisor.is_over() {
            true => self.manager.end_all(),
            false => self.later(10, 2_000, Happening::Lose(attempt)),
        }
    }

    /// A driver looks for its ApplicationMaster.
    pub(super) fn dial(&mut self, driver: usize) {
        let state = &self.drivers[driver];
        let patient = !state.gone && (!state.done || self.plan.config.mode == Mode::Cluster);
        if state.line.is_some() || state.vanished || !patient {
            return;
        }
        let attempt = match self.plan.config.mode {
            Mode::Cluster => driver,
            Mode::Client | Mode::Unmanaged => self.supervisor.current,
        };
        let known = self.supervisor.standing == Standing::Known || self.plan.config.mode != Mode::Client;
        if !self.attempts[attempt].alive || !known {
            return self.later(100, 3_000, Happening::Dial(driver));
        }
        let wanted = state.wanted.get(&ProfileId::DEFAULT).copied().unwrap_or(0);
        let description = self.plan.description(state.first_executor(), wanted);
        let peer = self.new_peer();
        self.drivers[driver].line = Some(Line { attempt, peer });
        self.drivers[driver].registered = false;
        self.driver_says(driver, DriverToMaster::RegisterApplication(description));
    }

    /// A driver's connection breaks; its ApplicationMaster notices that later.
    pub(super) fn hang_up(&mut self, driver: usize) {
        if let Some(Line { attempt, peer }) = self.drivers[driver].line.take() {
            self.drivers[driver].registered = false;
            let notice = if self.calm { 100 } else { 15_000 };
            self.later(0, notice, Happening::Tell(attempt, Event::Disconnected { peer }));
        }
    }

    /// A driver says all that it wants.
    pub(super) fn wish(&mut self, driver: usize) {
        let state = &self.drivers[driver];
        if state.line.is_none() || !state.registered || state.done {
            return;
        }
        let app = self.plan.config.app.clone();
        let live: Vec<ExecutorId> = state.live.iter().copied().collect();
        let (targets, wishes) = (self.current_targets(driver), self.wishes.clone());
        self.driver_says(driver, DriverToMaster::PreferHosts { app: app.clone(), wishes });
        self.driver_says(driver, DriverToMaster::RequestExecutors { app: app.clone(), targets });
        if self.calm {
            self.driver_says(driver, DriverToMaster::KillExecutors { app, executors: live });
        }
    }

    /// Something comes to a driver's mind.
    fn whim(&mut self, driver: usize) {
        if self.calm {
            self.later(5_000, 20_000, Happening::Whim(driver));
            return self.end_excess(driver);
        }
        self.later(50, 4_000, Happening::Whim(driver));
        let state = &self.drivers[driver];
        let Some(line) = state.line.filter(|_| state.registered && !state.done) else { return };
        let app = self.plan.config.app.clone();
        if self.dice.one_in(2) {
            let targets = self.plan.targets(&mut self.dice);
            self.drivers[driver].wanted = targets.iter().map(|target| (target.id, target.total)).collect();
            self.driver_says(driver, DriverToMaster::RequestExecutors { app: app.clone(), targets });
        }
        if self.dice.one_in(3) {
            self.wishes = self.plan.wishes(&mut self.dice);
            let wishes = self.wishes.clone();
            self.driver_says(driver, DriverToMaster::PreferHosts { app: app.clone(), wishes });
        }
        if self.dice.one_in(4) {
            let live = self.drivers[driver].live.clone();
            let executors = live.into_iter().filter(|_| self.dice.one_in(4)).collect();
            self.driver_says(driver, DriverToMaster::KillExecutors { app: app.clone(), executors });
        }
        if self.dice.one_in(6) {
            self.driver_says(driver, DriverToMaster::RequestShortfall { app: app.clone() });
        }
        if self.strikes(4) {
            self.stray(line.attempt, driver);
        }
        if self.strikes(4) {
            self.hang_up(driver);
            self.later(10, 15_000, Happening::Dial(driver));
        }
        if self.strikes(150) {
            self.finish_driver(driver);
        }
    }

    /// A driver ends those of its executors that are more than it wants, which nobody does for it.
    fn end_excess(&mut self, driver: usize) {
        let state = &self.drivers[driver];
        let mut left = state.wanted.clone();
        let mut is_excess = |executor: &ExecutorId| {
            let profile = state.profiles.get(executor).and_then(|profile| left.get_mut(profile));
            match profile {
                Some(wanted) if *wanted > 0 => {
                    *wanted -= 1;
                    false
                }
                Some(_) | None => true,
            }
        };
        let executors: Vec<ExecutorId> = state.live.iter().copied().filter(&mut is_excess).collect();
        if state.registered && !state.done && !executors.is_empty() {
            let app = self.plan.config.app.clone();
            self.driver_says(driver, DriverToMaster::KillExecutors { app, executors });
        }
    }

    /// Somebody says what cannot be done, or asks for what is not theirs.
    fn stray(&mut self, attempt: usize, driver: usize) {
        let app = self.plan.config.app.clone();
        let other = AppId::new("application_1_0002");
        let unsound = ResourceProfile { cores: Some(Cores(0)), ..ResourceProfile::default() };
        let many: Vec<ExecutorTarget> = (100..170).map(|profile| target(profile, 0)).collect();
        let unsound_target = ExecutorTarget { id: ProfileId(0), profile: unsound.clone(), total: 1 };
        let everybody: Vec<ExecutorId> = (0..40).map(ExecutorId).collect();
        let mut stranger = self.plan.description(ExecutorId(0), 3);
        stranger.name = "differences".to_owned();
        match self.dice.below(3) {
            0 => stranger.command.arguments.push("another".to_owned()),
            1 => stranger.profile = unsound,
            _ => stranger.files = Some(files()),
        }
        match self.dice.below(8) {
            0 => self.driver_says(driver, DriverToMaster::RequestExecutors { app, targets: many }),
            1 => {
                let targets = vec![unsound_target];
                self.driver_says(driver, DriverToMaster::RequestExecutors { app, targets });
            }
            2 => self.driver_says(driver, DriverToMaster::UnregisterApplication { app: other }),
            3 => {
                let again = self.plan.description(ExecutorId(0), 3);
                self.driver_says(driver, DriverToMaster::RegisterApplication(again));
            }
            4 => self.stranger_says(attempt, DriverToMaster::RegisterApplication(stranger)),
            5 => self.stranger_says(attempt, DriverToMaster::KillExecutors { app, executors: everybody }),
            6 => self.stranger_says(attempt, DriverToMaster::UnregisterApplication { app }),
            _ => {
                let targets = vec![target(0, 100)];
                self.stranger_says(attempt, DriverToMaster::RequestExecutors { app, targets });
            }
        }
    }

    fn stranger_says(&mut self, attempt: usize, message: DriverToMaster) {
        let peer = self.new_peer();
        self.tell(attempt, Event::Received { peer, message: Inbound::Driver(message) });
        self.later(0, 1_000, Happening::Tell(attempt, Event::Disconnected { peer }));
    }

    fn clients(&mut self) {
        self.later(100, 5_000, Happening::Clients);
        let attempt = self.supervisor.current;
        let name = |dice: &mut crate::cluster::Dice| {
            (*dice.pick(&["sums", "application_1_0001", "differences"])).to_owned()
        };
        let app = name(&mut self.dice);
        let message = match self.dice.below(2) {
            0 => ClientToMaster::RequestMasterState,
            _ => ClientToMaster::RequestApplication { app: app.clone(), executors_from: ExecutorId(0) },
        };
        self.client_says(attempt, message);
        if self.strikes(60) {
            self.client_says(attempt, ClientToMaster::KillApplication { app, by: "bob@host".to_owned() });
        }
    }

    fn mischief(&mut self) {
        if self.calm {
            return;
        }
        self.later(50, 1_500, Happening::Mischief);
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
        if self.strikes(4) && self.supervisor.standing == Standing::Known {
            self.supervisor.standing = Standing::Forgotten;
            self.manager.forget();
        }
        if self.strikes(15) && self.attempts[attempt].alive && self.plan.config.mode != Mode::Unmanaged {
            self.outcome.trace.push(format!("{} attempt {} crashes", self.now, attempt + 1));
            self.bury(attempt);
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
                self.later(1, slow, Happening::Register(attempt));
            }
            Effect::Allocate(call) => {
                let way = match (self.strikes(2), self.strikes(2)) {
                    (true, _) => Way::LostThere,
                    (false, true) => Way::LostBack,
                    (false, false) => Way::Sound,
                };
                let slow = if self.strikes(2) { 5_000 } else { 30 };
                self.later(1, slow, Happening::Arrive(attempt, call, way));
            }
            Effect::Launch(launch) => self.later(1, 300, Happening::Started(attempt, launch.container)),
            Effect::StartProgram => self.start_program(attempt),
            Effect::EndProgram => {
                self.later(0, 2_000, Happening::ProgramEnds(attempt, ExitStatus::Signal(15)));
            }
            Effect::Send { peer, message: Outbound::Driver(message) } => {
                self.deliver(attempt, peer, &message)
            }
            Effect::Send { message: Outbound::Client(_), .. } | Effect::Note(_) => {}
            Effect::Close { peer } => {
                for driver in 0..self.drivers.len() {
                    if self.drivers[driver].line == Some(Line { attempt, peer }) {
                        self.drivers[driver].line = None;
                        self.drivers[driver].registered = false;
                        self.later(10, 3_000, Happening::Dial(driver));
                    }
                }
                self.later(0, 50, Happening::Tell(attempt, Event::Disconnected { peer }));
            }
            Effect::Unregister { status, .. } => {
                self.later(1, 500, Happening::Unregister(attempt, status));
            }
            Effect::Exit(_) => self.bury(attempt),
        }
    }

    fn start_program(&mut self, attempt: usize) {
        if self.strikes(40) {
            let failure = StartFailure { step: StartStep::Program, error: "no such file".to_owned() };
            self.drivers[attempt].vanished = true;
            self.later(0, 10, Happening::Tell(attempt, Event::ProgramNotStarted(failure)));
        }
    }

    fn deliver(&mut self, attempt: usize, peer: PeerId, message: &firesteel_core::messages::MasterToDriver) {
        let driver = self.driver_of(attempt);
        if self.drivers[driver].line != Some(Line { attempt, peer }) {
            return;
        }
        let rows = &self.attempts[attempt].books.executors;
        let container = |executor: ExecutorId| rows.get(&executor).map(|row| row.container.clone());
        let reaction = self.drivers[driver].hear(message, self.plan.relaunch, container);
        match reaction {
            Reaction::Request => self.later(0, 50, Happening::Wish(driver)),
            Reaction::None => {}
        }
        if self.drivers[driver].gone {
            self.later(0, 5_000, Happening::ProgramEnds(attempt, ExitStatus::Code(0)));
        }
    }
}

fn files() -> ApplicationFiles {
    ApplicationFiles { source: firesteel_core::address::Address::new("me", 1), files: Vec::new() }
}
