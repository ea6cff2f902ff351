//! Spark's external shuffle service beside a Worker: shuffle files outlive the executors that wrote them.

use firesteel_testkit::ports::free_port;
use firesteel_testkit::{processes, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::cluster::{Driver, MAIN, SPARK, SparkCluster, executors_within, home, running_within};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("the_external_shuffle_service_serves_what_an_ended_executor_wrote", ended),
        ("the_external_shuffle_service_serves_what_a_killed_executor_wrote", killed),
        ("a_restarted_external_shuffle_service_serves_what_was_written_before", restarted),
    ])
}

/// The application's output: the second job skips the stage that writes the files, and the other stage needs one
/// attempt.
const FIRST: &str = "first 19900 attempts [0, 0]\n";
const SECOND: &str = "second 19900 attempts [0]\n";

/// A Worker with a service of this release of Spark on this port.
fn cluster(version: &str, port: &str) -> SparkCluster {
    let home = format!("firesteel.worker.sparkHomes={},{}", home(version).display(), home(MAIN).display());
    let port = format!("spark.shuffle.service.port={port}");
    let settings = ["--conf", "spark.shuffle.service.enabled=true", "--conf", &port, "--conf", &home];
    SparkCluster::with(1, &[&["--cores", "2", "--memory", "4g"][..], &settings].concat())
}

fn ended() {
    let port = free_port().to_string();
    let cluster = cluster(MAIN, &port);
    let output = cluster.run(cluster.driver(MAIN, "service", &[&port], &[]));
    assert_eq!(output, format!("{FIRST}executors 0\n{SECOND}"));
    wait_for("the end of scratch directories", || cluster.scratch().is_empty().then_some(()));
}

/// An application that waits between its jobs, and the file for which it waits.
fn waiting(cluster: &SparkCluster, port: &str) -> (Driver, String) {
    let file = cluster.root.path().join("go").display().to_string();
    let driver = Driver::start(cluster.driver(MAIN, "service", &[port, &file], &[]));
    driver.wait_for("ready");
    (driver, file)
}

fn kill_executors(cluster: &SparkCluster, driver: &Driver) {
    let executors = executors_within(cluster.root.path());
    assert_eq!(executors.len(), 2);
    for executor in executors {
        processes::signal(executor, Signal::SIGKILL).expect("it runs");
    }
    wait_for("the driver's words", || (driver.0.log().matches("code 137").count() >= 2).then_some(()));
}

/// The service may be of another release than the executors.
fn killed() {
    let port = free_port().to_string();
    let cluster = cluster("3.5.9", &port);
    let (driver, file) = waiting(&cluster, &port);
    kill_executors(&cluster, &driver);
    std::fs::write(&file, "").expect("it is written");
    assert_eq!(driver.finish(), format!("{FIRST}ready\n{SECOND}"));
}

fn restarted() {
    let port = free_port().to_string();
    let cluster = cluster(MAIN, &port);
    let (driver, file) = waiting(&cluster, &port);
    let service = running_within(cluster.root.path(), "ExternalShuffleService");
    processes::signal(service[0], Signal::SIGKILL).expect("it runs");
    kill_executors(&cluster, &driver);
    wait_for("the next service", || {
        (cluster.workers[0].log().matches("listens on port").count() == 2).then_some(())
    });
    std::fs::write(&file, "").expect("it is written");
    assert_eq!(driver.finish(), format!("{FIRST}ready\n{SECOND}"));
}
