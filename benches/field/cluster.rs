//! Workers and applications of any size, and counts of a Master's decisions.

use firesteel_master::{Config, Effect, Event, Inbound, Master, Outbound};
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources};
use firesteel_protocol::Machine;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorTarget, MasterToWorker, Offered, Placing,
    ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_testkit::master_events::NOW;

/// The first connection of a driver. Lower numbers are Workers.
const DRIVERS: u64 = 1 << 32;

/// The amounts of a Worker, or of an executor.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub cores: i64,
    pub memory: i64,
}

#[derive(Clone, Debug)]
pub struct Ask {
    pub executors: u64,
    pub each: Size,
    pub placing: Placing,
}

pub fn master(config: Config, workers: u64, size: Size) -> Master {
    let mut master = Master::new(config);
    for n in 0..workers {
        let effects = master.apply(NOW, worker_registers(n, size));
        assert!(!effects.is_empty(), "the Worker is registered");
    }
    master
}

fn worker_registers(n: u64, size: Size) -> Event {
    let host = format!("10.{}.{}.{}", n / 62_500, n / 250 % 250, n % 250);
    let worker = WorkerDescription::new(
        WorkerId::new(format!("worker-20261126120000-{host}-7078")),
        Address::new(host, 7078),
        Offered { cores: Cores(size.cores), memory: MiB(size.memory), resources: Resources::default() },
        "/work",
    );
    let message = WorkerToMaster::register(worker, Vec::new());
    Event::Received { peer: PeerId(n), arrived: NOW, message: Inbound::Worker(message) }
}

fn says(driver: u64, message: DriverToMaster) -> Event {
    Event::Received { peer: PeerId(DRIVERS + driver), arrived: NOW, message: Inbound::Driver(message) }
}

/// The driver with this number registers its application.
pub fn registers(driver: u64, ask: &Ask) -> Event {
    let description = ApplicationDescription::new(
        Submitter::new("bench", "bench"),
        WantedExecutors {
            profile: profile(ask.each),
            limit: ExecutorLimit::AtMost(ask.executors),
            ..WantedExecutors::default()
        },
        ask.placing.clone(),
        Work::of(Command::of("true")),
    );
    says(driver, DriverToMaster::RegisterApplication(Box::new(description)))
}

/// The driver with this number sets the target of its application.
pub fn asks(driver: u64, app: AppId, ask: &Ask) -> Event {
    let target = ExecutorTarget { id: ProfileId::DEFAULT, profile: profile(ask.each), total: ask.executors };
    says(driver, DriverToMaster::RequestExecutors { app, targets: vec![target] })
}

pub fn ends(driver: u64, app: AppId) -> Event {
    says(driver, DriverToMaster::UnregisterApplication { app, outcome: None })
}

fn profile(each: Size) -> ResourceProfile {
    let Size { cores, memory } = each;
    let (cores, memory, resources) = (Some(Cores(cores)), Some(MiB(memory)), ResourceAmounts::new());
    ResourceProfile { cores, memory, resources }
}

/// The numbers of launched and of ended executors in these effects.
pub fn decided(effects: &[Effect]) -> (u64, u64) {
    let (mut launched, mut killed) = (0, 0);
    for effect in effects {
        match effect {
            Effect::Send { message: Outbound::Worker(MasterToWorker::LaunchExecutor(_)), .. } => {
                launched += 1
            }
            Effect::Send { message: Outbound::Worker(MasterToWorker::KillExecutor { .. }), .. } => {
                killed += 1
            }
            _ => {}
        }
    }
    (launched, killed)
}
