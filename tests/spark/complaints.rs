//! Users' complaints about Spark's Standalone mode, by the number of the issue: what Spark does today, and what
//! Firesteel does in the same situation.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use firesteel_testkit::wait::{poll, wait};
use firesteel_testkit::{firesteel, processes, run_with_input};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::cluster::{Driver, LONGEST, MAIN, SPARK, SparkCluster, driver, scala, scala_apps};
use crate::standalone::{Manager, on_both, on_both_with_rest};
use crate::submissions::{creation, rest};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("spark_9882_an_urgent_application_goes_before_those_that_wait", urgent),
        ("spark_21821_nothing_runs_on_without_worker_and_driver", orphans),
        ("spark_22628_replacements_are_spread_over_workers", replacements),
        ("spark_23532_an_executor_comes_to_the_host_that_is_preferred", locality),
        ("spark_24340_scratch_of_what_was_killed_is_removed", scratch),
        ("spark_27750_drivers_leave_room_for_executors_where_their_number_is_limited", starving),
    ])
}

/// How long a test watches that something does not happen.
const WATCHED: Duration = Duration::from_secs(5);

/// The path of a file that does not exist yet.
fn file_in(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

/// SPARK-9882: there are no priorities. An urgent application waits behind earlier ones.
fn urgent() {
    let (ours, theirs) = on_both(first_of_two);
    println!("the first to run: {theirs} on Spark, {ours} on Firesteel");
    assert_eq!((theirs, ours), ("the earlier one", "the urgent one"));
}

/// Two applications wait for a core; the second is urgent. Returns which one gets it.
fn first_of_two(manager: &mut dyn Manager) -> &'static str {
    manager.add_worker(0, "127.0.0.1", 1);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let start = |name: &str, settings: &[&str]| {
        let file = file_in(directory.path(), name);
        let before = manager.live().len();
        let driver = Driver::start(driver(manager.url(), MAIN, "idle", &[&file], settings));
        wait("the application to register", LONGEST, || (manager.live().len() > before).then_some(()));
        driver
    };
    let first = start("first", &[]);
    first.wait_for("ready ");
    let _earlier = start("earlier", &[]);
    let _urgent = start("urgent", &["spark.executorEnv.FIRESTEEL_PRIORITY=10"]);
    let waiting = manager.live();
    assert!(waiting[1..].iter().all(|app| app.state == "WAITING"), "{waiting:?}");
    fs::write(directory.path().join("first"), "").expect("it is written");
    first.finish();
    let running = wait("the next application to run", LONGEST, || {
        manager.live().into_iter().find(|app| app.state == "RUNNING" && app.id != waiting[0].id)
    });
    if running.id == waiting[1].id { "the earlier one" } else { "the urgent one" }
}

/// SPARK-27750: cluster drivers take all cores, and none of their applications ever gets an executor. Both Spark and
/// Firesteel have the setting `spark.deploy.maxDrivers` for it.
fn starving() {
    let (ours, theirs) = on_both_with_rest(&[], states_of_two);
    println!("two drivers on two cores: {theirs:?} on Spark, {ours:?} on Firesteel");
    assert_eq!((&ours, &theirs), (&vec!["WAITING".to_owned(); 2], &vec!["WAITING".to_owned(); 2]));
    let ended = both_end(&mut SparkCluster::with_rest(&["spark.deploy.maxDrivers=1"]));
    assert_eq!(ended, 2, "one after the other");
}

/// Submits two drivers to two cores. Each waits for this file after its job.
fn two_drivers(manager: &mut dyn Manager, file: &str) -> Vec<String> {
    manager.add_worker(0, "127.0.0.1", 2);
    let jar = format!("file:{}", scala_apps(MAIN).display());
    let body = creation(&jar, "Submitted", &[file], json!({"spark.master": manager.url()}));
    let submit = |_| {
        let (status, answer) = rest(manager.rest(), "POST", "/v1/submissions/create", &body);
        assert_eq!((status, &answer["success"]), (200, &json!(true)), "{answer}");
        answer["submissionId"].as_str().expect("an id").to_owned()
    };
    (0..2).map(submit).collect()
}

/// The states of both applications, some time after they registered.
fn states_of_two(manager: &mut dyn Manager) -> Vec<String> {
    two_drivers(manager, "/nowhere/go");
    wait("both applications to register", LONGEST, || (manager.live().len() == 2).then_some(()));
    let states = || manager.live().into_iter().map(|app| app.state).collect::<Vec<_>>();
    poll(WATCHED, || states().contains(&"RUNNING".to_owned()).then_some(()));
    states()
}

