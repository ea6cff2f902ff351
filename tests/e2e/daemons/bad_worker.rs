//! One Worker that cannot start executors, or where they fail: the applications run elsewhere, and status shows the
//! reason.

use std::fs;
use std::time::{Duration, Instant};

use firesteel_testkit::{Cluster, Daemon, firesteel, wait_for};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A Master with these properties, and Workers of four cores.
fn cluster(properties: &[&str], workers: usize) -> Cluster {
    Cluster::plan().properties(properties).worker(&["--cores", "4", "--memory", "8g"]).start(workers)
}

/// Replaces a Worker's work directory by a file, so that it cannot start anything.
fn break_worker(cluster: &Cluster, worker: usize) {
    let directory = cluster.work(worker);
    fs::remove_dir_all(&directory).expect("the Worker has made it");
    fs::write(directory, "").expect("there is room");
}

fn mend_worker(cluster: &Cluster, worker: usize) {
    fs::remove_file(cluster.work(worker)).expect("it is broken");
}

/// Starts an application whose items wait for a file called `go`.
fn start_map(cluster: &Cluster, items: usize, executors: &str) -> Daemon {
    let go = cluster.path("go");
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done; echo $1", go.display());
    let mut command = firesteel();
    command.args(["map", "--master", cluster.master.url(), "--name", "sound", "--num-executors", executors]);
    command.args([
        "--executor-cores",
        "1",
        "--executor-memory",
        "256m",
        "--",
        "sh",
        "-c",
        &script,
        "sh",
        ":::",
    ]);
    command.args((0..items).map(|item| item.to_string()));
    Daemon::spawn(&mut command)
}

fn go(cluster: &Cluster) {
    fs::write(cluster.path("go"), "").expect("a file");
}

/// The id of the Worker that status shows as excluded for an application.
fn excluded(cluster: &Cluster) -> Option<String> {
    let status = cluster.master.status();
    let workers = status["workers"].as_array()?;
    let worker = workers.iter().find(|worker| worker["excluded_for"] == 1)?;
    Some(worker["id"].as_str()?.to_owned())
}

/// The id of the Worker that status shows as unable to start executors.
fn impaired(cluster: &Cluster) -> Option<String> {
    let status = cluster.master.status();
    let workers = status["workers"].as_array()?;
    let worker = workers.iter().find(|worker| worker["impairment"].is_string())?;
    Some(worker["id"].as_str()?.to_owned())
}

/// The number of executors that run on a Worker.
fn running_on(cluster: &Cluster, worker: &str) -> usize {
    let status = cluster.master.status();
    let apps = status["applications"].as_array().cloned().unwrap_or_default();
    let executors = apps.iter().flat_map(|app| app["executors"].as_array().cloned().unwrap_or_default());
    executors.filter(|executor| executor["worker"] == worker && executor["state"] == "RUNNING").count()
}

fn printed_all(map: &Daemon, items: usize) {
    let expected: String = (0..items).map(|item| format!("{item}\n")).collect();
    assert_eq!(map.output(), expected, "{}", map.log());
}

#[test]
fn an_application_runs_to_its_end_although_one_worker_of_four_cannot_start_executors() {
    let cluster = cluster(&[], 4);
    break_worker(&cluster, 3);
    let mut map = start_map(&cluster, 40, "16");
    wait_for("the Worker to say so", || impaired(&cluster));
    assert!(cluster.said(&["status"]).contains("ALIVE, cannot start executors: "));
    let explained = cluster.said(&["explain", "sound"]);
    assert!(explained.contains("cannot start executors"), "{explained}");
    // Each fact has one word: an impaired Worker is not also called excluded.
    for words in [["explain", "sound", "--json"], ["status", "sound", "--json"]] {
        let json: Value = serde_json::from_str(&cluster.said(&words)).expect("JSON");
        let scheduling = &json["scheduling"];
        assert_eq!(scheduling["excluded"], serde_json::json!([]));
        assert!(scheduling["impaired"][0]["worker"].is_string(), "{scheduling}");
        let shortfall =
            scheduling["profiles"][0]["shortfall"].as_str().expect("it has less than it asks for");
        assert!(
            shortfall.contains("cannot start executors") && !shortfall.contains("excluded"),
            "{shortfall}"
        );
    }
    go(&cluster);
    assert_eq!(map.wait(), 0, "{}", map.log());
    printed_all(&map, 40);
    assert!(!map.log().contains("failed in a row"), "{}", map.log());
}

