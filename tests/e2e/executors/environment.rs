//! The environment of tasks, on every kind of cluster: the Worker's, plus the user's settings, and nothing else of the
//! submitter.

use std::process::Command;

use firesteel_testkit::{Daemon, firesteel, run};

/// Prints a variable of the submitter, one of the Worker, and PATH.
const SHOW: &str = "echo \"${OURS-unset} ${WORKERS-unset} ${PATH:+path}\"";

/// A Master and a Worker with this environment.
fn cluster() -> (Daemon, Daemon, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let worker = Daemon::worker(&master, directory.path(), &["--cores", "2", "--memory", "2g"]);
    master.wait_for_workers(1);
    (master, worker, directory)
}

/// A command of a submitter whose environment has the variable OURS.
fn submitter(arguments: &[&str], master: &str) -> Command {
    let mut command = firesteel();
    let (name, rest) = arguments.split_first().expect("a command");
    command.args([name, "--master", master]).args(rest).env("OURS", "here");
    command
}

/// The output of `map` with these options.
fn mapped(master: &str, options: &[&str]) -> String {
    let arguments = [&["map"], options, &["--", "sh", "-c", SHOW, "sh", ":::", "a"]].concat();
    let done = run(&mut submitter(&arguments, master));
    assert_eq!(done.code(), 0, "{done}");
    done.stdout
}

#[test]
fn a_task_finds_nothing_of_the_submitters_environment_on_any_cluster() {
    let (master, worker, _directory) = cluster();
    for url in [master.url(), "local-cluster[1,1,1024]"] {
        assert_eq!(mapped(url, &[]), "unset unset path\n", "{url}");
        assert_eq!(mapped(url, &["--env", "OURS"]), "here unset path\n", "{url}");
        assert_eq!(mapped(url, &["--env", "OURS=there"]), "there unset path\n", "{url}");
        let property = ["--conf", "spark.executorEnv.OURS=everywhere"];
        assert_eq!(mapped(url, &property), "everywhere unset path\n", "{url}");
        let both = [&property[..], &["--env", "OURS=there"]].concat();
        assert_eq!(mapped(url, &both), "there unset path\n", "--env is nearer to the command: {url}");
    }
    assert_eq!(worker.terminate(), 0);
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_shell_and_a_launch_keep_to_the_same_rule() {
    let (master, worker, directory) = cluster();
    let told = directory.path().join("told");
    let launched = |url: &str, options: &[&str]| {
        let script = format!("{SHOW} > {}", told.display());
        let size = ["--num-executors", "1", "--executor-cores", "1", "--executor-memory", "512m"];
        let arguments = [&["launch"], &size[..], options, &["--", "sh", "-c", &script]].concat();
        let done = run(&mut submitter(&arguments, url));
        assert_eq!(done.code(), 0, "{done}");
        std::fs::read_to_string(&told).expect("the command has written")
    };
    let typed = |url: &str, options: &[&str]| {
        let script = format!("run sh -c '{SHOW}'");
        let arguments = [&["shell"], options, &["--command", &script]].concat();
        let done = run(&mut submitter(&arguments, url));
        assert_eq!(done.code(), 0, "{done}");
        done.stdout
    };
    for url in [master.url(), "local-cluster[1,1,1024]"] {
        for (options, found) in [
            (&[][..], "unset unset path\n"),
            (&["--env", "OURS"], "here unset path\n"),
            (&["--conf", "spark.executorEnv.OURS=everywhere"], "everywhere unset path\n"),
        ] {
            assert_eq!(launched(url, options), found, "launch on {url} with {options:?}");
            assert!(typed(url, options).ends_with(found), "shell on {url} with {options:?}");
        }
    }
    assert_eq!(worker.terminate(), 0);
    assert_eq!(master.terminate(), 0);
}

#[test]
fn a_task_inherits_the_environment_of_its_worker() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[]);
    let mut command = firesteel();
    command.args(["worker", "--port", "0", "--cores", "1", "--memory", "2g", "--work-dir"]);
    command.arg(directory.path()).arg(master.url()).env("WORKERS", "there");
    let worker = Daemon::start(&mut command);
    master.wait_for_workers(1);
    assert_eq!(mapped(master.url(), &[]), "unset there path\n");
    assert_eq!(worker.terminate(), 0);
    assert_eq!(master.terminate(), 0);
}
