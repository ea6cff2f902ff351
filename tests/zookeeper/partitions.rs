//! Clusters whose network is cut while they work.
//!
//! Each server of ZooKeeper, each Master and each Worker has its own host. Drivers run at the switch, which every host
//! reaches.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use firesteel_testkit::proxy::Direction;
use firesteel_testkit::zookeeper::{self, Ensemble, TICK, ZOOKEEPER};
use firesteel_testkit::{Daemon, processes, wait_for};
use libtest_mimic::Trial;

use crate::exact_map::ExactMap;
use crate::network::{
    self, MASTERS, NETNS, SWITCH, WORKERS, ZOOKEEPERS, block, join, plug, split, unblock, unplug,
};
use crate::shared::{Plan, SESSION, SharedCluster, assert_undisturbed, time_of};

const TRIALS: [(&str, fn()); 5] = [
    ("links_that_stall_for_17_s_cost_no_executor_and_no_task", stalls),
    ("a_leader_that_is_cut_off_from_everything_is_followed_and_nothing_is_done_twice", from_everything),
    ("a_leader_that_is_cut_off_from_zookeeper_in_any_direction_is_left_by_everybody", from_zookeeper),
    ("a_leader_that_is_cut_off_with_a_minority_of_zookeeper_is_followed", with_minority),
    ("a_worker_that_is_cut_off_from_the_leader_alone_is_replaced_and_comes_back", worker),
];

pub(crate) fn trials() -> Vec<Trial> {
    let (component, found) = match network::look() {
        Ok(()) => (ZOOKEEPER, zookeeper::look()),
        missing => (NETNS, missing),
    };
    TRIALS.map(|(name, _)| component.trial(name, move || network::run_trial(name), &found)).into()
}

/// Runs the trial with this name in this process, which is inside the network.
pub(crate) fn run(name: &str) {
    let (_, trial) = TRIALS.iter().find(|(other, _)| *other == name).expect("a trial has this name");
    trial();
}

/// Prints when something happened, relative to the cut of the network.
struct Stopwatch {
    cut: &'static str,
    started: Instant,
}

impl Stopwatch {
    fn start(cut: &'static str) -> Self {
        Self { cut, started: Instant::now() }
    }

    fn note(&self, what: &str) {
        eprintln!("{}: {what} after {:.1} s", self.cut, self.started.elapsed().as_secs_f64());
    }
}

const PLAN: Plan = Plan { masters: MASTERS, workers: WORKERS, ..Plan::HERE };

/// An ensemble of one server.
fn zookeeper() -> Ensemble {
    Ensemble::start_on(&ZOOKEEPERS[..1], TICK)
}

/// A cluster with two Workers, which run two servers of `launch`.
fn busy_cluster(ensemble: Ensemble) -> (SharedCluster, Daemon) {
    let mut cluster = SharedCluster::start_as(PLAN, ensemble);
    cluster.add_second_worker();
    let launch = cluster.servers();
    (cluster, launch)
}

/// A map of 20 items, four of which have begun. They end when the file is there.
fn held_map(cluster: &SharedCluster) -> (ExactMap, PathBuf) {
    let released = cluster.file("released");
    let work = format!("until [ -e {} ]; do sleep 0.1; done", released.display());
    let map = ExactMap::start(cluster, "map", 20, &work);
    map.wait_for_items(4);
    (map, released)
}

/// Waits until the leader's lease has ended, which had happened `before` times, and until the other Master leads in
/// this epoch. The end must come before the beginning.
fn assert_handover(
    stopwatch: &Stopwatch,
    (leader, before): (&Daemon, usize),
    (other, epoch): (&Daemon, usize),
) {
    let ended = time_of(leader, before, "leads no longer");
    stopwatch.note("the leader ended");
    // Its lease lasts two thirds of the session's timeout, and is not extended after the cut.
    assert!(stopwatch.started.elapsed() < SESSION * 3 / 2, "the leader held on");
    let begun = time_of(other, 0, &format!("leads in epoch {epoch};"));
    stopwatch.note("the next one began");
    assert!(ended <= begun, "{ended} {begun}");
}

