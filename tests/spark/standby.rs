//! A standby that takes over: unmodified drivers and Workers of Spark follow it.

use std::fs;

use firesteel_testkit::component::Component;
use firesteel_testkit::ports::free_port;
use firesteel_testkit::wait::wait;
use firesteel_testkit::zookeeper::{self, Ensemble};
use firesteel_testkit::{processes, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::cluster::{Driver, LONGEST, MAIN, SPARK, SparkCluster, rest_port, running_within, scala_apps};
use crate::standalone::{Manager, Standalone};
use crate::submissions::{creation, id_in, rest, run, submission, wait_until_ready};
use crate::workers::spark_worker;

/// The required components: Spark and ZooKeeper.
const BOTH: Component = Component {
    name: SPARK.name,
    look: || (SPARK.look)().and_then(|()| zookeeper::look()),
    prepare: zookeeper::prepare,
};

pub(crate) fn trials() -> Vec<Trial> {
    BOTH.trials(&[
        ("a_streaming_application_goes_on_when_a_standby_takes_over", streaming),
        ("spark_19052_a_driver_that_was_submitted_by_rest_knows_all_masters", all_masters),
    ])
}

/// How many batches a ticking application has reported as done.
fn batches(driver: &Driver) -> u64 {
    let output = driver.0.output_so_far();
    output.lines().filter_map(|line| line.strip_prefix("batch ")?.parse().ok()).max().unwrap_or(0)
}

/// Waits for some more batches.
fn wait_for_progress(driver: &Driver) {
    let before = batches(driver);
    wait("more batches", LONGEST, || (batches(driver) > before + 2).then_some(()));
}

fn streaming() {
    let ensemble = Ensemble::start(1);
    let (mut cluster, standby) = SparkCluster::with_standby(&ensemble);
    cluster = cluster.and_worker(&["--cores", "2", "--memory", "8g"]);
    let _of_spark = spark_worker(&cluster, MAIN, 7);
    cluster.master.wait_for_workers(2);
    let file = cluster.root.path().join("go").display().to_string();
    let driver = Driver::start(cluster.driver(MAIN, "ticking", &[&file], &["spark.executor.cores=2"]));
    wait_for_progress(&driver);
    let executors = || running_within(cluster.root.path(), "CoarseGrainedExecutorBackend");
    let before = executors();
    assert_eq!(before.len(), 2, "one on each Worker");
    let app = cluster.applications("applications")[0]["id"].clone();

    cluster.master.signal(Signal::SIGKILL);
    cluster.master.wait();
    cluster.master = standby;
    cluster.master.wait_for_line(&["leads in epoch 2"]);
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    wait_for_progress(&driver);
    let executors = || running_within(cluster.root.path(), "CoarseGrainedExecutorBackend");
    assert_eq!(executors(), before, "all go on");
    assert_eq!(cluster.applications("applications")[0]["id"], app);

    // Each is replaced, including the one on Spark's Worker.
    for (number, executor) in before.into_iter().enumerate() {
        processes::signal(executor, Signal::SIGKILL).expect("it runs");
        wait_for("another executor", || {
            let row = cluster.applications("applications").first()?.clone();
            let running = row["executors"].as_array()?.iter().filter(|row| row["state"] == "RUNNING").count();
            (running == 2 && row["executors_ended"] == number + 1).then_some(())
        });
    }
    wait_for_progress(&driver);
    fs::write(&file, "").expect("it is written");
    assert!(driver.finish().ends_with("counted True\n"));
    let ended = cluster.applications("completed");
    assert_eq!(ended[0]["state"], "FINISHED", "{ended:?}");
}

/// SPARK-19052: a driver is submitted by REST to several Masters. It knows only the Masters whose ports equal those of
/// the first, for REST and for drivers. Here it knows the Masters of its Worker, and continues when the leader is
/// killed.
fn all_masters() {
    let theirs = master_of_spark_s_driver();
    let ensemble = Ensemble::start(1);
    let (mut cluster, standby) = SparkCluster::with_standby(&ensemble);
    cluster = cluster.and_worker(&["--cores", "2", "--memory", "8g"]);
    let other = rest_port(&standby);
    let file = cluster.root.path().join("go");
    // The first Master stands by, so that Spark's client tries the next.
    let masters = format!("spark://127.0.0.1:{other},127.0.0.1:{}", cluster.rest);
    let by_rest = ["--conf", "spark.master.rest.enabled=true"];
    let (code, text) = run(submission(MAIN, &masters, &file, &by_rest));
    assert_eq!(code, 0, "{text}");
    let id = id_in(&text);
    let stdout = wait_until_ready(&cluster.work(0).join(&id), 1);
    let master =
        |stdout: &str| stdout.lines().find_map(|line| line.strip_prefix("master ")).map(str::to_owned);
    let ours = master(&stdout).expect("it says so");
    println!("the driver's Masters: {theirs} on Spark, {ours} on Firesteel");
    assert_eq!(ours, cluster.url());

    cluster.master.signal(Signal::SIGKILL);
    cluster.master.wait();
    cluster.master = standby;
    cluster.master.wait_for_line(&["leads in epoch 2"]);
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    let state = || rest(other, "GET", &format!("/v1/submissions/status/{id}"), "").1["driverState"].clone();
    assert_eq!(state(), "RUNNING");
    fs::write(&file, "0").expect("it is written");
    wait("the end of the driver", LONGEST, || (state() == "FINISHED").then_some(()));
}

/// A driver is submitted by REST to one of two Masters of Spark. These are the Masters that it is given: the other
/// one's port remains the port for REST.
fn master_of_spark_s_driver() -> String {
    let mut spark = Standalone::with_rest(&[]);
    spark.add_worker(0, "127.0.0.1", 2);
    let other = free_port();
    let masters = format!("spark://127.0.0.1:{},127.0.0.1:{other}", spark.rest());
    let jar = format!("file:{}", scala_apps(MAIN).display());
    let body = creation(&jar, "Submitted", &["/nowhere/go"], json!({"spark.master": masters}));
    let (_, answer) = rest(spark.rest(), "POST", "/v1/submissions/create", &body);
    let id = answer["submissionId"].as_str().expect("an id");
    let stdout = wait_until_ready(&spark.work(0).join(id), 1);
    let master = stdout.lines().find_map(|line| line.strip_prefix("master ")).expect("it says so").to_owned();
    assert_eq!(master, format!("{},127.0.0.1:{other}", spark.url()));
    master
}
