//! `firesteel shell`: at a terminal, and with a script.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use firesteel_testkit::{Daemon, Guarded, firesteel, forgetful_master, processes, run, wait_for};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::commands::terminal::Terminal;

pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_D: &str = "\x04";
const ENTER: &str = "\r";
const TAB: &str = "\t";
const UP: &str = "\x1b[A";

/// Options for a local cluster of one Worker.
pub(crate) const LOCAL: [&str; 6] =
    ["shell", "--master", "local-cluster[1,2,512]", "--executor-memory", "256m", "--executor-cores=2"];

pub(crate) fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

pub(crate) struct Session(pub(crate) Terminal);

impl Session {
    /// Starts a shell with these arguments in this directory, which is also its home.
    pub(crate) fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut command = firesteel();
        command.args(arguments).current_dir(home).env("HOME", home).env_remove("XDG_STATE_HOME");
        Self(Terminal::start(command, 40, 120))
    }

    /// Waits for the prompt, types a line, and presses enter.
    pub(crate) fn line(&self, line: &str) {
        self.wait_for_prompt();
        self.keys(line);
        self.keys(ENTER);
    }

    pub(crate) fn keys(&self, keys: &str) {
        self.0.type_keys(keys);
    }

    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.0.wait_for(&[words])
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        self.0.wait_until(what, is_so)
    }

    /// Waits until the last line is an empty prompt.
    pub(crate) fn wait_for_prompt(&self) -> String {
        self.0.wait_until("the prompt", |screen| {
            screen.trim_end().lines().last().is_some_and(|line| line.trim_end() == "firesteel>")
        })
    }

    pub(crate) fn end(&mut self) -> i32 {
        self.0.wait().expect("it ends with a code")
    }

    /// Leaves by ctrl-d, with exit code 0.
    pub(crate) fn leave(&mut self) {
        self.keys(CTRL_D);
        assert_eq!(self.end(), 0);
    }
}

/// A session at a terminal, at its first prompt.
fn session(home: &Path) -> Session {
    let session = Session::start(home, &LOCAL);
    session.wait_for_prompt();
    session
}

fn is_gone(pid: u32) -> bool {
    !processes::is_alive(pid)
}

/// The process id that a task wrote to a file.
fn pid_in(file: &Path) -> u32 {
    wait_for("the task's process number", || fs::read_to_string(file).ok()?.trim().parse().ok())
}

pub(crate) fn applications(master: &Daemon) -> usize {
    master.status()["applications"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_session_greets_runs_what_is_typed_and_leaves_in_order() {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "512m"]);
    let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
    let mut terminal = Session::start(home.path(), &arguments);
    let greeting = terminal.wait_for_prompt();
    assert!(greeting.contains(": application app-"), "{greeting}");
    assert!(greeting.contains("1 executor with 2 cores is ready; help lists the commands"), "{greeting}");
    terminal.line("run sh -c 'echo one; echo two >&2; exit 3'");
    let screen = terminal.wait_for("failed: exit code 3");
    assert!(screen.contains("one\n") && screen.contains("two\n"), "{screen}");
    terminal.line("map echo item {} ::: 1 2 3");
    terminal.wait_for("item 1\nitem 2\nitem 3\n");
    terminal.wait_for_prompt();
    assert_eq!(applications(&master), 1);
    terminal.leave();
    wait_for("the application to end", || (applications(&master) == 0).then_some(()));
}

#[test]
fn tab_completes_and_arrows_find_lines_of_this_and_earlier_sessions() {
    let home = home();
    let history = home.path().join("lines");
    let arguments = [&LOCAL[..], &["--history", history.to_str().expect("a text")]].concat();
    let mut terminal = Session::start(home.path(), &arguments);
    terminal.wait_for_prompt();
    terminal.keys("exe");
    terminal.keys(TAB);
    terminal.wait_for("firesteel> executors");
    terminal.keys(ENTER);
    terminal.wait_for("EXECUTOR");
    terminal.line("run echo first");
    terminal.wait_for("\nfirst\n");
    terminal.wait_for_prompt();
    terminal.keys(UP);
    terminal.wait_until("the line before", |screen| screen.trim_end().ends_with("firesteel> run echo first"));
    terminal.keys(CTRL_C);
    terminal.wait_for_prompt();
    terminal.leave();

    let mut terminal = Session::start(home.path(), &arguments);
    terminal.wait_for_prompt();
    terminal.keys(UP);
    terminal.wait_for("firesteel> run echo first");
    terminal.keys(UP);
    terminal.wait_until("the line before that", |screen| screen.trim_end().ends_with("> executors"));
    terminal.keys(CTRL_C);
    terminal.line("history 2");
    terminal.wait_for("run echo first\nhistory 2\n");
    terminal.line("quit 7");
    assert_eq!(terminal.end(), 7);
}

