//! Processes that leave their executor, each in its own way, and the ends after which none of them may be left: with
//! control groups, where the machine lets a Worker have them, and without.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::Duration;

use firesteel_daemons::worker::reaper::control_group::ControlGroups;
use firesteel_protocol::ids::WorkerId;
use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::processes::{children_of, command_line, signal};
use firesteel_testkit::wait::poll;
use firesteel_testkit::{Daemon, firesteel, run, wait_for};
use firesteel_worker::Limits;
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::conformance::runner::PYTHON;

const CGROUP: Component =
    Component { name: "cgroup", look: can_have_control_groups, prepare: || Readiness::Ready };

/// The ways of `escapes.py`. The processes of the last ones do not carry the Worker's variables any more.
const WAYS: [&str; 8] = [
    "setsid",
    "double-fork",
    "nohup",
    "daemon",
    "setsid-without-environment",
    "double-fork-without-environment",
    "overwritten-environment",
    "forking-on",
];

/// The grace of the Worker, and what a busy machine needs.
const LONGEST: Duration = Duration::from_secs(30);

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = PYTHON.trials(&[
        ("escapes::none_outlives_its_application", || Site::start("false").ends_by(Site::kill_application)),
        ("escapes::none_outlives_its_executor", || Site::start("false").ends_by(Site::kill_executor)),
        ("escapes::none_outlives_a_worker_that_is_stopped", || {
            Site::start("false").ends_by(Site::stop_worker)
        }),
        ("escapes::none_outlives_a_worker_that_is_killed", || {
            Site::start("false").ends_by(Site::kill_worker)
        }),
        ("escapes::none_outlives_a_reaper_that_is_killed", || {
            Site::start("false").ends_by(Site::kill_reaper)
        }),
    ]);
    trials.extend(CGROUP.trials(&[
        ("escapes::none_outlives_its_application_in_a_control_group", || {
            Site::start("true").ends_by(Site::kill_application);
        }),
        ("escapes::none_outlives_its_executor_in_a_control_group", || {
            Site::start("true").ends_by(Site::kill_executor);
        }),
        ("escapes::none_outlives_a_worker_that_is_stopped_in_a_control_group", || {
            Site::start("true").ends_by(Site::stop_worker);
        }),
        ("escapes::none_outlives_a_worker_that_is_killed_in_a_control_group", || {
            Site::start("true").ends_by(Site::kill_worker);
        }),
        ("escapes::none_outlives_a_reaper_that_is_killed_in_a_control_group", || {
            Site::start("true").ends_by(Site::kill_reaper);
        }),
        ("escapes::none_outlives_the_start_of_the_next_worker_in_a_control_group", || {
            Site::start("true").ends_by(Site::kill_worker_and_reapers);
        }),
    ]));
    trials
}

fn can_have_control_groups() -> Result<(), String> {
    ControlGroups::of_worker(
        &WorkerId::new(format!("worker-test-{}", std::process::id())),
        Limits::default(),
    )?;
    (PYTHON.look)()
}

/// A Worker with one executor, from which processes have left in all ways.
struct Site {
    // Fields are dropped in this order.
    _launch: Daemon,
    /// Several, if one was killed.
    workers: Vec<Daemon>,
    master: Daemon,
    /// The files of the processes.
    files: TempDir,
    work: TempDir,
    control_groups: &'static str,
}

impl Site {
    fn start(control_groups: &'static str) -> Self {
        let [files, work] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
        let master = Daemon::master(&[]);
        let worker = worker(&master, work.path(), control_groups);
        master.wait_for_workers(1);
        let mut command = firesteel();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tools/escapes.py");
        command.args(["launch", "--master", master.url(), "--until", "never", "--num-executors", "1"]);
        command.args(["--executor-cores", "1", "--", "python3", script]).arg(files.path());
        let launch = Daemon::spawn(&mut command);
        let site = Self { _launch: launch, workers: vec![worker], master, files, work, control_groups };
        for way in WAYS {
            wait_for(&format!("{way} to run"), || site.runs(way).then_some(()));
        }
        site
    }

    /// Whether a process that left in this way holds its lock.
    fn runs(&self, way: &str) -> bool {
        let file = File::open(self.files.path().join(way));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Performs this end, after which none of the processes may be left.
    fn ends_by(mut self, end: fn(&mut Self)) {
        end(&mut self);
        let left = || -> Vec<&str> { WAYS.into_iter().filter(|way| self.runs(way)).collect() };
        if poll(LONGEST, || left().is_empty().then_some(())).is_none() {
            let log: String = self.workers.iter().map(Daemon::log).collect();
            panic!("these run on: {:?}\n{log}", left());
        }
    }

    fn kill_application(&mut self) {
        let id = self.master.status()["applications"][0]["id"].as_str().expect("it has one").to_owned();
        let done = run(firesteel().args(["kill", "--master", self.master.url(), &id]));
        assert_eq!(done.code(), 0, "{done}");
    }

    fn kill_executor(&mut self) {
        let pid = fs::read_to_string(self.files.path().join("executor")).expect("it was written");
        signal(pid.trim().parse().expect("a process id"), Signal::SIGKILL).expect("it runs");
    }

    fn stop_worker(&mut self) {
        self.workers[0].signal(Signal::SIGTERM);
        assert_eq!(self.workers[0].wait(), 0);
    }

    fn kill_worker(&mut self) {
        self.workers[0].signal(Signal::SIGKILL);
        self.workers[0].wait();
    }

    fn kill_reaper(&mut self) {
        self.reapers().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL).expect("it runs"));
        self.workers[0].wait_for_line(&["the reaper of", "killing the processes of"]);
    }

    /// Nobody is left who could end the processes, until the next Worker comes.
    fn kill_worker_and_reapers(&mut self) {
        // Stopped first, so that it does not adopt what the reapers leave.
        self.workers[0].signal(Signal::SIGSTOP);
        self.reapers().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL).expect("it runs"));
        self.kill_worker();
        assert!(WAYS.into_iter().all(|way| self.runs(way)), "nobody ends them yet");
        self.workers.push(worker(&self.master, self.work.path(), self.control_groups));
    }

    fn reapers(&self) -> Vec<u32> {
        let is_reaper = |pid: &u32| command_line(*pid).iter().any(|word| word == "__reaper");
        children_of(self.workers[0].pid()).into_iter().filter(is_reaper).collect()
    }
}

fn worker(master: &Daemon, work: &Path, control_groups: &str) -> Daemon {
    let control_groups = format!("firesteel.worker.controlGroups={control_groups}");
    let grace = "firesteel.worker.killGrace=100ms";
    Daemon::worker(master, work, &["-c", "1", "-m", "2g", "--conf", &control_groups, "--conf", grace])
}
