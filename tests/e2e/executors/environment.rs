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

/// What a program says of itself: its variables that are secrets of the Worker, whether it may gain privileges, and how
/// gladly the kernel kills it when memory runs out.
#[test]
fn a_program_gets_no_secret_of_the_workers_environment_and_no_privileges_and_is_killed_first() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let show = "echo \"${AWS_SECRET_ACCESS_KEY-unset} ${DATABASE_PASSWORD-unset} ${WORKERS-unset}\"; \
                sed -n 's/^NoNewPrivs:.//p' /proc/self/status; cat /proc/self/oom_score_adj";
    // The tests themselves may run under restraints.
    let own = |file: &str| std::fs::read_to_string(format!("/proc/self/{file}")).expect("it is there");
    let status = own("status");
    let inherited =
        status.lines().find_map(|line| line.strip_prefix("NoNewPrivs:")).expect("it is there").trim();
    let score = own("oom_score_adj").trim().parse::<i32>().expect("it is a number").max(500);
    for (setting, privileges) in [(None, "1"), (Some("firesteel.worker.gainPrivileges=true"), inherited)] {
        let master = Daemon::master(&[]);
        let size = ["--webui-port", "none", "--cores", "1", "--memory", "1g"];
        let setting: Vec<&str> = setting.iter().flat_map(|setting| ["--conf", setting]).collect();
        let mut worker = Daemon::worker_command(&master, directory.path(), &[&size[..], &setting].concat());
        worker.env("AWS_SECRET_ACCESS_KEY", "hush").env("DATABASE_PASSWORD", "hush").env("WORKERS", "here");
        let worker = Daemon::start(&mut worker);
        master.wait_for_workers(1);
        let map = |more: &[&str]| {
            let words = [&["map"], more, &["--", "sh", "-c", show, "sh", ":::", "a"]].concat();
            let done = run(&mut submitter(&words, master.url()));
            assert_eq!(done.code(), 0, "{done}");
            done.stdout
        };
        assert_eq!(map(&[]), format!("unset unset here\n{privileges}\n{score}\n"));
        // What an application asks for, it gets.
        let asked = map(&["--env", "DATABASE_PASSWORD=mine"]);
        assert!(asked.starts_with("unset mine here\n"), "{asked}");
        let of_worker = std::fs::read_to_string(format!("/proc/{}/oom_score_adj", worker.pid()));
        assert_eq!(of_worker.expect("it runs"), own("oom_score_adj"), "the Worker stays");
        assert_eq!(worker.terminate(), 0);
    }
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
