//! Counts the Master: one event each.

use firesteel_master::{Config, Effect, Event, Inbound, Master};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{ExecutorReport, ExecutorState, WorkerToMaster};
use firesteel_testkit::master_events::{NOW, launches, registration, worker_registers};
use gungraun::{library_benchmark, library_benchmark_group};

use super::bound;

const WORKERS: u64 = 1_000;
const WAITING: u64 = 10_000;

fn driver(n: u64) -> PeerId {
    PeerId((1 << 32) + n)
}

/// Workers of 16 cores. A permanent application uses 8 cores of each.
fn cluster(workers: u64) -> Master {
    let mut master = Master::new(Config::default());
    for n in 0..workers {
        master.apply(NOW, worker_registers(n));
    }
    let filler = registration(driver(0), workers as i64 * 8, 8);
    assert_eq!(launches(&master.apply(NOW, filler)).len() as u64, workers);
    master
}

fn half_full() -> (Master, Event) {
    let mut master = cluster(WORKERS);
    assert_eq!(launches(&master.apply(NOW, registration(driver(1), 16, 1))).len(), 16);
    (master, registration(driver(2), 16, 1))
}

/// A full cluster of a hundred Workers, and the event that an executor ends.
fn full() -> (Master, Event) {
    let mut master = cluster(100);
    let running = launches(&master.apply(NOW, registration(driver(1), 800, 4)));
    for n in 0..WAITING {
        let shape = [4, 5, 6, 8, 16][n as usize % 5];
        assert!(launches(&master.apply(NOW, registration(driver(2 + n), 1_000, shape))).is_empty());
    }
    let (peer, executor) = running[0].clone();
    let state = ExecutorState::Killed(None);
    let message = Inbound::Worker(WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state)));
    (master, Event::Received { peer, arrived: NOW, message })
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
