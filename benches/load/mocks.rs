//! Mock Workers and drivers. They run in one thread and share counts.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use firesteel_protocol::Kind as _;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorReport, ExecutorState, MasterToDriver, MasterToWorker,
    Offered, Placing, ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::wire::{self, Role};
use firesteel_testkit::peers::link::{Link, Outgoing};
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use crate::server::Door;

/// The time limit of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) workers: Cell<u64>,
    pub(crate) drivers: Cell<u64>,
    /// Executors that drivers were told are running.
    pub(crate) running: Cell<u64>,
    /// Applications that have no executors left.
    pub(crate) gone: Cell<u64>,
    /// Workers that the server gave up or forgot.
    pub(crate) lost: Cell<u64>,
    /// The longest delay of a heartbeat at a Worker.
    pub(crate) late: Cell<Duration>,
    pub(crate) frames: RefCell<BTreeMap<&'static str, u64>>,
    changed: Notify,
}

impl Seen {
    pub(crate) fn add(&self, count: &Cell<u64>) {
        count.set(count.get() + 1);
        self.changed.notify_one();
    }

    fn frame(&self, kind: &'static str) {
        *self.frames.borrow_mut().entry(kind).or_default() += 1;
    }

    /// Waits until the condition holds. Panics after a time limit.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                self.changed.notified().await;
            }
        };
        assert!(timeout(PATIENCE, waiting).await.is_ok(), "waited for {PATIENCE:?} until {what}");
    }
}

/// A mock peer, which ends when it is dropped.
pub(crate) struct Mock(JoinHandle<()>);