#[test]
fn a_worker_that_can_start_executors_again_is_used_again() {
    let cluster = cluster(&[], 2);
    break_worker(&cluster, 0);
    let mut map = start_map(&cluster, 8, "8");
    let worker = wait_for("the Worker to say so", || impaired(&cluster));
    mend_worker(&cluster, 0);
    wait_for("executors on the Worker", || (running_on(&cluster, &worker) == 4).then_some(()));
    go(&cluster);
    assert_eq!(map.wait(), 0, "{}", map.log());
    printed_all(&map, 8);
}

#[test]
fn a_worker_where_executors_fail_is_excluded_for_their_application_and_tried_again() {
    let cluster = cluster(&["firesteel.master.exclusion.delay=1s"], 2);
    let mended = cluster.path("mended");
    let script = format!(
        "case $FIRESTEEL_EXECUTOR_DIR in */work-1/*) [ -e {} ] || exit 3 ;; esac; exec sleep 1000",
        mended.display()
    );
    let mut command = firesteel();
    command.args(["launch", "--master", cluster.master.url(), "--name", "sound", "--num-executors", "8"]);
    command.args([
        "--executor-cores",
        "1",
        "--executor-memory",
        "256m",
        "--until",
        "never",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let mut launch = Daemon::spawn(&mut command);
    let worker = wait_for("the Worker to be excluded", || excluded(&cluster));
    let said = cluster.master.wait_for_line(&["fail on", "excluding", &worker]);
    assert!(said.contains("for 1000 ms"), "{said}");
    let shown = wait_for("an exclusion of some seconds", || {
        let (status, explained) = (cluster.said(&["status"]), cluster.said(&["explain", "sound"]));
        let detail = cluster.said(&["status", "sound", "--json"]);
        (status.contains("ALIVE, excluded for 1 application") && explained.contains("Excluded for it: "))
            .then_some((explained, detail))
    });
    assert!(shown.0.contains("1 Worker has room, but is excluded for a while"), "{}", shown.0);
    let json: Value = serde_json::from_str(&shown.1).expect("JSON");
    assert_eq!(json["scheduling"]["excluded"][0]["worker"].as_str().unwrap_or(&worker), worker);
    fs::write(mended, "").expect("a file");
    wait_for("executors on the Worker", || (running_on(&cluster, &worker) == 4).then_some(()));
    launch.signal(Signal::SIGINT);
    launch.wait();
}

#[test]
fn an_application_whose_executors_fail_on_every_worker_ends_after_the_limit() {
    let cluster = cluster(&["spark.deploy.maxExecutorRetries=3"], 1);
    let mut command = firesteel();
    command.args([
        "launch",
        "--master",
        cluster.master.url(),
        "--num-executors",
        "4",
        "--executor-cores",
        "1",
    ]);
    command.args(["--executor-memory", "256m", "--until", "never", "--", "false"]);
    let mut launch = Daemon::spawn(&mut command);
    assert_eq!(launch.wait(), 1, "{}", launch.log());
    assert!(launch.log().contains("3 executors failed in a row"), "{}", launch.log());
}

#[test]
fn executors_that_end_at_once_with_exit_code_0_are_started_at_a_growing_pace() {
    let cluster = cluster(&[], 1);
    let start = Instant::now();
    let mut command = firesteel();
    command.args(["launch", "--master", cluster.master.url(), "--until", "never", "--", "true"]);
    let mut launch = Daemon::spawn(&mut command);
    let ended = wait_for("a few rounds", || {
        let status = cluster.master.status();
        status["applications"][0]["executors_ended"].as_u64().filter(|ended| *ended >= 3)
    });
    let took = start.elapsed();
    // The rounds begin after 0, 1, 3 and 7 s.
    assert!(took >= Duration::from_secs(3), "{ended} executors have ended after {took:?}");
    launch.signal(Signal::SIGINT);
    launch.wait();
}
