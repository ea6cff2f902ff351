//! Executors, Workers, drivers and applications that end in the middle of a job.

use std::time::{Duration, Instant};

use firesteel_testkit::wait::{poll, wait};
use firesteel_testkit::{firesteel, processes, run, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::cluster::{Driver, LONGEST, SparkCluster, executors_within};
use crate::scenario::Scenario;

pub(crate) fn trials() -> Vec<Trial> {
    Scenario::trials(vec![
        Scenario::on_main("an_executor_killed_in_a_shuffle_is_replaced", killed_executor),
        Scenario::on_main("a_worker_killed_takes_its_jvms_along_and_the_job_goes_on", killed_worker),
        Scenario::on_main("a_worker_that_is_stopped_fails_no_task", stopped_worker),
        Scenario::on_main("a_worker_that_is_decommissioned_ends_after_its_tasks", decommissioned_worker),
        Scenario::on_all("a_master_that_is_killed_and_comes_back_has_its_applications", killed_master),
        Scenario::on_main("a_driver_killed_leaves_nothing", killed_driver),
        Scenario::on_main("a_driver_is_told_that_its_application_was_killed", killed_application),
        Scenario::on_main("a_driver_whose_spark_is_nowhere_is_told_what_was_sought", missing_home),
        Scenario::on_main("an_idle_session_goes_on", idle),
    ])
}

/// A driver in the middle of its job, and the processes of its executors.
fn begun(cluster: &SparkCluster, version: &str, settings: &[&str]) -> (Driver, Vec<u32>) {
    let workers = cluster.workers.len().to_string();
    let driver = Driver::start(cluster.driver(version, "shuffle", &[&workers], settings));
    driver.wait_for("begun ");
    let executors = wait_for("executors", || {
        let status = cluster.master.status();
        let rows = status["applications"][0]["executors"].as_array()?.clone();
        let is_running =
            rows.len() == cluster.workers.len() && rows.iter().all(|row| row["state"] == "RUNNING");
        let pids = || executors_within(cluster.root.path());
        is_running.then(pids).filter(|pids| pids.len() == rows.len())
    });
    (driver, executors)
}

/// The sum 0 + 1 + .. + 199.
const SUM: &str = "sum 19900\n";

fn killed_executor(version: &str) {
    let cluster = SparkCluster::start(2, 2);
    let (driver, executors) = begun(&cluster, version, &[]);
    let scratch = cluster.scratch();
    assert_eq!(scratch.len(), 2, "one on each Worker");
    processes::signal(executors[0], Signal::SIGKILL).expect("it runs");
    driver.wait_for_log("code 137");
    assert_eq!(cluster.scratch(), scratch, "they outlive an executor");
    assert!(driver.finish().ends_with(SUM));
    let ended = cluster.applications("completed");
    assert_eq!(ended[0]["executors_ended"], 3, "one was replaced: {ended:?}");
    cluster.wait_until_clean();
}

fn killed_worker(version: &str) {
    let mut cluster = SparkCluster::start(2, 2);
    let (driver, executors) = begun(&cluster, version, &[]);
    let worker = cluster.workers.pop().expect("there are two");
    worker.signal(Signal::SIGKILL);
    let killed = Instant::now();
    wait_for("the end of a Worker's executors", || {
        (executors.iter().filter(|pid| processes::is_alive(**pid)).count() == 1).then_some(())
    });
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
    assert!(driver.finish().ends_with(SUM));
}

fn stopped_worker(version: &str) {
    let mut cluster = SparkCluster::start(2, 2);
    let (driver, _) = begun(&cluster, version, &["spark.task.maxFailures=1"]);
    let worker = cluster.workers.pop().expect("there are two");
    assert_eq!(worker.terminate(), 0);
    assert!(driver.finish().ends_with(SUM));
}

fn decommissioned_worker(version: &str) {
    let mut cluster = SparkCluster::start(2, 2);
    let settings = ["spark.task.maxFailures=1", "spark.decommission.enabled=true"];
    let (driver, _) = begun(&cluster, version, &settings);
    let mut worker = cluster.workers.pop().expect("there are two");
    let line = worker.wait_for_line(&["listens on"]);
    let id = line.split_whitespace().find(|word| word.starts_with("worker-")).expect("its log names it");
    let asking = run(firesteel().args(["decommission", "--master", cluster.master.url(), id]));
    assert_eq!(asking.stdout, format!("{id} leaves: it ends when 1 executor has ended\n"), "{asking}");
    // Spark itself ends the executor, once it has no task.
    assert_eq!(worker.wait(), 0, "{}", worker.log());
    assert!(!worker.log().contains("did not end after SIGTERM"), "{}", worker.log());
    assert!(driver.finish().ends_with(SUM));
}

fn killed_master(version: &str) {
    let mut cluster = SparkCluster::durable(2, 2);
    let (driver, executors) = begun(&cluster, version, &["spark.task.maxFailures=1"]);
    let before = cluster.applications("applications")[0].clone();
    cluster.restart_master();
    wait("the application", LONGEST, || {
        let now = cluster.applications("applications");
        (now.first()?["state"] == "RUNNING" && now[0]["id"] == before["id"]).then_some(())
    });
    assert_eq!(executors_within(cluster.root.path()), executors, "all go on");
    assert!(driver.finish().ends_with(SUM));
    let ended = cluster.applications("completed");
    assert_eq!((&ended[0]["id"], &ended[0]["state"]), (&before["id"], &"FINISHED".into()), "{ended:?}");
    assert_eq!(ended[0]["executors_ended"], 2, "none was replaced: {ended:?}");

    // The same again, with an application that gets another executor afterwards.
    let file = cluster.root.path().join("go").display().to_string();
    let driver = Driver::start(cluster.driver(version, "idle", &[&file], &[]));
    driver.wait_for("ready ");
    cluster.restart_master();
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    processes::signal(executors_within(cluster.root.path())[0], Signal::SIGKILL).expect("it runs");
    wait("another executor", LONGEST, || {
        let app = cluster.applications("applications").first()?.clone();
        let running = app["executors"].as_array()?.iter().filter(|row| row["state"] == "RUNNING").count();
        (running == 2 && app["executors_ended"] == 1).then_some(())
    });
    std::fs::write(&file, "").expect("it is written");
    assert!(driver.finish().contains("sum 4950"));
    cluster.wait_until_clean();
}

fn killed_driver(version: &str) {
    let cluster = SparkCluster::start(2, 2);
    let (driver, _) = begun(&cluster, version, &[]);
    driver.kill();
    let killed = Instant::now();
    cluster.wait_until_clean();
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
}

fn killed_application(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let (mut driver, _) = begun(&cluster, version, &[]);
    let app = cluster.applications("applications")[0]["id"].as_str().expect("an id").to_owned();
    let killing = run(firesteel().args(["kill", "--master", cluster.master.url(), &app]));
    assert_eq!(killing.code(), 0, "{killing}");
    driver.wait_for_log("KILLED: it was killed by");
    assert_ne!(driver.0.wait(), 0, "{}", driver.0.output_so_far());
    cluster.wait_until_clean();
}

fn missing_home(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let setting = "spark.executorEnv.SPARK_HOME=/nowhere/spark";
    let begun = Instant::now();
    let driver = Driver::start(cluster.driver(version, "squares", &[], &[setting]));
    driver.wait_for_log("the application names /nowhere/spark as SPARK_HOME");
    wait_for("the end of the application", || {
        let ended = cluster.applications("completed");
        ended.first().is_some_and(|app| app["state"] == "FAILED").then_some(())
    });
    assert!(begun.elapsed() < Duration::from_secs(45), "{:?}", begun.elapsed());
}

/// Idles for a minute, or for as many as `FIRESTEEL_IDLE_MINUTES` says.
fn idle(version: &str) {
    let cluster = SparkCluster::start(1, 2);
    let file = cluster.root.path().join("go").display().to_string();
    let mut driver = Driver::start(cluster.driver(version, "idle", &[&file], &[]));
    driver.wait_for("ready ");
    let minutes = std::env::var("FIRESTEEL_IDLE_MINUTES");
    let minutes: u64 =
        minutes.map_or(1, |minutes| minutes.parse().expect("FIRESTEEL_IDLE_MINUTES is a number"));
    let end = poll(Duration::from_secs(60 * minutes), || (!driver.0.is_alive()).then_some(()));
    assert_eq!(end, None, "{}", driver.0.log());
    std::fs::write(&file, "").expect("it is written");
    assert!(driver.finish().contains("sum 4950"));
}
