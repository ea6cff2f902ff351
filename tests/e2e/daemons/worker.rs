//! The Worker and the processes that it starts.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use firesteel_daemons::worker::cleanup::processes::Marker;
use firesteel_host::net::call;
use firesteel_protocol::address::parse_masters;
use firesteel_protocol::messages::{
    ClientToWorker, DriverToMaster, ExecutorState, WorkerToClient, WorkerViewOfItself,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::wire::Role;
use firesteel_testkit::processes::{children_of, command_line, is_alive};
use firesteel_testkit::{Daemon, firesteel, forgetful_master, processes, run, wait_for};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::executors::driver::{Driver, script};

/// A Master and a Worker with 4 cores, and the Worker's work directory.
pub(crate) struct Pair {
    // Fields are dropped in this order.
    pub(crate) worker: Daemon,
    pub(crate) master: Daemon,
    pub(crate) work: TempDir,
}

impl Pair {
    pub(crate) fn new(worker_arguments: &[&str]) -> Self {
        let work = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let arguments = [&["--cores", "4", "--memory", "4g"], worker_arguments].concat();
        let worker = Daemon::worker(&master, work.path(), &arguments);
        Self { worker, master, work }
    }

    pub(crate) fn register(&self, shell_script: &str, executors: u64) -> Driver {
        Driver::register(self.master.address(), script(shell_script, executors))
    }

    pub(crate) fn file(&self, driver: &Driver, executor: u32, name: &str) -> PathBuf {
        self.work.path().join(driver.app.as_str()).join(executor.to_string()).join(name)
    }

    /// The Worker's view of itself.
    pub(crate) fn view(&self) -> WorkerViewOfItself {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let address = parse_masters(self.worker.url()).expect("it is a URL").remove(0);
        let answer = call(&address, Role::Worker, "a test", &ClientToWorker::RequestWorkerState);
        match runtime.block_on(answer).expect("the Worker answers") {
            WorkerToClient::WorkerStateResponse(view) => view,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn reapers(&self) -> Vec<u32> {
        let is_reaper = |pid: &u32| command_line(*pid).get(1).is_some_and(|word| word == "__reaper");
        children_of(self.worker.pid()).into_iter().filter(is_reaper).collect()
    }
}

/// Waits for a file with at least one complete line, and returns its text.
pub(crate) fn wait_for_text(path: &Path) -> String {
    let whole = || fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'));
    wait_for(&format!("{} to be written", path.display()), whole)
}

pub(crate) fn wait_for_ends(pids: &[u32]) {
    wait_for("processes to end", || pids.iter().all(|&pid| !is_alive(pid)).then_some(()));
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    processes::signal(pid, signal).expect("it is there");
}

/// A script that leaves processes everywhere: in its group, in a session of its own, and without a parent. It writes
/// `up` when all have started, and then runs on.
pub(crate) const SPREAD: &str = "trap '' TERM HUP INT; \
    (sleep 1000 & echo $! > a; wait) & \
    setsid sh -c 'echo $$ > b; exec sleep 1000' & \
    (setsid sh -c '(sleep 1000 & echo $! > c) &' &) ; \
    while ! [ -s a -a -s b -a -s c ]; do :; done; echo up > up; \
    while :; do sleep 1000; done";

pub(crate) fn up(pair: &Pair, driver: &Driver, executors: u32) -> Vec<u32> {
    let mut pids = Vec::new();
    for executor in 0..executors {
        wait_for_text(&pair.file(driver, executor, "up"));
        for name in ["a", "b", "c"] {
            let text = wait_for_text(&pair.file(driver, executor, name));
            pids.push(text.trim().parse().expect("a process id"));
        }
    }
    pids.extend(pair.view().executors.iter().filter_map(|row| row.pid));
    assert_eq!(pids.len(), 4 * executors as usize);
    assert!(pids.iter().all(|&pid| is_alive(pid)), "{pids:?}");
    pids
}

#[test]
fn kill_9_of_a_worker_leaves_none_of_its_processes() {
    let mut pair = Pair::new(&[]);
    let driver = pair.register(SPREAD, 3);
    let mut pids = up(&pair, &driver, 3);
    let marker = Marker::of_worker(&pair.view().id);
    assert_eq!(pair.reapers().len(), 3);
    pids.extend(pair.reapers());

    pair.worker.signal(Signal::SIGKILL);
    assert_eq!(pair.worker.wait(), 137);
    wait_for_ends(&pids);
    assert_eq!(marker.matching(), []);
}

#[test]
fn polite_signals_do_not_end_a_reaper_and_the_worker_ends_what_a_killed_one_leaves() {
    let pair = Pair::new(&[]);
    let mut driver = pair.register(SPREAD, 2);
    let pids = up(&pair, &driver, 2);
    let [reaper, other] = pair.reapers()[..] else { panic!("{:?}", pair.reapers()) };
    for polite in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signal(reaper, polite);
    }
    assert!(is_alive(reaper));
    let (of_it, of_other): (Vec<u32>, Vec<u32>) =
        pids.iter().copied().partition(|pid| processes::descendants_of(reaper).contains(pid));
    assert_eq!((of_it.len(), of_other.len()), (4, 4));
    signal(reaper, Signal::SIGKILL);
    wait_for_ends(&of_it);
    let (_, state) = driver.until(ExecutorState::is_finished);
    assert_eq!(state, ExecutorState::Exited(ExitStatus::Signal(9)));
    pair.worker.wait_for_line(&["the reaper of", "killing the processes of"]);
    assert!(is_alive(other) && of_other.iter().all(|&pid| is_alive(pid)), "{}", pair.worker.log());
}

#[test]
fn a_reaper_that_does_not_answer_is_killed_with_all_of_its_processes() {
    let pair = Pair::new(&["--conf", "firesteel.worker.killGrace=100ms"]);
    let mut driver = pair.register(SPREAD, 1);
    let pids = up(&pair, &driver, 1);
    signal(pair.reapers()[0], Signal::SIGSTOP);
    driver.send(&DriverToMaster::UnregisterApplication { app: driver.app.clone(), outcome: None });
    pair.worker.wait_for_line(&["the reaper of", "does not answer: killing it"]);
    wait_for_ends(&pids);
}

#[test]
fn sigterm_and_ctrl_c_end_the_executors_first_and_then_the_worker_with_code_0() {
    for request in [Signal::SIGTERM, Signal::SIGINT] {
        let mut pair = Pair::new(&["--conf", "firesteel.worker.killGrace=200ms"]);
        let mut driver = pair.register(SPREAD, 2);
        let pids = up(&pair, &driver, 2);
        let reapers = pair.reapers();
        pair.worker.signal(request);
        assert_eq!(pair.worker.wait(), 0, "{}", pair.worker.log());
        // At its end, without delay, none of its processes is left.
        assert!(pids.iter().all(|&pid| !is_alive(pid)), "{}", pair.worker.log());
        assert!(reapers.iter().all(|&pid| !is_alive(pid)));
        // Their ends were reported before the connection was closed.
        let (_, state) = driver.until(ExecutorState::is_finished);
        assert_eq!(state, ExecutorState::Killed(Some(ExitStatus::Signal(9))));
    }
}

#[test]
fn an_executors_end_is_told_to_its_driver_as_it_was() {
    for (end, status) in [("exit 7", ExitStatus::Code(7)), ("kill -SEGV $$", ExitStatus::Signal(11))] {
        let pair = Pair::new(&[]);
        let mut driver = pair.register(&format!("echo out; echo err >&2; {end}"), 1);
        let (executor, state) = driver.until(ExecutorState::is_finished);
        assert_eq!(state, ExecutorState::Exited(status));
        let read = |name| fs::read_to_string(pair.file(&driver, executor.0, name)).expect("it was written");
        assert_eq!(read("stdout"), "out\n");
        let stderr = read("stderr");
        let (header, rest) = stderr.split_once(&format!("{}\n\n", "=".repeat(40))).expect("a header");
        assert_eq!(rest, "err\n");
        assert!(header.contains("Firesteel Executor Command: sh -c 'echo out;"), "{header}");
        assert!(header.contains(" TEST_COLOUR=red ") && !header.contains("hunter2"), "{header}");
    }
}

#[test]
fn an_executor_is_told_who_and_where_it_is_and_what_is_its_own() {
    let pair = Pair::new(&["--resource", "gpu=0,7"]);
    let said = "echo $0 $*; echo $FIRESTEEL_APP_ID/$FIRESTEEL_EXECUTOR_ID on $FIRESTEEL_WORKER_ID; \
        echo $FIRESTEEL_CORES $FIRESTEEL_MEMORY_MIB $FIRESTEEL_RESOURCE_GPU; \
        test $(pwd) = $FIRESTEEL_EXECUTOR_DIR && echo here; sleep 1000";
    let mut application = script(said, 2);
    application.profile.resources = [("gpu".to_owned(), 1.into())].into();
    let placeholders = ["{{EXECUTOR_ID}}", "{{CORES}}", "{{MEMORY}}", "{{HOSTNAME}}", "{{APP_ID}}"];
    let more = ["{{WORKER_URL}}", "{{WORKER_ID}}", "{{RESOURCE_PROFILE_ID}}", "id={{EXECUTOR_ID}}"];
    let command = application.command.program_mut().expect("it is a program");
    command.arguments.extend(placeholders.into_iter().chain(more).map(String::from));

    let driver = Driver::register(pair.master.address(), application);
    let (app, id, url) = (&driver.app, pair.view().id, pair.worker.url());
    for (executor, gpu) in [(0, "0"), (1, "7")] {
        let path = pair.file(&driver, executor, "stdout");
        let text =
            wait_for("four lines", || fs::read_to_string(&path).ok().filter(|text| text.ends_with("here\n")));
        let arguments = format!("{executor} 1 64 127.0.0.1 {app} {url} {id} 0 id={{{{EXECUTOR_ID}}}}");
        assert_eq!(text, format!("{arguments}\n{app}/{executor} on {id}\n1 64 {gpu}\nhere\n"));
    }
}

#[test]
fn the_end_of_an_application_ends_its_executors_and_all_that_they_started() {
    let pair = Pair::new(&["--conf", "firesteel.worker.killGrace=100ms"]);
    let mut driver = pair.register(SPREAD, 2);
    let pids = up(&pair, &driver, 2);
    let app = driver.app.clone();
    driver.send(&DriverToMaster::UnregisterApplication { app: app.clone(), outcome: None });
    wait_for_ends(&pids);
    wait_for("the Worker to notice", || pair.view().executors.is_empty().then_some(()));
    pair.worker.wait_for_line(&[&format!("application {app} ended")]);
    wait_for_text(&pair.file(&driver, 0, "stderr"));
}

#[test]
fn executors_outlive_their_master_and_the_worker_comes_back_to_the_next_one() {
    let mut pair = Pair::new(&["--conf", "firesteel.worker.killGrace=100ms"]);
    let driver = pair.register(SPREAD, 1);
    let pids = up(&pair, &driver, 1);
    let port = pair.master.address().port().to_string();
    pair.master.signal(Signal::SIGKILL);
    assert_eq!(pair.master.wait(), 137);
    let lost = || Some(pair.view()).filter(|view| view.master_url.is_none());
    assert_eq!(wait_for("the Worker to notice", lost).executors.len(), 1);
    assert!(pids.iter().all(|&pid| is_alive(pid)));

    let next = Daemon::start(&mut forgetful_master(&port));
    let registered = || pair.view().master_url.filter(|url| url == next.url());
    wait_for("the Worker to register again", registered);
    // This Master does not know the executor, and orders its end.
    wait_for_ends(&pids);
    assert!(is_alive(pair.worker.pid()));
}

fn fails(arguments: &[&str], code: i32, words: &[&str]) {
    let done = run(firesteel().args(arguments));
    assert_eq!(done.code(), code, "{arguments:?}: {done}");
    for words in words {
        assert!(done.stderr.contains(words), "{words:?} is missing: {done}");
    }
}

#[test]
fn a_worker_that_cannot_work_says_why_and_what_to_do() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let path = |name| scratch.path().join(name).to_str().expect("temporary directories are text").to_owned();
    let (file, work) = (&*path("file"), &*path("work"));
    fs::write(file, "").expect("a file");
    let nobody = "spark://127.0.0.1:1";

    fails(
        &["worker", nobody, "-d", file],
        1,
        &["as the work directory: it cannot be made", file, "--work-dir"],
    );
    let unwritable = ["as the work directory: cannot write to it", "--work-dir"];
    fails(&["worker", nobody, "-d", "/proc/self"], 1, &unwritable);

    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it has one").port().to_string();
    let in_use = ["the port is in use", &port, "--port"];
    fails(&["worker", nobody, "-d", work, "--port", &port], 1, &in_use);

    let once = ["worker", nobody, "-d", work, "--conf", "spark.worker.maxRegistrationRetries=1"];
    fails(&once, 69, &["no Master accepted this Worker in 1 attempt: spark://127.0.0.1:1"]);
}

#[test]
fn a_worker_that_only_its_own_machine_reaches_says_so_if_its_master_is_elsewhere() {
    let work = tempfile::tempdir().expect("a temporary directory");
    // An address for documentation: no machine answers there.
    let start = |arguments: &[&str]| {
        let mut command = firesteel();
        command.args(["worker", "--port", "0", "--work-dir"]).arg(work.path()).args(arguments);
        Daemon::spawn(&mut command)
    };
    let worker = start(&["spark://192.0.2.1:7077"]);
    let line = worker.wait_for_line(&["only this machine can connect to"]);
    assert!(line.contains("127.0.0.1") && line.contains("spark://192.0.2.1:7077"), "{line}");
    assert!(line.contains("set --host"), "{line}");
    let near = start(&["spark://127.0.0.1:1"]);
    near.wait_for_line(&["spark://127.0.0.1:1"]);
    assert!(!near.log().contains("only this machine"), "{}", near.log());
}

#[test]
fn a_worker_beside_a_script_of_settings_says_that_it_does_not_read_it() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let conf = tempfile::tempdir().expect("a temporary directory");
    fs::write(conf.path().join("spark-env.sh"), "SPARK_WORKER_CORES=3\n").expect("it can be written");
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--work-dir"]).arg(work.path()).arg("spark://127.0.0.1:1");
    let worker = Daemon::spawn(command.env("SPARK_CONF_DIR", conf.path()));
    let said = worker.wait_for_line(&["spark-env.sh is not read"]);
    assert!(said.contains("source it before"), "{said}");
}

