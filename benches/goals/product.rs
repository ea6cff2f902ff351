//! The rows about the whole Master.

use std::collections::VecDeque;
use std::time::Instant;

use firesteel_master::{Config, Effect, Event, Inbound, Master};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{DriverToMaster, ExecutorReport, ExecutorState, WorkerToMaster};
use firesteel_testkit::master_events::{NOW, launches, registered, registration, worker_registers};

use super::table::{Scale, Sheet};

const DRIVERS: u64 = 1 << 32;

pub fn rows(scale: Scale, sheet: &mut Sheet) {
    over_sizes(scale, sheet);
    backlog(scale, sheet);
}

/// A Master with running executors.
struct Cluster {
    master: Master,
    live: VecDeque<(PeerId, ExecutorKey)>,
    drivers: u64,
}

impl Cluster {
    /// Workers of 16 cores. A permanent application uses 8 cores of each.
    fn new(workers: u64) -> Self {
        let mut cluster =
            Self { master: Master::new(Config::default()), live: VecDeque::new(), drivers: DRIVERS };
        for n in 0..workers {
            cluster.master.apply(NOW, worker_registers(n));
        }
        let filler = i64::try_from(workers).expect("it is small") * 8;
        let (_, effects) = cluster.register(filler, 8);
        assert_eq!(launches(&effects).len() as u64, workers);
        cluster
    }

    fn register(&mut self, max_cores: i64, cores: i64) -> (PeerId, Vec<Effect>) {
        self.drivers += 1;
        let peer = PeerId(self.drivers);
        let event = registration(peer, max_cores, cores);
        (peer, self.master.apply(NOW, event))
    }

    fn end(&mut self, peer: PeerId, app: AppId) {
        let message = Inbound::Driver(DriverToMaster::UnregisterApplication { app, outcome: None });
        self.master.apply(NOW, Event::Received { peer, arrived: NOW, message });
    }

    /// The Master's time for the registration of an application of 16 executors, in nanoseconds. The application ends
    /// afterwards.
    fn registers(&mut self) -> f64 {
        self.drivers += 1;
        let peer = PeerId(self.drivers);
        let event = registration(peer, 16, 1);
        let start = Instant::now();
        let effects = self.master.apply(NOW, event);
        let time = start.elapsed();
        assert_eq!(launches(&effects).len(), 16);
        self.end(peer, registered(&effects));
        time.as_nanos() as f64
    }

    /// The Master's time for the end and replacement of an executor, in nanoseconds.
    fn state_changes(&mut self) -> f64 {
        let (peer, executor) = self.live.pop_front().expect("some run");
        let state = ExecutorState::Killed(None);
        let message = WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state));
        let event = Event::Received { peer, arrived: NOW, message: Inbound::Worker(message) };
        let start = Instant::now();
        let effects = self.master.apply(NOW, event);
        let time = start.elapsed();
        let replaced = launches(&effects);
        assert_eq!(replaced.len(), 1);
        self.live.extend(replaced);
        time.as_nanos() as f64
    }
}

/// Compares an event at 100,000 Workers with one at 1,000.
fn over_sizes(scale: Scale, sheet: &mut Sheet) {
    let mut clusters = [scale.of(1_000), scale.of(100_000)].map(|workers| Cluster::new(workers as u64));
    for cluster in &mut clusters {
        let (_, effects) = cluster.register(64, 1);
        cluster.live.extend(launches(&effects));
    }
    let (mut registers, mut state_changes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..scale.rounds(3_000) {
        for (n, cluster) in clusters.iter_mut().enumerate() {
            registers[n].push(cluster.registers());
            state_changes[n].push(cluster.state_changes());
        }
    }
    for (goal, what, times) in [
        ("registers", "Master: an application of 16 executors registers", registers),
        ("state changes", "Master: an executor ends and is replaced", state_changes),
    ] {
        let [small, large] = times.map(super::core::median);
        sheet.put(goal, large / small);
        sheet.say(&format!("{what}, 1,000 Workers"), small, "ns");
        sheet.say(&format!("{what}, 100,000 Workers"), large, "ns");
    }
}

/// Compares the release and reuse of one slot on a full cluster: 10,000 waiting applications against 10.
fn backlog(scale: Scale, sheet: &mut Sheet) {
    const WORKERS: u64 = 100;
    let mut clusters = [10, scale.of(10_000)].map(|waiting| {
        let mut cluster = Cluster::new(WORKERS);
        // The other half is used by executors of 4 cores that come and go.
        let (_, effects) = cluster.register(WORKERS as i64 * 8, 4);
        cluster.live.extend(launches(&effects));
        for n in 0..waiting {
            let (_, effects) = cluster.register(1_000, [4, 5, 6, 8, 16][n % 5]);
            assert_eq!(launches(&effects).len(), 0, "the cluster is full");
        }
        cluster
    });
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..scale.rounds(3_000) {
        for (n, cluster) in clusters.iter_mut().enumerate() {
            times[n].push(cluster.state_changes());
        }
    }
    let [few, many] = times.map(super::core::median);
    sheet.put("backlog", many / few);
    sheet.say("one slot freed and taken, 10 applications wait", few, "ns");
    sheet.say("one slot freed and taken, 10,000 applications wait", many, "ns");
}