fn from_everything() {
    let (cluster, launch) = busy_cluster(zookeeper());
    // Items that run during the cut end when another Master leads.
    let (mut map, released) = held_map(&cluster);
    let executors = cluster.own_executors();

    let stopwatch = Stopwatch::start("everything");
    unplug(MASTERS[0]);
    let [leader, other] = [&cluster.masters[0], &cluster.masters[1]];
    assert_handover(&stopwatch, (leader, 0), (other, 2));
    other.wait_for_line(&["all Workers and applications are back"]);
    stopwatch.note("all were back");
    assert_eq!(cluster.own_executors(), executors);
    cluster.assert_places();
    stopwatch.note("something new ran");

    plug(MASTERS[0]);
    leader.wait_for_line(&["standing by", other.url()]);
    stopwatch.note("the former leader stood by");
    assert_eq!(leader.status()["url"], other.url());
    assert_eq!(leader.log().matches("leads in epoch").count(), 1);
    fs::write(&released, "").expect("a file");
    map.assert_exact();
    assert_eq!(map.begun(), 20, "no item ran twice");
    cluster.wait_for_servers_alone();
    assert_undisturbed(&launch);
    stopwatch.note("done");
}

fn from_zookeeper() {
    use Direction::{Back, There};
    let (cluster, launch) = busy_cluster(zookeeper());
    let executors = cluster.own_executors();
    let cuts = [("both ways", &[There, Back][..]), ("to ZooKeeper", &[There]), ("from ZooKeeper", &[Back])];
    for (round, (name, directions)) in cuts.into_iter().enumerate() {
        // The Masters lead in turns: how often this one has led, and how often it stood by while the other led.
        let (led, stood_by) = (round / 2, round.div_ceil(2));
        let host = MASTERS[round % 2];
        let [leader, other] = [&cluster.masters[round % 2], &cluster.masters[1 - round % 2]];
        let ends = |direction: &Direction| match direction {
            There => (host, ZOOKEEPERS[0]),
            Back => (ZOOKEEPERS[0], host),
        };

        let stopwatch = Stopwatch::start(name);
        directions.iter().map(ends).for_each(|(from, to)| block(from, to));
        // The leader may decide about it, but cannot know whether that is recorded.
        let mut map = ExactMap::start(&cluster, &format!("map-{round}"), 8, "true");
        assert_handover(&stopwatch, (leader, led), (other, round + 2));
        for worker in &cluster.workers {
            time_of(worker, stood_by, &format!("registered with {}", other.url()));
        }
        stopwatch.note("all Workers were back");
        map.assert_exact();
        assert_eq!(map.begun(), 8, "no item ran twice");
        stopwatch.note("the map was done");

        directions.iter().map(ends).for_each(|(from, to)| unblock(from, to));
        time_of(leader, stood_by, "standing by: spark");
        stopwatch.note("the former leader stood by");
        assert_eq!(leader.status()["url"], other.url());
        assert_eq!(leader.log().matches("leads in epoch").count(), led + 1);
        cluster.wait_for_servers_alone();
        assert_eq!(cluster.own_executors(), executors);
        assert_undisturbed(&launch);
    }
}

