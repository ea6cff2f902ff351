//! The same applications on Spark's own Master and Workers, and on Firesteel's: the same executors on the same Workers.
//!
//! Workers are told apart by the order of their registration, in which both Masters' ids are ordered.

use std::net::TcpListener;
use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{Daemon, clean};
use crate::cluster::{Cluster, Driver, LONGEST, MAIN, SPARK, home, in_surroundings, python};
use crate::wait::wait;

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[("executors_are_where_spark_s_own_master_puts_them", same_places)])
}

/// `spark.cores.max`, and cores per executor.
const ASKED: [(Option<u32>, Option<u32>); 4] =
    [(Some(4), Some(4)), (Some(24), Some(6)), (Some(7), None), (None, Some(5))];

/// What a Master says of an application: how many cores it has on each Worker, most first, and its word for its end.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    executors: usize,
    cores: Vec<u64>,
    state: String,
}

fn same_places() {
    let firesteel = Cluster::start(4, 8);
    let spark = SparkCluster::start(4, 8);
    println!("| cores.max | executor.cores | executors | cores on each Worker | end |");
    for (max, each) in ASKED {
        let ours = outcome(
            firesteel.master.url(),
            max,
            each,
            || firesteel.master.status(),
            "cores_used",
            "completed",
        );
        let theirs = outcome(&spark.url, max, each, || spark.status(), "coresused", "completedapps");
        assert_eq!(ours, theirs, "asked for {max:?} cores, {each:?} each");
        let word =
            |number: Option<u32>| number.map_or_else(|| "unset".to_owned(), |number| number.to_string());
        println!(
            "| {} | {} | {} | {:?} | {} |",
            word(max),
            word(each),
            ours.executors,
            ours.cores,
            ours.state
        );
    }
}

fn outcome(
    url: &str,
    max: Option<u32>,
    each: Option<u32>,
    status: impl Fn() -> Value,
    cores_used: &str,
    ended: &str,
) -> Outcome {
    let setting = |name: &str, value: Option<u32>| value.map(|value| format!("{name}={value}"));
    let settings: Vec<String> =
        setting("spark.cores.max", max).into_iter().chain(setting("spark.executor.cores", each)).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("go").display().to_string();
    let before = status()[ended].as_array().map_or(0, Vec::len);
    let driver = Driver::start(python(url, MAIN, "idle.py", &[&file], &settings));
    driver.wait_for("ready ");
    let status_now = status();
    let workers = status_now["workers"].as_array().expect("a list");
    let mut cores: Vec<u64> = workers.iter().map(|row| row[cores_used].as_u64().expect("a number")).collect();
    cores.sort_unstable_by(|one, other| other.cmp(one));
    std::fs::write(&file, "").expect("it is written");
    let output = driver.finish();
    let executors = output.lines().find_map(|line| line.strip_prefix("executors ")).expect("a number");
    let state = wait("the end of an application", LONGEST, || {
        let apps = status()[ended].as_array()?.clone();
        let state = apps.iter().map(|app| app["state"].as_str().unwrap_or_default().to_owned()).next_back();
        state.filter(|_| apps.len() > before)
    });
    wait("the end of all executors", LONGEST, || {
        let rows = status()["workers"].as_array()?.clone();
        rows.iter().all(|row| row[cores_used] == 0).then_some(())
    });
    Outcome { executors: executors.parse().expect("a number"), cores, state }
}

/// Spark's own Master and Workers.
struct SparkCluster {
    url: String,
    page: u16,
    _daemons: Vec<Daemon>,
    _root: TempDir,
}

impl SparkCluster {
    fn start(workers: usize, cores: u32) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (port, page) = (free_port(), free_port());
        let url = format!("spark://127.0.0.1:{port}");
        let start = |class: &str, words: &[&str]| {
            let mut command: Command = clean(home(MAIN).join("bin/spark-class"));
            command.arg(format!("org.apache.spark.deploy.{class}")).args(["--host", "127.0.0.1"]).args(words);
            command.env("SPARK_DAEMON_MEMORY", "256m").env("SPARK_LOCAL_DIRS", root.path());
            command.env("SPARK_WORKER_DIR", root.path().join("work"));
            Daemon::spawn(&mut in_surroundings(command))
        };
        let (port, page_port, cores) = (port.to_string(), page.to_string(), cores.to_string());
        let mut daemons = vec![start("master.Master", &["--port", &port, "--webui-port", &page_port])];
        for _ in 0..workers {
            let words = ["--cores", &cores, "--memory", "8g", "--webui-port", "0", &url];
            daemons.push(start("worker.Worker", &words));
        }
        let cluster = Self { url, page, _daemons: daemons, _root: root };
        wait("Spark's Workers to register", LONGEST, || {
            let page = cluster.ask()?;
            (page["workers"].as_array()?.len() == workers).then_some(())
        });
        cluster
    }

    fn ask(&self) -> Option<Value> {
        let mut answer = ureq::get(format!("http://127.0.0.1:{}/json/", self.page)).call().ok()?;
        serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()
    }

    fn status(&self) -> Value {
        wait("the answer of Spark's Master", LONGEST, || self.ask())
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
