//! What do a Master's records cost? Recovery beside plain decoding of the same bytes, and Spark's workload of
//! persistence.
//!
//! Recovery: a busy Master's records are decoded only, or decoded and replayed, in turns; medians and their ratio.
//!
//! The workload is that of Spark's `PersistenceEngineBenchmark`: 1,000 Workers, 2,000 drivers and 2,000 applications
//! are added one by one, read, and removed one by one. Here a driver has no record of its own, so 4,000 applications
//! are added. Each is a write with a sync; Spark's engines do not sync. So it also runs in `/dev/shm`, where a sync
//! costs nothing. `benches/persistence/run` runs Spark's own beside it.
//!
//! `-- --test` runs each once and measures nothing.

use std::path::Path;
use std::time::Instant;

use bytes::BytesMut;
use firesteel_daemons::master_journal::{self, Recorded};
use firesteel_host::journal::{Batch, Directory};
use firesteel_master::{Config, Durability, Effect, Event, Inbound, Master, Record};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::{ExecutorKey, PeerId};
use firesteel_protocol::messages::{DriverToMaster, ExecutorReport, ExecutorState, WorkerToMaster};
use firesteel_testkit::arguments::{Arguments, Known};
use firesteel_testkit::master_events::{NOW, launches, registered, registration, worker_registers};

const WORKERS: u64 = 1_000;
/// Spark's drivers and applications.
const APPLICATIONS: u64 = 4_000;
const DRIVERS: u64 = 1_000_000;

fn main() {
    let rounds = if Arguments::of(Known::default()).test() { 1 } else { 9 };
    recovery(rounds);
    let workload = Workload::new();
    for (name, directory) in [("a disk", std::env::temp_dir()), ("/dev/shm", "/dev/shm".into())] {
        if directory.is_dir() {
            workload.run(name, &directory, rounds.min(5));
        } else {
            println!("in {name}: skipped, there is no {}", directory.display());
        }
    }
}

fn config() -> Config {
    Config { durability: Durability::Durable, ..Config::default() }
}

/// A Master, with the records that it has written.
struct Writing {
    master: Master,
    batches: Vec<Vec<Record>>,
}

impl Writing {
    fn new() -> Self {
        let master = Master::recover(config(), NOW, []).expect("no record contradicts another one");
        Self { batches: vec![master.image()], master }
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.master.apply(NOW, event);
        let records = effects.iter().filter_map(|effect| match effect {
            Effect::Persist(records) => Some(records.clone()),
            _ => None,
        });
        self.batches.extend(records);
        effects
    }

    fn report(&mut self, peer: PeerId, executor: ExecutorKey, state: ExecutorState) -> Vec<Effect> {
        let message = WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state));
        self.apply(Event::Received { peer, arrived: NOW, message: Inbound::Worker(message) })
    }
}

/// Measures recovery. The records: 1,000 Workers, and 1,000 applications of 16 executors. Each executor is replaced
/// once.
fn recovery(rounds: usize) {
    let mut writing = Writing::new();
    for n in 0..WORKERS {
        writing.apply(worker_registers(n));
    }
    for n in 0..WORKERS {
        let launched = launches(&writing.apply(registration(PeerId(DRIVERS + n), 16, 1)));
        assert_eq!(launched.len(), 16, "there is room");
        for (peer, executor) in launched {
            writing.report(peer, executor.clone(), ExecutorState::Running);
            let replaced = launches(&writing.report(peer, executor, ExecutorState::Killed(None)));
            assert_eq!(replaced.len(), 1);
            for (peer, executor) in replaced {
                writing.report(peer, executor, ExecutorState::Running);
            }
        }
    }
    let batches: Vec<BytesMut> =
        writing.batches.iter().map(|records| master_journal::encoded(records)).collect();
    let records: usize = writing.batches.iter().map(Vec::len).sum();
    let bytes: usize = batches.iter().map(BytesMut::len).sum();
    let decode = || -> Vec<Vec<Record>> {
        batches.iter().map(|batch| Record::read_all(batch).expect("they are whole")).collect()
    };
    let mut times = Vec::new();
    for _ in 0..rounds {
        let (decoded, plain) = timed(decode);
        assert_eq!(decoded.iter().map(Vec::len).sum::<usize>(), records);
        let (master, replayed) = timed(|| {
            let records = decode().into_iter().flatten();
            Master::recover(config(), NOW, records).expect("they agree with each other")
        });
        assert_eq!(master.image(), writing.master.image());
        times.push((plain, replayed));
    }
    let plain = median(times.iter().map(|(plain, _)| *plain));
    let replayed = median(times.iter().map(|(_, replayed)| *replayed));
    println!("recovery of {records} records in {} batches, {bytes} bytes", batches.len());
    println!("  decoding alone          {:>8.1} ms", plain * 1e3);
    println!(
        "  decoding and replaying  {:>8.1} ms  {:.2} of decoding (required 5)  {:.1} million records a second",
        replayed * 1e3,
        replayed / plain,
        records as f64 / replayed / 1e6
    );
}

