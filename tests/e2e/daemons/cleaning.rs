//! Work directories: what a Worker removes, when, and what it keeps.

use std::fs;
use std::path::PathBuf;

use firesteel_protocol::messages::{DriverToMaster, ExecutorState};
use firesteel_testkit::{Daemon, firesteel, run, wait_for};

use super::worker::Pair;

const SOON: [&str; 4] =
    ["--conf", "spark.worker.cleanup.interval=100ms", "--conf", "spark.worker.cleanup.appDataTtl=1s"];

#[test]
fn directories_of_applications_that_ended_are_removed_by_age_and_nothing_else_is() {
    let pair = Pair::new(&SOON);
    let work = pair.work.path();
    fs::create_dir_all(work.join("mine/deep")).expect("it can be made");
    fs::write(work.join("mine/deep/notes"), "kept").expect("it can be written");
    let earlier = work.join("app-20200101000000-0000");
    fs::create_dir_all(earlier.join("0")).expect("it can be made");

    let mut ended = pair.register("echo done", 1);
    ended.until(ExecutorState::is_finished);
    let lives = pair.register("echo up; exec sleep 1000", 1);
    wait_for("its executor to run", || pair.file(&lives, 0, "stdout").exists().then_some(()));
    ended.send(&DriverToMaster::UnregisterApplication { app: ended.app.clone(), outcome: None });
    let gone = |path: &std::path::Path| (!path.exists()).then_some(());
    wait_for("an ended application's directory to go", || gone(&work.join(ended.app.as_str())));
    wait_for("what an earlier Worker left to go", || gone(&earlier));
    let line = pair.worker.wait_for_line(&["removing the work directories of ", " ended application"]);
    assert!(line.contains("not written for 1 s"), "{line}");
    assert!(pair.file(&lives, 0, "stdout").exists(), "it is as old, but its executor lives");
    assert!(work.join("mine/deep/notes").exists());
}

#[test]
fn cleaning_can_be_switched_off_and_a_wrong_setting_is_said() {
    let off = [&SOON[..], &["--conf", "spark.worker.cleanup.enabled=false"]].concat();
    let strategy = ["--conf", "spark.executor.logs.rolling.strategy=weekly"];
    let pair = Pair::new(&[&off[..], &strategy].concat());
    let earlier = pair.work.path().join("app-20200101000000-0000");
    fs::create_dir_all(&earlier).expect("it can be made");
    let mut driver = pair.register("exec sleep 2", 1);
    driver.until(ExecutorState::is_finished);
    assert!(earlier.exists());
    let words = ["not rolling logs of executors", "strategy cannot be \"weekly\""];
    pair.worker.wait_for_line(&words);
}

/// Runs an application of one executor to its end.
fn one_executor(pair: &Pair, command: &[&str]) {
    let mut launch = firesteel();
    launch.args(["launch", "--master", pair.master.url(), "--num-executors", "1", "--executor-cores", "1"]);
    launch.args(["--executor-memory", "64m", "--until", "all", "--"]).args(command);
    let done = run(&mut launch);
    assert_eq!(done.code(), 0, "{done}");
}

/// The directories of applications, oldest application first.
fn applications(pair: &Pair) -> Vec<PathBuf> {
    let entries = fs::read_dir(pair.work.path()).expect("it is there").flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("app-"));
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[test]
fn beyond_a_number_the_oldest_directories_go_and_never_that_of_an_executor_that_runs() {
    let mut pair = Pair::new(&["--conf", "firesteel.worker.cleanup.maxExecutors=3"]);
    let lives = pair.register("echo up; exec sleep 1000", 1);
    let stdout = pair.file(&lives, 0, "stdout");
    wait_for("the executor to run", || stdout.exists().then_some(()));
    let mut all = Vec::new();
    for _ in 0..8 {
        one_executor(&pair, &["true"]);
        let left = applications(&pair);
        all.extend(left.last().cloned());
    }
    let first = pair.work.path().join(lives.app.as_str());
    let expected: Vec<PathBuf> = std::iter::once(&first).chain(&all[5..]).cloned().collect();
    wait_for("the oldest to go", || (applications(&pair) == expected).then_some(()));
    pair.worker.wait_for_line(&[
        "removing the work directories of the oldest 1 ended executor: more than the limits allow",
    ]);
    assert!(stdout.exists(), "it is the oldest, but it runs");

    // The next Worker counts them, too.
    pair.worker.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(pair.worker.wait(), 0);
    let arguments = ["--cores", "4", "--memory", "4g", "--conf", "firesteel.worker.cleanup.maxExecutors=1"];
    let next = Daemon::worker(&pair.master, pair.work.path(), &arguments);
    // The next Worker orders them by their time of writing. The first application still runs, in another directory.
    let expected = [first, all[7].clone()];
    wait_for("all but the latest to go", || (applications(&pair) == expected).then_some(()));
    assert!(!stdout.exists(), "{}", next.log());
    let again = pair.file(&lives, 1, "stdout");
    wait_for("the first application's next executor to run", || again.exists().then_some(()));
}

#[test]
fn beyond_a_size_the_oldest_directories_go() {
    let pair = Pair::new(&["--conf", "firesteel.worker.cleanup.maxSize=1m"]);
    let mut all = Vec::new();
    for kibibytes in ["400", "400", "300"] {
        one_executor(&pair, &["sh", "-c", &format!("head -c {kibibytes}k /dev/zero")]);
        all.extend(applications(&pair).last().cloned());
    }
    wait_for("the oldest to go", || (applications(&pair) == all[1..]).then_some(()));
    one_executor(&pair, &["sh", "-c", "head -c 2000k /dev/zero"]);
    wait_for("all but the latest to go", || {
        let left = applications(&pair);
        (left.len() == 1 && !all.contains(&left[0])).then_some(())
    });
}
