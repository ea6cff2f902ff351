//! Events and effects for benches of the Master, in which Workers and applications register and executors are launched.

use firesteel_master::{Effect, Event, Inbound, Outbound};
use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, MasterToDriver, MasterToWorker, Offered, Placing,
    ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::Command;

/// The time of all events.
pub const NOW: Timestamp = Timestamp::from_millis(1_795_209_755_000);

/// The event that Worker `n`, with 16 cores, registers on connection `n`.
pub fn worker_registers(n: u64) -> Event {
    let (net, host) = (n / 250, n % 250);
    let worker = WorkerDescription::new(
        WorkerId::new(format!("worker-20261120212235-10.0.{net}.{host}-7078")),
        Address::new(format!("10.0.{net}.{host}"), 7078),
        Offered { cores: Cores(16), memory: MiB(65_536), resources: Resources::default() },
        "/work",
    );
    let message = WorkerToMaster::register(worker, Vec::new());
    Event::Received { peer: PeerId(n), arrived: NOW, message: Inbound::Worker(message) }
}

/// The event that registers an application, with executors of `cores` cores and at most `max_cores` in all.
pub fn registration(peer: PeerId, max_cores: i64, cores: i64) -> Event {
    let description = ApplicationDescription::new(
        Submitter::new("bench", "bench"),
        WantedExecutors {
            profile: ResourceProfile {
                cores: Some(Cores(cores)),
                memory: Some(MiB(1024)),
                resources: ResourceAmounts::new(),
            },
            max_cores: Some(Cores(max_cores)),
            ..WantedExecutors::default()
        },
        Placing::default(),
        Work::of(Command::of("true")),
    );
    let message = DriverToMaster::RegisterApplication(Box::new(description));
    Event::Received { peer, arrived: NOW, message: Inbound::Driver(message) }
}

/// The launched executors, each with its Worker's connection.
pub fn launches(effects: &[Effect]) -> Vec<(PeerId, ExecutorKey)> {
    let launch = |effect: &Effect| match effect {
        Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } => {
            Some((*peer, launch.executor.clone()))
        }
        _ => None,
    };
    effects.iter().filter_map(launch).collect()
}

pub fn registered(effects: &[Effect]) -> AppId {
    let app = |effect: &Effect| match effect {
        Effect::Send {
            message: Outbound::Driver(MasterToDriver::RegisteredApplication { app, .. }), ..
        } => Some(app.clone()),
        _ => None,
    };
    effects.iter().find_map(app).expect("the application is registered")
}
