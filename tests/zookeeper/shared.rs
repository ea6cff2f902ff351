//! A cluster that several Masters share.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use firesteel_testkit::zookeeper::{Ensemble, Host};
use firesteel_testkit::{Daemon, firesteel, processes, run, wait_for};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// The default session timeout of these tests. A tick of ZooKeeper is half a second.
pub(crate) const SESSION: Duration = Duration::from_secs(2);

/// The hosts and settings of a cluster's Masters and Workers.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) masters: [Host; 2],
    pub(crate) workers: [Host; 2],
    pub(crate) programs: [fn() -> Command; 2],
    pub(crate) properties: &'static [&'static str],
}

impl Plan {
    /// Everything on this machine, with default settings.
    pub(crate) const HERE: Self = Self {
        masters: [Host::LOOPBACK; 2],
        workers: [Host::LOOPBACK; 2],
        programs: [firesteel; 2],
        properties: &[],
    };
}

/// Masters that share a cluster, with Workers.
pub(crate) struct SharedCluster {
    pub(crate) ensemble: Ensemble,
    pub(crate) masters: Vec<Daemon>,
    pub(crate) workers: Vec<Daemon>,
    plan: Plan,
    directory: TempDir,
}

impl SharedCluster {
    /// Starts this number of ZooKeeper servers, and two Masters. The first Master leads.
    pub(crate) fn start(servers: usize) -> Self {
        Self::start_as(Plan::HERE, Ensemble::start(servers))
    }

    /// Starts two Masters and one Worker. The first Master leads.
    pub(crate) fn start_as(plan: Plan, ensemble: Ensemble) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut cluster = Self { ensemble, masters: Vec::new(), workers: Vec::new(), plan, directory };
        let first = cluster.add_master();
        cluster.masters[first].wait_for_line(&["leads in epoch 1"]);
        cluster.add_master();
        cluster.masters[1].wait_for_line(&["standing by", &cluster.masters[0].url()["spark://".len()..]]);
        cluster.workers.push(cluster.own_worker(0));
        cluster.wait_for_leader(0);
        cluster
    }

    /// Starts another Master. Returns its index.
    pub(crate) fn add_master(&mut self) -> usize {
        self.masters.push(self.own_master(self.masters.len(), "0"));
        self.masters.len() - 1
    }

    /// Restarts a killed Master on its port.
    pub(crate) fn restart_master(&mut self, index: usize) {
        let port = self.masters[index].address().port().to_string();
        self.masters[index] = self.own_master(index, &port);
    }

    /// Starts the Master with this index on this port.
    fn own_master(&self, index: usize, port: &str) -> Daemon {
        let properties = self.plan.properties.iter().flat_map(|property| ["--conf", property]);
        let arguments: Vec<&str> =
            ["--port", port, "--webui-port", "0"].into_iter().chain(properties).collect();
        master_on(self.plan.masters[index], self.plan.programs[index](), &self.ensemble.url(), &arguments)
    }

    pub(crate) fn add_worker(&self, host: Host, masters: &str, directory: &str) -> Daemon {
        let mut command = firesteel();
        command.args(["worker", "--host", &host.address.to_string(), "--port", "0"]);
        command.args(["--conf", "firesteel.insecure=true"]);
        command.args(["--cores", "4", "--memory", "4g", "--work-dir"]);
        command.arg(self.directory.path().join(directory)).arg(masters);
        Daemon::start(&mut host.enter(command))
    }

    fn own_worker(&self, index: usize) -> Daemon {
        self.add_worker(self.plan.workers[index], &self.url(), &format!("work-{index}"))
    }

    pub(crate) fn add_second_worker(&mut self) {
        self.workers.push(self.own_worker(1));
    }

    pub(crate) fn kill_second_worker(&mut self) {
        self.workers[1].signal(Signal::SIGKILL);
        self.workers[1].wait();
    }

    /// A path in the directory of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The status of the leading Master, if there is one.
    pub(crate) fn status(&self) -> Option<Value> {
        let asked = run(firesteel().args(["status", "--json", "--master", &self.url()]));
        serde_json::from_str(&asked.stdout).ok()
    }

    /// The index of the leading Master.
    pub(crate) fn leader(&self) -> usize {
        wait_for("a Master that leads", || {
            let status = self.status()?;
            self.masters.iter().position(|master| status["url"] == master.url())
        })
    }

    /// Waits until a Master other than this one leads. This one may be stopped.
    pub(crate) fn wait_for_another_leader(&self, than: usize) {
        let other = &self.masters[1 - than];
        wait_for("another Master that leads", || {
            let asked = run(firesteel().args(["status", "--json", "--master", other.url()]));
            let status: Value = serde_json::from_str(&asked.stdout).ok()?;
            (status["url"] == other.url()).then_some(())
        });
    }

    /// Restarts everything that has ended: Masters, the second Worker, servers of ZooKeeper.
    pub(crate) fn restart_dead(&mut self) {
        for index in 0..self.masters.len() {
            if !self.masters[index].is_alive() {
                self.restart_master(index);
            }
        }
        if self.workers.len() > 1 && !self.workers[1].is_alive() {
            self.workers[1] = self.own_worker(1);
        }
        self.ensemble.restart_dead();
    }

    /// The processes of executors themselves, without their children.
    pub(crate) fn own_executors(&self) -> Vec<u32> {
        let below = self.workers.iter().flat_map(|worker| processes::children_of(worker.pid()));
        below.filter(|process| is_reaper(*process)).flat_map(processes::children_of).collect()
    }

    pub(crate) fn url(&self) -> String {
        let addresses = self.masters.iter().map(|master| master.url().trim_start_matches("spark://"));
        format!("spark://{}", addresses.collect::<Vec<_>>().join(","))
    }

    /// Waits until this Master leads and has the Worker.
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

    /// A `launch` with two running servers.
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

    /// Lets the leader place a new executor, which runs to its end.
    pub(crate) fn assert_places(&self) {
        let placed =
            run(firesteel().args(["map", "--master", &self.url(), "--", "echo", "{}", ":::", "one"]));
        assert_eq!((placed.code(), placed.stdout.as_str()), (0, "one\n"), "{placed}");
    }

    /// Waits until there are exactly two Workers and the two servers of `launch`, both as processes and in the leader's
    /// tables.
    pub(crate) fn wait_for_servers_alone(&self) {
        wait_for("only the servers to be left, with one core each", || {
            let status = self.status()?;
            // The application of a lost driver is UNKNOWN until the leader gives it up: the driver unregistered at a
            // stopped Master, or never learned what an earlier leader had recorded.
            let mut live = status["applications"].as_array()?.iter().filter(|app| app["state"] != "UNKNOWN");
            let is_quiet = live.next()?["executors"].as_array()?.len() == 2 && live.next().is_none();
            let alive = status["workers"].as_array()?.iter().filter(|row| row["state"] == "ALIVE");
            let cores: Vec<u64> = alive.filter_map(|row| row["cores_used"].as_u64()).collect();
            // A Worker tells of an end after the process is gone.
            let are_given_back = cores.len() == 2 && cores.iter().sum::<u64>() == 2;
            (is_quiet && are_given_back && self.executors().len() == 2).then_some(())
        });
    }

    pub(crate) fn executors(&self) -> Vec<u32> {
        let all = self.workers.iter().flat_map(|worker| processes::descendants_of(worker.pid()));
        all.filter(|process| !is_reaper(*process)).collect()
    }
}

