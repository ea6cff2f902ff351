//! `firesteel map`: its output, and where items ran.

mod ends;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use firesteel_testkit::{
    Cluster, Daemon, Guarded, firesteel, forgetful_master, processes, run, run_with_input, wait_for,
};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;
use tempfile::TempDir;

const LOCAL: [&str; 2] = ["--master", "local-cluster[2,2,1024]"];

/// `firesteel map` on a small local cluster.
fn map(arguments: &[&str]) -> Command {
    let mut command = firesteel();
    command.arg("map").args(LOCAL).args(arguments);
    command
}

/// `firesteel map` on a running cluster.
fn map_on(master: &Daemon, arguments: &[&str]) -> Command {
    let mut command = firesteel();
    command.args(["map", "--master", master.url()]).args(arguments);
    command
}

/// A Master and Workers of two cores.
fn cluster(workers: usize) -> Cluster {
    Cluster::plan().worker(&["--cores", "2", "--memory", "2g"]).start(workers)
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn kill_nine(pid: u32) {
    processes::signal(pid, Signal::SIGKILL).expect("it runs");
}

/// A script that reports in `directory` that it runs, waits until `directory/go` exists, and then runs `then`.
fn gated(directory: &Path, then: &str) -> String {
    let place = directory.display();
    format!("touch {place}/began-$0; while [ ! -e {place}/go ]; do sleep 0.02; done; {then}")
}

fn began(directory: &Path) -> usize {
    let names = fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with("began-")).count()
}

fn open_gate(directory: &Path) {
    fs::write(directory.join("go"), "").expect("a file");
}

fn no_process_is_left(pids: &[u32]) {
    wait_for("all processes to end", || pids.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));
}

fn files_of_the_repository() -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folders = ["crates", "tests", "docs", "fixtures"].map(|folder| format!("{root}/{folder}"));
    let found = run(Command::new("find").args(folders).args(["-type", "f", "-print0"]));
    assert_eq!(found.code(), 0, "{found}");
    assert!(found.stdout.matches('\0').count() > 100, "{found}");
    found.stdout.into_bytes()
}

#[test]
fn an_application_has_no_more_executors_than_it_asked_for() {
    let done = run(&mut map(&[
        "--num-executors",
        "1",
        "--executor-cores",
        "1",
        "--summary",
        "json",
        "--",
        "echo",
        ":::",
        "a",
        "b",
        "c",
    ]));
    assert_eq!((done.code(), done.stdout.as_str()), (0, "a\nb\nc\n"), "{done}");
    let summary: Value = serde_json::from_str(done.stderr.lines().last().expect("a summary")).expect("JSON");
    assert_eq!(summary["executors"].as_array().map(Vec::len), Some(1), "{done}");
    let wrong = run(&mut map(&["--num-executors", "few", "--", "echo", ":::", "a"]));
    assert_eq!(wrong.code(), 2, "{wrong}");
    assert!(wrong.stderr.contains("spark.executor.instances"), "{wrong}");
}

#[test]
fn checksums_of_every_file_are_those_of_xargs_and_come_from_two_executors() {
    let cluster = cluster(2);
    let gate = directory();
    let files = files_of_the_repository();
    let expected = run_with_input(Command::new("xargs").args(["-0", "sha256sum"]), files.clone());
    assert_eq!(expected.code(), 0, "{expected}");
    let list = gate.path().join("list");
    fs::write(&list, files).expect("a file");

    let script =
        format!("while [ ! -e {}/go ]; do sleep 0.02; done; sha256sum \"$0\"", gate.path().display());
    let list = list.to_str().expect("UTF-8");
    let mut running = Daemon::spawn(&mut map_on(
        &cluster.master,
        &["-0", "-i", list, "--summary", "json", "--", "sh", "-c", &script],
    ));
    let executors: Vec<Vec<u32>> = wait_for("an executor on each Worker", || {
        let executors: Vec<Vec<u32>> = (0..2).map(|worker| cluster.executors(worker)).collect();
        executors.iter().all(|of_worker| !of_worker.is_empty()).then_some(executors)
    });
    let mut places = BTreeSet::new();
    for (worker, executors) in executors.iter().enumerate() {
        let work = cluster.work(worker).canonicalize().expect("it is there");
        for pid in executors {
            let reaper = processes::parent_of(*pid).expect("it runs");
            assert_eq!(processes::parent_of(reaper), Some(cluster.workers[worker].pid()));
            let place = processes::directory_of(*pid).expect("it runs");
            assert!(place.starts_with(&work), "{place:?} is not in {work:?}");
            assert!(places.insert(place), "two executors share a directory");
        }
    }
    open_gate(gate.path());
    assert_eq!(running.wait(), 0, "{}", running.log());
    assert_eq!(running.output(), expected.stdout);
    let summary: Value =
        serde_json::from_str(running.log().lines().last().expect("a summary")).expect("JSON");
    let used = summary["executors"].as_array().expect("a list");
    assert!(used.len() >= 2 && used.iter().all(|executor| executor["items"].as_u64() > Some(0)), "{summary}");
    no_process_is_left(&executors.concat());
}

