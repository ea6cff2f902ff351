//! Rounds of faults in a cluster with two Masters and three servers of ZooKeeper, under load.
//!
//! In each round a process is killed or stopped in the middle of a `map`. The map's output must be exact. Servers of
//! `launch` continue unless they or their Worker were hit. Nothing is left over, and the next placement comes soon.
//!
//! By default each kind of fault occurs once. With `FIRESTEEL_ROUNDS=200` there are 200 faults, in a random order from
//! `FIRESTEEL_SEED`.

use std::collections::BTreeMap;
use std::env;
use std::time::{Duration, Instant};

use firesteel_testkit::zookeeper::ZOOKEEPER;
use firesteel_testkit::{Daemon, firesteel, processes, run, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::exact_map::ExactMap;
use crate::shared::SharedCluster;

pub(crate) fn trials() -> Vec<Trial> {
    ZOOKEEPER.trials(&[("rounds_of_blows_leave_every_result_exact_and_nothing_behind", rounds)])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Blow {
    LeaderKilled,
    StandbyKilled,
    /// The leader is stopped until another Master leads, and then continued.
    LeaderStopped,
    BothMastersKilled,
    ServerLeaderKilled,
    ServerFollowerKilled,
    ExecutorKilled,
    WorkerKilled,
    DriverKilled,
}

const BLOWS: [Blow; 9] = [
    Blow::LeaderKilled,
    Blow::StandbyKilled,
    Blow::LeaderStopped,
    Blow::BothMastersKilled,
    Blow::ServerLeaderKilled,
    Blow::ServerFollowerKilled,
    Blow::ExecutorKilled,
    Blow::WorkerKilled,
    Blow::DriverKilled,
];

fn plan() -> Vec<Blow> {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect("it is a number"));
    let Some(rounds) = number("FIRESTEEL_ROUNDS") else { return BLOWS.to_vec() };
    let mut state = number("FIRESTEEL_SEED").unwrap_or(1);
    let draw = |_| {
        // Knuth's generator; only the upper bits are used.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        BLOWS[(state >> 33) as usize % BLOWS.len()]
    };
    (0..rounds).map(draw).collect()
}

fn rounds() {
    let mut field = Field::start();
    let mut times: BTreeMap<Blow, Vec<Duration>> = BTreeMap::new();
    for (number, blow) in plan().into_iter().enumerate() {
        let placed = field.round(number, blow);
        eprintln!("round {number}: next placement after {:.1} s", placed.as_secs_f64());
        times.entry(blow).or_default().push(placed);
    }
    println!("| blow | rounds | next placement after, median | longest |");
    println!("|---|---|---|---|");
    for (blow, mut times) in times {
        times.sort_unstable();
        let [median, longest] =
            [times[times.len() / 2], times[times.len() - 1]].map(|time| time.as_secs_f64());
        println!("| {blow:?} | {} | {median:.1} s | {longest:.1} s |", times.len());
    }
}

struct Field {
    cluster: SharedCluster,
    /// Two servers that must keep running.
    launch: Daemon,
}

const ITEMS: usize = 60;

impl Field {
    fn start() -> Self {
        let mut cluster = SharedCluster::start(3);
        cluster.add_second_worker();
        let launch = cluster.servers();
        Self { cluster, launch }
    }

    /// Lets the fault strike in the middle of a map. Returns how much later a new executor was placed.
    fn round(&mut self, number: usize, blow: Blow) -> Duration {
        eprintln!("round {number}: {blow:?}");
        let mut map = ExactMap::start(&self.cluster, &format!("map-{number}"), ITEMS, "sleep 0.1");
        map.wait_for_items(5);
        let ends = self.ends();

        let struck = Instant::now();
        self.strike(blow, &mut map.driver);
        let mut next = firesteel();
        next.args(["map", "--quiet", "--master", &self.cluster.url(), "--executor-cores", "1"]);
        next.args(["--total-executor-cores", "1", "--", "echo", "{}", ":::", "next"]);
        let next = run(&mut next);
        assert_eq!((next.code(), next.stdout.as_str()), (0, "next\n"), "{blow:?}: {next}");
        let placed = struck.elapsed();

        if blow != Blow::DriverKilled {
            map.assert_exact();
        }
        if matches!(blow, Blow::ExecutorKilled | Blow::WorkerKilled) {
            wait_for("both servers", || (self.running() == 2).then_some(()));
        } else {
            assert_eq!(self.ends(), ends, "{blow:?}: a server ended: {}", self.launch.output_so_far());
        }
        self.repair();
        placed
    }

    fn ends(&self) -> usize {
        self.launch.output_so_far().matches("executor_ended").count()
    }

    fn running(&self) -> usize {
        self.launch.output_so_far().matches("executor_running").count() - self.ends()
    }

    fn strike(&mut self, blow: Blow, map: &mut Daemon) {
        let leader = self.cluster.leader();
        let server = self.cluster.ensemble.leader().expect("the ensemble has a leader");
        match blow {
            Blow::LeaderKilled => self.cluster.kill_master(leader),
            Blow::StandbyKilled => self.cluster.kill_master(1 - leader),
            Blow::LeaderStopped => {
                self.cluster.masters[leader].signal(Signal::SIGSTOP);
                self.cluster.wait_for_another_leader(leader);
                self.cluster.masters[leader].signal(Signal::SIGCONT);
            }
            Blow::BothMastersKilled => {
                self.cluster.kill_master(leader);
                self.cluster.kill_master(1 - leader);
                self.cluster.restart_master(1 - leader);
            }
            Blow::ServerLeaderKilled => self.cluster.ensemble.kill(server),
            Blow::ServerFollowerKilled => self.cluster.ensemble.kill((server + 1) % 3),
            Blow::ExecutorKilled => {
                let executor = self.cluster.own_executors()[0];
                processes::signal(executor, Signal::SIGKILL).expect("it runs");
            }
            Blow::WorkerKilled => self.cluster.kill_second_worker(),
            Blow::DriverKilled => {
                map.signal(Signal::SIGKILL);
                map.wait();
            }
        }
    }

    /// Restarts killed processes, and checks that nothing is left over.
    fn repair(&mut self) {
        self.cluster.restart_dead();
        self.cluster.wait_for_servers_alone();
    }
}
