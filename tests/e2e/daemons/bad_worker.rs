//! One Worker that cannot start executors, or where they fail: the applications run elsewhere, and status shows the
//! reason.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{Daemon, firesteel, run, wait_for};

/// A Master, and Workers of four cores.
struct Cluster {
    workers: Vec<Daemon>,
    master: Daemon,
    directory: TempDir,
}

impl Cluster {
    fn start(settings: &[&str], workers: usize) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let conf: Vec<&str> = settings.iter().flat_map(|setting| ["--conf", setting]).collect();
        let mut cluster = Self { workers: Vec::new(), master: Daemon::master(&conf), directory };
        for number in 0..workers {
            let arguments = ["--cores", "4", "--memory", "8g"];
            let worker = Daemon::worker(&cluster.master, &cluster.work_directory(number), &arguments);
            cluster.workers.push(worker);
        }
        cluster.master.wait_for_workers(workers);
        cluster
    }

    fn work_directory(&self, worker: usize) -> PathBuf {
        self.directory.path().join(format!("work-{worker}"))
    }

    /// Replaces a Worker's work directory by a file, so that it cannot start anything.
    fn break_worker(&self, worker: usize) {
        let directory = self.work_directory(worker);
        fs::remove_dir_all(&directory).expect("the Worker has made it");
        fs::write(directory, "").expect("there is room");
    }

    fn mend_worker(&self, worker: usize) {
        fs::remove_file(self.work_directory(worker)).expect("it is broken");
    }

    /// Starts an application whose items wait for a file called `go`.
    fn start_map(&self, items: usize, executors: &str) -> Daemon {
        let go = self.directory.path().join("go");
        let script = format!("while [ ! -e {} ]; do sleep 0.05; done; echo $1", go.display());
        let mut command = firesteel();
        command.args(["map", "--master", self.master.url(), "--name", "sound", "--num-executors", executors]);
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

    fn go(&self) {
        fs::write(self.directory.path().join("go"), "").expect("a file");
    }

    fn said(&self, arguments: &[&str]) -> String {
        let done = run(firesteel().args(arguments).args(["--master", self.master.url()]));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    }

    /// The id of the Worker that status shows as excluded for an application.
    fn excluded(&self) -> Option<String> {
        let status = self.master.status();
        let workers = status["workers"].as_array()?;
        let worker = workers.iter().find(|worker| worker["excluded_for"] == 1)?;
        Some(worker["id"].as_str()?.to_owned())
    }

    /// The id of the Worker that status shows as unable to start executors.
    fn impaired(&self) -> Option<String> {
        let status = self.master.status();
        let workers = status["workers"].as_array()?;
        let worker = workers.iter().find(|worker| worker["impairment"].is_string())?;
        Some(worker["id"].as_str()?.to_owned())
    }

    /// The number of executors that run on a Worker.
    fn running_on(&self, worker: &str) -> usize {
        let status = self.master.status();
        let apps = status["applications"].as_array().cloned().unwrap_or_default();
        let executors = apps.iter().flat_map(|app| app["executors"].as_array().cloned().unwrap_or_default());
        executors.filter(|executor| executor["worker"] == worker && executor["state"] == "RUNNING").count()
    }
}

fn printed_all(map: &Daemon, items: usize) {
    let expected: String = (0..items).map(|item| format!("{item}\n")).collect();
    assert_eq!(map.output(), expected, "{}", map.log());
}

#[test]
fn an_application_runs_to_its_end_although_one_worker_of_four_cannot_start_executors() {
    let cluster = Cluster::start(&[], 4);
    cluster.break_worker(3);
    let mut map = cluster.start_map(40, "16");
    wait_for("the Worker to say so", || cluster.impaired());
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
    cluster.go();
    assert_eq!(map.wait(), 0, "{}", map.log());
    printed_all(&map, 40);
    assert!(!map.log().contains("failed in a row"), "{}", map.log());
}

#[test]
fn a_worker_that_can_start_executors_again_is_used_again() {
    let cluster = Cluster::start(&[], 2);
    cluster.break_worker(0);
    let mut map = cluster.start_map(8, "8");
    let worker = wait_for("the Worker to say so", || cluster.impaired());
    cluster.mend_worker(0);
    wait_for("executors on the Worker", || (cluster.running_on(&worker) == 4).then_some(()));
    cluster.go();
    assert_eq!(map.wait(), 0, "{}", map.log());
    printed_all(&map, 8);
}

#[test]
fn a_worker_where_executors_fail_is_excluded_for_their_application_and_tried_again() {
    let cluster = Cluster::start(&["firesteel.master.exclusion.delay=1s"], 2);
    let mended = cluster.directory.path().join("mended");
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
    let worker = wait_for("the Worker to be excluded", || cluster.excluded());
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
    wait_for("executors on the Worker", || (cluster.running_on(&worker) == 4).then_some(()));
    launch.signal(Signal::SIGINT);
    launch.wait();
}

#[test]
fn an_application_whose_executors_fail_on_every_worker_ends_after_the_limit() {
    let cluster = Cluster::start(&["spark.deploy.maxExecutorRetries=3"], 1);
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
    let cluster = Cluster::start(&[], 1);
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
