//! `firesteel top` in a terminal.

use std::process::Command;

use firesteel_testkit::{Daemon, firesteel, forgetful_master, run, wait_for};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::terminal::Terminal;

/// A Master, a Worker of four cores, and an application that uses two of them until it is ended.
struct Stage {
    application: Daemon,
    worker: Daemon,
    master: Daemon,
    _directory: TempDir,
}

impl Stage {
    fn set() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let worker = Daemon::worker(&master, directory.path(), &["--cores", "4", "--memory", "2g"]);
        let mut command = firesteel();
        command.args(["map", "--master", master.url(), "--name", "sums", "--total-executor-cores", "2"]);
        let application = Daemon::spawn(command.args(["--", "sleep", "1000", ":::", "1"]));
        wait_for("the application to run", || {
            let status = master.status();
            (status["applications"][0]["executors"][0]["state"] == "RUNNING").then_some(())
        });
        Self { application, worker, master, _directory: directory }
    }

    fn top(&self) -> Command {
        let mut command = firesteel();
        command.env("LC_ALL", "C.UTF-8").args(["top", "--interval", "100ms", "--master", self.master.url()]);
        command
    }
}

#[test]
fn a_terminal_whose_texts_are_not_utf_8_gets_ascii_only() {
    let stage = Stage::set();
    let mut command = stage.top();
    command.env("LC_ALL", "C");
    let mut top = Terminal::start(command, 24, 80);
    let text = top.wait_for(&["Workers 1", "RUNNING", "######## 2/2"]);
    assert!(text.is_ascii() && text.contains("cores ####.... 2/4"), "{text}");
    top.type_keys("?");
    let text = top.wait_for(&["+-", "keys"]);
    assert!(text.is_ascii(), "{text}");
    top.type_keys("xq");
    assert_eq!(top.wait(), Some(0));
}

#[test]
fn the_screen_shows_workers_applications_and_executors_and_q_gives_the_terminal_back() {
    let stage = Stage::set();
    let mut top = Terminal::start(stage.top(), 24, 110);
    let text =
        top.wait_for(&["Workers 1", "Applications 1", "Executors 1", "sums", "RUNNING", "████████ 2/2"]);
    assert!(top.is_alternate());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("cores ████░░░░ 2/4") && lines[0].contains("workers 1"), "{text}");
    assert!(lines.last().is_some_and(|line| line.starts_with("q quit")), "{text}");
    top.type_keys("q");
    assert_eq!(top.wait(), Some(0));
    wait_for("the usual screen", || (!top.is_alternate()).then_some(()));
}

#[test]
fn a_running_application_that_lost_its_executors_has_0_beside_its_state() {
    let stage = Stage::set();
    let mut top = Terminal::start(stage.top(), 24, 110);
    let text = top.wait_for(&["sums", "RUNNING", "Executors 1"]);
    assert!(!text.contains("0 executors"), "{text}");
    stage.worker.signal(Signal::SIGKILL);
    top.wait_for(&["sums", "RUNNING (0 executors)", "Executors 0"]);
    top.type_keys("q");
    assert_eq!(top.wait(), Some(0));
}

#[test]
fn keys_move_sort_explain_and_show_help() {
    let stage = Stage::set();
    let mut top = Terminal::start(stage.top(), 30, 120);
    top.wait_for(&["Applications 1, by application"]);
    top.type_keys("s");
    top.wait_for(&["Applications 1, by cores"]);
    top.type_keys("\t");
    top.type_keys("s");
    top.wait_for(&["Executors 1, by host"]);
    top.type_keys("?");
    top.wait_for(&["another table", "kill the selected application"]);
    top.type_keys("x");
    top.wait_until("no help", |text| !text.contains("another table"));
    // In the table of executors the key acts on the executor's application.
    top.type_keys("e");
    top.wait_for(&["explained", "It has 1 executor with 2 cores in all; its maximum is 2 cores."]);
    top.type_keys(" ");
    top.type_keys("x");
    top.wait_until("no explanation", |text| !text.contains("explained"));
    // Workers have no application.
    top.type_keys("\tk");
    top.wait_for(&["select an application first"]);
    top.type_keys("\u{3}");
    assert_eq!(top.wait(), Some(130), "ctrl-c");
    wait_for("the usual screen", || (!top.is_alternate()).then_some(()));
}