#[test]
fn without_history_no_line_is_kept() {
    let home = home();
    let mut terminal = Session::start(home.path(), &[&LOCAL[..], &["--no-history"]].concat());
    terminal.line("run echo secret");
    terminal.wait_for("\nsecret\n");
    terminal.wait_for_prompt();
    terminal.leave();
    assert!(!home.path().join(".local/state/firesteel/history").exists());

    let mut terminal = session(home.path());
    terminal.leave();
}

#[test]
fn ctrl_c_ends_the_task_in_hand_and_leaves_no_process() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.line("run sh -c 'sleep 1000 & echo $! > child; echo $$ > shell; wait'");
    let pids = ["shell", "child"].map(|name| pid_in(&home.path().join(name)));
    terminal.keys(CTRL_C);
    terminal.wait_for("was cancelled");
    assert!(pids.into_iter().all(is_gone), "{pids:?}");
    terminal.line("run echo still here");
    terminal.wait_for("\nstill here\n");
    terminal.wait_for_prompt();
    terminal.leave();
}

#[test]
fn a_second_ctrl_c_waits_for_a_task_that_does_not_listen_and_ends_no_session() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.line("run sh -c 'trap \"\" TERM; echo $$ > shell; while :; do sleep 0.1; done'");
    let pid = pid_in(&home.path().join("shell"));
    terminal.keys(CTRL_C);
    terminal.keys(CTRL_C);
    terminal.wait_for("was cancelled");
    assert!(is_gone(pid));
    terminal.wait_for_prompt();
    terminal.leave();
}

#[test]
fn ctrl_c_ends_all_tasks_of_a_map() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.line("map sh -c 'echo $$ > pid.$1; exec sleep 1000' sh ::: 1 2 3 4");
    let pids = ["pid.1", "pid.2"].map(|name| pid_in(&home.path().join(name)));
    terminal.keys(CTRL_C);
    terminal.wait_for("4 cancelled");
    terminal.wait_for_prompt();
    assert!(pids.into_iter().all(is_gone), "{pids:?}");
    assert!(!home.path().join("pid.3").exists());
    terminal.line("run echo after");
    terminal.wait_for("\nafter\n");
    terminal.wait_for_prompt();
    terminal.leave();
}

#[test]
fn ctrl_c_at_the_prompt_clears_the_line_and_another_size_is_harmless() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.keys("run touch wrong");
    terminal.0.resize(30, 100);
    terminal.wait_for("run touch wrong");
    terminal.keys(CTRL_C);
    terminal.wait_for_prompt();
    terminal.keys(ENTER);
    terminal.line("run sh -c 'echo a; sleep 0.3; echo b'");
    terminal.0.resize(40, 120);
    terminal.wait_for("\na\nb\n");
    terminal.wait_for_prompt();
    assert!(!home.path().join("wrong").exists());
    terminal.leave();
}

#[test]
fn an_output_without_a_line_end_does_not_eat_the_prompt() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.line("run printf unfinished");
    terminal
        .wait_until("the prompt below it", |screen| screen.trim_end().ends_with("\nunfinished\nfiresteel>"));
    terminal.leave();
}

#[test]
fn what_happens_is_said_above_the_line_that_is_being_typed() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.line("run sh -c 'kill -9 $PPID; sleep 9' &");
    terminal.wait_for("in the background");
    terminal.keys("run echo a");
    terminal.wait_until("what happened above what was typed", |screen| {
        screen.contains("is lost") && screen.trim_end().ends_with("firesteel> run echo a")
    });
    terminal.keys("live");
    terminal.keys(ENTER);
    terminal.wait_for("\nalive\n");
    terminal.wait_for_prompt();
    terminal.leave();
}

#[test]
fn a_task_in_the_background_is_watched_and_outlives_the_watching() {
    let home = home();
    let mut terminal = session(home.path());
    terminal.line("run sh -c 'echo begun; until [ -e go ]; do sleep 0.05; done; echo done; exit 4' &");
    terminal.line("watch");
    terminal.wait_for("watch\nbegun");
    terminal.keys(CTRL_C);
    terminal.wait_for_prompt();
    // The first ctrl-d only warns.
    terminal.keys(CTRL_D);
    terminal.wait_for("1 task still runs: quit again to cancel it, or wait");
    terminal.wait_for_prompt();
    fs::write(home.path().join("go"), "").expect("written");
    terminal.wait_for("task 1 failed: exit code 4 (watch 1 shows its output)");
    terminal.line("watch 1");
    terminal.wait_for("begun\ndone\nfiresteel: task 1 failed: exit code 4\n");
    terminal.wait_for_prompt();
    terminal.leave();
}

