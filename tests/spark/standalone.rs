//! Spark's own Master and Workers, with an interface that Firesteel's share.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use firesteel_testkit::ports::{free_port, free_ports};
use firesteel_testkit::wait::wait;
use firesteel_testkit::{Daemon, clean, firesteel, run};
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{LONGEST, MAIN, SparkCluster, executors_within, home, in_surroundings, rest_settings};

/// A Master with Workers: Spark's or Firesteel's. Workers are numbered in the order of their start, which is the order
/// of their ids.
pub(crate) trait Manager {
    fn url(&self) -> &str;

    /// The live applications by id, in the order of their registration.
    fn live(&self) -> Vec<Application>;

    /// The applications that have ended, latest last.
    fn ended(&self) -> Vec<Application>;

    /// The live Workers, in the order of their ids, with the cores that executors use.
    fn workers(&self) -> Vec<(String, u64)>;

    /// The cores that executors use on each live Worker, in the order of the Workers' ids.
    fn used(&self) -> Vec<u64> {
        self.workers().into_iter().map(|(_, used)| used).collect()
    }

    /// Ends an application through the Master, without its driver.
    fn kill(&self, app: &str);

    /// Starts a Worker in the directories with this number, on this host.
    fn add_worker(&mut self, number: usize, host: &str, cores: u32);

    fn worker(&mut self, number: usize) -> &mut Daemon;

    fn work(&self, number: usize) -> PathBuf;

    /// The directory for scratch directories of the Worker with this number.
    fn local(&self, number: usize) -> PathBuf;

    fn rest(&self) -> u16;

