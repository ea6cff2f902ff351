//! A cluster of two releases, daemon by daemon. `FIRESTEEL_PREVIOUS` names the previous binary, which
//! `tests/mixed-versions` builds from a commit.

use std::path::Path;
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::ports::free_port;
use firesteel_testkit::previous_release;
use firesteel_testkit::{Daemon, firesteel, run, wait_for};
use libtest_mimic::Trial;
use tempfile::TempDir;

const PREVIOUS: Component =
    Component { name: "previous", look: previous_release::look, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    PREVIOUS.trials(&[
        ("previous::daemons_and_commands_of_two_releases_work_together", together),
        ("previous::a_running_cluster_is_upgraded_one_daemon_at_a_time", || replaced(Previous, This)),
        ("previous::a_running_cluster_goes_back_one_daemon_at_a_time", || replaced(This, Previous)),
    ])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    Previous,
    This,
}

use Release::{Previous, This};

impl Release {
    fn command(self) -> Command {
        match self {
            Previous => previous_release::command(),
            This => firesteel(),
        }
    }

    /// A Master on this port, with its journal in this directory.
    fn master(self, port: u16, recovery: &Path) -> Daemon {
        let mut command = self.command();
        let directory = format!("spark.deploy.recoveryDirectory={}", recovery.display());
        command.args(["master", "--port", &port.to_string(), "--webui-port", "0", "--conf", &directory]);
        Daemon::start(&mut command)
    }

    fn worker(self, master: &str, work: &Path) -> Daemon {
        let mut command = self.command();
        command.args(["worker", "--port", "0", "--cores", "2", "--memory", "2g", "--work-dir"]);
        Daemon::start(command.arg(work).arg(master))
    }

    /// The output of a command, which must succeed.
    fn run(self, words: &[&str]) -> String {
        let done = run(self.command().args(words));
        assert_eq!(done.code(), 0, "{self:?} {words:?}: {done}");
        done.stdout
    }
}

/// The ids of the Workers that this release's `status` shows as alive.
fn alive(release: Release, master: &str) -> Vec<String> {
    let state: serde_json::Value =
        serde_json::from_str(&release.run(&["status", "--json", "--master", master])).expect("it is JSON");
    let workers = state["workers"].as_array().expect("a list").iter();
    let alive = workers.filter(|worker| worker["state"] == "ALIVE");
    alive.map(|worker| worker["id"].as_str().expect("a text").to_owned()).collect()
}

/// The output of each release's `map` on both Workers.
fn map(master: &str) {
    for release in [Previous, This] {
        let words = ["map", "--quiet", "--master", master, "--executor-memory", "512m", "--"];
        let output = release.run(&[&words[..], &["echo", ":::", "1", "2", "3", "4"]].concat());
        assert_eq!(output, "1\n2\n3\n4\n", "{release:?}");
    }
}

fn together() {
    for release in [Previous, This] {
        let directory = TempDir::new().expect("a temporary directory");
        let master = release.master(free_port(), &directory.path().join("state"));
        let workers =
            [Previous, This].map(|it| it.worker(master.url(), &directory.path().join(format!("{it:?}"))));
        for client in [Previous, This] {
            wait_for("both Workers", || (alive(client, master.url()).len() == 2).then_some(()));
        }
        map(master.url());
        for daemon in workers.into_iter().chain([master]) {
            assert_eq!(daemon.terminate(), 0, "a Master of {release:?}");
        }
    }
}

/// Replaces a cluster of one release by another release while an application runs.
fn replaced(from: Release, to: Release) {
    let directory = TempDir::new().expect("a temporary directory");
    let (port, state) = (free_port(), directory.path().join("state"));
    let work = |name: &str| directory.path().join(name);
    let master = from.master(port, &state);
    let url = master.url().to_owned();
    let [one, other] = ["one", "other"].map(|name| from.worker(&url, &work(name)));
    wait_for("both Workers", || (alive(from, &url).len() == 2).then_some(()));
    let mut launch = from.command();
    launch.args(["launch", "--until", "never", "--num-executors", "1", "--executor-cores", "1", "--json"]);
    launch.args(["--executor-memory", "512m", "--master", &url, "--", "sleep", "1000"]);
    let mut launch = Daemon::spawn(&mut launch);
    wait_for("the executor", || launch.output_so_far().contains("executor_running").then_some(()));

    // First the Master: it reads the journal of the other release, and all peers return.
    assert_eq!(master.terminate(), 0);
    let master = to.master(port, &state);
    master.wait_for_line(&["all Workers and applications are back"]);
    assert!(
        launch.is_alive() && !launch.output_so_far().contains("executor_ended"),
        "{}",
        launch.output_so_far()
    );
    map(&url);
    // Then the Workers, in turn. Each has left before the next one starts.
    let mut workers = Vec::new();
    for (old, name) in [(one, "one"), (other, "other")] {
        assert_eq!(old.terminate(), 0);
        workers.push(to.worker(&url, &work(name)));
        wait_for("both Workers", || (alive(to, &url).len() == 2).then_some(()));
        map(&url);
    }
    drop(launch);
    for daemon in workers.into_iter().chain([master]) {
        assert_eq!(daemon.terminate(), 0);
    }
}