/// Whether this process is the reaper of an executor.
fn is_reaper(process: u32) -> bool {
    processes::command_line(process).iter().any(|word| word == "__reaper")
}

/// Starts a Master on this machine, and waits until it can be reached.
pub(crate) fn master(zookeeper: &str, arguments: &[&str]) -> Daemon {
    master_on(Host::LOOPBACK, firesteel(), zookeeper, arguments)
}

/// Starts a Master on this host, and waits until it can be reached.
fn master_on(host: Host, mut command: Command, zookeeper: &str, arguments: &[&str]) -> Daemon {
    command.args(["master", "--host", &host.address.to_string(), "--conf", "firesteel.insecure=true"]);
    command.args(["--conf", "spark.deploy.recoveryMode=ZOOKEEPER"]);
    command.arg("--conf").arg(format!("spark.deploy.zookeeper.url={zookeeper}"));
    command.arg("--conf").arg(format!("firesteel.master.zookeeper.sessionTimeout={}s", SESSION.as_secs()));
    command.args(arguments);
    Daemon::start(&mut host.enter(command))
}

/// Checks that `launch` has seen two servers, and no end of any.
pub(crate) fn assert_undisturbed(launch: &Daemon) {
    let output = launch.output_so_far();
    assert_eq!(output.matches("executor_launched").count(), 2, "{output}");
    assert!(!output.contains("executor_ended"), "{output}");
}

/// The time of a daemon's log line with these words; `number` counts such lines from 0.
pub(crate) fn time_of(daemon: &Daemon, number: usize, words: &str) -> String {
    let line = |log: &str| log.lines().filter(|line| line.contains(words)).nth(number).map(str::to_owned);
    let line = wait_for(words, || line(&daemon.log()));
    line.split_whitespace().next().expect("a line begins with a time").to_owned()
}