/// ZooKeeper's own leader is on the side of the leading Master. It answers reads there until it notices, after 3 s,
/// that it leads no majority.
fn with_minority() {
    let ensemble = Ensemble::start_on(&ZOOKEEPERS, TICK);
    let leading = wait_for("a server that leads", || ensemble.leader());
    // The first Master has its session at this server.
    let others = || ZOOKEEPERS.into_iter().filter(|server| *server != ZOOKEEPERS[leading]);
    others().for_each(|server| block(MASTERS[0], server));
    let (cluster, launch) = busy_cluster(ensemble);
    others().for_each(|server| unblock(MASTERS[0], server));
    let executors = cluster.own_executors();
    let side = [MASTERS[0], ZOOKEEPERS[leading]];

    let stopwatch = Stopwatch::start("with a minority");
    split(&side);
    let [leader, other] = [&cluster.masters[0], &cluster.masters[1]];
    assert_handover(&stopwatch, (leader, 0), (other, 2));
    other.wait_for_line(&["all Workers and applications are back"]);
    stopwatch.note("all were back");
    cluster.assert_places();
    stopwatch.note("something new ran");

    join(&side);
    leader.wait_for_line(&["standing by", other.url()]);
    stopwatch.note("the former leader stood by");
    assert_eq!(leader.log().matches("leads in epoch").count(), 1);
    cluster.wait_for_servers_alone();
    assert_eq!(cluster.own_executors(), executors);
    assert_undisturbed(&launch);
}

/// The links of a Worker and of the drivers to the leader stall, and those of the other Worker's executors to the
/// drivers.
fn stalls() {
    let (cluster, launch) = busy_cluster(zookeeper());
    let (mut map, released) = held_map(&cluster);
    let executors = cluster.own_executors();

    let stopwatch = Stopwatch::start("stalls");
    let [leader, other] = [&cluster.masters[0], &cluster.masters[1]];
    let links =
        [(MASTERS[0], WORKERS[0]), (WORKERS[0], MASTERS[0]), (SWITCH, MASTERS[0]), (SWITCH, WORKERS[1])];
    links.into_iter().for_each(|(from, to)| block(from, to));
    thread::sleep(Duration::from_secs(17));
    links.into_iter().for_each(|(from, to)| unblock(from, to));
    fs::write(&released, "").expect("a file");
    map.assert_exact();
    stopwatch.note("the map was done");
    assert_eq!(map.begun(), 20, "no item ran twice");
    cluster.wait_for_servers_alone();
    stopwatch.note("all were back");
    assert!(executors.iter().filter(|executor| processes::is_alive(**executor)).count() == 2);
    assert_undisturbed(&launch);
    assert!(!leader.log().contains("no heartbeat from the Worker"), "{}", leader.log());
    assert!(!other.log().contains("leads in epoch"));
}

fn worker() {
    let plan = Plan { properties: &["spark.worker.timeout=6s"], ..PLAN };
    let mut cluster = SharedCluster::start_as(plan, zookeeper());
    // Both servers run on the first Worker.
    let launch = cluster.servers();
    let servers = cluster.own_executors();
    cluster.add_second_worker();
    let mut map = ExactMap::start(&cluster, "map", 60, "sleep 0.5");
    map.wait_for_items(4);

    let [leader, other] = [&cluster.masters[0], &cluster.masters[1]];
    let worker = &cluster.workers[0];
    let stopwatch = Stopwatch::start("a Worker");
    block(MASTERS[0], WORKERS[0]);
    block(WORKERS[0], MASTERS[0]);
    leader.wait_for_line(&["no heartbeat from the Worker for 6 s"]);
    stopwatch.note("it was lost");
    let count = |event: &str| launch.output_so_far().matches(event).count();
    wait_for("both servers to run again", || (count("executor_running") == 4).then_some(()));
    stopwatch.note("its servers ran elsewhere");
    let answer = format!("{} stands by: {} leads", other.url(), leader.url());
    wait_for("the Worker to ask the other Master", || {
        worker.log().split_once("lost the connection to")?.1.contains(&answer).then_some(())
    });
    stopwatch.note("it asked another Master");
    // No Master can tell it to end its executors.
    assert!(servers.iter().all(|server| processes::is_alive(*server)));

    unblock(MASTERS[0], WORKERS[0]);
    unblock(WORKERS[0], MASTERS[0]);
    time_of(worker, 1, &format!("registered with {}", leader.url()));
    stopwatch.note("it was back");
    map.assert_exact();
    cluster.wait_for_servers_alone();
    assert_eq!([count("executor_launched"), count("executor_ended")], [4, 2]);
    assert!(!other.log().contains("leads in epoch"));
    stopwatch.note("done");
}
