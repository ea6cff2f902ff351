//! `firesteel launch`: when and how it ends, what it leaves behind, and which failures it survives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use firesteel_testkit::{
    Cluster, Daemon, Finished, Guarded, firesteel, forgetful_master, processes, run, wait_for,
};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A Master, and Workers of two cores with a grace period of one second.
fn cluster(workers: usize) -> Cluster {
    cluster_with(&[], workers)
}

/// The same with a Master of these properties.
fn cluster_with(properties: &[&str], workers: usize) -> Cluster {
    let worker = ["--cores", "2", "--memory", "2g", "--conf", "firesteel.worker.killGrace=1s"];
    Cluster::plan().properties(properties).worker(&worker).start(workers)
}

fn launch(cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = firesteel();
    command.args(["launch", "--master", cluster.master.url()]).args(arguments);
    command
}

/// The processes that run in executors' directories.
fn executors(cluster: &Cluster) -> Vec<u32> {
    processes::within(cluster.directory.path())
}

fn wait_for_executors(cluster: &Cluster, count: usize) -> Vec<u32> {
    wait_for("executors to run", || {
        let found = executors(cluster);
        (found.len() == count).then_some(found)
    })
}

fn nothing_is_left(cluster: &Cluster) {
    assert_eq!(executors(cluster), [0; 0]);
}

