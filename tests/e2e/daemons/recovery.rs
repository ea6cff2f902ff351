//! A Master that is killed and restarted with its journal: nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_host::journal::Contents;
use firesteel_testkit::{Cluster, Daemon, firesteel, processes, run, wait_for};
use nix::sys::signal::Signal;

/// A Master that keeps its state, and a Worker of four cores.
fn cluster() -> Cluster {
    Cluster::plan().durable().worker(&["--cores", "4", "--memory", "4g"]).start(1)
}

/// Its contents, without the preallocated space at the end.
fn written(cluster: &Cluster) -> Vec<u8> {
    let file = fs::read(journal(&cluster.state())).expect("it can be read");
    Contents::of(file).expect("it is whole").written().to_vec()
}

fn start_launch(cluster: &Cluster, arguments: &[&str]) -> Daemon {
    Daemon::spawn(firesteel().args(["launch", "--master", cluster.master.url()]).args(arguments))
}

/// A running server of one core, with its `launch`.
pub(super) fn start_server(cluster: &Cluster, command: &[&str]) -> Daemon {
    let arguments = ["--until", "never", "--num-executors", "1", "--executor-cores", "1", "--json", "--"];
    let launch = start_launch(cluster, &[&arguments[..], command].concat());
    wait_for("the server", || launch.output_so_far().contains("executor_running").then_some(()));
    launch
}

pub(super) fn all_are_back(cluster: &Cluster) {
    cluster.master.wait_for_line(&["all Workers and applications are back"]);
}

pub(super) fn journal(state: &Path) -> PathBuf {
    let names = fs::read_dir(state).expect("the directory is there").flatten().map(|entry| entry.path());
    let is_journal =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal-"));
    let mut files: Vec<PathBuf> = names.filter(is_journal).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn servers_run_on_while_the_master_is_killed_and_comes_back() {
    let mut cluster = cluster();
    let arguments =
        ["--until", "never", "--num-executors", "2", "--executor-cores", "1", "--json", "--", "sleep", "300"];
    let launch = start_launch(&cluster, &arguments);
    wait_for("both servers", || {
        (launch.output_so_far().matches("executor_running").count() == 2).then_some(())
    });
    let worker = cluster.workers[0].pid();
    let servers = || processes::descendants_of(worker);
    let before = servers();
    for _ in 0..3 {
        cluster.kill_master();
        cluster.start_master();
        all_are_back(&cluster);
    }
    assert_eq!(servers(), before);
    let output = launch.output_so_far();
    assert_eq!(output.matches("executor_launched").count(), 2, "{output}");
    assert!(!output.contains("executor_ended"), "{output}");
    let shown = run(firesteel().args(["status", "--master", cluster.master.url()]));
    assert!(shown.stdout.contains(" RUNNING  2 "), "{shown}");
}

#[test]
fn a_followed_log_goes_on_with_the_master_that_comes_back() {
    let mut cluster = cluster();
    let go = cluster.path("go");
    let script =
        format!("echo before; until [ -e {} ]; do sleep 0.05; done; echo after; sleep 300", go.display());
    let _launch = start_server(&cluster, &["sh", "-c", &script]);
    let shown = run(firesteel().args(["status", "--master", cluster.master.url(), "--json"]));
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).expect("it is JSON");
    let app = shown["applications"][0]["id"].as_str().expect("an id");
    let following =
        Daemon::spawn(firesteel().args(["logs", "--master", cluster.master.url(), app, "0", "-f"]));
    wait_for("the first line", || following.output_so_far().contains("before").then_some(()));
    cluster.kill_master();
    cluster.start_master();
    fs::write(&go, "").expect("it can be written");
    wait_for("the next line", || following.output_so_far().contains("after").then_some(()));
    assert_eq!(following.output_so_far(), "before\nafter\n");
}

