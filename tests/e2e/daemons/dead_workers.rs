//! A Worker and its reapers are killed together: who ends the remaining processes, and removes the files?

use firesteel_daemons::worker::cleanup::processes::Marker;
use firesteel_protocol::messages::DriverToMaster;
use firesteel_testkit::processes::is_alive;
use firesteel_testkit::{Daemon, firesteel, run};
use nix::sys::signal::{Signal, kill};

use super::worker::{Pair, SPREAD, signal, up, wait_for_ends, wait_for_text};
use crate::executors::driver::Driver;

/// The processes that a Worker has left. They are killed when this is dropped, if the test failed.
struct Left {
    pids: Vec<u32>,
    marker: Marker,
}

impl Left {
    /// Runs executors on the Worker of this pair and kills it with its reapers.
    fn by(pair: &mut Pair, driver: &Driver, executors: u32) -> Self {
        let left = Self { pids: up(pair, driver, executors), marker: Marker::of_worker(&pair.view().id) };
        // The Worker would end what a reaper leaves, so it is stopped while the reapers die.
        pair.worker.signal(Signal::SIGSTOP);
        pair.reapers().into_iter().for_each(|reaper| signal(reaper, Signal::SIGKILL));
        pair.worker.signal(Signal::SIGKILL);
        assert_eq!(pair.worker.wait(), 137);
        assert!(left.pids.iter().all(|&pid| is_alive(pid)), "nobody ends them yet");
        left
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        for pid in self.marker.matching() {
            // It may have ended already.
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

fn another_worker(pair: &Pair) -> Daemon {
    let arguments = ["--cores", "4", "--memory", "4g", "--conf", "firesteel.worker.killGrace=100ms"];
    Daemon::worker(&pair.master, pair.work.path(), &arguments)
}

#[test]
fn what_a_worker_left_that_was_killed_with_its_reapers_the_next_one_there_ends() {
    let mut pair = Pair::new(&[]);
    let driver = pair.register(SPREAD, 2);
    let left = Left::by(&mut pair, &driver, 2);
    let next = another_worker(&pair);
    // It does so before it offers its cores.
    assert!(left.pids.iter().all(|&pid| !is_alive(pid)), "{}", next.log());
    next.wait_for_line(&["was killed together with its reapers: killing"]);
    assert_eq!(left.marker.matching(), []);
}

#[test]
fn a_living_worker_that_shares_the_directory_keeps_its_processes() {
    let pair = Pair::new(&[]);
    let driver = pair.register(SPREAD, 2);
    let pids = up(&pair, &driver, 2);
    // Also a stopped process.
    pair.worker.signal(Signal::SIGSTOP);
    let next = another_worker(&pair);
    pair.worker.signal(Signal::SIGCONT);
    pair.master.wait_for_workers(2);
    assert!(pids.iter().all(|&pid| is_alive(pid)), "{}", next.log());
    assert_eq!(next.terminate(), 0);
    assert!(pids.iter().all(|&pid| is_alive(pid)), "{}", pair.worker.log());
}

#[test]
fn what_a_dead_worker_left_ends_with_its_application() {
    let mut pair = Pair::new(&[]);
    let mut driver = pair.register(SPREAD, 1);
    let pids = up(&pair, &driver, 1);
    let other = another_worker(&pair);
    pair.master.wait_for_workers(2);
    let left = Left::by(&mut pair, &driver, 1);
    assert_eq!(left.pids, pids);
    // Its replacement runs on the other Worker, which therefore learns of the end.
    wait_for_text(&pair.file(&driver, 1, "up"));
    assert!(pids.iter().all(|&pid| is_alive(pid)), "{}", other.log());
    driver.send(&DriverToMaster::UnregisterApplication { app: driver.app.clone(), outcome: None });
    wait_for_ends(&pids);
    other.wait_for_line(&["was killed together with its reapers: killing"]);
}

#[test]
fn a_worker_that_hangs_is_late_before_it_is_dead() {
    let master = Daemon::master(&["--conf", "spark.worker.timeout=8s"]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let worker = Daemon::worker(&master, work.path(), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    worker.signal(Signal::SIGSTOP);
    master.wait_for_line(&["no heartbeat of", "it is lost if it stays silent for spark.worker.timeout"]);
    let shown = run(firesteel().args(["status", "--master", master.url()]));
    assert!(shown.stdout.contains("ALIVE, late"), "{shown}");
    assert_eq!(master.status()["workers"][0]["remark"], "LATE");
    master.wait_for_line(&["removed worker-", "no heartbeat from the Worker for 8 s"]);
    let lost = &master.status()["workers"][0];
    let why = "no heartbeat from the Worker for 8 s";
    assert_eq!((&lost["state"], &lost["gone_why"]), (&"DEAD".into(), &why.into()));
    let id = lost["id"].as_str().expect("it has one");
    let page = master.get(&format!("/worker/?workerId={id}")).1;
    assert!(page.contains("The Worker is lost, since ") && page.contains(why), "{page}");
    worker.signal(Signal::SIGCONT);
    master.wait_for_workers(1);
}