/// The JSON events in a command's output.
fn events(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn count(events: &[Value], name: &str) -> usize {
    events.iter().filter(|event| event["event"] == name).count()
}

fn ended(done: &Finished, code: i32) {
    assert_eq!(done.code(), code, "{done}");
}

/// A script that waits at the gate `directory`, then runs `then`.
fn gated(directory: &Path, then: &str) -> String {
    format!("while [ ! -e {}/go ]; do sleep 0.02; done; {then}", directory.display())
}

#[test]
fn all_have_their_turn_and_the_greatest_code_counts() {
    let cluster = cluster(2);
    let script = "exit $((FIRESTEEL_EXECUTOR_ID % 3))";
    let arguments = ["--num-executors", "7", "--executor-cores", "1", "--json", "--", "sh", "-c", script];
    let done = run(&mut launch(&cluster, &arguments));
    ended(&done, 2);
    let events = events(&done.stdout);
    assert_eq!((count(&events, "executor_launched"), count(&events, "executor_ended")), (7, 7), "{done}");
    assert!(events.iter().all(|event| event["schema"] == 2 && event["time_ms"].is_u64()), "{done}");
    let last = events.last().expect("there are events");
    assert_eq!(
        (&last["event"], &last["ending"], &last["exit_code"]),
        (&"done".into(), &"met".into(), &2.into())
    );
}

#[test]
fn without_a_number_each_worker_has_its_turn_once() {
    let cluster = cluster(2);
    let done = run(&mut launch(&cluster, &["--json", "--", "true"]));
    ended(&done, 0);
    assert_eq!(count(&events(&done.stdout), "executor_launched"), 2, "{done}");
}

#[test]
fn the_first_that_ends_decides_and_the_others_are_ended() {
    let cluster = cluster(2);
    let script = "if [ $FIRESTEEL_EXECUTOR_ID = 1 ]; then kill -KILL $$; else exec sleep 1000; fi";
    let done =
        run(&mut launch(&cluster, &["--until", "any", "--executor-cores", "1", "--", "sh", "-c", script]));
    ended(&done, 137);
    nothing_is_left(&cluster);
    assert!(done.stdout.contains("executor 1 on 127.0.0.1: exited with signal 9 (SIGKILL)"), "{done}");
    assert_eq!(done.stdout.matches("ended as asked, with signal 15 (SIGTERM)").count(), 3, "{done}");
}

#[test]
fn executors_that_keep_failing_are_replaced_until_the_master_gives_up() {
    let cluster = cluster_with(&["spark.deploy.maxExecutorRetries=3"], 1);
    let done = run(&mut launch(&cluster, &["--until", "never", "--json", "--", "/no/such/command"]));
    ended(&done, 1);
    assert_eq!(count(&events(&done.stdout), "executor_ended"), 3, "{done}");
    let said = "the Master ended the application: 3 executors failed in a row, the last with FAILED (cannot start the \
                program: /no/such/command: not found)";
    assert!(done.stderr.contains(said), "{done}");
}

#[test]
fn a_command_that_does_not_exist_ends_it_with_127() {
    let cluster = cluster(1);
    let done = run(&mut launch(&cluster, &["--", "/no/such/command"]));
    ended(&done, 127);
    let said = "executor 0 on 127.0.0.1: cannot start the program: /no/such/command: not found\n";
    assert!(done.stdout.contains(said), "{done}");
    let elsewhere = run(&mut launch(&cluster, &["--chdir", "/nowhere", "--", "true"]));
    ended(&elsewhere, 127);
    assert!(
        elsewhere.stdout.contains("cannot use the working directory: /nowhere: not found"),
        "{elsewhere}"
    );
}

#[test]
fn ctrl_c_ends_every_process_before_it_returns() {
    let cluster = cluster(2);
    // One of them ignores SIGTERM, and has a child.
    let script =
        "[ $FIRESTEEL_EXECUTOR_ID = 0 ] && trap '' TERM; sleep 1000 & while :; do wait; sleep 0.05; done";
    let mut launch =
        Daemon::spawn(&mut launch(&cluster, &["--executor-cores", "2", "--", "sh", "-c", script]));
    wait_for_executors(&cluster, 4);
    launch.signal(Signal::SIGINT);
    assert_eq!(launch.wait(), 130);
    nothing_is_left(&cluster);
    let output = launch.output();
    assert!(output.contains("waiting for the end of 2 executors\n"), "{output}");
    assert!(output.contains("executor 0 on 127.0.0.1: ended as asked, with signal 9 (SIGKILL)"), "{output}");
    let status = cluster.master.status();
    assert_eq!(completed_states(&status), ["FINISHED"], "{status}");
}

fn completed_states(status: &Value) -> Vec<String> {
    let completed = status["completed"].as_array().or(status["master"]["completed"].as_array());
    let states = completed.expect("there is a history").iter().map(|app| app["state"].to_string());
    states.map(|state| state.trim_matches('"').to_uppercase()).collect()
}

#[test]
fn a_signal_that_timeout_sends_twice_counts_once() {
    let cluster = cluster(1);
    let mut command = Command::new("timeout");
    command.args(["--preserve-status", "1", env!("CARGO_BIN_EXE_firesteel"), "launch", "--master"]);
    let done = run(command.args([cluster.master.url(), "--", "sleep", "1000"]));
    ended(&done, 143);
    assert!(done.stdout.contains("ended as asked"), "{done}");
    nothing_is_left(&cluster);
}

#[test]
fn a_map_that_is_asked_to_end_leaves_nothing_either() {
    let cluster = cluster(1);
    let arguments = ["map", "--master", cluster.master.url(), "--chdir", "executor", "--"];
    let stubborn = ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done", ":::", "x"];
    let mut map = Daemon::spawn(firesteel().args(arguments).args(stubborn));
    wait_for("the item to begin", || (executors(&cluster).len() >= 2).then_some(()));
    map.signal(Signal::SIGINT);
    assert_eq!(map.wait(), 130, "{}", map.log());
    nothing_is_left(&cluster);
    let mut command = Command::new("timeout");
    command.args(["--preserve-status", "1", env!("CARGO_BIN_EXE_firesteel")]).args(arguments);
    let done = run(command.args(stubborn));
    assert_eq!(done.code(), 143, "{done}");
    nothing_is_left(&cluster);
}

#[test]
fn asked_twice_it_does_not_wait() {
    let cluster = cluster(1);
    let script = "trap '' TERM; while :; do sleep 0.05; done";
    let mut launch = Daemon::spawn(&mut launch(&cluster, &["--", "sh", "-c", script]));
    wait_for_executors(&cluster, 2);
    launch.signal(Signal::SIGINT);
    wait_for("its answer", || launch.output_so_far().contains("waiting for the end").then_some(()));
    launch.signal(Signal::SIGTERM);
    assert_eq!(launch.wait(), 143);
    // The Master ends the remaining executor.
    wait_for("the executor to end", || executors(&cluster).is_empty().then_some(()));
}

#[test]
fn executors_end_with_a_launch_that_is_killed() {
    // The Master cannot know that it was killed, so it waits for it.
    let cluster = cluster_with(&["firesteel.master.awayTimeout=2s"], 1);
    let launch = Daemon::spawn(&mut launch(&cluster, &["--", "sleep", "1000"]));
    wait_for_executors(&cluster, 1);
    launch.signal(Signal::SIGKILL);
    wait_for("the executor to end", || executors(&cluster).is_empty().then_some(()));
    wait_for("the application to have failed", || {
        (completed_states(&cluster.master.status()) == ["FAILED"]).then_some(())
    });
}

#[test]
fn what_was_lost_with_its_worker_comes_again_elsewhere() {
    let cluster = cluster(2);
    let gate = tempfile::tempdir().expect("a temporary directory");
    let script = gated(gate.path(), "exit 3");
    let arguments = ["--num-executors", "1", "--json", "--", "sh", "-c", &script];
    let mut launch = Daemon::spawn(&mut launch(&cluster, &arguments));
    let first = wait_for("an executor", || {
        let lines = launch.output_so_far();
        let whole = lines.rsplit_once('\n')?.0.to_owned();
        let events = events(&whole);
        events.iter().find(|event| event["event"] == "executor_running")?;
        let launched = events.iter().find(|event| event["event"] == "executor_launched")?;
        Some(launched["worker"].as_str()?.to_owned())
    });
    let at = cluster.workers.iter().position(|worker| first.ends_with(&port(worker))).expect("one has it");
    cluster.workers[at].signal(Signal::SIGKILL);
    wait_for("another executor", || {
        (launch.output_so_far().matches("executor_running").count() == 2).then_some(())
    });
    fs::write(gate.path().join("go"), "").expect("a file");
    assert_eq!(launch.wait(), 3);
    let events = events(&launch.output());
    let states: Vec<&Value> =
        events.iter().map(|event| &event["state"]).filter(|state| !state.is_null()).collect();
    assert_eq!(states, ["LOST", "EXITED"], "{events:#?}");
}

fn port(worker: &Daemon) -> String {
    format!("-{}", worker.address().port())
}

#[test]
fn a_master_that_starts_again_is_asked_for_those_that_had_no_turn() {
    let mut cluster = cluster(1);
    let gate = tempfile::tempdir().expect("a temporary directory");
    let script = gated(gate.path(), "exit 4");
    let first = format!(
        "[ $FIRESTEEL_EXECUTOR_ID = 0 ] && [ ! -e {0}/one ] && touch {0}/one && exit 1; {script}",
        gate.path().display()
    );
    let arguments = ["--num-executors", "2", "--executor-cores", "1", "--json", "--", "sh", "-c", &first];
    let mut launch = Daemon::spawn(&mut launch(&cluster, &arguments));
    wait_for("the first turn", || {
        let output = launch.output_so_far();
        (output.contains("executor_ended") && output.matches("executor_running").count() == 2).then_some(())
    });
    let port = cluster.master.address().port().to_string();
    cluster.master.signal(Signal::SIGKILL);
    cluster.master.wait();
    wait_for("launch to see it", || launch.output_so_far().contains("master_lost").then_some(()));
    cluster.master = Daemon::start(&mut forgetful_master(&port));
    wait_for("the other one again", || {
        (launch.output_so_far().matches("executor_running").count() == 3).then_some(())
    });
    fs::write(gate.path().join("go"), "").expect("a file");
    assert_eq!(launch.wait(), 4);
    let events = events(&launch.output());
    assert_eq!((count(&events, "registered"), count(&events, "executor_launched")), (2, 3), "{events:#?}");
}

#[test]
fn a_closed_standard_output_ends_it() {
    let cluster = cluster(1);
    let mut launch = Guarded::spawn(
        launch(&cluster, &["--until", "never", "--", "sh", "-c", "sleep 0.2"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    );
    drop(launch.stdout.take());
    let status = wait_for("it to end", || launch.try_wait().expect("it is our child"));
    assert_eq!(status.code(), Some(141));
    nothing_is_left(&cluster);
}

#[test]
fn a_local_cluster_leaves_nothing() {
    let mut launch = Daemon::spawn(firesteel().args([
        "launch",
        "--master",
        "local-cluster[2,1,1024]",
        "--",
        "sh",
        "-c",
        "sleep 1000",
    ]));
    let all: Vec<u32> = wait_for("a Master, two Workers and their executors", || {
        let found = processes::descendants_of(launch.pid());
        let sleepers = found
            .iter()
            .filter(|pid| processes::command_line(**pid).first().is_some_and(|word| word == "sleep"));
        (sleepers.count() == 2).then_some(found.clone())
    });
    launch.signal(Signal::SIGINT);
    assert_eq!(launch.wait(), 130);
    wait_for("all to end", || all.iter().all(|pid| !processes::is_alive(*pid)).then_some(()));
}

#[test]
fn files_are_there_before_the_command_starts() {
    let cluster = cluster(1);
    let source = tempfile::tempdir().expect("a temporary directory");
    let file: PathBuf = source.path().join("answer");
    fs::write(&file, "42").expect("a file");
    let file = file.to_str().expect("UTF-8");
    let script = "exit $(cat answer)";
    let done = run(&mut launch(&cluster, &["--files", file, "--", "sh", "-c", script]));
    ended(&done, 42);
}

#[test]
fn an_urgent_application_has_an_executor_of_lower_priority_end_and_it_comes_back() {
    let cluster = cluster_with(&["firesteel.master.preemption=1"], 1);
    let low = ["--executor-cores", "1", "--num-executors", "2", "--", "sleep", "1000"];
    let mut low = Daemon::spawn(&mut launch(&cluster, &low));
    wait_for_executors(&cluster, 2);
    let high = ["--priority", "5", "--num-executors", "1", "--executor-cores", "1", "--json", "--", "true"];
    let done = run(&mut launch(&cluster, &high));
    ended(&done, 0);
    assert_eq!(count(&events(&done.stdout), "executor_launched"), 1, "{done}");
    wait_for_executors(&cluster, 2);
    low.signal(Signal::SIGTERM);
    assert_eq!(low.wait(), 143);
    assert!(low.output().contains("lost: preempted by app-"), "{}", low.output());
    nothing_is_left(&cluster);
}