#[test]
fn outputs_come_in_input_order_however_long_items_take() {
    let done = run(&mut map(&[
        "--",
        "sh",
        "-c",
        "sleep 0.$((9 - $0)); echo $0; echo e$0 >&2",
        ":::",
        "1",
        "3",
        "9",
        "2",
    ]));
    assert_eq!((done.code(), done.stdout.as_str()), (0, "1\n3\n9\n2\n"), "{done}");
    let errors: Vec<&str> = done.stderr.lines().filter(|line| line.len() == 2).collect();
    assert_eq!(errors, ["e1", "e3", "e9", "e2"], "{done}");
}

#[test]
fn unordered_outputs_come_as_items_end() {
    let gate = directory();
    let path = gate.path().display();
    let script = format!(
        "if [ $0 = a ]; then while [ ! -e {path}/b ]; do sleep 0.02; done; else touch {path}/b; fi; echo $0"
    );
    let ordered = run(&mut map(&["--", "sh", "-c", &script, ":::", "a", "b"]));
    assert_eq!(ordered.stdout, "a\nb\n", "{ordered}");
    fs::remove_file(gate.path().join("b")).expect("it was made");
    // One item ends while the other still waits for a file that only this test makes.
    let script = format!("if [ $0 = a ]; then while [ ! -e {path}/b ]; do sleep 0.02; done; fi; echo $0");
    let mut child = Guarded::spawn(
        map(&["--unordered", "--", "sh", "-c", &script, ":::", "a", "b"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    );
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "b");
    fs::write(gate.path().join("b"), "").expect("a file");
    assert_eq!(lines.next().expect("a line").expect("text"), "a");
    assert!(child.wait().expect("it is our child").success());
}

#[test]
fn an_item_fills_holes_or_comes_last_wherever_it_comes_from() {
    let list = directory();
    let file = list.path().join("items");
    fs::write(&file, "a b\n\n'\"$x").expect("a file");
    let file = file.to_str().expect("UTF-8");
    for (arguments, input, expected) in [
        (&["--", "echo", "-", ":::", "a b", "{}"][..], "", "- a b\n- {}\n"),
        (&["--", "echo", "<{}>", "{}{}", ":::", "x"], "", "<x> xx\n"),
        (&["-i", file, "--", "echo", "[{}]"], "", "[a b]\n[]\n['\"$x]\n"),
        (&["--", "echo", "it"], "1\n2", "it 1\nit 2\n"),
        (&["-0", "--", "printf", "%s;"], "a\nb\0c\0", "a\nb;c;"),
        (&["--", "echo"], "", ""),
        (&["--", "echo", ":::"], "ignored\n", ""),
        (&["--env", "COLOUR=red", "--", "sh", "-c", "echo $COLOUR $0", ":::", "x"], "", "red x\n"),
        (&["--chdir", "/usr", "--", "sh", "-c", "pwd; : $0", ":::", "x"], "", "/usr\n"),
    ] {
        let done = run_with_input(&mut map(arguments), input.into());
        assert_eq!((done.code(), done.stdout.as_str()), (0, expected), "{arguments:?}: {done}");
    }
    let here = std::env::current_dir().expect("a directory");
    let done = run(&mut map(&["--", "sh", "-c", "pwd", ":::", "x"]));
    assert_eq!(done.stdout.trim(), here.to_str().expect("UTF-8"), "{done}");
    let done = run(&mut map(&["--chdir", "executor", "--", "sh", "-c", "pwd", ":::", "x"]));
    assert!(done.stdout.contains("/app-"), "{done}");
}

#[test]
fn blocks_of_whole_lines_reach_standard_input() {
    let lines: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let done = run_with_input(
        &mut map(&["--pipe", "--block", "64k", "--", "wc", "-lc"]),
        lines.clone().into_bytes(),
    );
    assert_eq!(done.code(), 0, "{done}");
    let counts: Vec<Vec<usize>> = done
        .stdout
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().expect("a number")).collect())
        .collect();
    assert_eq!(counts.iter().map(|count| count[0]).sum::<usize>(), 100_000);
    assert_eq!(counts.iter().map(|count| count[1]).sum::<usize>(), lines.len());
    assert!(counts.len() >= 9 && counts.iter().all(|count| count[1] <= 64 << 10), "{counts:?}");
    let cat =
        run_with_input(&mut map(&["--pipe", "--block", "64k", "--", "cat"]), lines.clone().into_bytes());
    assert_eq!(cat.stdout, lines);
}

