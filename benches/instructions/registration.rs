//! The Master: one event each.

use firesteel_core::address::Address;
use firesteel_core::ids::{ExecutorKey, PeerId, WorkerId};
use firesteel_core::master::{Config, Effect, Event, Inbound, Master, Outbound};
use firesteel_core::messages::{
    ApplicationDescription, DriverToMaster, ExecutorReport, ExecutorState, MasterToWorker, Offered, Placing,
    ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_core::process::{Command, ExitStatus};
use firesteel_core::{Machine, Timestamp};
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources};
use gungraun::{library_benchmark, library_benchmark_group};

use super::bound;

const NOW: Timestamp = Timestamp::from_millis(1_795_209_755_000);
const DRIVERS: u64 = 1 << 32;
const WORKERS: u64 = 1_000;
const WAITING: u64 = 10_000;

/// Workers of 16 cores, of which an application that stays has 8 each.
fn cluster(workers: u64) -> Master {
    let mut master = Master::new(Config::default());
    for n in 0..workers {
        let worker = WorkerDescription::new(
            WorkerId::new(format!("worker-20261120212235-10.0.{}.{}-7078", n / 250, n % 250)),
            Address::new(format!("10.0.{}.{}", n / 250, n % 250), 7078),
            Offered { cores: Cores(16), memory: MiB(65_536), resources: Resources::default() },
            "/work",
        );
        let message = WorkerToMaster::RegisterWorker { worker, executors: Vec::new() };
        master.apply(NOW, Event::Received { peer: PeerId(n), message: Inbound::Worker(message) });
    }
    let filler = registration(0, workers as i64 * 8, 8);
    assert_eq!(launches(&master.apply(NOW, filler)).len() as u64, workers);
    master
}

fn registration(driver: u64, max_cores: i64, cores: i64) -> Event {
    let message = DriverToMaster::RegisterApplication(ApplicationDescription::new(
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
    ));
    Event::Received { peer: PeerId(DRIVERS + driver), message: Inbound::Driver(message) }
}

fn launches(effects: &[Effect]) -> Vec<(PeerId, ExecutorKey)> {
    let launch = |effect: &Effect| match effect {
        Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } => {
            Some((*peer, launch.executor.clone()))
        }
        _ => None,
    };
    effects.iter().filter_map(launch).collect()
}

fn half_full() -> (Master, Event) {
    let mut master = cluster(WORKERS);
    assert_eq!(launches(&master.apply(NOW, registration(1, 16, 1))).len(), 16);
    (master, registration(2, 16, 1))
}

/// A full cluster of a hundred Workers, on which an executor ends.
fn full() -> (Master, Event) {
    let mut master = cluster(100);
    let running = launches(&master.apply(NOW, registration(1, 800, 4)));
    for n in 0..WAITING {
        let shape = [4, 5, 6, 8, 16][n as usize % 5];
        assert!(launches(&master.apply(NOW, registration(2 + n, 1_000, shape))).is_empty());
    }
    let (peer, executor) = running[0].clone();
    let state = ExecutorState::Exited(ExitStatus::SUCCESS);
    let message = Inbound::Worker(WorkerToMaster::ExecutorStateChanged(ExecutorReport { executor, state }));
    (master, Event::Received { peer, message })
}

#[library_benchmark(config = bound("register_16"), setup = half_full)]
#[bench::on_1_000()]
fn register_16((mut master, event): (Master, Event)) -> (Master, Vec<Effect>) {
    let effects = master.apply(NOW, event);
    (master, effects)
}

#[library_benchmark(config = bound("one_slot_freed"), setup = full)]
#[bench::while_10_000_wait()]
fn one_slot_freed((mut master, event): (Master, Event)) -> (Master, Vec<Effect>) {
    let effects = master.apply(NOW, event);
    (master, effects)
}

library_benchmark_group!(name = events; benchmarks = register_16, one_slot_freed);