/// The number of ended applications, once both drivers have done their work.
fn both_end(manager: &mut dyn Manager) -> usize {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("go"), "0").expect("it is written");
    let ids = two_drivers(manager, &file_in(directory.path(), "go"));
    for id in ids {
        wait("the end of a driver", LONGEST, || {
            let (_, answer) = rest(manager.rest(), "GET", &format!("/v1/submissions/status/{id}"), "");
            (answer["driverState"] == "FINISHED").then_some(())
        });
    }
    manager.ended().len()
}

/// The processes that are left after a Worker and the driver were killed.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    /// Whether the JVM of a working executor is left.
    executor: bool,
    /// Whether the JVM of a stopped executor is left. It stands for an executor that hangs.
    stopped_executor: bool,
    /// The number of processes that tasks started.
    children: usize,
}

/// SPARK-21821: executors stay when their Worker and their driver are gone. Today a working executor ends itself, and
/// the processes of its Python tasks. An executor that hangs stays. The processes of its tasks stay, too.
fn orphans() {
    let (ours, theirs) = on_both(left);
    println!("left on Spark: {theirs:?}; on Firesteel: {ours:?}");
    assert_eq!(theirs, Left { executor: false, stopped_executor: true, children: 1 });
    assert_eq!(ours, Left { executor: false, stopped_executor: false, children: 0 });
}

fn left(manager: &mut dyn Manager) -> Left {
    manager.add_worker(0, "127.0.0.1", 2);
    let driver = Driver::start(driver(manager.url(), MAIN, "orphans", &[], &[]));
    let children = driver.wait_for("children ");
    let children: Vec<u32> = children.split(' ').map(|pid| pid.parse().expect("a process id")).collect();
    let mut executors = Ended(manager.executors(0));
    assert_eq!((executors.0.len(), children.len()), (2, 2));
    processes::signal(executors.0[0], Signal::SIGSTOP).expect("it runs");
    manager.worker(0).signal(Signal::SIGKILL);
    driver.kill();
    let is_alive = |pid: &&u32| processes::is_alive(**pid);
    wait("the end of an executor that can act", LONGEST, || {
        (!processes::is_alive(executors.0[1])).then_some(())
    });
    executors.0.extend(&children);
    poll(WATCHED, || (!executors.0.iter().any(|pid| processes::is_alive(*pid))).then_some(()));
    Left {
        executor: processes::is_alive(executors.0[1]),
        stopped_executor: processes::is_alive(executors.0[0]),
        children: children.iter().filter(is_alive).count(),
    }
}

/// Indirect child processes of a test, which are ended with this value.
struct Ended(Vec<u32>);

impl Drop for Ended {
    fn drop(&mut self) {
        for pid in &self.0 {
            // Usually it has already ended.
            let _ = processes::signal(*pid, Signal::SIGKILL);
        }
    }
}

/// SPARK-22628: replacements of executors accumulate on few Workers. An application with one executor on each of three
/// Workers loses two of them, one after the other.
fn replacements() {
    // Spark does not know the policy.
    let policy = ["spark.executorEnv.FIRESTEEL_POLICY=spread-held"];
    let (held, theirs) = on_both(|manager| replaced(manager, &policy));
    let ours = replaced(&mut SparkCluster::without_workers(&[]), &[]);
    println!("cores on three Workers: {theirs:?} on Spark, {ours:?} on Firesteel, {held:?} with spread-held");
    assert_eq!(theirs, [0, 0, 3]);
    assert_eq!(ours, [0, 0, 3], "the default is Spark's rule");
    assert_eq!(held, [1, 1, 1]);
}