impl Mock {
    /// The peer that a task plays.
    pub(crate) fn of(task: JoinHandle<()>) -> Self {
        Self(task)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects a Worker with this number of cores. It reports an executor as running as soon as it gets the launch order,
/// and as killed as soon as it gets the kill order.
pub(crate) fn worker(door: &Door, number: u64, cores: i64, seen: &Rc<Seen>) -> Mock {
    let (door, seen) = (door.clone(), Rc::clone(seen));
    Mock(spawn_local(async move {
        let id = WorkerId::new(format!("worker-20261120212235-10.0.{}.{}-7078", number / 250, number % 250));
        let host = Address::new(format!("10.0.{}.{}", number / 250, number % 250), 7078);
        let Link { mut incoming, mut outgoing } = door.dial(Role::Worker, id.as_str()).await;
        let offered = Offered { cores: Cores(cores), memory: MiB(1 << 20), resources: Resources::default() };
        let worker = WorkerDescription::new(id.clone(), host, offered, "/work");
        outgoing.push(&WorkerToMaster::register(worker, Vec::new()));
        outgoing.flush().await;
        let mut beat: Option<Interval> = None;
        let mut last_order = None;
        loop {
            let due = async {
                match &mut beat {
                    Some(beat) => beat.tick().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                frame = incoming.next() => {
                    let mut next = frame;
                    if next.is_none() {
                        return seen.add(&seen.lost);
                    }
                    while let Some(body) = next {
                        let message = wire::decode(&body).expect("the server speaks the protocol");
                        if let MasterToWorker::LaunchExecutor(launch) = &message {
                            last_order = Some(launch.executor.clone());
                        }
                        if let Some(period) = on_message(message, &mut outgoing, &seen) {
                            beat = Some(heartbeats(number, period));
                        }
                        next = incoming.next_now();
                    }
                }
                at = due => {
                    outgoing.push(&WorkerToMaster::Heartbeat { worker: id.clone(), last_order: last_order.take() });
                    seen.late.set(seen.late.get().max(at.elapsed()));
                }
            }
            if !outgoing.flush().await {
                return seen.add(&seen.lost);
            }
        }
    }))
}

/// The times of a Worker's heartbeats, which are spread over their period.
fn heartbeats(number: u64, period: Duration) -> Interval {
    let thousandths = u32::try_from(number * 7919 % 1000).expect("it is below a thousand");
    let mut ticks = interval_at(Instant::now() + period * thousandths / 1000, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Handles a message. Returns the period of heartbeats if the message registers the Worker.
fn on_message(message: MasterToWorker, outgoing: &mut Outgoing, seen: &Seen) -> Option<Duration> {
    seen.frame(message.kind());
    let (executor, state) = match message {
        MasterToWorker::RegisteredWorker { heartbeat_millis, .. } => {
            seen.add(&seen.workers);
            return Some(Duration::from_millis(heartbeat_millis));
        }
        MasterToWorker::LaunchExecutor(launch) => (launch.executor, ExecutorState::Running),
        MasterToWorker::KillExecutor { executor } => {
            (executor, ExecutorState::Killed(Some(ExitStatus::Signal(15))))
        }
        MasterToWorker::RegisterWorkerFailed(_) | MasterToWorker::ReconnectWorker => {
            seen.add(&seen.lost);
            return None;
        }
        MasterToWorker::ApplicationFinished { .. }
        | MasterToWorker::ExecutorEndNoted { .. }
        | MasterToWorker::DecommissionWorker { .. }
        | MasterToWorker::LaunchDriver(_)
        | MasterToWorker::KillDriver { .. }
        | MasterToWorker::DriverEndNoted { .. } => return None,
    };
    outgoing.push(&WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state)));
    None
}

/// A mock driver that unregisters on request.
pub(crate) struct Driver {
    _mock: Mock,
    end: mpsc::Sender<()>,
}

impl Driver {
    /// Connects at once. When `start` is notified, registers an application with this number of executors of one core.
    pub(crate) fn connect(door: &Door, executors: i64, start: Rc<Notify>, seen: &Rc<Seen>) -> Self {
        let (door, seen) = (door.clone(), Rc::clone(seen));
        let (end, ended) = mpsc::channel(1);
        let mock = Mock(spawn_local(async move {
            let link = door.dial(Role::Driver, "load").await;
            let started = start.notified();
            seen.add(&seen.drivers);
            started.await;
            drive(link, executors, ended, &seen).await;
        }));
        Self { _mock: mock, end }
    }

    /// Lets it unregister.
    pub(crate) fn end(&self) {
        let _ = self.end.try_send(());
    }
}

async fn drive(link: Link, executors: i64, mut ended: mpsc::Receiver<()>, seen: &Seen) {
    let Link { mut incoming, mut outgoing } = link;
    // Each driver has a user of its own, since a Master may limit what one user submits.
    let user = format!("load-{}", seen.drivers.get());
    outgoing.push(&DriverToMaster::RegisterApplication(Box::new(description(&user, executors))));
    outgoing.flush().await;
    let mut app = None;
    loop {
        tokio::select! {
            frame = incoming.next() => {
                let Some(body) = frame else { return };
                let message: MasterToDriver = wire::decode(&body).expect("the server speaks the protocol");
                seen.frame(message.kind());
                match message {
                    MasterToDriver::RegisteredApplication { app: id, .. } => app = Some(id),
                    MasterToDriver::ExecutorUpdated { state: ExecutorState::Running, .. } => seen.add(&seen.running),
                    MasterToDriver::ExecutorsGone { .. } => {
                        return seen.add(&seen.gone);
                    }
                    MasterToDriver::WorkerRemoved { .. } => seen.add(&seen.lost),
                    _ => {}
                }
            }
            Some(()) = ended.recv() => {
                let app: AppId = app.clone().expect("it is registered");
                outgoing.push(&DriverToMaster::UnregisterApplication { app, outcome: None });
                outgoing.flush().await;
            }
        }
    }
}

/// Runs one application on its own connection, until all its executors have ended.
pub(crate) async fn one_application(door: &Door, executors: i64) {
    let Link { mut incoming, mut outgoing } = door.dial(Role::Driver, "load").await;
    outgoing.push(&DriverToMaster::RegisterApplication(Box::new(description("load", executors))));
    outgoing.flush().await;
    let (mut app, mut running) = (None, 0);
    while let Some(body) = incoming.next().await {
        match wire::decode(&body).expect("the server speaks the protocol") {
            MasterToDriver::RegisteredApplication { app: id, .. } => app = Some(id),
            MasterToDriver::ExecutorUpdated { state: ExecutorState::Running, .. } => {
                running += 1;
                if running == executors {
                    let app = app.clone().expect("it is registered");
                    outgoing.push(&DriverToMaster::UnregisterApplication { app, outcome: None });
                    outgoing.flush().await;
                }
            }
            MasterToDriver::ExecutorsGone { .. } => return,
            _ => {}
        }
    }
    panic!("the server closed a driver's connection");
}

/// An application of executors with one core each, and a command of ordinary length.
pub(crate) fn description(user: &str, executors: i64) -> ApplicationDescription {
    let mut command = Command::of("/opt/application/bin/executor");
    command.arguments = (0..10).map(|number| format!("--option-{number}=value-{number}")).collect();
    command.environment =
        (0..10).map(|number| (format!("VARIABLE_{number}"), format!("value-{number}"))).collect();
    let profile =
        ResourceProfile { cores: Some(Cores(1)), memory: Some(MiB(1)), resources: ResourceAmounts::new() };
    let wanted = WantedExecutors { profile, max_cores: Some(Cores(executors)), ..WantedExecutors::default() };
    ApplicationDescription::new(Submitter::new("load", user), wanted, Placing::default(), Work::of(command))
}