#[test]
fn signals_end_a_session_in_order_and_leave_the_terminal_as_it_was() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (home, work) = (home(), home());
        let master = Daemon::master(&[]);
        let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "512m"]);
        let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
        let mut terminal = Session::start(home.path(), &arguments);
        terminal.line("run sh -c 'echo $$ > shell; exec sleep 1000' &");
        let pid = pid_in(&home.path().join("shell"));
        terminal.wait_for_prompt();
        terminal.0.signal(signal);
        assert_eq!(terminal.end(), code);
        wait_for("the application to end", || (applications(&master) == 0).then_some(()));
        wait_for("its task to end", || is_gone(pid).then_some(()));
    }
}

#[test]
fn an_application_that_is_killed_ends_its_session_and_says_so() {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "512m"]);
    let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
    let mut terminal = Session::start(home.path(), &arguments);
    let greeting = terminal.wait_for_prompt();
    let app = greeting.split(&[' ', '\n'][..]).find(|word| word.starts_with("app-")).expect("it has an id");
    let killed = run(firesteel().args(["kill", "--master", master.url(), app]));
    assert_eq!(killed.code(), 0, "{killed}");
    assert_eq!(terminal.end(), 143);
    terminal.wait_for("the application was killed by ");
}

#[test]
fn a_master_that_dies_and_comes_back_is_spoken_of_and_keeps_the_session() {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let port = master.address().port().to_string();
    let _worker = Daemon::worker(&master, work.path(), &["--cores", "2", "--memory", "512m"]);
    let arguments = ["shell", "--master", master.url(), "--executor-memory", "256m"];
    let mut terminal = Session::start(home.path(), &arguments);
    terminal.wait_for_prompt();
    drop(master);
    terminal.wait_for("tasks keep running; reconnecting");
    terminal.line("why");
    terminal.wait_for("no Master is connected, and only a Master knows why");
    terminal.line("run echo without a Master");
    terminal.wait_for("\nwithout a Master\n");
    let master = Daemon::start(&mut forgetful_master(&port));
    terminal.wait_for("registered with spark://");
    wait_for("the application to be registered again", || (applications(&master) == 1).then_some(()));
    terminal.line("wait --executors 1; run echo with another one");
    terminal.wait_for("\nwith another one\n");
    terminal.wait_for_prompt();
    terminal.leave();
}

