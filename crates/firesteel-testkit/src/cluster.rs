//! A Master with Workers, each in a directory of its own.
//!
//! ```text
//! let cluster = Cluster::plan().worker(&["--cores", "4", "--memory", "2g"]).start(2);
//! assert_eq!(cluster.said(&["map", "--", "echo", ":::", "a"]), "a\n");
//! ```

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes::{command_line, descendants_of};
use crate::program::{Daemon, Finished, firesteel, run};

/// A Master with Workers. When it is dropped, all daemons end and the directory is removed.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order.
    /// The Workers, in the order of their start.
    pub workers: Vec<Daemon>,
    /// The Master.
    pub master: Daemon,
    /// The directory with the files of all daemons, and of the test.
    pub directory: TempDir,
    plan: Plan,
}

/// The settings of a [`Cluster`].
#[derive(Clone, Debug, Default)]
pub struct Plan {
    master: Vec<String>,
    worker: Vec<String>,
    variables: Vec<(&'static str, OsString)>,
    is_durable: bool,
}

impl Plan {
    /// Properties of the Master, each as `name=value`.
    pub fn properties(mut self, properties: &[&str]) -> Self {
        self.master
            .extend(properties.iter().flat_map(|property| ["--conf".to_owned(), (*property).to_owned()]));
        self
    }

    /// Lets the Master write its state into the cluster's directory, where [`Cluster::restart_master`] finds it.
    pub fn durable(mut self) -> Self {
        self.is_durable = true;
        self
    }

    /// Arguments of each Worker.
    pub fn worker(mut self, arguments: &[&str]) -> Self {
        self.worker.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// A variable in the environment of each Worker.
    pub fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Starts the cluster with this number of Workers, and waits until all of them are registered.
    pub fn start(self, workers: usize) -> Cluster {
        self.start_in(tempfile::tempdir().expect("a temporary directory"), workers)
    }

    /// Like `start`, in a directory where the test has put files for the daemons.
    pub fn start_in(self, directory: TempDir, workers: usize) -> Cluster {
        let master = Daemon::start(&mut self.master(&directory.path().join(STATE), "0"));
        let mut cluster = Cluster { workers: Vec::new(), master, directory, plan: self };
        for _ in 0..workers {
            let worker = cluster.another_worker(&[]);
            cluster.workers.push(worker);
        }
        cluster.master.wait_for_workers(workers);
        cluster
    }

    /// The command of a Master at this port. If the Master is durable, its state is in this directory.
    fn master(&self, state: &Path, port: &str) -> Command {
        let mut command = firesteel();
        command.args(["master", "--port", port]).args(&self.master);
        if self.is_durable {
            command.args(["--webui-port", "0", "--conf"]);
            command.arg(format!("spark.deploy.recoveryDirectory={}", state.display()));
        }
        command
    }
}

/// The name of the directory with the Master's state.
const STATE: &str = "state";

impl Cluster {
    /// A plan of a cluster with default settings.
    pub fn plan() -> Plan {
        Plan::default()
    }

    /// A path in the cluster's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The work directory of a Worker, by the Worker's number from 0.
    pub fn work(&self, worker: usize) -> PathBuf {
        self.path(&format!("work-{worker}"))
    }

    /// The directory with the Master's state.
    pub fn state(&self) -> PathBuf {
        self.path(STATE)
    }

    /// Starts another Worker with these arguments and those of the plan, and waits until it is registered.
    pub fn add_worker(&mut self, arguments: &[&str]) -> &mut Daemon {
        let worker = self.another_worker(arguments);
        self.workers.push(worker);
        self.master.wait_for_workers(self.workers.len());
        self.workers.last_mut().expect("it was added")
    }

    /// Starts another Worker, and returns it without adding it to [`workers`](Self::workers).
    fn another_worker(&self, arguments: &[&str]) -> Daemon {
        let mut command = firesteel();
        command.args(["worker", "--port", "0", "--work-dir"]).arg(self.work(self.workers.len()));
        command.args(&self.plan.worker).args(arguments).arg(self.master.url());
        command.envs(self.plan.variables.iter().map(|(name, value)| (name, value)));
        Daemon::start(&mut command)
    }

    /// Kills the Master.
    pub fn kill_master(&mut self) {
        self.master.signal(Signal::SIGKILL);
        self.master.wait();
    }

    /// Starts the killed Master again, at its port and from its written state.
    pub fn start_master(&mut self) {
        let state = self.state();
        self.start_master_with(&state, &[]);
    }

    /// Like `start_master`, with the state in another directory, and with these arguments.
    pub fn start_master_with(&mut self, state: &Path, arguments: &[&str]) {
        self.master = Daemon::start(self.master_command(state, &self.port()).args(arguments));
    }

    /// The command of a Master at this port, with the state in this directory.
    pub fn master_command(&self, state: &Path, port: &str) -> Command {
        self.plan.master(state, port)
    }

    /// The Master's port, which stays the same when the Master is started again.
    pub fn port(&self) -> String {
        self.master.address().port().to_string()
    }

    /// Kills the Master, and starts it again from its written state.
    pub fn restart_master(&mut self) {
        self.kill_master();
        self.start_master();
    }

    /// A command of the program that connects to this cluster. The first argument is the name of the command.
    ///
    /// # Panics
    /// `arguments` contains no name.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let (name, rest) = arguments.split_first().expect("a command has a name");
        let mut command = firesteel();
        command.args([name, "--master", self.master.url()]).args(rest);
        command
    }

    /// Runs a command of the program with these arguments, until it ends.
    pub fn ask(&self, arguments: &[&str]) -> Finished {
        run(&mut self.command(arguments))
    }

    /// Runs a command of the program with these arguments. Returns its standard output.
    ///
    /// # Panics
    /// The command fails.
    pub fn said(&self, arguments: &[&str]) -> String {
        let done = self.ask(arguments);
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    }

    /// Runs a command of the program with these arguments and `--json`. Returns its output.
    ///
    /// # Panics
    /// The command fails, or its output is not JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let (name, rest) = arguments.split_first().expect("a command has a name");
        serde_json::from_str(&self.said(&[&[name, "--json"], rest].concat())).expect("it is JSON")
    }

    /// The running executors that a Worker has started, by the Worker's number from 0. Executors that run another
    /// program than Firesteel do not count.
    pub fn executors(&self, worker: usize) -> Vec<u32> {
        let below = descendants_of(self.workers[worker].pid());
        let is_executor = |pid: &u32| command_line(*pid).iter().any(|word| word == "--executor-id");
        below.into_iter().filter(is_executor).collect()
    }
}