#[test]
fn a_failing_item_is_tried_again_and_only_its_last_attempt_is_shown() {
    let script = "echo out $0 $FIRESTEEL_TASK_ATTEMPT; echo err $0 $FIRESTEEL_TASK_ATTEMPT >&2; \
                  case $0 in bad) exit 7;; flaky) [ $FIRESTEEL_TASK_ATTEMPT = 2 ];; esac";
    let done = run(&mut map(&["--summary", "json", "--", "sh", "-c", script, ":::", "good", "flaky", "bad"]));
    assert_eq!(done.code(), 1, "{done}");
    assert_eq!(done.stdout, "out good 0\nout flaky 2\nout bad 3\n");
    let errors: Vec<&str> = done.stderr.lines().filter(|line| line.starts_with("err ")).collect();
    assert_eq!(errors, ["err good 0", "err flaky 2", "err bad 3"], "{done}");
    let summary: Value = serde_json::from_str(done.stderr.lines().last().expect("a summary")).expect("JSON");
    let numbers = ["items", "succeeded", "failed", "repeated_attempts"].map(|key| summary[key].as_u64());
    assert_eq!(numbers, [Some(3), Some(2), Some(1), Some(5)], "{summary}");
    let failure = &summary["failures"][0];
    assert_eq!((failure["number"].as_u64(), failure["item"].as_str()), (Some(3), Some("bad")), "{summary}");
    assert_eq!(
        (failure["exit_code"].as_i64(), failure["failed_attempts"].as_u64()),
        (Some(7), Some(4)),
        "{summary}"
    );

    let once = run(&mut map(&["--conf", "spark.task.maxFailures=1", "--", "sh", "-c", script, ":::", "bad"]));
    assert_eq!((once.code(), once.stdout.as_str()), (1, "out bad 0\n"), "{once}");
    assert!(once.stderr.contains("failed: item 1 (bad): exit code 7"), "{once}");
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let done = run(&mut map(&["--", "no-such-command", ":::", "x"]));
    assert_eq!(done.code(), 1, "{done}");
    assert!(
        done.stderr.contains("no-such-command") && done.stderr.contains("cannot start the program"),
        "{done}"
    );
}

