//! Work directories: what a Worker removes, when, and what it leaves alone.

use std::fs;

use firesteel_core::messages::{DriverToMaster, ExecutorState};

use crate::cluster::wait_for;
use crate::worker::Pair;

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
    ended.send(&DriverToMaster::UnregisterApplication { app: ended.app.clone(), outcome: None });
    let gone = |path: &std::path::Path| (!path.exists()).then_some(());
    wait_for("an ended application's directory to go", || gone(&work.join(ended.app.as_str())));
    wait_for("what an earlier Worker left to go", || gone(&earlier));
    let line = pair.worker.wait_for_line(&["removing the work of ", " ended application"]);
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
