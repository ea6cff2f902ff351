//! A real Master with simple models of Workers and drivers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use firesteel_master::{Config, Effect, Event, Inbound, Master, Outbound, ResourceShares, Retries};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorReport, ExecutorState, ExecutorTarget, HostPreferences,
    MasterToDriver, MasterToWorker, Offered, ResourceProfile, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::{Machine, Timestamp};

use super::allocations::{Allocations, Held, gpus};
use super::workload::Size;

/// Name of the resource that stands for GPUs.
pub const GPU: &str = "gpu";
/// Number of the first driver's connection.
pub const DRIVERS: u64 = 1 << 40;
/// The distance between the connection numbers of one Worker. A Worker's first connection has the Worker's number.
/// Traces have fewer Workers than this distance.
const RETURNS: u64 = 1 << 24;
/// A timeout that never expires, because the models send no heartbeats.
const FOR_EVER: Duration = Duration::from_secs(1 << 40);

/// Applies an event to the Master. A caller's closure may measure the time that this takes.
pub trait Apply: FnMut(&mut Master, Timestamp, Event) -> Vec<Effect> {}
impl<F: FnMut(&mut Master, Timestamp, Event) -> Vec<Effect>> Apply for F {}

/// Applies an event to the Master without a measurement.
pub fn directly(master: &mut Master, now: Timestamp, event: Event) -> Vec<Effect> {
    master.apply(now, event)
}

/// A Master with Workers that answer immediately, and with drivers.
pub(super) struct Stage<'a, A> {
    master: Master,
    apply: &'a mut A,
    now: Timestamp,
    pub(super) allocations: Allocations,
    workers: Vec<Size>,
    peers: Vec<PeerId>,
    drivers: BTreeMap<AppId, u64>,
    applications: BTreeMap<u64, AppId>,
    /// Changes to report to drivers, oldest first.
    changes: VecDeque<ExecutorChange>,
}

/// A change of a driver's executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecutorChange {
    /// The driver got another executor, on this Worker.
    Launched { driver: u64, worker: usize },
    /// The driver lost an executor that had run for this time.
    Lost { driver: u64, ran: Duration },
}

impl<'a, A: Apply> Stage<'a, A> {
    /// A Master with this configuration and these Workers.
    pub(super) fn new(config: Config, workers: &[Size], apply: &'a mut A) -> Self {
        let mut stage = Self {
            master: Master::new(in_virtual_time(config)),
            apply,
            now: Timestamp::default(),
            allocations: Allocations::new(workers),
            workers: workers.to_vec(),
            peers: (0..workers.len() as u64).map(PeerId).collect(),
            drivers: BTreeMap::new(),
            applications: BTreeMap::new(),
            changes: VecDeque::new(),
        };
        (0..workers.len()).for_each(|worker| stage.register_worker(worker));
        stage
    }

    fn register_worker(&mut self, worker: usize) {
        let message = WorkerToMaster::register(description(worker as u64, self.workers[worker]), Vec::new());
        self.tell(Event::Received {
            peer: self.peers[worker],
            arrived: self.now,
            message: Inbound::Worker(message),
        });
    }

    /// A Worker fails: its executors end immediately, and its connection breaks.
    pub(super) fn fail_worker(&mut self, worker: usize) {
        for executor in self.allocations.on(worker) {
            self.ended(&executor);
        }
        self.tell(Event::Disconnected { peer: self.peers[worker] });
    }

    /// A Worker that failed registers again.
    pub(super) fn return_worker(&mut self, worker: usize) {
        self.peers[worker].0 += RETURNS;
        self.register_worker(worker);
    }

    /// Tells the Master that an application prefers the host of this Worker. Then requests this number of executors.
    pub(super) fn prefer(&mut self, driver: u64, worker: usize, executors: u64) {
        let Some(app) = self.applications.get(&driver).cloned() else { return };
        let preferences = HostPreferences {
            tasks: executors,
            preferred: [(host(worker as u64), executors)].into_iter().collect(),
            ..HostPreferences::default()
        };
        self.say(
            driver,
            DriverToMaster::PreferHosts { app: app.clone(), preferences: Box::new(preferences) },
        );
        let profile = ResourceProfile::default();
        let target = ExecutorTarget { id: ProfileId::DEFAULT, profile, total: executors };
        self.say(driver, DriverToMaster::RequestExecutors { app, targets: vec![target] });
    }

    /// Advances the time, and wakes the Master at its deadlines.
    pub(super) fn advance(&mut self, to: Timestamp) {
        while let Some((time, _)) = self.master.next_deadline().filter(|(time, _)| *time <= to) {
            let before = self.now;
            self.now = self.now.max(time);
            self.tell(Event::Deadline { heard_until: self.now });
            if self.now == before && self.master.next_deadline().is_some_and(|(next, _)| next <= time) {
                break;
            }
        }
        self.now = self.now.max(to);
    }

