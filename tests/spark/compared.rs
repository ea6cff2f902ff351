//! The same applications on Spark's own Master and Workers, and on Firesteel's: the same executors on the same Workers,
//! and the same messages to drivers.

use std::collections::BTreeMap;
use std::path::Path;

use firesteel_testkit::processes;
use firesteel_testkit::wait::wait;
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::cluster::{Driver, LONGEST, MAIN, SPARK, driver, scala};
use crate::standalone::{Manager, on_both};

pub(crate) fn trials() -> Vec<Trial> {
    SPARK.trials(&[
        ("executors_are_where_spark_s_own_master_puts_them", same_places),
        ("drivers_are_told_what_spark_s_own_master_tells_them", same_words),
    ])
}

/// `spark.cores.max`, and cores per executor.
const ASKED: [(Option<u32>, Option<u32>); 2] = [(Some(7), None), (None, Some(5))];

/// Four Workers of eight cores.
fn with_four_workers(manager: &mut dyn Manager) {
    for number in 0..4 {
        manager.add_worker(number, "127.0.0.1", 8);
    }
}

/// The result of an application: its executors' processes and its cores on each Worker, in the order of the ids, and
/// the Master's word for its end.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    executors: Vec<usize>,
    cores: Vec<u64>,
    state: String,
}

fn same_places() {
    let (ours, theirs) = on_both(|manager| {
        with_four_workers(manager);
        (ASKED.map(|(max, each)| outcome(manager, max, each)), classic(manager))
    });
    println!("| cores.max | executor.cores | executors | cores on each Worker | end |");
    let word = |number: Option<u32>| number.map_or_else(|| "unset".to_owned(), |number| number.to_string());
    for ((max, each), Outcome { executors, cores, state }) in ASKED.iter().zip(&ours.0) {
        println!("| {} | {} | {executors:?} | {cores:?} | {state} |", word(*max), word(*each));
    }
    println!("the classic experiment: {:?}", ours.1);
    assert_eq!(ours, theirs);
}

/// A driver that requests these cores. It ends its application when this file exists.
fn asking(manager: &dyn Manager, max: Option<u32>, each: Option<u32>, file: &Path) -> Driver {
    let setting = |name: &str, value: Option<u32>| value.map(|value| format!("{name}={value}"));
    let settings: Vec<String> =
        setting("spark.cores.max", max).into_iter().chain(setting("spark.executor.cores", each)).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let driver =
        Driver::start(driver(manager.url(), MAIN, "idle", &[&file.display().to_string()], &settings));
    driver.wait_for("ready ");
    driver
}

fn outcome(manager: &dyn Manager, max: Option<u32>, each: Option<u32>) -> Outcome {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (file, before) = (directory.path().join("go"), manager.ended().len());
    let driver = asking(manager, max, each, &file);
    let cores = manager.used();
    let executors = wait("the executors' processes", LONGEST, || {
        let executors: Vec<usize> = (0..4).map(|number| manager.executors(number).len()).collect();
        let has_started = |(executors, cores): (&usize, &u64)| (*executors > 0) == (*cores > 0);
        executors.iter().zip(&cores).all(has_started).then_some(executors)
    });
    std::fs::write(&file, "").expect("it is written");
    driver.finish();
    let state = wait("the end of an application", LONGEST, || {
        let ended = manager.ended();
        ended.last().filter(|_| ended.len() > before).map(|app| app.state.clone())
    });
    wait_until_idle(manager);
    Outcome { executors, cores, state }
}

fn wait_until_idle(manager: &dyn Manager) {
    wait("the end of all executors", LONGEST, || manager.used().iter().all(|used| *used == 0).then_some(()));
}