    /// The executors' processes below this Worker's directory.
    fn executors(&self, number: usize) -> Vec<u32> {
        executors_within(&self.work(number))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Application {
    pub(crate) id: String,
    pub(crate) state: String,
}

fn applications(rows: &Value) -> Vec<Application> {
    let text = |row: &Value, name: &str| row[name].as_str().expect("a text").to_owned();
    let rows = rows.as_array().expect("a list");
    rows.iter().map(|row| Application { id: text(row, "id"), state: text(row, "state") }).collect()
}

fn workers(workers: &Value, field: &str) -> Vec<(String, u64)> {
    let alive = workers.as_array().expect("a list").iter().filter(|row| row["state"] == "ALIVE");
    let mut used: Vec<(String, u64)> = alive
        .map(|row| (row["id"].as_str().expect("a text").to_owned(), row[field].as_u64().expect("a number")))
        .collect();
    used.sort_unstable();
    used
}

/// Waits for the Worker on this port: its id ends with the port.
fn wait_for_worker(manager: &dyn Manager, port: &str) {
    wait("a Worker to register", LONGEST, || {
        manager.workers().iter().any(|(id, _)| id.ends_with(&format!("-{port}"))).then_some(())
    });
}

/// Runs the same test on Firesteel's Master and on Spark's, at the same time. Returns both results, in this order.
pub(crate) fn on_both<T: Send>(test: impl Fn(&mut dyn Manager) -> T + Sync) -> (T, T) {
    thread::scope(|scope| {
        let theirs = scope.spawn(|| test(&mut Standalone::start()));
        let ours = test(&mut SparkCluster::without_workers(&[]));
        (ours, theirs.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Like `on_both`, with these properties of the Master, and a port for REST.
pub(crate) fn on_both_with_rest<T: Send>(
    settings: &[&str],
    test: impl Fn(&mut dyn Manager) -> T + Sync,
) -> (T, T) {
    thread::scope(|scope| {
        let theirs = scope.spawn(|| test(&mut Standalone::with_rest(settings)));
        let ours = test(&mut SparkCluster::with_rest(settings));
        (ours, theirs.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

impl Manager for SparkCluster {
    fn rest(&self) -> u16 {
        self.rest
    }

    fn url(&self) -> &str {
        self.master.url()
    }

    fn live(&self) -> Vec<Application> {
        applications(&self.master.status()["applications"])
    }

    fn ended(&self) -> Vec<Application> {
        applications(&self.master.status()["completed"])
    }

    fn workers(&self) -> Vec<(String, u64)> {
        workers(&self.master.status()["workers"], "cores_used")
    }

    fn kill(&self, app: &str) {
        let done = run(firesteel().args(["kill", "--master", self.master.url(), app]));
        assert_eq!(done.code(), 0, "{done}");
    }

    fn add_worker(&mut self, number: usize, host: &str, cores: u32) {
        let (port, cores) = (self.ports[self.workers.len()].to_string(), cores.to_string());
        let arguments = ["--port", &port, "--host", host, "--cores", &cores, "--memory", "8g"];
        self.workers.push(SparkCluster::worker(self, number, &arguments));
        wait_for_worker(self, &port);
    }

    fn worker(&mut self, number: usize) -> &mut Daemon {
        &mut self.workers[number]
    }

    fn work(&self, number: usize) -> PathBuf {
        SparkCluster::work(self, number)
    }

    fn local(&self, number: usize) -> PathBuf {
        SparkCluster::local(self, number)
    }
}

pub(crate) struct Standalone {
    url: String,
    page: u16,
    _master: Daemon,
    workers: Vec<Daemon>,
    ports: [u16; 6],
    root: TempDir,
    rest: u16,
}

impl Standalone {
    /// A Master without Workers.
    pub(crate) fn start() -> Self {
        Self::with(0, &[])
    }

    /// A Master with these properties and a port for REST.
    pub(crate) fn with_rest(settings: &[&str]) -> Self {
        let rest = free_port();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).chain(rest_settings(rest));
        Self::with(rest, &settings.collect::<Vec<_>>())
    }

    fn with(rest: u16, settings: &[String]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (port, page) = (free_port(), free_port());
        let words = ["--host", "127.0.0.1", "--port", &port.to_string(), "--webui-port", &page.to_string()];
        let mut command = daemon("master.Master", &words);
        let options: Vec<String> = settings.iter().map(|setting| format!("-D{setting}")).collect();
        command.env("SPARK_MASTER_OPTS", options.join(" "));
        let master = Daemon::spawn(&mut command);
        let cluster = Self {
            url: format!("spark://127.0.0.1:{port}"),
            page,
            _master: master,
            workers: Vec::new(),
            ports: free_ports(),
            root,
            rest,
        };
        wait("Spark's Master", LONGEST, || cluster.ask());
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

fn daemon(class: &str, words: &[&str]) -> Command {
    let mut command = clean(home(MAIN).join("bin/spark-class"));
    command.arg(format!("org.apache.spark.deploy.{class}")).args(words).env("SPARK_DAEMON_MEMORY", "256m");
    in_surroundings(MAIN, command)
}

impl Manager for Standalone {
    fn rest(&self) -> u16 {
        self.rest
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn live(&self) -> Vec<Application> {
        let mut live = applications(&self.status()["activeapps"]);
        // Spark's Master lists them in any order.
        live.sort_by(|one, other| one.id.cmp(&other.id));
        live
    }

    fn ended(&self) -> Vec<Application> {
        applications(&self.status()["completedapps"])
    }

    fn workers(&self) -> Vec<(String, u64)> {
        workers(&self.status()["workers"], "coresused")
    }

    fn kill(&self, app: &str) {
        let page = format!("http://127.0.0.1:{}/app/kill/", self.page);
        ureq::post(page).send_form([("id", app), ("terminate", "true")]).expect("the page answers");
    }

    fn add_worker(&mut self, number: usize, host: &str, cores: u32) {
        let (port, cores) = (self.ports[self.workers.len()].to_string(), cores.to_string());
        let words = ["--host", host, "--port", &port, "--cores", &cores, "--memory", "8g"];
        let mut command = daemon("worker.Worker", &words);
        command.args(["--webui-port", "0", &self.url]);
        command.env("SPARK_LOCAL_DIRS", self.local(number)).env("SPARK_WORKER_DIR", self.work(number));
        self.workers.push(Daemon::spawn(&mut command));
        wait_for_worker(self, &port);
    }

    fn worker(&mut self, number: usize) -> &mut Daemon {
        &mut self.workers[number]
    }

    fn work(&self, number: usize) -> PathBuf {
        self.root.path().join(format!("work{number}"))
    }

    fn local(&self, number: usize) -> PathBuf {
        self.root.path().join(format!("local{number}"))
    }
}