#[test]
fn a_map_goes_on_with_its_executors_and_no_item_runs_twice() {
    let mut cluster = cluster();
    let ran = cluster.path("ran");
    let script = format!("echo $1 >> {}; sleep 0.1; echo $1", ran.display());
    let items: Vec<String> = (0..60).map(|item| item.to_string()).collect();
    let mut command = firesteel();
    command.args([
        "map",
        "--master",
        cluster.master.url(),
        "--total-executor-cores",
        "4",
        "--executor-cores",
        "2",
    ]);
    command.args(["--", "sh", "-c", &script, "sh", "{}", ":::"]).args(&items);
    let mut map = Daemon::spawn(&mut command);
    let done = || fs::read_to_string(&ran).unwrap_or_default().lines().count();
    for at in [8, 24, 40] {
        wait_for("some items", || (done() >= at).then_some(()));
        cluster.kill_master();
        cluster.start_master();
    }
    assert_eq!(map.wait(), 0, "{}", map.log());
    let mut output: Vec<String> = map.output().lines().map(str::to_owned).collect();
    output.sort_by_key(|line| line.parse::<u32>().unwrap_or(u32::MAX));
    assert_eq!(output, items);
    assert_eq!(done(), 60, "no item ran twice");
    cluster.master.wait_for_line(&["recovered 1 Worker, 1 application and 2 executors from"]);
}

#[test]
fn a_server_that_dies_while_there_is_no_master_is_replaced_when_there_is_one() {
    let mut cluster = cluster();
    let launch = start_server(&cluster, &["sleep", "300"]);
    cluster.kill_master();
    let sleeping = processes::descendants_of(cluster.workers[0].pid());
    let server = sleeping
        .iter()
        .find(|pid| processes::command_line(**pid).first().is_some_and(|word| word.contains("sleep")))
        .expect("it runs");
    processes::signal(*server, Signal::SIGKILL).expect("it lives");
    cluster.start_master();
    wait_for("its end and another one", || {
        let output = launch.output_so_far();
        (output.contains("executor_ended") && output.matches("executor_running").count() == 2).then_some(())
    });
}

#[test]
fn two_masters_do_not_share_a_journal() {
    let cluster = cluster();
    let second = run(&mut cluster.master_command(&cluster.state(), "0"));
    assert_eq!(second.code(), 1, "{second}");
    assert!(second.stderr.contains("state is in use by another Master"), "{second}");
}

#[test]
fn an_unfinished_write_is_dropped_with_a_warning_and_damage_is_not() {
    let mut cluster = cluster();
    let _one = start_server(&cluster, &["sleep", "300"]);
    let middle = written(&cluster).len() - 5;
    // The records of this one come after that.
    let _other = start_server(&cluster, &["sleep", "300"]);
    cluster.kill_master();
    let whole = written(&cluster);

    fs::write(journal(&cluster.state()), &whole[..whole.len() - 3]).expect("it can be written");
    cluster.start_master();
    cluster.master.wait_for_line(&["WARN", "were not written completely", "dropped"]);
    all_are_back(&cluster);
    cluster.kill_master();

    let mut damaged = whole.clone();
    damaged[middle] ^= 1;
    fs::write(journal(&cluster.state()), damaged).expect("it can be written");
    let refused = run(&mut cluster.master_command(&cluster.state(), &cluster.port()));
    assert_eq!(refused.code(), 1, "{refused}");
    assert!(refused.stderr.contains(" is damaged: the "), "{refused}");
    let state = cluster.state();
    let journal = |words: &[&str]| run(firesteel().arg("journal").args(words).arg(&state));
    assert_eq!(journal(&["check"]).code(), 1);
    let repaired = journal(&["check", "--repair"]);
    assert_eq!(repaired.code(), 0, "{repaired}");
    assert!(repaired.stdout.contains("1 Worker, "), "{repaired}");
    cluster.start_master();
    cluster.master.wait_for_line(&["recovered 1 Worker"]);
}

