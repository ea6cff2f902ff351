//! The cluster that suffers the faults.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use firesteel_testkit::{Daemon, firesteel, limited, processes, wait_for};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::route::Route;
use crate::peers::floods::{half_message, long_application};

const WORKERS: usize = 3;

/// The limit of the Master's memory: 256 MiB.
const MEMORY: &str = "-d 262144";

/// How long a cluster's processes may take to end after their Workers were told to.
const ENDING: Duration = Duration::from_secs(30);

/// A Master and Workers, with a route from each Worker to the Master, and one from the executors to the driver.
#[derive(Debug)]
pub(crate) struct Victims {
    master: Mutex<Daemon>,
    /// The URL on which it listens.
    pub(crate) url: String,
    pub(crate) workers: Vec<Victim>,
    pub(crate) driver: Route,
    work: TempDir,
}

/// A Worker, which is restarted whenever it was killed.
#[derive(Debug)]
pub(crate) struct Victim {
    daemon: Mutex<Daemon>,
    pub(crate) to_master: Route,
}

impl Victims {
    /// Starts the cluster, with short time-outs.
    pub(crate) fn start() -> Self {
        let work = tempfile::tempdir().expect("a temporary directory");
        let master = start_master(work.path(), 0);
        let (target, url) = (master.address(), master.url().to_owned());
        let workers = (0..WORKERS).map(|_| Route::start("127.0.0.1", move |_| target));
        let workers = workers
            .map(|to_master| Victim { daemon: Mutex::new(start_worker(&to_master, work.path())), to_master });
        let workers = workers.collect();
        // The driver listens on the port of its route, at another address.
        let driver = Route::start("127.0.0.2", |route| SocketAddr::from(([127, 0, 0, 1], route.port())));
        Self { master: Mutex::new(master), url, workers, driver, work }
    }

    pub(crate) fn master(&self) -> MutexGuard<'_, Daemon> {
        self.master.lock().expect("nobody panics with it")
    }

    /// Kills the Master, and restarts it from its journal after a pause.
    pub(crate) fn kill_master(&self, pause: Duration) {
        let mut master = self.master();
        let port = master.address().port();
        master.signal(Signal::SIGKILL);
        master.wait();
        std::thread::park_timeout(pause);
        *master = start_master(self.work.path(), port);
    }

    /// Removes the Master's state, and waits until the Master has written it anew.
    pub(crate) fn remove_state(&self) {
        let master = self.master();
        let written = || master.log().matches("writing it there anew").count();
        let before = written();
        // Renamed first, since the Master may write while files are removed.
        let (state, removed) = (self.work.path().join("state"), self.work.path().join("removed"));
        fs::rename(state, &removed).expect("it is there");
        fs::remove_dir_all(removed).expect("it is there");
        wait_for("the state to be written anew", || (written() > before).then_some(()));
    }

    /// Sends long applications and halves of long messages to the Master, which must not end. They leave after a pause.
    pub(crate) fn flood(&self, pause: Duration) {
        let mut master = self.master();
        let applications = (0..6).map(|number| long_application(&master, &format!("long-{number}")));
        let flood: Vec<_> = applications.chain((0..4).map(|_| half_message(&master))).collect();
        std::thread::park_timeout(pause);
        assert!(master.is_alive(), "{}", master.log());
        drop(flood);
    }

    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route> {
        self.workers.iter().map(|worker| &worker.to_master).chain([&self.driver])
    }

    pub(crate) fn executors(&self) -> Vec<u32> {
        let workers = self.workers.iter().map(|worker| worker.daemon().pid());
        workers.flat_map(|pid| with_word(pid, "--executor-id")).collect()
    }

    /// Kills a Worker, with or without its reapers, and starts another one in the same work directory.
    pub(crate) fn kill_worker(&self, index: usize, also_reapers: bool) {
        let worker = &self.workers[index];
        let mut daemon = worker.daemon();
        if also_reapers {
            // Stopped first, so that it does not adopt what they leave.
            daemon.signal(Signal::SIGSTOP);
            with_word(daemon.pid(), "__reaper").into_iter().for_each(|pid| send(pid, Signal::SIGKILL));
        }
        daemon.signal(Signal::SIGKILL);
        daemon.wait();
        *daemon = start_worker(&worker.to_master, self.work.path());
    }

    /// Ends all lasting faults.
    pub(crate) fn heal(&self) {
        self.routes().for_each(Route::go_on);
        self.master().signal(Signal::SIGCONT);
        self.workers.iter().for_each(|worker| worker.daemon().signal(Signal::SIGCONT));
        self.executors().into_iter().for_each(|pid| send(pid, Signal::SIGCONT));
    }

    /// Ends the cluster. Returns its remaining processes.
    pub(crate) fn end(self) -> Vec<u32> {
        let Self { workers, work, .. } = self;
        for worker in workers {
            worker.daemon.into_inner().expect("nobody panicked with it").terminate();
        }
        let give_up = Instant::now() + ENDING;
        loop {
            let left = processes::within(work.path());
            if left.is_empty() || Instant::now() > give_up {
                return left;
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Victim {
    pub(crate) fn daemon(&self) -> MutexGuard<'_, Daemon> {
        self.daemon.lock().expect("nobody panics with it")
    }
}

/// Sends a signal to a process, which may have ended.
pub(crate) fn send(pid: u32, signal: Signal) {
    let _ = processes::signal(pid, signal);
}

/// The descendants of a process with this word in their command line.
fn with_word(pid: u32, word: &str) -> Vec<u32> {
    let mut below = processes::descendants_of(pid);
    below.retain(|process| processes::command_line(*process).iter().any(|found| found == word));
    below
}

fn start_master(work: &Path, port: u16) -> Daemon {
    let mut command = firesteel();
    let state = format!("spark.deploy.recoveryDirectory={}", work.join("state").display());
    command.args([
        "master",
        "--port",
        &port.to_string(),
        "--webui-port",
        "0",
        "--conf",
        "spark.worker.timeout=4",
        "--conf",
        &state,
    ]);
    Daemon::start(&mut limited(MEMORY, &command))
}

fn start_worker(to_master: &Route, work: &Path) -> Daemon {
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--cores", "2", "--memory", "4g", "--work-dir"]).arg(work);
    Daemon::start(command.arg(format!("spark://{}", to_master.address)))
}