#[test]
fn k_ends_an_application_once_y_was_typed() {
    let mut stage = Stage::set();
    let top = Terminal::start(stage.top(), 24, 110);
    top.wait_for(&["sums", "RUNNING"]);
    top.type_keys("k");
    top.wait_for(&["end app-", "? y/n"]);
    top.type_keys("n");
    top.wait_for(&["keeps running"]);
    assert!(stage.application.is_alive());
    top.type_keys("k");
    top.wait_for(&["? y/n"]);
    top.type_keys("y");
    top.wait_for(&["killed app-", "Applications 0", "Executors 0"]);
    wait_for("the application's driver to end", || (!stage.application.is_alive()).then_some(()));
}

#[test]
fn a_terminal_of_five_lines_and_one_that_changes_its_size_are_fine() {
    let stage = Stage::set();
    let mut top = Terminal::start(stage.top(), 24, 110);
    top.wait_for(&["Workers 1", "Executors 1"]);
    for (rows, columns) in [(5, 20), (3, 10), (1, 1), (5, 20)] {
        top.resize(rows, columns);
    }
    let text = top.wait_until("one table", |text| {
        text.lines().count() <= 5 && text.contains("Applications 1") && !text.contains("Workers 1")
    });
    let id = text.lines().nth(3).unwrap_or_default();
    assert!(id.starts_with('…') && id.contains('-'), "{text}");
    top.type_keys("?");
    top.type_keys("\u{1b}[B");
    top.type_keys("e");
    top.wait_for(&["explained"]);
    top.resize(40, 160);
    top.type_keys("x");
    top.wait_for(&["Workers 1", "Executors 1"]);
    top.signal(Signal::SIGTERM);
    assert_eq!(top.wait(), Some(143));
    wait_for("the usual screen", || (!top.is_alternate()).then_some(()));
}

#[test]
fn what_a_terminal_lost_while_it_was_smaller_is_drawn_again() {
    let stage = Stage::set();
    let top = Terminal::start(stage.top(), 24, 110);
    top.wait_for(&["Workers 1", "Executors 1", "q quit"]);
    // It sees only the size that it already knows.
    top.signal(Signal::SIGSTOP);
    top.resize(2, 10);
    top.resize(24, 110);
    assert!(!top.text().contains("Executors 1"), "the terminal has lost it");
    top.signal(Signal::SIGCONT);
    top.wait_for(&["Workers 1", "Executors 1", "q quit"]);
}

#[test]
fn a_master_that_goes_away_is_asked_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let port = master.address().port().to_string();
    let url = master.url().to_owned();
    let _worker = Daemon::worker(&master, directory.path(), &["--cores", "4", "--memory", "2g"]);
    let mut command = firesteel();
    command.args(["top", "--interval", "100ms", "--master", &url]);
    let top = Terminal::start(command, 24, 110);
    top.wait_for(&["Workers 1"]);
    drop(master);
    let text = top.wait_for(&["no answer, trying again: ", "Connection refused"]);
    assert!(text.contains("Workers 1"), "what was known stays:\n{text}");
    let _next = Daemon::start(&mut forgetful_master(&port));
    top.wait_until("an answer", |text| !text.contains("trying again"));
}

#[test]
fn without_a_terminal_one_snapshot_is_printed() {
    let stage = Stage::set();
    let url = stage.master.url();
    for arguments in [&["top", "--master", url][..], &["top", "--once", "--master", url]] {
        let done = run(firesteel().args(arguments));
        assert_eq!(done.code(), 0, "{done}");
        assert!(done.stdout.starts_with("Master spark://") && done.stdout.contains("sums"), "{done}");
        assert!(!done.stdout.contains('\u{1b}'), "{done}");
    }
    let mut command = firesteel();
    command.args(["top", "--once", "--master", url]);
    let mut once = Terminal::start(command, 24, 160);
    once.wait_for(&["Completed applications"]);
    assert_eq!((once.wait(), once.is_alternate()), (Some(0), false));
}
