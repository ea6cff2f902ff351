//! One Worker that cannot start executors: the applications run elsewhere, and status says why.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{BINARY, Daemon, clean, firesteel, run, wait_for};

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
            cluster.mend_worker(number);
            let mut command = clean(cluster.program(number));
            command.args(["worker", "--port", "0", "--cores", "4", "--memory", "8g", "--work-dir"]);
            command.arg(cluster.directory.path().join(format!("work-{number}"))).arg(cluster.master.url());
            cluster.workers.push(Daemon::start(&mut command));
        }
        cluster.master.wait_for_workers(workers);
        cluster
    }

    /// The program that a Worker runs, and that it starts for executors of `map`.
    fn program(&self, worker: usize) -> PathBuf {
        self.directory.path().join(format!("firesteel-{worker}"))
    }

    /// Takes a Worker's program away, so that it cannot start executors.
    fn break_worker(&self, worker: usize) {
        fs::remove_file(self.program(worker)).expect("the program exists");
    }

    fn mend_worker(&self, worker: usize) {
        let program = self.program(worker);
        // The temporary directory may be on another file system.
        fs::hard_link(BINARY, &program)
            .or_else(|_| fs::copy(BINARY, &program).map(drop))
            .expect("there is room");
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

    /// The id of the Worker that status says is excluded for an application.
    fn excluded(&self) -> Option<String> {
        let status = self.master.status();
        let workers = status["workers"].as_array()?;
        let worker = workers.iter().find(|worker| worker["excluded_for"] == 1)?;
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
    let cluster = Cluster::start(&["firesteel.master.exclusion.delay=10min"], 4);
    cluster.break_worker(3);
    let mut map = cluster.start_map(40, "16");
    let worker = wait_for("the Worker to be excluded", || cluster.excluded());
    let status = cluster.said(&["status"]);
    let row =
        status.lines().find(|line| line.trim_start().starts_with(&worker)).expect("the Worker has a row");
    assert!(row.contains("ALIVE, excluded for 1 application"), "{status}");
    let detail = cluster.said(&["status", "sound"]);
    assert!(detail.contains(&format!("  excluded   {worker} for ")), "{detail}");
    assert!(detail.contains(": executors fail there"), "{detail}");
    let explained = cluster.said(&["explain", "sound"]);
    assert!(explained.contains(&format!("Excluded for it: {worker} for ")), "{explained}");
    assert!(explained.contains("1 Worker has room, but is excluded for a while"), "{explained}");
    let json: Value = serde_json::from_str(&cluster.said(&["status", "sound", "--json"])).expect("JSON");
    let excluded = &json["scheduling"]["excluded"][0];
    assert_eq!((excluded["worker"].as_str(), &excluded["end"]), (Some(worker.as_str()), &"FAILED".into()));
    cluster.go();
    assert_eq!(map.wait(), 0, "{}", map.log());
    printed_all(&map, 40);
    let said = cluster.master.wait_for_line(&["fail on", "excluding", &worker]);
    assert!(said.contains("for 600000 ms"), "{said}");
}

#[test]
fn a_worker_that_can_start_executors_again_is_used_again() {
    let cluster = Cluster::start(&["firesteel.master.exclusion.delay=200ms"], 2);
    cluster.break_worker(0);
    let mut map = cluster.start_map(8, "8");
    let worker = wait_for("the Worker to be excluded", || cluster.excluded());
    cluster.mend_worker(0);
    wait_for("executors on the Worker", || (cluster.running_on(&worker) == 4).then_some(()));
    cluster.go();
    assert_eq!(map.wait(), 0, "{}", map.log());
    printed_all(&map, 8);
}

#[test]
fn an_application_without_another_worker_ends_after_the_limit() {
    let cluster = Cluster::start(&["spark.deploy.maxExecutorRetries=3"], 1);
    cluster.break_worker(0);
    let mut map = cluster.start_map(1, "4");
    assert_eq!(map.wait(), 1, "{}", map.log());
    assert!(map.log().contains("3 executors failed in a row"), "{}", map.log());
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
