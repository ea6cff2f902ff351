//! `firesteel logs`: the output of executors, through their Workers.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use firesteel_host::net::call;
use firesteel_protocol::address::parse_masters;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_protocol::messages::{
    ClientToWorker, DriverToMaster, ExecutorState, LogRequest, LogStart, RefusedLog, Stream, WorkerToClient,
};
use firesteel_protocol::wire::Role;
use firesteel_testkit::{Daemon, Finished, Guarded, firesteel, run, wait_for};
use nix::sys::signal::Signal;

use crate::daemons::worker::Pair;
use crate::executors::driver::Driver;

fn command(master: &Daemon, arguments: &[&str]) -> Command {
    let mut command = firesteel();
    command.args(["logs", "--master", master.url()]).args(arguments);
    command
}

fn logs(pair: &Pair, arguments: &[&str]) -> Finished {
    run(&mut command(&pair.master, arguments))
}

/// The output of a successful command.
fn shown(pair: &Pair, arguments: &[&str]) -> String {
    let done = logs(pair, arguments);
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""), "{arguments:?}: {done}");
    done.stdout
}

fn refused(pair: &Pair, arguments: &[&str], code: i32, words: &[&str]) {
    let done = logs(pair, arguments);
    assert_eq!(done.code(), code, "{arguments:?}: {done}");
    assert_eq!(done.stderr.lines().count(), 1, "{done}");
    for words in words {
        assert!(done.stderr.contains(words), "{words:?} is missing: {done}");
    }
}

/// An executor that ran to its end.
fn over(pair: &Pair, script: &str) -> Driver {
    let mut driver = pair.register(script, 1);
    driver.until(ExecutorState::is_finished);
    driver
}

#[test]
fn each_output_is_shown_whole_or_from_its_end_also_when_the_application_is_over() {
    let pair = Pair::new(&[]);
    let mut driver = over(&pair, "seq 5; printf unfinished; echo problem >&2; sleep 1000 & exit 0");
    let app = driver.app.to_string();
    for _ in 0..2 {
        let whole = "1\n2\n3\n4\n5\nunfinished";
        assert_eq!(shown(&pair, &[&app, "0"]), whole);
        assert_eq!(shown(&pair, &[&format!("{app}/0")]), whole);
        assert_eq!(shown(&pair, &[&app, "0", "--follow"]), whole);
        for (lines, expected) in [("0", ""), ("1", "unfinished"), ("3", "4\n5\nunfinished"), ("99", whole)] {
            assert_eq!(shown(&pair, &[&app, "0", "--tail", lines]), expected);
        }
        for (bytes, expected) in [("0", ""), ("4", "shed"), ("9999", whole)] {
            assert_eq!(shown(&pair, &[&app, "0", "--bytes", bytes]), expected);
        }
        let stderr = shown(&pair, &[&app, "0", "--stderr"]);
        assert_eq!(stderr, "problem\n", "how it was started stands in the file alone");
        for (lines, expected) in [("0", ""), ("1", "problem\n"), ("99", "problem\n")] {
            assert_eq!(shown(&pair, &[&app, "0", "--stderr", "-n", lines]), expected);
        }
        let file = fs::read_to_string(pair.file(&driver, 0, "stderr")).expect("it was written");
        assert!(file.starts_with("Firesteel Executor Command: ") && file.ends_with("\nproblem\n"), "{file}");
        // And again when the application is over.
        driver.send(&DriverToMaster::UnregisterApplication { app: driver.app.clone(), outcome: None });
        wait_for("the application's end", || {
            (pair.master.status()["completed"].as_array()?.len() == 1).then_some(())
        });
    }
}