#[test]
fn a_worker_finds_its_master_in_a_flag_then_in_properties_then_in_the_environment() {
    let work = tempfile::tempdir().expect("a temporary directory");
    let conf = tempfile::tempdir().expect("a temporary directory");
    let file = conf.path().join("spark-defaults.conf");
    let dialled = |arguments: &[&str], port: u16| {
        let mut command = firesteel();
        command.args(["worker", "--port", "0", "--work-dir"]).arg(work.path()).args(arguments);
        command.env("SPARK_CONF_DIR", conf.path()).env("MASTER", "spark://127.0.0.1:3");
        Daemon::spawn(&mut command).wait_for_line(&[&format!("spark://127.0.0.1:{port}")]);
    };
    dialled(&[], 3);
    fs::write(&file, "spark.master spark://127.0.0.1:2\n").expect("it can be written");
    dialled(&[], 2);
    dialled(&["--conf", "spark.master=spark://127.0.0.1:4"], 4);
    dialled(&["spark://127.0.0.1:5"], 5);
    fs::write(&file, "spark.master yarn\n").expect("it can be written");
    let done = run(firesteel().arg("worker").env("SPARK_CONF_DIR", conf.path()));
    assert_eq!(done.code(), 78, "{done}");
    assert!(done.stderr.contains("spark.master of") && done.stderr.contains("yarn"), "{done}");
}

