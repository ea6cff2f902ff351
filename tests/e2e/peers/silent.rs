//! Paused executors and drivers: a silent peer is replaced, and every output is printed once.

use std::path::Path;

use firesteel_testkit::processes::is_alive;
use firesteel_testkit::{Daemon, firesteel};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::daemons::worker::{Pair, signal, wait_for_ends, wait_for_text};

/// The first task to run prints the process id of its executor, waits until it may continue, and writes output that
/// must not count. All other tasks end at once.
const FIRST_WAITS: &str = "echo $0; mkdir first 2> /dev/null || exit 0; \
    echo $PPID > executor.new; mv executor.new executor; \
    until test -e go-on; do sleep 0.05; done; echo again";

/// A map run over three items with two executors of one core.
struct Run {
    map: Daemon,
    directory: TempDir,
}

impl Run {
    fn start(pair: &Pair, confs: &[&str], script: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut command = firesteel();
        command.args(["map", "--master", pair.master.url(), "--executor-cores", "1"]);
        command.args(["--total-executor-cores", "2", "--conf", "spark.executor.heartbeatInterval=200ms"]);
        command.args(confs.iter().flat_map(|conf| ["--conf", *conf]));
        command.args(["--", "sh", "-c", script, ":::", "a", "b", "c"]).current_dir(directory.path());
        Self { map: Daemon::spawn(&mut command), directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The process of the first task's executor.
    fn executor(&self) -> u32 {
        wait_for_text(&self.path().join("executor")).trim().parse().expect("a process id")
    }

    fn go_on(&self) {
        std::fs::write(self.path().join("go-on"), "").expect("there is room");
    }

    /// Waits for the end: exit code 0, and the output of each item once.
    fn succeeds(mut self) {
        assert_eq!(self.map.wait(), 0, "{}", self.map.log());
        let output = self.map.output();
        let mut lines: Vec<&str> = output.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["a", "b", "c"], "{}", self.map.log());
    }
}

/// Waits until another run of the cluster gives up an executor that stands still, which takes it 3 s. So more than 2 s
/// have passed.
fn another_run_loses_its_executor(pair: &Pair) {
    let other = Run::start(pair, &["spark.network.timeout=3s"], FIRST_WAITS);
    let executor = other.executor();
    signal(executor, Signal::SIGSTOP);
    other.map.wait_for_line(&["is lost with 1 task: no heartbeat for 3 s"]);
    other.succeeds();
    wait_for_ends(&[executor]);
}

#[test]
fn the_tasks_of_an_executor_that_stands_still_run_elsewhere_and_their_output_comes_once() {
    let pair = Pair::new(&["--conf", "firesteel.worker.killGrace=1s"]);
    let run = Run::start(&pair, &["spark.network.timeout=2s"], FIRST_WAITS);
    let executor = run.executor();
    signal(executor, Signal::SIGSTOP);
    let line = run.map.wait_for_line(&["is lost with 1 task: no heartbeat for 2 s"]);
    assert!(line.contains("executor"), "{line}");
    run.succeeds();
    wait_for_ends(&[executor]);
}

#[test]
fn an_executor_that_goes_on_after_it_was_replaced_is_not_listened_to() {
    // The Worker leaves the executor time to continue.
    let pair = Pair::new(&["--conf", "firesteel.worker.killGrace=1h"]);
    let slow = format!("{FIRST_WAITS}; sleep 0.1");
    let run = Run::start(&pair, &["spark.network.timeout=2s"], &slow);
    let executor = run.executor();
    signal(executor, Signal::SIGSTOP);
    run.map.wait_for_line(&["is lost with 1 task: no heartbeat for 2 s"]);
    run.go_on();
    signal(executor, Signal::SIGCONT);
    run.succeeds();
    wait_for_ends(&[executor]);
}

#[test]
fn a_driver_that_stood_still_for_longer_than_the_timeout_keeps_its_executors() {
    let pair = Pair::new(&["--conf", "firesteel.worker.killGrace=1s"]);
    let run = Run::start(&pair, &["spark.network.timeout=2s"], &FIRST_WAITS.replace("; echo again", ""));
    let executor = run.executor();
    run.map.signal(Signal::SIGSTOP);
    another_run_loses_its_executor(&pair);
    run.map.signal(Signal::SIGCONT);
    another_run_loses_its_executor(&pair);
    assert!(is_alive(executor) && !run.map.log().contains("is lost"), "{}", run.map.log());
    run.go_on();
    run.succeeds();
}

#[test]
fn an_executor_whose_driver_is_silent_ends_and_another_one_does_its_work() {
    let pair = Pair::new(&[]);
    for away in ["firesteel.executor.awayTimeout=0", "firesteel.executor.awayTimeout=1s"] {
        let run = Run::start(&pair, &["spark.executor.heartbeat.maxFailures=10", away], FIRST_WAITS);
        let executor = run.executor();
        run.map.signal(Signal::SIGSTOP);
        wait_for_ends(&[executor]);
        run.map.signal(Signal::SIGCONT);
        run.succeeds();
    }
}
