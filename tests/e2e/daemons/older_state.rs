//! A Master that is started with an older copy of its state, with a part of it, or with the state of another cluster.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use firesteel_host::journal::Contents;
use firesteel_testkit::{Cluster, Daemon, firesteel, processes, run, wait_for};
use nix::sys::signal::Signal;

use super::recovery::{all_are_back, journal, start_server};

fn cluster() -> Cluster {
    Cluster::plan().durable().worker(&["--cores", "4", "--memory", "4g"]).start(1)
}

/// Waits until this number of servers has run, one after the other. No two of them may have the same number.
fn await_servers(launch: &Daemon, count: usize) {
    let ran = wait_for("the servers", || {
        let events = launch.output_so_far();
        let running = events.lines().filter(|line| line.contains("executor_running"));
        let running: Vec<String> = running.map(number).collect();
        (running.len() >= count).then_some(running)
    });
    let numbers: BTreeSet<&String> = ran.iter().collect();
    assert_eq!(numbers.len(), ran.len(), "a number was given twice: {ran:?}");
}

fn number(line: &str) -> String {
    let event: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    event["executor"].to_string()
}

fn kill_server(cluster: &Cluster) {
    let sleeping = processes::descendants_of(cluster.workers[0].pid());
    let is_server =
        |pid: &&u32| processes::command_line(**pid).first().is_some_and(|word| word.contains("sleep"));
    processes::signal(*sleeping.iter().find(is_server).expect("it runs"), Signal::SIGKILL).expect("it lives");
}

/// Copies a state, as a backup does.
fn copy(state: &Path, to: &Path) {
    fs::create_dir(to).expect("it is new");
    let file = journal(state);
    fs::copy(&file, to.join(file.file_name().expect("it has one"))).expect("there is room");
}

#[test]
fn a_master_with_an_older_copy_of_its_state_says_so_and_gives_no_number_twice() {
    let mut cluster = cluster();
    let launch = start_server(&cluster, &["sleep", "300"]);
    let backups = [cluster.path("backup"), cluster.path("same-backup")];
    backups.iter().for_each(|backup| copy(&cluster.state(), backup));
    kill_server(&cluster);
    await_servers(&launch, 2);
    // The second Master knows nothing of the first one, which began with the same copy.
    for (backup, servers) in backups.iter().zip([3, 5]) {
        cluster.kill_master();
        cluster.start_master_with(backup, &[]);
        let words = ["WARN", "is older than what others know", "it ends at", "was told of decisions until"];
        cluster.master.wait_for_line(&words);
        all_are_back(&cluster);
        await_servers(&launch, servers);
        kill_server(&cluster);
        await_servers(&launch, servers + 1);
    }
}

#[test]
fn a_worker_refuses_to_serve_a_master_with_the_state_of_another_cluster_and_its_executors_run_on() {
    let other = cluster();
    let mut cluster = cluster();
    let launch = start_server(&cluster, &["sleep", "300"]);
    let worker = cluster.workers[0].pid();
    let before = processes::descendants_of(worker);
    let theirs = cluster.path("theirs");
    copy(&other.state(), &theirs);
    cluster.kill_master();
    cluster.start_master_with(&theirs, &[]);
    let words = ["this Master was started with the state of another cluster, start it with its own"];
    cluster.workers[0].wait_for_line(&words);
    cluster.master.wait_for_line(&["gets no answer", words[0]]);
    assert_eq!(processes::descendants_of(worker), before);
    cluster.kill_master();
    cluster.start_master();
    all_are_back(&cluster);
    assert_eq!(processes::descendants_of(worker), before);
    assert!(!launch.output_so_far().contains("executor_ended"), "{}", launch.output_so_far());
}

#[test]
fn a_journal_without_its_end_is_read_with_a_warning_and_counts_as_older() {
    let mut cluster = cluster();
    let launch = start_server(&cluster, &["sleep", "300"]);
    let file = journal(&cluster.state());
    let before = Contents::of(fs::read(&file).expect("it can be read")).expect("it is whole").length();
    let before = usize::try_from(before).expect("it is short");
    kill_server(&cluster);
    await_servers(&launch, 2);
    cluster.kill_master();
    let whole = fs::read(&file).expect("it can be read");
    assert!(
        before < Contents::of(whole.clone()).expect("it is whole").written().len(),
        "the second server is in it"
    );
    let zeros = [&whole[..before], &vec![0; whole.len() - before]].concat();
    for cut in [zeros, whole[..before].to_vec()] {
        fs::write(&file, &cut).expect("it can be written");
        let checked = run(firesteel().args(["journal", "check"]).arg(cluster.state()));
        assert_eq!(checked.code(), 0, "{checked}");
        assert!(checked.stdout.contains("the end is missing after"), "{checked}");
    }
    cluster.start_master();
    cluster.master.wait_for_line(&["WARN", "it is an incomplete copy, was cut, or has zeros"]);
    cluster.master.wait_for_line(&["WARN", "is older than what others know"]);
    await_servers(&launch, 3);
    cluster.kill_master();
    let checked = run(firesteel().args(["journal", "check"]).arg(cluster.state()));
    assert!(!checked.stdout.contains("the end is missing"), "{checked}");
}
