//! Spark's own Workers at Firesteel's Master, beside Firesteel's.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use firesteel_testkit::wait::wait;
use firesteel_testkit::{Daemon, clean, firesteel, processes, run, wait_for};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::cluster::{Driver, LONGEST, MAIN, SPARK, SparkCluster, executors_within, home, in_surroundings};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("workers_of_spark_s_own_run_executors_of_their_release_beside_firesteel_s", mixed),
        ("a_worker_of_spark_s_own_that_is_killed_is_replaced", killed),
        ("a_worker_of_spark_s_own_ends_what_a_new_master_does_not_know", restarted),
        ("a_worker_of_spark_s_own_keeps_what_a_master_that_comes_back_knows", returned),
    ])
}

/// A Worker of Spark's own, of 2 cores, at this Master.
pub(crate) fn spark_worker(cluster: &SparkCluster, version: &str, number: usize) -> Daemon {
    let mut command = clean(home(version).join("bin/spark-class"));
    command.args(["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "2"]);
    command.args(["--memory", "4g", "--webui-port", "0", cluster.url()]);
    command.env("SPARK_DAEMON_MEMORY", "256m");
    command.env("SPARK_LOCAL_DIRS", cluster.root.path().join(format!("spark-local{number}")));
    command.env("SPARK_WORKER_DIR", cluster.root.path().join(format!("spark-work{number}")));
    Daemon::spawn(&mut in_surroundings(version, command))
}

/// The labels of the Workers that live, in the order of their ids; empty for those of Firesteel's.
fn labels(cluster: &SparkCluster) -> Vec<String> {
    let rows = cluster.master.status()["workers"].as_array().expect("a list").clone();
    let alive = rows.iter().filter(|row| row["state"] == "ALIVE");
    let mut labels: Vec<String> =
        alive.map(|row| row["label"].as_str().unwrap_or_default().to_owned()).collect();
    labels.sort_unstable();
    labels
}

fn wait_for_labels(cluster: &SparkCluster, expected: &[&str]) {
    wait("the Workers", LONGEST, || (labels(cluster) == expected).then_some(()));
}

/// The labels of the Workers on which an application has executors, one for each executor.
fn places(cluster: &SparkCluster, app: &Value) -> Vec<String> {
    let workers = cluster.master.status()["workers"].as_array().expect("a list").clone();
    let label = |executor: &Value| {
        let row = workers.iter().find(|row| row["id"] == executor["worker"]).expect("its Worker is known");
        row["label"].as_str().unwrap_or_default().to_owned()
    };
    let mut labels: Vec<String> = app["executors"].as_array().expect("a list").iter().map(label).collect();
    labels.sort_unstable();
    labels
}

fn mixed() {
    let cluster = SparkCluster::start(1, 2);
    let _workers = [spark_worker(&cluster, MAIN, 0), spark_worker(&cluster, "4.3.0", 1)];
    wait_for_labels(&cluster, &["", "Spark 4.0", "Spark 4.3"]);
    let json: Value = serde_json::from_str(&cluster.master.get("/json/").1).expect("it is JSON");
    let spark_s = json["workers"].as_array().expect("a list").iter().filter(|worker| {
        // One of Firesteel's may not have said yet.
        let Some(address) = worker["webuiaddress"].as_str().filter(|address| !address.is_empty()) else {
            return false;
        };
        let page = ureq::get(address).call().expect("it serves its page").body_mut().read_to_string();
        page.expect("it is text").contains("<title>Spark Worker at ")
    });
    assert_eq!(spark_s.count(), 2, "{json}");
    for (version, expected) in
        [(MAIN, vec!["", "Spark 4.0"]), ("4.3.0", vec!["", "Spark 4.3"]), ("3.5.9", vec![""])]
    {
        let file = cluster.root.path().join(format!("go-{version}"));
        let words = [file.to_str().expect("it is UTF-8")];
        let driver = Driver::start(cluster.driver(version, "idle", &words, &["spark.executor.cores=2"]));
        driver.wait_for("ready ");
        let app = cluster.applications("applications")[0].clone();
        assert_eq!(places(&cluster, &app), expected, "{version}: {app}");
        let explained = run(firesteel()
            .args(["explain", "--master", cluster.master.url()])
            .arg(app["id"].as_str().expect("an id")));
        assert_eq!(explained.code(), 0, "{explained}");
        if version == "3.5.9" {
            // A program of Firesteel's, too, is not for Spark's Workers.
            let map = ["map", "--quiet", "--master", cluster.master.url(), "--total-executor-cores", "2"];
            let waiting =
                Daemon::spawn(firesteel().args(map).args(["--name", "program", "--", "echo", ":::", "a"]));
            wait_for("the sentence", || {
                let explained =
                    run(firesteel().args(["explain", "--master", cluster.master.url(), "program"]));
                let why = "2 Workers have room, but run only executors of Spark 4.0, Spark 4.3";
                explained.stdout.contains(why).then_some(())
            });
            drop(waiting);
        }
        fs::write(&file, "").expect("it is written");
        assert!(driver.finish().contains("sum 4950"));
        wait_for("the end of all executors", || {
            let status = cluster.master.status();
            status["workers"].as_array()?.iter().all(|row| row["cores_used"] == 0).then_some(())
        });
    }
}

/// The processes of executors in the directory of a Worker of Spark's own.
fn executors(cluster: &SparkCluster, number: usize) -> Vec<u32> {
    executors_within(&cluster.root.path().join(format!("spark-work{number}")))
}

/// The process of an executor of the first Worker. A Worker of Spark's says that it runs when it is about to become a
/// JVM.
fn an_executor(cluster: &SparkCluster) -> u32 {
    wait("the process of an executor", LONGEST, || executors(cluster, 0).first().copied())
}

fn killed() {
    let cluster = SparkCluster::with(0, &[]);
    let mut workers = vec![spark_worker(&cluster, MAIN, 0), spark_worker(&cluster, MAIN, 1)];
    wait_for_labels(&cluster, &["Spark 4.0", "Spark 4.0"]);
    let driver = Driver::start(cluster.driver(MAIN, "shuffle", &["2"], &["spark.executor.cores=2"]));
    driver.wait_for("begun ");
    wait("two executors", LONGEST, || {
        (executors(&cluster, 0).len() + executors(&cluster, 1).len() == 2).then_some(())
    });
    let (worker, number) = (workers.pop().expect("there are two"), 1);
    // Spark's script replaces itself by the JVM.
    worker.signal(Signal::SIGKILL);
    let killed = Instant::now();
    wait_for("the end of its executors", || executors(&cluster, number).is_empty().then_some(()));
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    wait_for_labels(&cluster, &["Spark 4.0"]);
    assert!(driver.finish().ends_with("sum 19900\n"));
}

/// An application that waits for a file, on a Worker of Spark's.
struct Idle {
    driver: Driver,
    file: PathBuf,
    /// The process of its executor.
    executor: u32,
    _worker: Daemon,
}

impl Idle {
    fn on(cluster: &SparkCluster) -> Self {
        let worker = spark_worker(cluster, MAIN, 0);
        wait_for_labels(cluster, &["Spark 4.0"]);
        let file = cluster.root.path().join("go");
        let words = [file.to_str().expect("it is UTF-8")];
        let driver = Driver::start(cluster.driver(MAIN, "idle", &words, &[]));
        driver.wait_for("ready ");
        Self { driver, executor: an_executor(cluster), file, _worker: worker }
    }
}

fn restarted() {
    let mut cluster = SparkCluster::with(0, &[]);
    let idle = Idle::on(&cluster);
    let port = cluster.master.address().port().to_string();
    cluster.master.signal(Signal::SIGKILL);
    cluster.master.wait();
    let forgetful = ["--conf", "spark.deploy.recoveryMode=NONE"];
    cluster.master =
        Daemon::start(firesteel().args(["master", "--port", &port, "--webui-port", "0"]).args(forgetful));
    // A Master that forgot everything does not know the executor.
    wait_for_labels(&cluster, &["Spark 4.0"]);
    wait("the end of the executor", LONGEST, || (!processes::is_alive(idle.executor)).then_some(()));
}

fn returned() {
    let mut cluster = SparkCluster::durable(0, 2);
    let idle = Idle::on(&cluster);
    cluster.restart_master();
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
    assert!(processes::is_alive(idle.executor));
    // The Worker reports on what it ran before, too.
    processes::signal(idle.executor, Signal::SIGKILL).expect("it runs");
    let ended = wait_for_another(&cluster, 1);
    // Of what ends while no Master is there it says nothing for two minutes, and does not list it.
    let second = an_executor(&cluster);
    cluster.master.signal(Signal::SIGKILL);
    cluster.master.wait();
    processes::signal(second, Signal::SIGKILL).expect("it runs");
    wait_for("the end of the executor", || executors(&cluster, 0).is_empty().then_some(()));
    cluster.restart_master();
    let ended = wait_for_another(&cluster, ended + 1);
    fs::write(&idle.file, "").expect("it is written");
    assert!(idle.driver.finish().contains("sum 4950"));
    let app = &cluster.applications("completed")[0];
    assert_eq!((&app["state"], &app["executors_ended"]), (&"FINISHED".into(), &(ended + 1).into()));
}

/// Waits until the application has an executor that runs, after at least this number of ends. How many have ended.
///
/// An order may cross the Worker's registration over another connection, and then counts as lost.
fn wait_for_another(cluster: &SparkCluster, ended: u64) -> u64 {
    wait("another executor", LONGEST, || {
        let app = cluster.applications("applications").first()?.clone();
        let runs = app["executors"].as_array()?.iter().any(|row| row["state"] == "RUNNING");
        app["executors_ended"].as_u64().filter(|have_ended| runs && *have_ended >= ended)
    })
}