#[test]
fn a_log_is_followed_while_it_grows_and_to_its_end() {
    let pair = Pair::new(&[]);
    let driver = pair.register("echo one; until [ -e go ]; do :; done; echo two; echo three", 1);
    let app = driver.app.to_string();
    wait_for("the executor to write", || {
        fs::read_to_string(pair.file(&driver, 0, "stdout")).ok().filter(|text| text == "one\n")
    });
    let mut follower = Guarded::spawn(command(&pair.master, &[&app, "0", "-f"]).stdout(Stdio::piped()));
    let mut lines = BufReader::new(follower.stdout.take().expect("it is piped")).lines();
    let mut next = || lines.next().transpose().expect("it can be read");
    assert_eq!(next().as_deref(), Some("one"));
    fs::write(pair.file(&driver, 0, "go"), "").expect("it can be written");
    assert_eq!(next().as_deref(), Some("two"));
    assert_eq!(next().as_deref(), Some("three"));
    assert_eq!(next(), None);
    assert!(follower.wait().expect("it ended").success());
}

#[test]
fn following_ends_with_its_reader_and_with_ctrl_c() {
    let pair = Pair::new(&[]);
    let driver = pair.register("echo up; sleep 1000", 1);
    let app = driver.app.to_string();
    let start = || Guarded::spawn(command(&pair.master, &[&app, "0", "-f"]).stdout(Stdio::piped()));

    let mut follower = start();
    let mut first = [0; 3];
    follower.stdout.take().expect("it is piped").read_exact(&mut first).expect("a line");
    assert_eq!(&first, b"up\n");
    // Nothing more is written, but the end of the reader is noticed anyway.
    let status = wait_for("its end", || follower.try_wait().expect("it is ours"));
    assert!(status.success());

    let mut follower = Daemon::spawn(&mut command(&pair.master, &[&app, "0", "-f"]));
    wait_for("a line", || follower.has_written().then_some(()));
    follower.signal(Signal::SIGINT);
    assert_eq!(follower.wait(), 130);
}

#[test]
fn a_hundred_megabytes_come_through_as_they_are() {
    let pair = Pair::new(&[]);
    let script = "head -c 104857600 /dev/urandom | tee copy; cksum <copy >sum; rm copy";
    let driver = over(&pair, script);
    let sum = fs::read_to_string(pair.file(&driver, 0, "sum")).expect("it was written");
    let mut shown = command(&pair.master, &[driver.app.as_str(), "0"]);
    let mut shown = Guarded::spawn(shown.stdout(Stdio::piped()));
    let out = shown.stdout.take().expect("it is piped");
    let counted = Command::new("cksum").stdin(out).output().expect("there is a cksum");
    assert!(shown.wait().expect("it ended").success());
    assert_eq!(String::from_utf8_lossy(&counted.stdout), sum);
}

#[test]
fn the_list_has_every_executor_with_the_lengths_of_its_logs() {
    let pair = Pair::new(&[]);
    let mut driver = pair.register("printf 12345; [ $FIRESTEEL_EXECUTOR_ID = 0 ] || sleep 1000", 2);
    driver.until(ExecutorState::is_finished);
    let app = driver.app.to_string();
    let table = wait_for("both to have written", || {
        let table = shown(&pair, &[&app, "--list"]);
        (table.matches(" 5 ").count() >= 2).then_some(table)
    });
    let rows: Vec<&str> = table.lines().map(str::trim_start).collect();
    assert!(rows[0].starts_with("EXECUTOR"), "{table}");
    assert!(rows[1].starts_with(&format!("{app}/0")) && rows[1].contains("EXITED"), "{table}");
    let place = format!("127.0.0.1:{}", pair.work.path().display());
    assert!(rows[2].starts_with(&format!("{app}/1")) && rows[2].contains(&place), "{table}");
}

