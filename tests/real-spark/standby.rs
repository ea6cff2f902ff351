//! A Master that stands by, and takes over: unmodified drivers and Workers of Spark's follow it.

use std::fs;

use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::binary::{processes, wait_for};
use crate::cluster::{Cluster, Driver, LONGEST, MAIN, SPARK, running_within};
use crate::component::Component;
use crate::ensemble::{self, Ensemble};
use crate::wait::wait;
use crate::workers::spark_worker;

/// Spark, and ZooKeeper.
const BOTH: Component = Component {
    name: SPARK.name,
    look: || (SPARK.look)().and_then(|()| ensemble::look()),
    prepare: ensemble::prepare,
};

pub(crate) fn trials() -> Vec<Trial> {
    BOTH.trials(&[("a_streaming_application_goes_on_when_a_standby_takes_over", streaming)])
}

/// How many batches a ticking application has said that it has done.
fn batches(driver: &Driver) -> u64 {
    let output = driver.0.output_so_far();
    output.lines().filter_map(|line| line.strip_prefix("batch ")?.parse().ok()).max().unwrap_or(0)
}

/// Waits for some batches more.
fn wait_for_progress(driver: &Driver) {
    let before = batches(driver);
    wait("more batches", LONGEST, || (batches(driver) > before + 2).then_some(()));
}

fn streaming() {
    let ensemble = Ensemble::start(1);
    let (mut cluster, standby) = Cluster::with_standby(&ensemble);
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

    // Each is replaced, also the one on Spark's Worker.
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
