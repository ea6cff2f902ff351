//! Workers that look like separate machines: each on another address of loopback.

use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::{Daemon, Finished, firesteel, run_with_input};
use serde_json::Value;
use tempfile::TempDir;

/// A Master and Workers on 127.0.0.1, 127.0.0.2, and so on.
pub(crate) struct Hosts {
    workers: Vec<Daemon>,
    pub(crate) master: Daemon,
    directory: TempDir,
}

impl Hosts {
    pub(crate) fn start(workers: usize, cores: u32) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut hosts = Self { workers: Vec::new(), master: Daemon::master(&[]), directory };
        for number in 1..=workers {
            let work = hosts.path(&format!("work-{number}"));
            let (host, cores) = (format!("127.0.0.{number}"), cores.to_string());
            let arguments = ["--host", &host, "--cores", &cores, "--memory", "4g"];
            hosts.workers.push(Daemon::worker(&hosts.master, &work, &arguments));
        }
        hosts.master.wait_for_workers(workers);
        hosts
    }

    /// A path in a directory that is deleted with the cluster.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes such a file, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("it can be written");
        path.to_str().expect("a name of ASCII").to_owned()
    }

    /// A command `firesteel map` for this cluster.
    pub(crate) fn map(&self, arguments: &[&str]) -> Command {
        let mut command = firesteel();
        command.args(["map", "--master", self.master.url(), "--summary-file"]).arg(self.path("summary.json"));
        command.args(arguments);
        command
    }

    /// Runs `map` on this input. Returns its result and its summary.
    pub(crate) fn mapped(&self, arguments: &[&str], input: &str) -> (Finished, Value) {
        let done = run_with_input(&mut self.map(arguments), input.as_bytes().to_vec());
        let summary = std::fs::read_to_string(self.path("summary.json")).unwrap_or_else(|_| panic!("{done}"));
        (done, serde_json::from_str(&summary).expect("a summary is JSON"))
    }
}

/// A shell command that prints its host once `count` copies of it have begun.
pub(crate) fn together(count: usize, directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "touch {directory}/began-$FIRESTEEL_TASK_ID; \
         while [ $(ls {directory} | grep -c began-) -lt {count} ]; do sleep 0.02; done; echo $FIRESTEEL_HOST"
    )
}
