//! A cluster that several Masters share.

use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{Daemon, firesteel, processes, run, wait_for};
use crate::ensemble::Ensemble;

/// The session's timeout in these tests. A tick of ZooKeeper is half a second.
pub(crate) const SESSION: Duration = Duration::from_secs(2);

/// Masters that share a cluster, with Workers.
pub(crate) struct Cluster {
    pub(crate) ensemble: Ensemble,
    pub(crate) masters: Vec<Daemon>,
    workers: Vec<Daemon>,
    directory: TempDir,
}

impl Cluster {
    /// So many servers of ZooKeeper, and two Masters, of which the first leads.
    pub(crate) fn start(servers: usize) -> Self {
        let ensemble = Ensemble::start(servers);
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut cluster = Self { ensemble, masters: Vec::new(), workers: Vec::new(), directory };
        let first = cluster.add_master();
        cluster.masters[first].wait_for_line(&["leads in epoch 1"]);
        cluster.add_master();
        cluster.masters[1].wait_for_line(&["standing by", &cluster.masters[0].url()["spark://".len()..]]);
        cluster.workers.push(cluster.add_worker(&cluster.url(), "work-0"));
        cluster.wait_for_leader(0);
        cluster
    }

    /// The number of the new Master.
    pub(crate) fn add_master(&mut self) -> usize {
        self.masters.push(master(&self.ensemble.url(), &["--port", "0"]));
        self.masters.len() - 1
    }

    /// Starts a Master that was killed, at its port.
    pub(crate) fn restart_master(&mut self, index: usize) {
        let port = self.masters[index].address().port().to_string();
        self.masters[index] = master(&self.ensemble.url(), &["--port", &port]);
    }

    pub(crate) fn add_worker(&self, masters: &str, directory: &str) -> Daemon {
        let mut command = firesteel();
        command.args(["worker", "--port", "0", "--cores", "4", "--memory", "4g", "--work-dir"]);
        command.arg(self.directory.path().join(directory)).arg(masters);
        Daemon::start(&mut command)
    }

    /// A second Worker.
    pub(crate) fn add_second_worker(&mut self) {
        self.workers.push(self.add_worker(&self.url(), "work-1"));
    }

    pub(crate) fn kill_second_worker(&mut self) {
        self.workers[1].signal(Signal::SIGKILL);
        self.workers[1].wait();
    }

    /// A path in the directory of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What the Master that leads shows, if one does.
    pub(crate) fn status(&self) -> Option<Value> {
        let asked = run(firesteel().args(["status", "--json", "--master", &self.url()]));
        serde_json::from_str(&asked.stdout).ok()
    }

    /// The Master that leads.
    pub(crate) fn leader(&self) -> usize {
        wait_for("a Master that leads", || {
            let status = self.status()?;
            self.masters.iter().position(|master| status["url"] == master.url())
        })
    }

    /// Waits until another Master leads than this one, which may be stopped.
    pub(crate) fn wait_for_another_leader(&self, than: usize) {
        let other = &self.masters[1 - than];
        wait_for("another Master that leads", || {
            let asked = run(firesteel().args(["status", "--json", "--master", other.url()]));
            let status: Value = serde_json::from_str(&asked.stdout).ok()?;
            (status["url"] == other.url()).then_some(())
        });
    }

    /// Starts again whatever has ended: Masters, the second Worker, servers of ZooKeeper.
    pub(crate) fn restart_dead(&mut self) {
        for index in 0..self.masters.len() {
            if !self.masters[index].is_alive() {
                self.restart_master(index);
            }
        }
        if self.workers.len() > 1 && !self.workers[1].is_alive() {
            self.workers[1] = self.add_worker(&self.url(), "work-1");
        }
        self.ensemble.restart_dead();
    }

    /// The processes of executors themselves, without those that they started.
    pub(crate) fn own_executors(&self) -> Vec<u32> {
        let own = self.workers.iter().flat_map(|worker| processes::children_of(worker.pid()));
        own.filter(|process| !is_reaper(*process)).collect()
    }

    /// All Masters.
    pub(crate) fn url(&self) -> String {
        let addresses = self.masters.iter().map(|master| master.url().trim_start_matches("spark://"));
        format!("spark://{}", addresses.collect::<Vec<_>>().join(","))
    }

    /// Waits until this Master leads, and has the Worker.
    pub(crate) fn wait_for_leader(&self, index: usize) {
        let leader = &self.masters[index];
        wait_for("a Master that leads", || {
            let status = self.status()?;
            let has_worker = status["workers"].as_array()?.iter().any(|worker| worker["state"] == "ALIVE");
            (status["url"] == leader.url() && has_worker).then_some(())
        });
    }

    pub(crate) fn kill_master(&mut self, index: usize) {
        self.masters[index].signal(Signal::SIGKILL);
        self.masters[index].wait();
    }

    /// `launch` with two servers that run.
    pub(crate) fn servers(&self) -> Daemon {
        let mut command = firesteel();
        command.args(["launch", "--master", &self.url(), "--until", "never", "--num-executors", "2"]);
        command.args(["--executor-cores", "1", "--json", "--", "sleep", "100000"]);
        let launch = Daemon::spawn(&mut command);
        wait_for("both servers", || {
            (launch.output_so_far().matches("executor_running").count() == 2).then_some(())
        });
        launch
    }

    /// The processes of all executors.
    pub(crate) fn executors(&self) -> Vec<u32> {
        let all = self.workers.iter().flat_map(|worker| processes::descendants_of(worker.pid()));
        all.filter(|process| !is_reaper(*process)).collect()
    }
}

/// Whether this process is the one that ends the executors of a Worker that has died.
fn is_reaper(process: u32) -> bool {
    processes::command_line(process).iter().any(|word| word == "__reaper")
}

/// A Master, once it can be reached.
pub(crate) fn master(zookeeper: &str, arguments: &[&str]) -> Daemon {
    let mut command = firesteel();
    command.args(["master", "--conf", "spark.deploy.recoveryMode=ZOOKEEPER"]).args(arguments);
    command.arg("--conf").arg(format!("spark.deploy.zookeeper.url={zookeeper}"));
    command.arg("--conf").arg(format!("firesteel.master.zookeeper.sessionTimeout={}s", SESSION.as_secs()));
    Daemon::start(&mut command)
}
