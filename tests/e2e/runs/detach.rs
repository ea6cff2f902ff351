//! Applications that keep running after the command that started them has returned: `--detach` and `firesteel attach`.

use std::fs;
use std::path::Path;
use std::process::Command;

use firesteel_testkit::{Daemon, Finished, firesteel, processes, run, run_with_input, wait_for};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// A Master with a Worker, and a user with a home directory.
struct Site {
    master: Daemon,
    _worker: Daemon,
    directory: TempDir,
}

impl Site {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let arguments = ["--cores", "2", "--memory", "2g"];
        let worker = Daemon::worker(&master, &directory.path().join("work"), &arguments);
        master.wait_for_workers(1);
        Self { master, _worker: worker, directory }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = firesteel();
        command.env("XDG_STATE_HOME", self.directory.path().join("state")).args(words);
        command
    }

    /// Runs `map` or `launch` with `--detach`.
    fn detach(&self, kind: &str, words: &[&str]) -> Finished {
        let first = [kind, "--master", self.master.url(), "--detach"];
        run(&mut self.command(&[&first, words].concat()))
    }

    fn detached(&self, kind: &str, words: &[&str]) -> String {
        let done = self.detach(kind, words);
        assert_eq!(done.code(), 0, "{done}");
        let app = done.stdout.strip_suffix('\n').expect("a line").to_owned();
        assert!(app.starts_with("app-"), "{done}");
        assert!(done.stderr.contains(&format!("firesteel attach {app} shows its output")), "{done}");
        app
    }

    fn attach(&self, app: &str) -> Finished {
        run(&mut self.command(&["attach", app]))
    }

    fn list(&self) -> Vec<Value> {
        let done = run(&mut self.command(&["attach", "--json"]));
        assert_eq!(done.code(), 0, "{done}");
        let list: Value = serde_json::from_str(&done.stdout).expect("it is JSON");
        list["detached"].as_array().expect("a list").clone()
    }

    fn wait_for_state(&self, app: &str, state: &str) -> Value {
        wait_for(state, || self.list().into_iter().find(|row| row["id"] == app && row["state"] == state))
    }

    fn driver(&self, app: &str) -> u32 {
        let is_driver = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let words = format!("XDG_STATE_HOME={}", self.directory.path().join("state").display());
            environment.split(|byte| *byte == 0).any(|entry| entry == words.as_bytes())
        };
        let all = fs::read_dir("/proc").expect("it is there").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.into_iter().find(is_driver).unwrap_or_else(|| panic!("no driver of {app}"))
    }
}

/// A script that waits at the gate `directory`, then runs `then`.
fn gated(directory: &Path, then: &str) -> String {
    format!("while [ ! -e {}/go ]; do sleep 0.02; done; {then}", directory.display())
}

#[test]
fn a_map_goes_on_and_can_be_looked_at_more_than_once() {
    let site = Site::start();
    let script = gated(site.directory.path(), "echo item $1; test $1 != b");
    let app = site.detached(
        "map",
        &["--conf", "spark.task.maxFailures=1", "--", "sh", "-c", &script, "sh", ":::", "a", "b"],
    );
    let row = &site.list()[0];
    assert_eq!(
        (&row["id"], &row["state"], &row["exit_code"]),
        (&app.clone().into(), &"RUNNING".into(), &Value::Null)
    );
    assert!(
        row["command"].as_str().is_some_and(|words| words.starts_with("firesteel map --master")),
        "{row}"
    );

    // A user who leaves `attach` ends nothing.
    let mut looking = Daemon::spawn(&mut site.command(&["attach", &app]));
    wait_for("a handler of SIGINT", || processes::catches(looking.pid(), Signal::SIGINT).then_some(()));
    looking.signal(Signal::SIGINT);
    assert_eq!(looking.wait(), 130);
    assert!(looking.log().contains(&format!("left {app}, which runs on")), "{}", looking.log());

    fs::write(site.directory.path().join("go"), "").expect("it can be written");
    for _ in 0..2 {
        let done = site.attach(&app);
        assert_eq!((done.code(), done.stdout.as_str()), (1, "item a\nitem b\n"), "{done}");
        assert!(done.stderr.contains("1 succeeded, 1 failed"), "{done}");
    }
    assert_eq!(site.wait_for_state(&app, "ENDED")["exit_code"], 1);
}

#[test]
fn items_may_still_come_from_a_pipe() {
    let site = Site::start();
    let words = ["map", "--master", site.master.url(), "--detach", "--", "echo"];
    let done = run_with_input(&mut site.command(&words), b"1\n2\n3\n".to_vec());
    assert_eq!(done.code(), 0, "{done}");
    let done = site.attach(done.stdout.trim());
    assert_eq!((done.code(), done.stdout.as_str()), (0, "1\n2\n3\n"), "{done}");
}

#[test]
fn a_launch_returns_its_own_exit_code() {
    let site = Site::start();
    let app = site.detached("launch", &["--executor-cores", "2", "--", "sh", "-c", "exit 7"]);
    let done = site.attach(&app);
    assert_eq!(done.code(), 7, "{done}");
    assert!(done.stdout.contains(&app), "{done}");
}

#[test]
fn a_kill_ends_the_driver_and_a_killed_driver_is_no_mystery() {
    let site = Site::start();
    let script = gated(site.directory.path(), "true");
    let app = site
        .detached("launch", &["--executor-cores", "1", "--num-executors", "1", "--", "sh", "-c", &script]);
    let killed = run(&mut site.command(&["kill", "--master", site.master.url(), &app]));
    assert_eq!(killed.code(), 0, "{killed}");
    assert_eq!(site.attach(&app).code(), 143);

    let app = site
        .detached("launch", &["--executor-cores", "1", "--num-executors", "1", "--", "sh", "-c", &script]);
    processes::signal(site.driver(&app), Signal::SIGKILL).expect("it lives");
    let done = site.attach(&app);
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains(&format!("the driver of {app} was killed")), "{done}");
    site.wait_for_state(&app, "KILLED");
}

#[test]
fn a_run_that_cannot_start_is_reported_at_once_and_forgotten() {
    let site = Site::start();
    for (words, code, sentence) in [
        (&["--input", "/nonexistent", "--", "true"][..], 2, "cannot open /nonexistent"),
        (&["--executor-cores", "x", "--", "true", ":::", "a"], 2, "--executor-cores"),
    ] {
        let done = site.detach("map", words);
        assert_eq!(done.code(), code, "{done}");
        assert!(done.stderr.contains(sentence), "{done}");
        assert_eq!(done.stdout, "", "{done}");
    }
    assert!(site.list().is_empty());
    let done = site.attach("app-1");
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("app-1 was not detached by this user on this machine"), "{done}");
}

#[test]
fn an_application_on_a_local_cluster_takes_the_cluster_with_it() {
    let site = Site::start();
    let words = ["map", "--master", "local-cluster[1,1,1024]", "--detach", "--", "echo", ":::", "a"];
    let done = run(&mut site.command(&words));
    assert_eq!(done.code(), 0, "{done}");
    let app = done.stdout.trim();
    let attached = site.attach(app);
    assert_eq!((attached.code(), attached.stdout.as_str()), (0, "a\n"), "{attached}");
}