#[test]
fn wrong_usage_and_bad_input_are_told_in_one_line() {
    for (arguments, input, code, words) in [
        (
            &["--input", "/nowhere/items", "--", "echo"][..],
            &b""[..],
            2,
            "cannot open /nowhere/items: No such file",
        ),
        (&["--pipe", "--", "cat", ":::", "a"], b"", 2, "--pipe reads blocks of lines"),
        (&["-i", "x", "--", "cat", ":::", "a"], b"", 2, "leave out one of them"),
        (&["--block", "9m", "--pipe", "--", "cat"], b"", 2, "--block cannot be"),
        (&["--executor-cores", "two", "--", "cat"], b"", 2, "spark.executor.cores"),
        (&["--env", "NO_SUCH_VARIABLE_HERE", "--", "cat"], b"", 2, "NO_SUCH_VARIABLE_HERE"),
        (&["--", "echo"], b"\xff\0\n", 2, "record 1: has a NUL byte"),
        (&["--", ":::", "a"], b"", 2, "there is no command"),
    ] {
        let done = run_with_input(&mut map(arguments), input.to_vec());
        assert_eq!(done.code(), code, "{arguments:?}: {done}");
        assert!(done.stderr.contains(words) && done.stderr.lines().count() == 1, "{arguments:?}: {done}");
    }
    let done = run_with_input(&mut map(&["--", "echo"]), b"one\ntwo\nth\0ree\nfour\n".to_vec());
    assert_eq!((done.code(), done.stdout.as_str()), (1, "one\ntwo\n"), "{done}");
    assert!(done.stderr.contains("standard input, record 3: has a NUL byte"), "{done}");
    let mut nowhere = firesteel();
    nowhere.args([
        "map",
        "--master",
        "spark://127.0.0.1:1",
        "--conf",
        "firesteel.driver.registrationTimeout=1s",
    ]);
    let done = run(nowhere.args(["--", "echo", ":::", "a"]));
    assert_eq!(done.code(), 69, "{done}");
    assert!(done.stderr.contains("no Master accepted the application: spark://127.0.0.1:1"), "{done}");
}

#[test]
fn a_full_disk_ends_the_run_with_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut child = Guarded::spawn(map(&["--", "echo", ":::", "a", "b"]).stdout(full).stderr(Stdio::piped()));
    let below = wait_for("the local cluster", || {
        Some(processes::descendants_of(child.id())).filter(|p| !p.is_empty())
    });
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().expect("it is piped"), &mut stderr).expect("text");
    assert_eq!(child.wait().expect("it is our child").code(), Some(1));
    assert!(stderr.contains("cannot write to standard output: No space left on device"), "{stderr}");
    no_process_is_left(&below);
}

#[test]
fn output_that_cannot_be_kept_ends_the_run_with_an_error() {
    let cluster = cluster(1);
    let nowhere = cluster.path("nowhere");
    // The second item's output is long, and waits until the first is printed.
    let script = "[ $0 = 1 ] && exec sleep 1000; head -c 1000000 /dev/zero";
    let mut command = map_on(&cluster.master, &["--", "sh", "-c", script, ":::", "1", "2"]);
    let done = run(command.env("TMPDIR", &nowhere));
    assert_eq!(done.code(), 1, "{done}");
    let words = format!("cannot keep output in {}", nowhere.display());
    assert!(done.stderr.contains(&words), "{done}");
    wait_for("the executors to end", || cluster.executors(0).is_empty().then_some(()));
}

#[test]
fn long_outputs_pass_through_the_disk_unchanged() {
    let temporary = directory();
    let cluster = cluster(1);
    let script = "[ $0 = 1 ] && sleep 0.5; yes $0 | head -c 3000000";
    let mut command = map_on(&cluster.master, &["--", "sh", "-c", script, ":::", "1", "2", "3"]);
    let done = run(command.env("TMPDIR", temporary.path()));
    assert_eq!(done.code(), 0, "{done}");
    let expected: String = ["1\n", "2\n", "3\n"].iter().map(|line| line.repeat(1_500_000)).collect();
    assert!(done.stdout == expected, "{} bytes of {}", done.stdout.len(), expected.len());
    assert_eq!(fs::read_dir(temporary.path()).expect("a directory").count(), 0);
    no_process_is_left(&cluster.executors(0));
}

#[test]
fn a_terminal_shows_a_bar_and_outputs_stay_whole() {
    let place = directory();
    let out = place.path().join("out");
    let line = format!(
        "{} map --master 'local-cluster[1,2,1024]' -- sh -c 'sleep 0.2; echo $0' ::: 1 2 3 > {}",
        env!("CARGO_BIN_EXE_firesteel"),
        out.display()
    );
    let mut command = Command::new("script");
    let done = run(command.env("TERM", "xterm").args(["-qec", &line, "/dev/null"]));
    assert_eq!(done.code(), 0, "{done}");
    for words in ["of 3 items, 1 executor, 2 cores", "3 items in", "3 succeeded, 0 failed"] {
        assert!(done.stdout.contains(words), "{words}: {done}");
    }
    assert_eq!(fs::read_to_string(&out).expect("a file"), "1\n2\n3\n");
}
