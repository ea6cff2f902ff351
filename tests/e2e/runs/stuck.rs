//! A shell beside something that is stuck: the reader of its output, its Master, a file, a full history.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use firesteel_testkit::{Daemon, Guarded, firesteel, processes, wait_for};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{mkfifo, pipe};

use super::shell::{CTRL_C, CTRL_D, LOCAL, Session, applications, home, script};
use crate::commands::terminal::Terminal;
use crate::daemons::worker::Pair;

/// Stops a terminal's output.
const CTRL_S: &str = "\x13";
/// Continues a terminal's output.
const CTRL_Q: &str = "\x11";

fn full_pipe() -> (OwnedFd, File) {
    let (reader, writer) = pipe().expect("there are pipes");
    let mut writer = File::from(writer);
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("it is ours");
    let error = loop {
        if let Err(error) = writer.write_all(&[b'x'; 4096]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::empty())).expect("it is ours");
    (reader, writer)
}

fn wait_for_file(path: &Path) {
    wait_for(&format!("{}", path.display()), || path.exists().then_some(()));
}

#[test]
fn signals_end_a_script_whose_output_nobody_reads() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        for commands in ["run sh -c 'touch there; exec yes'", "run touch there; help; run touch never"] {
            let home = home();
            let (_reader, writer) = full_pipe();
            let mut command = firesteel();
            command.args(LOCAL).args(["--command", commands]).current_dir(home.path()).stdin(Stdio::null());
            command.stderr(writer.try_clone().expect("it can be shared")).stdout(writer);
            let mut child = Guarded::spawn(&mut command);
            wait_for_file(&home.path().join("there"));
            processes::signal(child.id(), signal).expect("it runs");
            let status = wait_for("the script to end", || child.try_wait().expect("it is our child"));
            assert_eq!(status.code(), Some(code), "{signal}: {commands}");
            assert!(!home.path().join("never").exists());
        }
    }
}

#[test]
fn a_terminal_that_was_stopped_keeps_no_session_from_its_end() {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "512m"]);
    let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
    let mut terminal = Session::start(home.path(), &arguments);
    terminal.line("run sh -c 'touch there; until [ -e go ]; do sleep 0.05; done; echo out; touch said; exec sleep 1000'");
    wait_for_file(&home.path().join("there"));
    terminal.keys(CTRL_S);
    fs::write(home.path().join("go"), "").expect("written");
    wait_for_file(&home.path().join("said"));
    terminal.0.signal(Signal::SIGTERM);
    assert_eq!(terminal.end(), 143);
    wait_for("the application to end", || (applications(&master) == 0).then_some(()));
}

#[test]
fn the_prompt_answers_while_the_master_hangs() {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "512m"]);
    let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
    let mut terminal = Session::start(home.path(), &arguments);
    terminal.wait_for("1 executor with 2 cores is ready");
    terminal.wait_for_prompt();
    master.signal(Signal::SIGSTOP);
    terminal.line("run echo as before");
    terminal.wait_for("\nas before\n");
    terminal.line("executors");
    terminal.wait_for("WORKER");
    terminal.line("run touch there; why");
    wait_for_file(&home.path().join("there"));
    terminal.keys(CTRL_C);
    terminal.line("map echo item {} ::: 1 2");
    terminal.wait_for("item 1\nitem 2\n");
    terminal.wait_for_prompt();
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn a_quiet_session_says_nothing_but_answers_and_errors() {
    let home = home();
    let arguments = [&["-q"], &LOCAL[..]].concat();
    let mut terminal = Session::start(home.path(), &arguments);
    let screen = terminal.wait_for_prompt();
    assert_eq!(screen.trim(), "firesteel>");
    terminal.line("run true &");
    terminal.line("map true ::: 1 2");
    terminal.line("wait; run sh -c 'kill -9 $$'");
    let screen = terminal.wait_for("failed: signal 9 (SIGKILL)");
    assert!(!screen.contains("background") && !screen.contains("items in"), "{screen}");
    terminal.wait_for_prompt();
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0);

    let text = "run true & wait\nmap true ::: 1\nmap false ::: 1\n";
    let (code, stdout, stderr) = script(home.path(), &arguments, text);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    assert!(stderr.starts_with("firesteel: 1 item in "), "{stderr}");
}

#[test]
fn a_history_that_cannot_be_kept_is_said_once_and_harms_nothing() {
    let home = home();
    let mut terminal =
        Session::start(home.path(), &[&LOCAL[..], &["--history", "/proc/none/lines"]].concat());
    terminal.line("run echo a");
    terminal.wait_for("firesteel: cannot keep the history in /proc/none/lines: No such file");
    terminal.line("run echo b");
    let screen = terminal.wait_for("\nb\n");
    assert_eq!(screen.matches("cannot keep the history").count(), 1, "{screen}");
    terminal.wait_for_prompt();
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0);
}