/// Runs a script on standard input. Returns the exit code and both outputs.
pub(crate) fn script(home: &Path, arguments: &[&str], script: &str) -> (i32, String, String) {
    let mut child = Guarded::spawn(
        firesteel()
            .args(arguments)
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(script.as_bytes()).expect("it reads its script");
    drop(stdin);
    let done = child.release().wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (done.status.code().unwrap_or(-1), text(done.stdout), text(done.stderr))
}

/// Runs a script in a shell with executors of one core, on a Worker with this number of cores.
fn script_on(cores: &str, options: &[&str], text: &str) -> (i32, String, String) {
    let (home, work) = (home(), home());
    let master = Daemon::master(&[]);
    let _worker = Daemon::worker(&master, work.path(), &["--cores", cores, "--memory", "4g"]);
    let all = ["shell", "--master", master.url(), "--executor-cores=1", "--executor-memory=256m"];
    script(home.path(), &[&all[..], options].concat(), text)
}

#[test]
fn more_fewer_and_other_executors_come_and_go_as_asked() {
    let (code, stdout, stderr) = script_on(
        "4",
        &["--num-executors=1"],
        "wait --executors 1\nrequest 3\nwait --executors 3\nwhy\nrequest 9\nrequest 2\nrequest 2 --kill\nkill 0 --replace\n\
         wait --executors 2\nprofile add 1 --cores 2\nwait --executors 3\nprofile list\nrun hostname\n",
    );
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    for expected in [
        "3 executors are wanted in all, and 3 are assigned\n",
        "no executor is missing: 3 executors are wanted\n3 executors with 3 cores are ready\n",
        "9 executors are wanted in all, and 4 are assigned\n5 of 9 executors are missing: ",
        "2 executors are wanted in all, and 4 are assigned: 2 more than that, until killed (request 2 --kill)\n",
        "executors 3, 2 have ended\n",
        "executor 0 has ended\n",
        "profile 1: 1 executor is wanted, each with 2 cores\n",
    ] {
        assert!(stdout.contains(expected), "{expected:?} in\n{stdout}");
    }
}

#[test]
fn idle_executors_of_one_profile_make_room_for_tasks_of_another_and_come_back() {
    let (code, stdout, stderr) = script_on(
        "2",
        &["--num-executors=2", "--conf=spark.starvation.timeout=1s"],
        "wait --executors 2\nprofile add 1 --cores 2\nrun --profile 1 echo one\nrun echo two\nrun --profile 1 echo three\n",
    );
    assert_eq!(code, 0, "{stdout}\n{stderr}");
    assert!(["one\n", "two\n", "three\n"].iter().all(|line| stdout.contains(line)), "{stdout}");
    let room = |profile| format!("to end without a task: tasks of profile {profile} need the room");
    let said = |profile| stderr.matches(&room(profile)).count();
    assert_eq!((said(1), said(0)), (2, 1), "{stderr}");
}

#[test]
fn a_script_stops_at_the_first_failure_and_names_its_line() {
    let home = home();
    let text = "# nothing\n\nrun echo a\nrun sh -c 'exit 9'\nrun echo b\n";
    let (code, stdout, stderr) = script(home.path(), &LOCAL, text);
    assert_eq!((code, stdout.as_str()), (9, "a\n"));
    assert_eq!(stderr, "firesteel: line 4: task 2 (sh -c 'exit 9') failed: exit code 9\n");
    let going_on = [&LOCAL[..], &["--keep-going"]].concat();
    let (code, stdout, stderr) = script(home.path(), &going_on, &format!("{text}nonsense\nrun 'open\n"));
    assert_eq!((code, stdout.as_str()), (2, "a\nb\n"), "{stderr}");
    assert!(stderr.contains("line 6: unknown command nonsense; the command help lists all\n"), "{stderr}");
    assert!(stderr.ends_with("line 7: the quote ' is not closed\n"), "{stderr}");
}

#[test]
fn ctrl_c_ends_a_script_with_its_task() {
    let home = home();
    let mut terminal = Session::start(
        home.path(),
        &[&LOCAL[..], &["--command", "run sh -c 'echo $$ > shell; sleep 1000'; run echo no"]].concat(),
    );
    let pid = pid_in(&home.path().join("shell"));
    terminal.keys(CTRL_C);
    assert_eq!(terminal.end(), 130);
    assert!(is_gone(pid));
    assert!(!terminal.0.text().contains("\nno"), "{}", terminal.0.text());
}

#[test]
fn a_long_output_stays_out_of_memory_and_a_reader_that_goes_ends_the_script() {
    let home = home();
    let mut command = firesteel();
    command.args(LOCAL).args(["--command", "run head -c 100000000 /dev/zero"]).current_dir(home.path());
    let mut child = Guarded::spawn(command.stdout(Stdio::piped()));
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut stdout = child.stdout.take().expect("it is piped");
    let (mut read, mut peak, mut buffer) = (0, 0, vec![0; 1 << 20]);
    while let Ok(bytes @ 1..) = std::io::Read::read(&mut stdout, &mut buffer) {
        read += bytes;
        let text = fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|high| high.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(high.unwrap_or(0));
    }
    assert_eq!((read, child.wait().expect("it ends").code()), (100_000_000, Some(0)));
    assert!((1..80_000).contains(&peak), "{peak} kB at most");

    let mut child = Guarded::spawn(
        firesteel()
            .args(LOCAL)
            .args(["--command", "run yes"])
            .current_dir(home.path())
            .stdout(Stdio::piped()),
    );
    let mut stdout = child.stdout.take().expect("it is piped");
    std::io::Read::read_exact(&mut stdout, &mut [0; 10]).expect("there is output");
    drop(stdout);
    let status = wait_for("the script to end", || child.try_wait().expect("it is our child"));
    assert_eq!(status.code(), Some(141));
}

#[test]
fn without_a_master_there_is_no_session() {
    let closed = ["shell", "--master", "spark://127.0.0.1:1", "--command", "status"];
    let conf = ["--conf", "firesteel.driver.registrationTimeout=100ms"];
    let done = run(firesteel().args(closed).args(conf).stdin(Stdio::null()));
    assert_eq!(done.code(), 69, "{done}");
    assert!(done.stderr.contains("no Master accepted the application: spark://127.0.0.1:1"), "{done}");
}