#[test]
fn a_worker_that_is_being_stopped_is_given_no_more_executors() {
    let mut pair = Pair::new(&["--conf", "firesteel.worker.killGrace=1s"]);
    let driver = pair.register("trap '' TERM; echo up > up; while :; do sleep 1000; done", 1);
    wait_for_text(&pair.file(&driver, 0, "up"));
    pair.worker.signal(Signal::SIGTERM);
    pair.master.wait_for_line(&["is shutting down: it gets no more executors"]);
    assert_eq!(pair.master.status()["workers"][0]["state"], "DECOMMISSIONED");
    // A new executor has room on the Worker, which has four cores.
    let other = pair.register("exit 0", 1);
    assert_eq!(pair.worker.wait(), 0);
    let launched = format!("{}/0", other.app);
    assert!(!pair.worker.log().contains(&launched), "{}", pair.worker.log());
    assert!(!pair.master.log().contains(&format!("executor {launched}")), "{}", pair.master.log());
}

#[test]
fn a_master_that_stood_still_for_longer_than_the_time_out_loses_no_worker() {
    let work = TempDir::new().expect("there is room");
    let master = Daemon::master(&["--conf", "spark.worker.timeout=2s"]);
    let _workers = [(), ()].map(|()| Daemon::worker(&master, work.path(), &[]));
    master.wait_for_workers(2);
    master.signal(Signal::SIGSTOP);
    let stopped = Instant::now();
    wait_for("the time-out to pass", || (stopped.elapsed() > Duration::from_secs(3)).then_some(()));
    master.signal(Signal::SIGCONT);
    let line = master.wait_for_line(&["get their time again"]);
    assert!(line.contains("WARN") && line.contains("2 silent Workers"), "{line}");
    let resumed = Instant::now();
    wait_for("the time-out to pass once more", || (resumed.elapsed() > Duration::from_secs(3)).then_some(()));
    assert!(!master.log().contains("removed worker"), "{}", master.log());
    let status = master.status();
    let workers = status["workers"].as_array().expect("a list");
    assert!(workers.len() == 2 && workers.iter().all(|worker| worker["state"] == "ALIVE"), "{status}");
}