/// The records of Spark's workload.
struct Workload {
    added: Vec<Vec<Record>>,
    removed: Vec<Vec<Record>>,
}

impl Workload {
    fn new() -> Self {
        // Two Masters, so that no executor is launched.
        let (mut workers, mut applications) = (Writing::new(), Writing::new());
        let mut apps = Vec::new();
        (0..WORKERS).for_each(|n| drop(workers.apply(worker_registers(n))));
        for n in 0..APPLICATIONS {
            apps.push(registered(&applications.apply(registration(PeerId(DRIVERS + n), 16, 1))));
        }
        let of = |writing: &mut Writing| writing.batches.drain(..).skip(1).collect::<Vec<_>>();
        let added = [of(&mut workers), of(&mut applications)].concat();
        assert_eq!(added.len() as u64, WORKERS + APPLICATIONS);
        for (n, app) in (0..).zip(apps) {
            let message = Inbound::Driver(DriverToMaster::UnregisterApplication { app, outcome: None });
            applications.apply(Event::Received { peer: PeerId(DRIVERS + n), arrived: NOW, message });
        }
        (0..WORKERS).for_each(|n| drop(workers.apply(Event::Disconnected { peer: PeerId(n) })));
        let removed = [workers.batches, applications.batches].concat();
        assert_eq!(removed.len() as u64, WORKERS + APPLICATIONS);
        Self { added, removed }
    }

    fn run(&self, name: &str, directory: &Path, rounds: usize) {
        for together in [1, 100] {
            let mut times = Vec::new();
            for _ in 0..rounds {
                let scratch = tempfile::tempdir_in(directory).expect("there is room");
                let (_, mut writer) = master_journal::open(scratch.path(), config(), NOW).expect("it is new");
                let mut commit = |records: &[Vec<Record>]| {
                    for records in records.chunks(together) {
                        let mut batch = Batch::default();
                        records.iter().for_each(|records| Record::append_all(records, batch.end()));
                        writer.commit(batch).expect("there is room");
                    }
                };
                let ((), adding) = timed(|| commit(&self.added));
                let (read, reading) = timed(|| {
                    Recorded::read(&Directory::read_only(scratch.path()))
                        .expect("it is whole")
                        .expect("it is there")
                });
                assert_eq!(read.batches.len(), self.added.len().div_ceil(together) + 1);
                let ((), removing) = timed(|| commit(&self.removed));
                times.push([adding, reading, removing, adding + reading + removing]);
            }
            let [adding, reading, removing, all] =
                [0, 1, 2, 3].map(|part| median(times.iter().map(|times| times[part])) * 1e3);
            println!(
                "in {name}, writes of {together}: {all:.1} ms (adding {adding:.1}, reading {reading:.1}, removing \
                 {removing:.1})"
            );
        }
    }
}

/// A result, and the seconds that it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