/// The classic experiment: the cores on each Worker with the first application, with both, and without the first.
fn classic(manager: &dyn Manager) -> [Vec<u64>; 3] {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = ["first", "second"].map(|name| directory.path().join(name));
    let first = asking(manager, Some(4), Some(4), &files[0]);
    let with_first = manager.used();
    let second = asking(manager, Some(24), Some(6), &files[1]);
    let with_both = manager.used();
    std::fs::write(&files[0], "").expect("it is written");
    first.finish();
    let with_second = wait("the fourth executor", LONGEST, || {
        let used = manager.used();
        (used.iter().sum::<u64>() == 24).then_some(used)
    });
    std::fs::write(&files[1], "").expect("it is written");
    second.finish();
    wait_until_idle(manager);
    [with_first, with_both, with_second]
}

/// The messages to a driver from its start: an executor is killed, a Worker is killed, and another user ends its
/// application.
fn same_words() {
    let (ours, theirs) = on_both(words);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    println!("| event | Spark | Firesteel |\n|---|---|---|");
    for (event, words) in &theirs {
        println!("| {event} | {words} | {} |", ours[event]);
    }
    let differing: Vec<&str> = theirs
        .iter()
        .filter(|(event, words)| ours[*event] != **words)
        .map(|(event, _)| event.as_str())
        .collect();
    // In these messages, Firesteel also says how the Worker was lost, and who ended the application.
    assert_eq!(differing, ["application ended", "executor 0", "executor 2", "worker removed"]);
    assert!(ours["application ended"].starts_with(&theirs["application ended"]), "{ours:?}");
    for lost in ["executor 0", "executor 2"] {
        let common = |words: &str| words.split_once("worker lost: ").map(|(before, _)| before.to_owned());
        assert_eq!(common(&ours[lost]), common(&theirs[lost]));
        assert_ne!(common(&ours[lost]), None, "{ours:?}");
    }
}

fn words(manager: &mut dyn Manager) -> BTreeMap<String, String> {
    manager.add_worker(0, "127.0.0.1", 1);
    manager.add_worker(1, "127.0.0.1", 2);
    let settings = ["spark.executor.cores=1", "spark.cores.max=2"];
    // A Scala driver logs the messages that it receives.
    let driver = Driver::start(scala(manager.url(), MAIN, "idle", &["/nowhere/go"], &settings));
    let id = driver.wait_for("ready ");
    let is_told = |driver: &Driver, what: &str| {
        let what = format!("{id}/{what}");
        wait(&what, LONGEST, || driver.0.log().contains(&what).then_some(()));
    };
    assert_eq!(manager.used(), [1, 1]);
    // It is replaced on the Worker with more free cores.
    kill(&manager.executors(0));
    is_told(&driver, "2 is now RUNNING");
    assert_eq!(manager.used(), [0, 2]);
    manager.worker(1).signal(Signal::SIGKILL);
    is_told(&driver, "3 is now RUNNING");
    manager.kill(&id);
    driver.wait_for_log("Master removed our application: ");
    told(&driver.0.log(), &id)
}

fn kill(pids: &[u32]) {
    assert_eq!(pids.len(), 1, "one executor");
    processes::signal(pids[0], Signal::SIGKILL).expect("it runs");
}

/// What a driver's log says about its executors, its Workers and its end.
fn told(log: &str, id: &str) -> BTreeMap<String, String> {
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |event: String, words: &str| {
        let all = told.entry(event).or_default();
        let separator = if all.is_empty() { "" } else { ", " };
        all.push_str(&format!("{separator}{words}"));
    };
    let mut ended = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once(&format!("Executor updated: {id}/")) {
            let (number, state) = rest.split_once(" is now ").expect("a state");
            add(format!("executor {number}"), state);
        } else if let Some((_, rest)) = line.split_once(&format!("Executor added: {id}/")) {
            let (number, rest) = rest.split_once(' ').expect("a Worker");
            let (_, cores) = rest.split_once(" with ").expect("cores");
            add(format!("executor {number}"), &format!("added with {cores}"));
        } else if let Some((_, rest)) = line.split_once("Master removed our application: ") {
            // The log says it twice.
            ended = Some(rest.to_owned());
        } else if let Some((_, rest)) = line.split_once("Master removed worker ") {
            add("worker removed".to_owned(), rest.split_once(": ").expect("a reason").1);
        }
    }
    told.extend(ended.map(|words| ("application ended".to_owned(), words)));
    told
}
