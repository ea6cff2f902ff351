//! What does one event cost the Master, over the number of Workers?
//!
//! Three events that users wait for: an application of 16 executors registers and is placed; an executor ends and is
//! replaced; a heartbeat. The cluster is half full, so that placement has to search. The effects of each event are
//! checked before it is timed. The baseline in the same run is the heartbeat, which touches one row and places nothing.

#![allow(clippy::disallowed_types, reason = "a bench measures time")]

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use firesteel_master::{Config, Effect, Event, Inbound, Master};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{DriverToMaster, ExecutorReport, ExecutorState, WorkerToMaster};
use firesteel_testkit::master_events::{NOW, launches, registered, registration, worker_registers};

const SIZES: [u64; 5] = [10, 100, 1_000, 10_000, 100_000];
const EXECUTORS: i64 = 16;
const DRIVER: PeerId = PeerId(1_000_000);
const FILLER: PeerId = PeerId(1_000_001);

/// Workers of 16 cores, registered one by one. An application that stays uses half of each.
fn cluster(workers: u64) -> Master {
    let mut master = Master::new(Config::default());
    for n in 0..workers {
        master.apply(NOW, worker_registers(n));
    }
    let filler = i64::try_from(workers).expect("it is small") * 8;
    let launched = launches(&master.apply(NOW, registration(FILLER, filler, 8)));
    assert_eq!(launched.len() as u64, workers, "one executor of 8 cores on each Worker");
    master
}

fn worker(master: &mut Master, peer: PeerId, message: WorkerToMaster) -> Vec<Effect> {
    master.apply(NOW, Event::Received { peer, arrived: NOW, message: Inbound::Worker(message) })
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn register_application(c: &mut Criterion) {
    let mut group = c.benchmark_group("register an application of 16 executors");
    for size in SIZES {
        let mut master = cluster(size);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut total = Duration::ZERO;
                for _ in 0..rounds {
                    let (effects, time) = timed(|| master.apply(NOW, registration(DRIVER, EXECUTORS, 1)));
                    total += time;
                    assert_eq!(launches(&effects).len() as i64, EXECUTORS);
                    let app = registered(&effects);
                    let message =
                        Inbound::Driver(DriverToMaster::UnregisterApplication { app, outcome: None });
                    master.apply(NOW, Event::Received { peer: DRIVER, arrived: NOW, message });
                }
                total
            });
        });
    }
}

fn executor_state_changed(c: &mut Criterion) {
    let mut group = c.benchmark_group("an executor ends and is replaced");
    for size in SIZES {
        let mut master = cluster(size);
        let mut live = launches(&master.apply(NOW, registration(DRIVER, EXECUTORS, 1)));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|rounds| {
                let mut total = Duration::ZERO;
                for _ in 0..rounds {
                    let (peer, executor) = live.remove(0);
                    let state = ExecutorState::Killed(None);
                    let message = WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state));
                    let (effects, time) = timed(|| worker(&mut master, peer, message));
                    total += time;
                    let replacement = launches(&effects);
                    assert_eq!(replacement.len(), 1);
                    live.extend(replacement);
                }
                total
            });
        });
    }
}

fn heartbeat(c: &mut Criterion) {
    let mut group = c.benchmark_group("a heartbeat");
    for size in SIZES {
        let mut master = cluster(size);
        let id = master.view().workers[0].id.clone();
        let peer = PeerId(0);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                let effects = worker(
                    &mut master,
                    peer,
                    WorkerToMaster::Heartbeat { worker: id.clone(), last_order: None },
                );
                assert!(effects.is_empty());
            });
        });
    }
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .sample_size(10)
}

criterion_group! { name = benches; config = short(); targets = register_application, executor_state_changed, heartbeat }
criterion_main!(benches);