    /// The Master's next deadline, as time since the beginning.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.master.next_deadline().map(|(time, _)| time.since(Timestamp::default()))
    }

    pub(super) fn register(&mut self, driver: u64, description: ApplicationDescription) {
        self.say(driver, DriverToMaster::RegisterApplication(Box::new(description)));
    }

    /// Unregisters the application of this driver. Its executors end.
    pub(super) fn unregister(&mut self, driver: u64) {
        if let Some(app) = self.applications.remove(&driver) {
            self.drivers.remove(&app);
            self.say(driver, DriverToMaster::UnregisterApplication { app, outcome: None });
        }
        self.tell(Event::Disconnected { peer: PeerId(DRIVERS + driver) });
    }

    pub(super) fn next_change(&mut self) -> Option<ExecutorChange> {
        self.changes.pop_front()
    }

    fn say(&mut self, driver: u64, message: DriverToMaster) {
        self.tell(Event::Received {
            peer: PeerId(DRIVERS + driver),
            arrived: self.now,
            message: Inbound::Driver(message),
        });
    }

    /// Applies an event to the Master, and performs its effects. Then applies the events that follow, until no event is
    /// left.
    fn tell(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for effect in (self.apply)(&mut self.master, self.now, event) {
                let Effect::Send { peer, message } = effect else { continue };
                match message {
                    Outbound::Worker(message) => events.extend(self.on_worker_message(peer, message)),
                    Outbound::Driver(message) => self.on_driver_message(peer, message),
                    Outbound::Client(_) => {}
                }
            }
        }
    }

    fn on_worker_message(&mut self, peer: PeerId, message: MasterToWorker) -> Option<Event> {
        let (executor, state) = match message {
            MasterToWorker::LaunchExecutor(launch) => {
                let (cores, memory, gpus) = (launch.cores, launch.memory, launch.resources);
                let (worker, held) = (index(peer), Held { cores, memory, gpus });
                self.allocations.take(launch.executor.clone(), worker, held, self.now);
                let driver = self.drivers.get(&launch.executor.app);
                self.changes.extend(driver.map(|&driver| ExecutorChange::Launched { driver, worker }));
                (launch.executor, ExecutorState::Running)
            }
            MasterToWorker::KillExecutor { executor } => {
                self.ended(&executor);
                (executor, ExecutorState::Killed(None))
            }
            MasterToWorker::RegisteredWorker { .. }
            | MasterToWorker::RegisterWorkerFailed(_)
            | MasterToWorker::ReconnectWorker
            | MasterToWorker::ApplicationFinished { .. }
            | MasterToWorker::ExecutorEndNoted { .. }
            | MasterToWorker::DecommissionWorker { .. }
            | MasterToWorker::LaunchDriver(_)
            | MasterToWorker::KillDriver { .. }
            | MasterToWorker::DriverEndNoted { .. } => return None,
        };
        let message = WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state));
        Some(Event::Received { peer, arrived: self.now, message: Inbound::Worker(message) })
    }

    fn ended(&mut self, executor: &ExecutorKey) {
        let Some(launched) = self.allocations.give_back(executor) else { return };
        let ran = self.now.since(launched);
        self.changes
            .extend(self.drivers.get(&executor.app).map(|&driver| ExecutorChange::Lost { driver, ran }));
    }

    fn on_driver_message(&mut self, peer: PeerId, message: MasterToDriver) {
        if let MasterToDriver::RegisteredApplication { app, .. } = message {
            let driver = peer.0 - DRIVERS;
            self.applications.insert(driver, app.clone());
            self.drivers.insert(app, driver);
        }
    }
}

/// The same settings for a Master whose Workers and drivers send no heartbeats and never fail to start.
#[must_use]
pub fn in_virtual_time(config: Config) -> Config {
    Config {
        worker_timeout: FOR_EVER,
        retries: Retries::Unlimited,
        retained_applications: 0,
        resource_shares: ResourceShares::Allowed,
        ..config
    }
}

fn index(peer: PeerId) -> usize {
    usize::try_from(peer.0 % RETURNS).expect("Workers are numbered from 0")
}

fn host(n: u64) -> String {
    format!("node-{n:07}")
}

fn description(n: u64, size: Size) -> WorkerDescription {
    let resources = gpus(size);
    WorkerDescription::new(
        WorkerId::new(format!("worker-{n:07}")),
        Address::new(host(n), 7078),
        Offered { cores: size.cores, memory: size.memory, resources },
        "/work",
    )
}