#[test]
fn all_logs_of_an_application_are_told_apart_by_their_executors() {
    let pair = Pair::new(&[]);
    // The replacements of the first two executors write nothing.
    let script = "[ $FIRESTEEL_EXECUTOR_ID -lt 2 ] || exec sleep 1000; echo a$FIRESTEEL_EXECUTOR_ID; until [ -e go ]; do :; done; printf b; echo c >&2";
    let driver = pair.register(script, 2);
    let app = driver.app.to_string();
    let up = "0 | a0\n1 | a1\n";
    wait_for("both to write", || (logs(&pair, &[&app]).stdout == up).then_some(()));
    let mut follower = Guarded::spawn(command(&pair.master, &[&app, "--follow"]).stdout(Stdio::piped()));
    let mut lines = BufReader::new(follower.stdout.take().expect("it is piped")).lines();
    let mut next = || lines.next().transpose().expect("it can be read");
    assert_eq!([next(), next()].map(Option::unwrap_or_default).concat(), "0 | a01 | a1");
    for (number, expected) in [(1, "1 | b"), (0, "0 | b")] {
        fs::write(pair.file(&driver, number, "go"), "").expect("it can be written");
        assert_eq!(next().as_deref(), Some(expected));
    }
    assert_eq!(next(), None);
    assert!(follower.wait().expect("it ended").success());
    wait_for("the next two", || pair.file(&driver, 3, "stdout").exists().then_some(()));
    assert_eq!(shown(&pair, &[&app, "-n", "1"]), "0 | b\n1 | b\n");
    assert_eq!(shown(&pair, &[&app, "--stderr"]), "0 | c\n1 | c\n");
    // Unreadable logs do not affect the others.
    fs::remove_dir_all(pair.file(&driver, 0, "")).expect("it can be removed");
    let done = logs(&pair, &[&app]);
    assert_eq!((done.code(), done.stdout.as_str()), (1, "1 | a1\n1 | b\n"), "{done}");
    assert!(done.stderr.contains("no such log of executor 0"), "{done}");
    assert!(done.stderr.ends_with("firesteel: cannot show 1 of 4 logs\n"), "{done}");
}

#[test]
fn what_there_is_not_is_said_in_one_line() {
    let mut pair = Pair::new(&[]);
    let driver = pair.register("echo up; sleep 1000", 2);
    let app = driver.app.to_string();
    wait_for("two executors", || {
        (pair.master.status()["applications"][0]["executors"].as_array()?.len() == 2).then_some(())
    });
    refused(&pair, &["app-1"], 1, &["no application has the id or name \"app-1\"", "firesteel status"]);
    refused(&pair, &["../.."], 1, &["no application has the id or name \"../..\""]);
    refused(&pair, &[&app, "7"], 1, &["has no executor 7", "it has 0, 1"]);
    refused(&pair, &[&format!("{app}/0"), "1"], 2, &["names an executor"]);
    pair.worker.signal(Signal::SIGKILL);
    pair.worker.wait();
    let place = format!("the logs are on 127.0.0.1 in {}", pair.work.path().join(&app).join("1").display());
    refused(&pair, &[&app, "1"], 1, &["does not answer", &place]);
    let nobody = ["logs", "app-1", "--master", "spark://127.0.0.1:1"];
    let done = run(firesteel().args(nobody));
    assert_eq!(done.code(), 69, "{done}");
}

/// Logs that are rolled and compressed, with limits.
const ROLLED: [&str; 6] = [
    "--conf",
    "spark.executor.logs.rolling.strategy=size",
    "--conf",
    "spark.executor.logs.rolling.maxSize=100k",
    "--conf",
    "spark.executor.logs.rolling.enableCompression=true",
];

#[test]
fn rolled_and_compressed_logs_are_one_log() {
    let pair = Pair::new(&ROLLED);
    let driver = over(&pair, "seq 200000; echo problem >&2");
    let app = driver.app.as_str();
    let numbers: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert!(shown(&pair, &[app, "0"]) == numbers);
    assert!(shown(&pair, &[app, "0", "--follow"]) == numbers);
    assert_eq!(shown(&pair, &[app, "0", "-n", "3"]), "199998\n199999\n200000\n");
    let thousands = shown(&pair, &[app, "0", "-n", "100000"]);
    assert!(thousands.starts_with("100001\n") && thousands.ends_with("\n200000\n"));
    assert_eq!(shown(&pair, &[app, "0", "--stderr"]), "problem\n");
    let directory = pair.file(&driver, 0, "");
    let names =
        fs::read_dir(directory).expect("it is there").map(|entry| entry.expect("an entry").file_name());
    assert!(names.filter(|name| name.to_string_lossy().ends_with(".gz")).count() > 10);
}

