//! Usage: measured by a Worker, shown by its Master, and remembered after the end.

use firesteel_testkit::{Daemon, firesteel, run, wait_for};
use serde_json::Value;

fn json(words: &[&str], master: &Daemon) -> Value {
    let done = run(firesteel().args(words).args(["--json", "--master", master.url()]));
    assert_eq!(done.code(), 0, "{done}");
    serde_json::from_str(&done.stdout).expect("it is JSON")
}

/// A daemon's JSON at Spark's path.
fn page(daemon: &Daemon) -> Value {
    serde_json::from_str(&daemon.get("/json/").1).expect("it is JSON")
}

#[test]
fn what_an_executor_uses_is_shown_while_it_runs_and_remembered_when_it_has_ended() {
    let master = Daemon::master(&["--conf", "spark.deploy.retainedApplications=0"]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let worker = Daemon::worker(&master, work.path(), &["--cores", "1", "--memory", "1g"]);
    master.wait_for_workers(1);
    let mut launch = firesteel();
    launch.args(["launch", "--until", "never", "--num-executors", "1", "--executor-memory", "512m"]);
    launch.args(["--name", "busy", "--master", master.url(), "--", "sh", "-c", "while :; do :; done"]);
    let launch = Daemon::spawn(&mut launch);

    let usage = wait_for("a measurement", || {
        let usage = json(&["status"], &master)["usage"][0].clone();
        // The first measurements do not include a disk yet.
        (usage["executors"][0]["cpu_ms"].as_u64()? > 0 && !usage["disk"].is_null()).then_some(usage)
    });
    assert!(usage["machine"]["cores"].as_u64() > Some(0), "{usage}");
    assert!(usage["disk"]["total_bytes"].as_u64() > Some(0), "{usage}");
    assert!(usage["executors"][0]["memory_bytes"].as_u64() > Some(0), "{usage}");

    // Each daemon knows the other's HTTP address.
    assert_eq!(page(&master)["workers"][0]["webuiaddress"], format!("http://{}", worker.http()));
    assert_eq!(page(&worker)["masterwebuiurl"], format!("http://{}", master.http()));
    let app = usage["executors"][0]["app"].as_str().expect("an id");
    let metrics = wait_for("the metrics", || {
        let metrics = worker.get("/metrics").1;
        metrics.contains("firesteel_executor_memory_bytes{").then_some(metrics)
    });
    assert!(metrics.contains(&format!("app=\"{app}\"")), "{metrics}");
    assert!(master.get("/metrics").1.contains("firesteel_application_memory_bytes{"));

    launch.terminate();
    let past = wait_for("the end", || {
        let past = json(&["history", "--state", "finished"], &master)["history"][0].clone();
        past["id"].is_string().then_some(past)
    });
    assert_eq!((&past["kind"], &past["name"]), (&"application".into(), &"busy".into()));
    assert!(past["cpu_ms"].as_u64() > Some(0) && past["peak_memory_bytes"].as_u64() > Some(0), "{past}");
    assert_eq!(past["executors"].as_array().map(Vec::len), Some(1), "{past}");
    let csv = run(firesteel().args(["history", "--csv", "--master", master.url()]));
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with(&format!("application,{app},busy,")), "{csv}");
    let none = json(&["history", "--user", "nobody"], &master);
    assert_eq!(none["history"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_worker_whose_disk_is_fuller_than_the_limit_is_given_nothing_and_says_why() {
    let master = Daemon::master(&[]);
    let work = tempfile::tempdir().expect("a temporary directory");
    let limit = ["--conf", "firesteel.worker.maxDiskUsage=1", "--cores", "1", "--memory", "1g"];
    let worker = Daemon::worker(&master, work.path(), &limit);
    worker.wait_for_line(&["WARN", "% of its disk is used (firesteel.worker.maxDiskUsage: 1)"]);
    let why = wait_for("the Master to know", || {
        let worker = json(&["status"], &master)["workers"][0].clone();
        worker["impairment"].as_str().map(str::to_owned)
    });
    assert!(why.contains("% of its disk is used"), "{why}");
    wait_for("the metrics", || {
        let metrics = master.get("/metrics").1;
        metrics.contains("firesteel_master_workers_impaired{reason=\"cannot_start\"} 1").then_some(())
    });
}
