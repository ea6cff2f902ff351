//! Random actions of drivers and of hostile peers.

use firesteel_application_master::{Event, Inbound, Mode};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationFiles, DriverToMaster, ExecutorTarget, ResourceProfile, Resumption,
};
use firesteel_protocol::process::Command;

use super::driver::Connection;
use super::plan::target;
use super::supervisor::AttemptState;
use super::world::{ScheduledEvent, World};

impl World {
    /// A driver connects to its ApplicationMaster.
    pub(super) fn dial(&mut self, driver: usize) {
        let state = &self.drivers[driver];
        let patient = !state.gone && (!state.done || self.plan.config.mode == Mode::Cluster);
        if state.connection.is_some() || state.vanished || !patient {
            return;
        }
        let attempt = match self.plan.config.mode {
            Mode::Cluster => driver,
            Mode::Client | Mode::Unmanaged => self.supervisor.current,
        };
        let known = self.supervisor.state == AttemptState::Known || self.plan.config.mode != Mode::Client;
        if !self.attempts[attempt].alive || !known {
            return self.later(100, 3_000, ScheduledEvent::Dial(driver));
        }
        let wanted = state.wanted.get(&ProfileId::DEFAULT).copied().unwrap_or(0);
        let description = self.plan.description(state.first_executor(), wanted);
        let peer = self.new_peer();
        self.drivers[driver].connection = Some(Connection { attempt, peer });
        self.drivers[driver].registered = false;
        let (app, description) = (self.plan.config.app.clone(), Box::new(description));
        let state = &self.drivers[driver];
        let executors = state.live.iter().copied().collect();
        let message = match state.has_been_registered {
            true => DriverToMaster::ResumeApplication(Resumption { app, executors, description }),
            false => DriverToMaster::RegisterApplication(description),
        };
        self.driver_says(driver, message);
    }

    /// A driver's connection breaks. Its ApplicationMaster notices later.
    pub(super) fn hang_up(&mut self, driver: usize) {
        if let Some(Connection { attempt, peer }) = self.drivers[driver].connection.take() {
            self.drivers[driver].registered = false;
            let notice = if self.calm { 100 } else { 15_000 };
            self.later(0, notice, ScheduledEvent::Tell(attempt, Event::Disconnected { peer }));
        }
    }

    /// A driver sends all its requests.
    pub(super) fn wish(&mut self, driver: usize) {
        let state = &self.drivers[driver];
        if state.connection.is_none() || !state.registered || state.done {
            return;
        }
        let app = self.plan.config.app.clone();
        let live: Vec<ExecutorId> = state.live.iter().copied().collect();
        let (targets, preferences) = (self.current_targets(driver), self.preferences.clone());
        self.driver_says(
            driver,
            DriverToMaster::PreferHosts { app: app.clone(), preferences: Box::new(preferences) },
        );
        self.driver_says(driver, DriverToMaster::RequestExecutors { app: app.clone(), targets });
        if self.calm {
            self.driver_says(driver, DriverToMaster::KillExecutors { app, executors: live });
        }
    }

    /// A driver performs a random action.
    pub(super) fn whim(&mut self, driver: usize) {
        if self.calm {
            self.later(5_000, 20_000, ScheduledEvent::Whim(driver));
            return self.end_excess(driver);
        }
        self.later(50, 4_000, ScheduledEvent::Whim(driver));
        let state = &self.drivers[driver];
        let Some(connection) = state.connection.filter(|_| state.registered && !state.done) else { return };
        let app = self.plan.config.app.clone();
        if self.dice.one_in(2) {
            let targets = self.plan.targets(&mut self.dice);
            self.drivers[driver].wanted = targets.iter().map(|target| (target.id, target.total)).collect();
            self.driver_says(driver, DriverToMaster::RequestExecutors { app: app.clone(), targets });
        }
        if self.dice.one_in(3) {
            self.preferences = self.plan.preferences(&mut self.dice);
            let preferences = self.preferences.clone();
            self.driver_says(
                driver,
                DriverToMaster::PreferHosts { app: app.clone(), preferences: Box::new(preferences) },
            );
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
            self.stray(connection.attempt, driver);
        }
        if self.strikes(4) {
            self.hang_up(driver);
            self.later(10, 15_000, ScheduledEvent::Dial(driver));
        }
        if self.strikes(150) {
            self.finish_driver(driver);
        }
    }

    /// A driver ends its executors in excess of the target, because its ApplicationMaster does not do so.
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

    /// A hostile peer sends an impossible message, or a request about another application.
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
            0 => stranger.command = Command::of("another").into(),
            1 => stranger.profile = unsound,
            _ => stranger.files = Some(files()),
        }
        match self.dice.below(8) {
            0 => self.driver_says(driver, DriverToMaster::RequestExecutors { app, targets: many }),
            1 => {
                let targets = vec![unsound_target];
                self.driver_says(driver, DriverToMaster::RequestExecutors { app, targets });
            }
            2 => {
                self.driver_says(driver, DriverToMaster::UnregisterApplication { app: other, outcome: None })
            }
            3 => {
                let again = self.plan.description(ExecutorId(0), 3);
                self.driver_says(driver, DriverToMaster::RegisterApplication(Box::new(again)));
            }
            4 => self.stranger_says(attempt, DriverToMaster::RegisterApplication(Box::new(stranger))),
            5 => self.stranger_says(attempt, DriverToMaster::KillExecutors { app, executors: everybody }),
            6 => self.stranger_says(attempt, DriverToMaster::UnregisterApplication { app, outcome: None }),
            _ => {
                let targets = vec![target(0, 100)];
                self.stranger_says(attempt, DriverToMaster::RequestExecutors { app, targets });
            }
        }
    }

    pub(super) fn stranger_says(&mut self, attempt: usize, message: DriverToMaster) {
        let peer = self.new_peer();
        self.tell(attempt, Event::Received { peer, message: Inbound::Driver(message) });
        self.later(0, 1_000, ScheduledEvent::Tell(attempt, Event::Disconnected { peer }));
    }
}

fn files() -> ApplicationFiles {
    ApplicationFiles {
        source: firesteel_protocol::address::Address::new("me", 1),
        files: Vec::new(),
        secret: None,
    }
}
