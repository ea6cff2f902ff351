//! A cluster with a secret.

use std::path::PathBuf;
use std::process::Command;

use firesteel_testkit::{CREDENTIALS, Daemon, firesteel, run};
use serde_json::Value;

/// A durable cluster of one Worker, whose Master, Worker, users, monitors and administrators have a file each. Somebody
/// has the file of another cluster.
pub(super) struct Secured {
    // Dropped in this order.
    pub(super) worker: Daemon,
    pub(super) master: Daemon,
    directory: tempfile::TempDir,
}

pub(super) fn done(command: &mut Command) -> String {
    let done = run(command);
    assert_eq!(done.code(), 0, "{done}");
    done.stdout
}

impl Secured {
    pub(super) fn start() -> Self {
        Self::start_with(&[])
    }

    /// A cluster whose Master has these settings, too.
    pub(super) fn start_with(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| directory.path().join(name);
        for cluster in ["cluster", "other"] {
            done(firesteel().args(["secret", "new"]).arg(path(cluster)));
        }
        for holder in ["worker", "user", "monitor", "admin"] {
            done(firesteel().args(["secret", "grant", holder]).args([path("cluster"), path(holder)]));
        }
        let state = format!("spark.deploy.recoveryDirectory={}", path("state").display());
        let mut master = firesteel();
        master.args(["master", "--port", "0", "--webui-port", "0", "--conf", &state]);
        master.args(["--conf", "spark.master.rest.enabled=true", "--conf", "spark.master.rest.port=0"]);
        master.args(settings.iter().flat_map(|setting| ["--conf", setting]));
        let master = Daemon::start(master.env(CREDENTIALS, path("cluster")));
        let size = ["--webui-port", "0", "--cores", "4", "--memory", "4g"];
        let mut worker = Daemon::worker_command(&master, &path("work"), &size);
        let worker = Daemon::start(worker.env(CREDENTIALS, path("worker")));
        let cluster = Self { worker, master, directory };
        cluster.master.wait_for_workers(1);
        cluster
    }

    /// Grants a user with this name a file of this name.
    pub(super) fn name(&self, user: &str) {
        let files = [self.path("cluster"), self.path(user)];
        done(firesteel().args(["secret", "grant", "user", "--name", user]).args(files));
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A command of somebody with this file. The first word is the name of the command.
    pub(super) fn command(&self, file: Option<&str>, words: &[&str]) -> Command {
        let mut command = firesteel();
        command.args([words[0], "--master", self.master.url()]).args(&words[1..]);
        if let Some(file) = file {
            command.env(CREDENTIALS, self.path(file));
        }
        command
    }

    pub(super) fn said(&self, words: &[&str]) -> String {
        done(&mut self.command(Some("user"), words))
    }

    pub(super) fn status(&self) -> Value {
        serde_json::from_str(&self.said(&["status", "--json"])).expect("it is JSON")
    }

    pub(super) fn password(&self, words: &[&str]) -> String {
        self.password_of("cluster", words)
    }

    pub(super) fn password_of(&self, file: &str, words: &[&str]) -> String {
        done(firesteel().args(["secret", "password"]).arg(self.path(file)).args(words)).trim().to_owned()
    }

    /// The address at which the Master serves REST.
    pub(super) fn rest(&self) -> String {
        let line = self.master.wait_for_line(&["serving Spark's REST protocol"]);
        line.trim_end().trim_end_matches('/').rsplit_once("http://").expect("a URL").1.to_owned()
    }
}