#[test]
fn a_journal_is_checked_dumped_and_exported_while_its_master_runs() {
    let cluster = cluster();
    let secret = "open-sesame";
    let _launch = start_server(&cluster, &["sh", "-c", &format!("sleep 300; echo {secret}")]);
    let state = cluster.state();
    let journal = |words: &[&str]| {
        let done = run(firesteel().arg("journal").args(words).arg(&state));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    };
    let checked = journal(&["check"]);
    assert!(checked.contains("1 Worker, 1 application with 1 executor, 0 ended applications"), "{checked}");
    let dumped = journal(&["dump"]);
    assert!(
        dumped.contains("application 0: executor 0 launched on Worker 0 with 1 core and 1 GiB"),
        "{dumped}"
    );
    let exported = journal(&["export"]);
    let state: serde_json::Value = serde_json::from_str(&exported).expect("it is JSON");
    assert_eq!(state["applications"][0]["state"], "UNKNOWN");
    for output in [checked, dumped, exported] {
        assert!(!output.contains(secret) && !output.contains("token"), "{output}");
    }
}

#[test]
fn a_master_that_can_write_nothing_more_ends_and_its_executors_go_on() {
    let mut cluster = cluster();
    cluster.kill_master();
    // A limit on file sizes simulates a full disk. Without the signal, the write fails.
    let state = format!("spark.deploy.recoveryDirectory={}", cluster.state().display());
    let mut limited = Command::new("sh");
    let master = format!(
        "trap '' XFSZ; ulimit -f 64; exec {} master --announce --port {} --conf {state}",
        firesteel_testkit::binary(),
        cluster.port()
    );
    limited.args(["-c", &master]);
    let mut full = Daemon::spawn(&mut limited);
    full.wait_for_line(&["reconnected"]);
    let long = "x".repeat(2000);
    let url = cluster.master.url().to_owned();
    let mut launches = Vec::new();
    wait_for("the Master to end", || {
        let words =
            ["--num-executors", "1", "--executor-cores", "1", "--json", "--", "sh", "-c", "sleep 300", &long];
        launches.push(Daemon::spawn(
            firesteel().args(["launch", "--until", "never", "--master", &url]).args(words),
        ));
        std::thread::park_timeout(std::time::Duration::from_millis(200));
        (!full.is_alive()).then_some(())
    });
    assert_eq!(full.wait(), 1, "{}", full.log());
    assert!(full.log().contains("cannot write "), "{}", full.log());
    assert!(full.log().contains("Executors keep running"), "{}", full.log());
    let running =
        launches.iter().filter(|launch| launch.output_so_far().contains("executor_running")).count();
    assert!(running > 0);
    cluster.start_master();
    all_are_back(&cluster);
    let ended = launches.iter().filter(|launch| launch.output_so_far().contains("executor_ended")).count();
    assert_eq!(ended, 0, "no server ended with the Master");
}

#[test]
fn executors_survive_a_master_that_is_started_in_another_directory_and_then_in_the_right_one() {
    let mut cluster = cluster();
    let launch = start_server(&cluster, &["sleep", "300"]);
    let worker = cluster.workers[0].pid();
    let servers = || processes::descendants_of(worker);
    let before = servers();
    cluster.kill_master();
    let elsewhere = cluster.path("elsewhere");
    cluster.start_master_with(&elsewhere, &[]);
    let words = "that this Master has no record of";
    let place = elsewhere.display().to_string();
    cluster.master.wait_for_line(&[
        "runs 1 executor",
        words,
        &place,
        "is new, or older than they are",
        "start it as a new Master",
    ]);
    cluster.master.wait_for_line(&["has returned with 1 executor", "this Master has no record of it"]);
    assert_eq!(servers(), before);
    cluster.kill_master();
    cluster.start_master();
    all_are_back(&cluster);
    assert_eq!(servers(), before);
    assert!(!launch.output_so_far().contains("executor_ended"), "{}", launch.output_so_far());
}

