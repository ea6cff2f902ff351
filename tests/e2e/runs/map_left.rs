//! The items that `firesteel map` leaves for another run, however it ends.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use firesteel_testkit::{Daemon, Guarded, firesteel, run, wait_for};
use nix::sys::signal::Signal;
use tempfile::TempDir;

/// `firesteel map --failed LEFT` on a small local cluster.
fn map(place: &Path, arguments: &[&str]) -> Command {
    let mut command = firesteel();
    command.args(["map", "--master", "local-cluster[2,2,1024]", "--failed"]).arg(place.join("left"));
    command.args(arguments);
    command
}

/// A script: the items `1` to `3` end at once; the others begin and wait forever.
fn script(place: &Path) -> String {
    format!("[ $0 -le 3 ] && echo $0 && exit; touch {}/began-$0; exec sleep 1000", place.display())
}

fn place_with_input(items: u32) -> (TempDir, String) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let input = place.path().join("input");
    let lines: String = (1..=items).map(|number| format!("{number}\n")).collect();
    fs::write(&input, lines).expect("a file");
    let input = input.to_str().expect("UTF-8").to_owned();
    (place, input)
}

/// Waits until the first three items are recorded as done and others run.
fn wait_until_some_are_done(place: &Path) {
    wait_for("three items to be done and one to begin", || {
        let account = fs::read_to_string(place.join("left.unfinished")).unwrap_or_default();
        let done = (1..=3).all(|number| account.contains(&format!("- {number} {number}\n")));
        (done && place.join("began-4").exists()).then_some(())
    });
}

/// The items that another run reads after a run was killed and left no result.
fn what_is_read_in_its_place(place: &Path) -> String {
    let left = place.join("left");
    assert!(!left.exists(), "no result is there");
    let mut again = firesteel();
    again.args(["map", "--master", "local-cluster[1,2,1024]", "--input"]).arg(&left);
    let done = run(again.args(["--", "echo"]));
    assert_eq!(done.code(), 0, "{done}");
    assert!(done.stderr.contains("left did not end: reading the items that it did not finish"), "{done}");
    done.stdout
}

#[test]
fn a_run_that_is_killed_leaves_every_item_that_is_not_done() {
    let (place, input) = place_with_input(1000);
    let place = place.path();
    let mut running = Daemon::spawn(&mut map(place, &["-i", &input, "--", "sh", "-c", &script(place)]));
    wait_until_some_are_done(place);
    let early = run(map(place, &["-i", "left", "--", "echo"]).current_dir(place));
    assert_eq!(early.code(), 2, "{early}");
    assert!(early.stderr.contains("left.unfinished for the failed items: the run that writes it"), "{early}");
    let mut reads = firesteel();
    let early = run(reads.args(["map", "--input"]).arg(place.join("left")).args(["--", "echo"]));
    assert_eq!(early.code(), 2, "{early}");
    assert!(early.stderr.contains("the run that writes it has not ended"), "{early}");

    running.signal(Signal::SIGKILL);
    assert_eq!(running.wait(), 137);
    let expected: String = (4..=1000).map(|number| format!("{number}\n")).collect();
    assert_eq!(what_is_read_in_its_place(place), expected);

    let again = run(&mut map(place, &["-i", &input, "--", "echo"]));
    assert_eq!(again.code(), 2, "{again}");
    assert!(again.stderr.contains("has the items of a run that did not end"), "{again}");
}

#[test]
fn a_run_that_is_killed_leaves_what_it_had_read_from_a_pipe() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let mut command = map(place, &["--", "sh", "-c", &script(place)]);
    let mut running =
        Guarded::spawn(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut pipe = running.stdin.take().expect("it is piped");
    // The last line is incomplete.
    pipe.write_all(b"1\n2\n3\n4\n5\n6\n7").expect("it is read");
    wait_until_some_are_done(place);
    running.kill().expect("it runs");
    running.wait().expect("it is our child");
    assert_eq!(what_is_read_in_its_place(place), "4\n5\n6\n");
}

#[test]
fn one_command_line_is_right_the_first_time_after_a_crash_and_the_last_time() {
    let (place, _) = place_with_input(0);
    let place = place.path();
    let left = place.join("left");
    fs::write(&left, "1\n2\n3\n4\n5\n").expect("a file");
    let source = left.to_str().expect("UTF-8");
    let mut running = Daemon::spawn(&mut map(place, &["-i", source, "--", "sh", "-c", &script(place)]));
    wait_until_some_are_done(place);
    running.signal(Signal::SIGKILL);
    running.wait();
    for (succeeds, code, expected) in [("[ $0 = 5 ]", 1, "4\n"), ("true", 0, ""), ("false", 0, "")] {
        let done = run(&mut map(place, &["-i", source, "--", "sh", "-c", succeeds]));
        assert_eq!(done.code(), code, "{done}");
        assert_eq!(fs::read_to_string(&left).expect("it is there"), expected, "{done}");
        assert!(!place.join("left.unfinished").exists());
        assert_eq!(done.stderr.contains("left has no items, so nothing ran"), succeeds == "false", "{done}");
    }
}