fn replaced(manager: &mut dyn Manager, settings: &[&str]) -> Vec<u64> {
    for (number, cores) in [1, 1, 4].into_iter().enumerate() {
        manager.add_worker(number, "127.0.0.1", cores);
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = file_in(directory.path(), "go");
    let settings = [&["spark.executor.cores=1", "spark.cores.max=3"], settings].concat();
    let driver = Driver::start(driver(manager.url(), MAIN, "idle", &[&file], &settings));
    driver.wait_for("ready ");
    assert_eq!(manager.used(), [1, 1, 1]);
    // After an executor ends within its first five seconds, Firesteel may avoid its Worker for a second.
    let ready = Instant::now();
    wait("the executors to be proven", LONGEST, || (ready.elapsed() > WATCHED).then_some(()));
    for worker in 0..2 {
        let killed = manager.executors(worker);
        assert_eq!(killed.len(), 1);
        processes::signal(killed[0], Signal::SIGKILL).expect("it runs");
        wait("a replacement", LONGEST, || {
            let running: Vec<u32> = (0..3).flat_map(|worker| manager.executors(worker)).collect();
            let is_replaced = running.len() == 3 && !running.contains(&killed[0]);
            (is_replaced && manager.used().iter().sum::<u64>() == 3).then_some(())
        });
    }
    let used = manager.used();
    fs::write(&file, "").expect("it is written");
    driver.finish();
    used
}

/// SPARK-23532: with dynamic allocation, executors are placed without regard to the location of data. Spark's driver
/// has no message for it, so the same holds for its applications on Firesteel. Firesteel's own driver has such a
/// message.
fn locality() {
    let (ours, theirs) = on_both(where_it_ran);
    let mut cluster = SparkCluster::without_workers(&[]);
    add_two_hosts(&mut cluster);
    let mut map = firesteel();
    map.args(["map", "--master", cluster.url(), "--executor-cores", "1", "--executor-memory", "256m"]);
    map.args(["--conf", "spark.dynamicAllocation.enabled=true"]);
    map.args(["--conf", "spark.dynamicAllocation.maxExecutors=1", "--locality-column", "1", "--"]);
    map.args(["sh", "-c", "echo host $FIRESTEEL_HOST"]);
    let mapped = run_with_input(&mut map, format!("{PREFERRED}\titem\n").into_bytes());
    assert_eq!(mapped.code(), 0, "{mapped}");
    let mapped = mapped.stdout.trim().to_owned();
    println!("{PREFERRED} is preferred: {theirs} on Spark, {ours} on Firesteel, {mapped} with map");
    let free = "host 127.0.0.3";
    assert_eq!([theirs.as_str(), &ours, &mapped], [free, free, "host 127.0.0.2"]);
}

/// The host that a task prefers.
const PREFERRED: &str = "127.0.0.2";

/// Adds the preferred host, and one with more free cores.
fn add_two_hosts(manager: &mut dyn Manager) {
    manager.add_worker(0, PREFERRED, 1);
    manager.add_worker(1, "127.0.0.3", 2);
}

fn where_it_ran(manager: &mut dyn Manager) -> String {
    add_two_hosts(manager);
    let driver = Driver::start(scala(manager.url(), MAIN, "prefers", &[PREFERRED], &[]));
    driver.finish().trim().to_owned()
}

/// SPARK-24340: executors' files stay on disks. Today they are removed with the application, unless Worker and executor
/// were killed together, as a service manager does.
fn scratch() {
    let (ours, theirs) = on_both(scratch_left);
    println!("left on Spark: {theirs:?}; on Firesteel: {ours:?}");
    // Directories of blocks: first of a killed executor, while its application lives and after its end. Then of an
    // executor that was killed with its Worker, after another Worker has started there and the application has ended.
    assert_eq!((theirs.of_executor, theirs.of_application), (1, 0));
    assert_eq!((ours.of_executor, ours.of_application), (1, 0));
    assert!(theirs.of_worker >= 1, "{theirs:?}");
    assert_eq!(ours.of_worker, 0);
}

#[derive(Debug)]
struct ScratchLeft {
    of_executor: usize,
    of_application: usize,
    of_worker: usize,
}

fn scratch_left(manager: &mut dyn Manager) -> ScratchLeft {
    manager.add_worker(0, "127.0.0.1", 1);
    let local = manager.local(0);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let start = |url: &str, name: &str| {
        let file = file_in(directory.path(), name);
        let driver = Driver::start(driver(url, MAIN, "idle", &[&file], &[]));
        driver.wait_for("ready ");
        (driver, file)
    };
    let (first, file) = start(manager.url(), "first");
    let before = blocks(&local);
    assert_eq!(before.len(), 1);
    processes::signal(manager.executors(0)[0], Signal::SIGKILL).expect("it runs");
    let both =
        wait("the replacement's directory", LONGEST, || Some(blocks(&local)).filter(|all| all.len() == 2));
    let of_executor = both.iter().filter(|path| before.contains(path)).count();
    fs::write(&file, "").expect("it is written");
    first.finish();
    let of_application = gone_or_left(&local);

    let (second, file) = start(manager.url(), "second");
    let executors = manager.executors(0);
    manager.worker(0).signal(Signal::SIGKILL);
    processes::signal(executors[0], Signal::SIGKILL).expect("it runs");
    wait("the end of the executor", LONGEST, || manager.executors(0).is_empty().then_some(()));
    manager.add_worker(0, "127.0.0.1", 1);
    fs::write(&file, "").expect("it is written");
    second.finish();
    ScratchLeft { of_executor, of_application, of_worker: gone_or_left(&local) }
}

/// The number of block directories left after a while.
fn gone_or_left(local: &Path) -> usize {
    poll(WATCHED, || blocks(local).is_empty().then_some(()));
    blocks(local).len()
}

/// The directories below this one in which executors keep blocks.
fn blocks(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let (found, others): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.filter(|path| path.is_dir()).partition(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("blockmgr-"))
        });
    found.into_iter().chain(others.iter().flat_map(|path| blocks(path))).collect()
}