#[test]
fn what_is_sourced_is_a_file_with_an_end_and_its_failures_count() {
    let home = home();
    let at = |name: &str| home.path().join(name);
    mkfifo(&at("pipe"), Mode::S_IRWXU).expect("a pipe");
    fs::write(at("bad"), "run false\nnonsense\nrun echo on\n").expect("written");
    fs::write(at("itself"), "source itself\n").expect("written");
    fs::write(at("outer"), "source bad\n").expect("written");
    let sourced = |options: &[&str], text: &str| script(home.path(), &[&LOCAL[..], options].concat(), text);
    for (name, said) in [
        ("pipe", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        (".", "not a regular file"),
        ("none", "No such file"),
    ] {
        let (code, _, stderr) = sourced(&[], &format!("source {name}\n"));
        assert_eq!(code, 1, "{stderr}");
        assert!(stderr.starts_with(&format!("firesteel: line 1: cannot read {name}: {said}")), "{stderr}");
    }
    let (code, stdout, stderr) = sourced(&[], "source outer\nrun echo no\n");
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    assert_eq!(stderr, "firesteel: bad, line 1: task 1 (false) failed: exit code 1\n");
    let (code, stdout, stderr) = sourced(&["--keep-going"], "source outer\nrun echo after\n");
    assert_eq!((code, stdout.as_str()), (2, "on\nafter\n"), "{stderr}");
    let (code, stdout, stderr) = sourced(&["--keep-going"], "run sh -c 'exit 9'; quit\n");
    assert_eq!((code, stdout.as_str()), (9, ""), "{stderr}");
    let (code, _, stderr) = sourced(&[], "source itself\n");
    assert_eq!((code, stderr.as_str()), (1, "firesteel: itself, line 1: itself sources itself\n"));
}

#[test]
fn the_outputs_of_background_tasks_that_ended_first_make_room_for_others() {
    let home = home();
    let arguments = [&LOCAL[..], &["--conf", "firesteel.shell.keptOutput=1m", "--keep-going"]].concat();
    let text = "run head -c 600000 /dev/zero & wait\nrun head -c 700000 /dev/zero & wait\nwatch 1\nwatch 2\nwatch 9\n";
    let (code, stdout, stderr) = script(home.path(), &arguments, text);
    assert_eq!((code, stdout.len()), (1, 700_000), "{stderr}");
    let said = "firesteel: line 3: the output of task 1 is forgotten: firesteel.shell.keptOutput has room for 1048576 \
                bytes of all tasks together\n";
    assert!(stderr.contains(said), "{stderr}");
    assert!(stderr.ends_with("line 5: no task 9; the command tasks lists all\n"), "{stderr}");
}

#[test]
fn an_application_has_at_most_64_profiles() {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "1", "--memory", "1g"]);
    let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
    let (code, stdout, stderr) = script(home.path(), &arguments, &"profile add 0 --cores 1\n".repeat(64));
    assert_eq!((code, stdout.lines().count()), (1, 63), "{stderr}");
    assert_eq!(
        stderr,
        "firesteel: line 64: rejected resource profile 64: an application has at most 64 profiles\n"
    );
}

#[test]
fn a_terminal_that_is_stopped_stops_no_item_of_a_map() {
    let work = home();
    let mut command = firesteel();
    command.args(["map", "--master", "local-cluster[1,2,1024]", "--", "sh", "-c", "sleep 0.1; touch $0"]);
    command.arg(":::").args((0..40).map(|item| format!("{item:02}"))).current_dir(work.path());
    let mut terminal = Terminal::start(command, 24, 100);
    terminal.wait_for(&["of 40 items"]);
    // A bar that cannot be drawn delays nothing.
    terminal.type_keys(CTRL_S);
    let done = || fs::read_dir(work.path()).expect("it is there").count() == 40;
    wait_for("every item to be done", || done().then_some(()));
    terminal.type_keys(CTRL_Q);
    terminal.wait_for(&["40 items in", "40 succeeded"]);
    assert_eq!(terminal.wait(), Some(0));
}

/// The executor runs, but its driver's address does not answer.
#[test]
fn an_executor_that_runs_and_never_registers_is_replaced() {
    let pair = Pair::new(&[]);
    let silent = TcpListener::bind("127.0.0.2:0").expect("loopback has many addresses");
    let port = format!("spark.driver.port={}", silent.local_addr().expect("it has one").port());
    let confs = [
        "spark.driver.host=127.0.0.2",
        "spark.driver.bindAddress=127.0.0.1",
        &port,
        "firesteel.driver.executorTimeout=1s",
    ];
    let mut command = firesteel();
    command.args(["map", "--master", pair.master.url(), "--num-executors", "1"]);
    command.args(confs.iter().flat_map(|conf| ["--conf", *conf])).args(["--", "echo", ":::", "a"]);
    let mut running = Daemon::spawn(&mut command);
    let line = running.wait_for_line(&["executor 0 on", "did not register within 1 s of its start"]);
    assert!(line.contains("requesting a replacement"), "{line}");
    running.wait_for_line(&["executor 1 on", "did not register within 1 s of its start"]);
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(), 130, "{}", running.log());
}