#[test]
fn a_list_that_is_touched_or_edited_after_a_crash_changes_nothing() {
    let (place, input) = place_with_input(5);
    let place = place.path();
    let mut running = Daemon::spawn(&mut map(place, &["-i", &input, "--", "sh", "-c", &script(place)]));
    wait_until_some_are_done(place);
    running.signal(Signal::SIGKILL);
    running.wait();
    fs::write(&input, "another list\n").expect("a file");
    assert_eq!(what_is_read_in_its_place(place), "4\n5\n");
}

#[test]
fn an_empty_file_means_that_nothing_was_left() {
    let (place, input) = place_with_input(3);
    let place = place.path();
    fs::write(place.join("left"), "of an earlier run\n").expect("a file");
    let done = run(&mut map(place, &["-i", &input, "--", "true"]));
    assert_eq!(done.code(), 0, "{done}");
    assert_eq!(fs::read_to_string(place.join("left")).expect("it is there"), "");
    assert!(!place.join("left.unfinished").exists());
}

#[test]
fn what_failed_is_left_and_a_run_that_does_not_begin_changes_nothing() {
    let (place, input) = place_with_input(5);
    let place = place.path();
    let done = run(&mut map(place, &["-i", &input, "--", "sh", "-c", "[ $0 != 2 ] && [ $0 != 4 ]"]));
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("2 items not done: "), "{done}");
    assert_eq!(fs::read_to_string(place.join("left")).expect("it is there"), "2\n4\n");
    let wrong = run(&mut map(place, &["-i", "/nowhere/items", "--", "true"]));
    assert_eq!(wrong.code(), 2, "{wrong}");
    assert_eq!(fs::read_to_string(place.join("left")).expect("it is there"), "2\n4\n");
    assert!(!place.join("left.unfinished").exists());
}

#[test]
fn outputs_of_an_earlier_run_are_not_overwritten() {
    let (place, input) = place_with_input(2);
    let place = place.path();
    let mut command = map(place, &["-i", &input, "--output", "out", "--", "echo"]);
    let done = run(command.current_dir(place));
    assert_eq!(done.code(), 0, "{done}");
    let again = run(command.current_dir(place));
    assert_eq!(again.code(), 2, "{again}");
    assert!(again.stderr.contains("out has outputs already, which --output does not overwrite"), "{again}");
    assert_eq!(fs::read_to_string(place.join("out")).expect("it is there"), "1\n2\n");
}

#[test]
fn a_cluster_without_workers_is_said_within_seconds() {
    let master = Daemon::master(&[]);
    let mut command = firesteel();
    command.args(["map", "--master", master.url(), "--", "true", ":::", "a"]);
    let running = Daemon::spawn(&mut command);
    let begun = Instant::now();
    running.wait_for_line(&["no Worker is alive", "waiting"]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

fn number_before(text: &str, words: &str) -> u64 {
    let (before, _) = text.split_once(words).unwrap_or_else(|| panic!("{words:?} is not in {text}"));
    let digits = before.rsplit(|c: char| !c.is_ascii_digit() && c != ',').next().unwrap_or_default();
    digits.replace(',', "").parse().unwrap_or_else(|_| panic!("no number stands before {words:?} in {text}"))
}

#[test]
fn all_numbers_of_an_interrupted_run_add_up() {
    let (place, input) = place_with_input(1000);
    let place = place.path();
    let mut running = Daemon::spawn(&mut map(place, &["-i", &input, "--", "sh", "-c", &script(place)]));
    wait_until_some_are_done(place);
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(), 130, "{}", running.log());
    let log = running.log();
    let left = number_before(&log, " items not done");
    let said = number_before(&log, " items (") + number_before(&log, " items are not begun");
    let cancelled = number_before(&log, " cancelled");
    let unread = number_before(&log, " not begun\n");
    assert_eq!((left, said, cancelled + unread), (997, 997, 997), "{log}");
    assert_eq!(number_before(&log, " items in "), 1000, "{log}");
    assert_eq!(number_before(&log, " succeeded"), 3, "{log}");
    let lines = fs::read_to_string(place.join("left")).expect("it is there");
    assert_eq!(lines.lines().count(), 997);
}