#[test]
fn a_log_of_which_the_beginning_was_removed_is_followed_without_a_gap_from_there() {
    let retained = ["--conf", "spark.executor.logs.rolling.maxRetainedFiles=2"];
    let pair = Pair::new(&[&ROLLED[..], &retained].concat());
    let driver = pair.register("seq 100000; until [ -e go ]; do :; done; seq 100001 112000", 1);
    let app = driver.app.as_str();
    let tail = || logs(&pair, &[app, "0", "-n", "1"]).stdout;
    wait_for("the executor to write", || (tail() == "100000\n").then_some(()));
    let mut follower = Guarded::spawn(command(&pair.master, &[app, "0", "-f"]).stdout(Stdio::piped()));
    let mut lines = BufReader::new(follower.stdout.take().expect("it is piped")).lines();
    let mut next = || lines.next().transpose().expect("it can be read");
    // The first line may be cut.
    next();
    let number = |text: Option<String>| text.map(|text| text.parse::<u32>().expect("a number"));
    let first = number(next()).expect("there are more");
    assert!(first > 10_000, "the beginning was removed");
    let mut last = first;
    while last < 100_000 {
        let following = number(next()).expect("there are more");
        assert_eq!(following, last + 1);
        last = following;
    }
    fs::write(pair.file(&driver, 0, "go"), "").expect("it can be written");
    while let Some(following) = number(next()) {
        assert_eq!(following, last + 1);
        last = following;
    }
    assert_eq!(last, 112_000);
    assert!(follower.wait().expect("it ended").success());
}

/// The Worker's answer to a client that asks for any names.
fn ask(pair: &Pair, app: &str, executor: u32) -> WorkerToClient {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let address = parse_masters(pair.worker.url()).expect("it is a URL").remove(0);
    let executor = ExecutorKey { app: AppId::new(app), executor: ExecutorId(executor) };
    let request = LogRequest { executor, stream: Stream::Stdout, from: LogStart::Offset(0) };
    let question = ClientToWorker::RequestLog(request);
    let answer = call(&address, Role::Worker, "a test", &question);
    runtime.block_on(answer).expect("the Worker answers")
}

#[test]
fn nothing_outside_the_work_directory_is_shown() {
    let pair = Pair::new(&[]);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(elsewhere.path().join("0")).expect("it can be made");
    fs::write(elsewhere.path().join("0/stdout"), "a secret").expect("it can be written");
    for bad in ["..", "../..", "/etc", "a/b", ""] {
        assert_eq!(ask(&pair, bad, 0), WorkerToClient::RequestLogFailed(RefusedLog::UnsoundId), "{bad:?}");
    }
    // Neither through a link to a directory, nor through one to a file, nor from something that is not a file.
    let app = pair.work.path().join("app-1");
    std::os::unix::fs::symlink(elsewhere.path(), &app).expect("it can be made");
    let missing = |answer: WorkerToClient| {
        assert!(matches!(&answer, WorkerToClient::RequestLogFailed(RefusedLog::NoLog { .. })), "{answer:?}");
    };
    missing(ask(&pair, "app-1", 0));
    fs::remove_file(&app).expect("it can be removed");
    for executor in 0..3 {
        fs::create_dir_all(app.join(executor.to_string())).expect("it can be made");
    }
    std::os::unix::fs::symlink(elsewhere.path().join("0/stdout"), app.join("0/stdout"))
        .expect("it can be made");
    fs::create_dir(app.join("1/stdout")).expect("it can be made");
    nix::unistd::mkfifo(&app.join("2/stdout"), nix::sys::stat::Mode::S_IRWXU).expect("it can be made");
    for executor in 0..4 {
        missing(ask(&pair, "app-1", executor));
    }
}