#[test]
fn a_master_that_is_to_begin_anew_ends_what_earlier_ones_ran_and_refuses_a_state_that_is_not_new() {
    let mut cluster = cluster();
    let _launch = start_server(&cluster, &["sleep", "300"]);
    cluster.kill_master();
    let elsewhere = cluster.path("elsewhere");
    cluster.start_master_with(&elsewhere, &["--new"]);
    cluster.master.wait_for_line(&["which belongs to no known application: stopping it"]);
    cluster.kill_master();
    let refused = run(cluster.master_command(&elsewhere, &cluster.port()).arg("--new"));
    assert_eq!(refused.code(), 1, "{refused}");
    assert!(
        refused.stderr.contains("already has the state of a Master, and --new is for a new state"),
        "{refused}"
    );
}

#[test]
fn a_state_that_is_removed_under_a_master_is_written_anew_and_survives_it() {
    let mut cluster = cluster();
    let map = |name: &str, master: &Daemon| {
        run(firesteel().args([
            "map",
            "-q",
            "--name",
            name,
            "--master",
            master.url(),
            "--",
            "true",
            ":::",
            "1",
        ]))
    };
    map("first", &cluster.master);
    fs::remove_dir_all(cluster.state()).expect("it is there");
    map("second", &cluster.master);
    cluster.master.wait_for_line(&["was removed or replaced while this Master runs: writing it there anew"]);
    cluster.kill_master();
    cluster.start_master();
    let shown = run(firesteel().args(["status", "--master", cluster.master.url()]));
    assert!(shown.stdout.contains("first") && shown.stdout.contains("second"), "{shown}");
}

#[test]
fn a_state_that_is_removed_under_an_idle_master_is_written_anew_within_a_second() {
    let cluster = Cluster::plan().durable().start(0);
    let away = cluster.path("away");
    fs::rename(cluster.state(), &away).expect("it is there");
    cluster.master.wait_for_line(&["was removed or replaced while this Master runs: writing it there anew"]);
    wait_for("the new state", || cluster.state().join("journal-0000000002").exists().then_some(()));
}

#[test]
fn a_master_whose_lock_file_is_removed_stays_the_only_one() {
    let cluster = Cluster::plan().durable().start(0);
    // A Master that does not run cannot make the file again.
    cluster.master.signal(Signal::SIGSTOP);
    fs::remove_file(cluster.state().join("lock")).expect("it is there");
    let second = run(&mut cluster.master_command(&cluster.state(), "0"));
    cluster.master.signal(Signal::SIGCONT);
    assert_ne!(second.code(), 0, "{second}");
    assert!(second.stderr.contains("is in use by another Master"), "{second}");
}

#[test]
fn how_a_map_ended_that_found_no_master_to_tell_is_not_known_and_never_called_a_failure() {
    let mut cluster = cluster();
    let gate = cluster.path("gate");
    let line = format!("while [ ! -e {} ]; do sleep 0.05; done", gate.display());
    let mut map = firesteel();
    map.args([
        "map",
        "-q",
        "--name",
        "night",
        "--master",
        cluster.master.url(),
        "--",
        "sh",
        "-c",
        &line,
        "sh",
    ]);
    let map = std::thread::spawn(move || run(map.args([":::", "1"])));
    wait_for("the map", || (cluster.master.status()["applications"][0]["executors_live"] == 1).then_some(()));
    cluster.kill_master();
    fs::write(&gate, "").expect("the directory is there");
    assert_eq!(map.join().expect("it does not panic").code(), 0);
    let timeout = ["--conf", "spark.deploy.recoveryTimeout=2s"];
    cluster.start_master_with(&cluster.state(), &timeout);
    cluster.master.wait_for_line(&["how its work ended is not known"]);
    let ask = |arguments: &[&str]| {
        run(firesteel().args(&arguments[..1]).args(["--master", cluster.master.url()]).args(&arguments[1..]))
            .stdout
    };
    for shown in [ask(&["status", "night"]), ask(&["history"]), ask(&["history", "--state", "unknown"])] {
        assert!(shown.contains("UNKNOWN") && !shown.contains("FAILED"), "{shown}");
    }
}
