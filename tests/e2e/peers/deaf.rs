//! A Worker's heartbeats reach its Master, but nothing reaches the Worker: its executors run elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use firesteel_testkit::proxy::{self, Direction};
use firesteel_testkit::{Daemon, firesteel, run, wait_for};

#[test]
fn an_order_that_does_not_reach_its_worker_is_given_to_another_one() {
    let (work, other_work) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    // Workers send four heartbeats in this time.
    let master = Daemon::master(&["--conf", "spark.worker.timeout=2s"]);
    let (stalled, target) = (Arc::new(AtomicBool::new(false)), master.address());
    let is_stalled = Arc::clone(&stalled);
    let wire = proxy::start(
        "127.0.0.1",
        move |_| target,
        move |direction| {
            let is_stalled = Arc::clone(&is_stalled);
            move |_: &mut [u8]| {
                while direction == Direction::Back && is_stalled.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(10));
                }
                true
            }
        },
    );
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--cores", "2", "--memory", "1g", "--work-dir"]).arg(work.path());
    let deaf = Daemon::start(command.arg(format!("spark://{wire}")));
    master.wait_for_workers(1);
    stalled.store(true, Ordering::Relaxed);

    let mut command = firesteel();
    command.args([
        "map",
        "--master",
        master.url(),
        "--total-executor-cores",
        "2",
        "--executor-memory",
        "256m",
    ]);
    let mut map = Daemon::spawn(command.args(["--", "echo", ":::", "a"]));
    master.wait_for_line(&["did not answer the request to launch", "asked again"]);
    master.wait_for_line(&["is given nothing new for now: it does not answer"]);
    let status = run(firesteel().args(["status", "--master", master.url()]));
    assert!(status.stdout.contains("ALIVE, does not answer"), "{status}");
    let explain = run(firesteel().args(["explain", "echo", "--master", master.url()]));
    assert!(explain.stdout.contains("does not answer: it is given nothing new for now"), "{explain}");

    let _other = Daemon::worker(&master, other_work.path(), &["--cores", "2", "--memory", "1g"]);
    assert_eq!(map.wait(), 0, "{}\n{}", map.log(), master.log());
    assert_eq!(map.output(), "a\n");

    stalled.store(false, Ordering::Relaxed);
    master.wait_for_line(&["is given executors again"]);
    let impaired = || {
        master.status()["workers"]
            .as_array()
            .map(|rows| rows.iter().filter(|row| !row["impairment"].is_null()).count())
    };
    wait_for("nothing to be wrong", || (impaired() == Some(0)).then_some(()));
    // The order arrives late, and the Worker is told to end the executor.
    wait_for("the late order to be taken back", || deaf.log().contains("KILLED").then_some(()));
}
