//! Two independent Masters: a command or a daemon that is given both reports it.

use firesteel_testkit::{Daemon, firesteel, run};

#[test]
fn a_worker_and_a_map_that_are_told_two_masters_which_are_strangers_say_so() {
    let masters = [Daemon::master(&[]), Daemon::master(&[])];
    let both = format!("{},{}", masters[0].url(), masters[1].url().trim_start_matches("spark://"));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--cores", "1", "--memory", "1g", "--work-dir"]);
    let worker = Daemon::start(command.arg(directory.path()).arg(&both));
    worker.wait_for_line(&["both lead, and know nothing of each other", "recoveryMode=ZOOKEEPER"]);
    let _others = [
        Daemon::worker(&masters[0], &directory.path().join("0"), &["--cores", "1", "--memory", "1g"]),
        Daemon::worker(&masters[1], &directory.path().join("1"), &["--cores", "1", "--memory", "1g"]),
    ];
    // Whichever Master answers first.
    let mapped = run(firesteel().args(["map", "--master", &both, "--", "echo", "{}", ":::", "one"]));
    assert_eq!((mapped.code(), mapped.stdout.as_str()), (0, "one\n"), "{mapped}");
    assert!(mapped.stderr.contains("both lead, and know nothing of each other"), "{mapped}");
}
