//! Commands on the cluster, and what their applications leave behind.

use std::fs;
use std::process::Command;

use firesteel_testkit::yarn::{NODES, YarnCluster};
use firesteel_testkit::{DEADLINE, Daemon, Finished, firesteel, run};

/// Small containers, and short intervals everywhere.
const PROPERTIES: [&str; 9] = [
    "spark.executor.memory=128m",
    "spark.executor.memoryOverhead=64m",
    "spark.yarn.am.memory=128m",
    "spark.yarn.am.memoryOverhead=64m",
    "spark.driver.memory=128m",
    "spark.driver.memoryOverhead=64m",
    "spark.yarn.scheduler.heartbeat.interval-ms=500",
    "spark.yarn.report.interval=200ms",
    "spark.yarn.clientLaunchMonitorInterval=200ms",
];

/// A command of a user of the cluster, with the cluster's directory as home.
pub(crate) fn on(cluster: &YarnCluster) -> Command {
    let home = cluster.directory().join("home");
    fs::create_dir_all(&home).expect("there is room");
    let mut command = firesteel();
    command
        .env("HADOOP_CONF_DIR", cluster.configuration())
        .env("HADOOP_USER_NAME", "alice")
        .env("HOME", home);
    command
}

/// `firesteel map --master yarn`, or another command that has an application.
pub(crate) fn submit(cluster: &YarnCluster, command: &str, options: &[&str]) -> Command {
    let mut submit = submit_copied(cluster, command);
    // The program is large, so it is not copied for each application.
    submit.args(["--conf", concat!("firesteel.yarn.binary=", env!("CARGO_BIN_EXE_firesteel"))]);
    submit.args(options);
    submit
}

/// Like `submit`, with a copy of the program for the application. Options follow.
pub(crate) fn submit_copied(cluster: &YarnCluster, command: &str) -> Command {
    let mut submit = on(cluster);
    submit.args([command, "--master", "yarn"]);
    for property in PROPERTIES {
        submit.args(["--conf", property]);
    }
    submit
}

/// The output of `firesteel yarn`.
pub(crate) fn yarn(cluster: &YarnCluster, words: &[&str]) -> Finished {
    run(on(cluster).arg("yarn").args(words))
}

/// The JSON of the ResourceManager's pages.
pub(crate) fn told(cluster: &YarnCluster, path: &str) -> serde_json::Value {
    let url = format!("http://{}/ws/v1/cluster/{path}?user.name=root", cluster.pages);
    let text = ureq::get(&url).call().and_then(|mut answer| answer.body_mut().read_to_string());
    serde_json::from_str(&text.expect("it answers")).expect("it is JSON")
}

/// Waits until applications have returned all resources.
pub(crate) fn nothing_runs(cluster: &YarnCluster) {
    wait("the cluster to be empty", || {
        (told(cluster, "metrics")["clusterMetrics"]["containersAllocated"] == 0).then_some(())
    });
}

/// Waits until `look` returns a value. A cluster may take longer than a process.
pub(crate) fn wait<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    firesteel_testkit::wait::wait(what, 4 * DEADLINE, look)
}

pub(crate) struct Running {
    pub(crate) command: Daemon,
    pub(crate) id: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let command = Daemon::spawn(&mut command);
        let line = wait("the application to be submitted", || {
            let log = command.log();
            log.lines().find(|line| line.contains("submitted application_")).map(str::to_owned)
        });
        let id = line.split_whitespace().find(|word| word.starts_with("application_"));
        Self { id: id.expect("the line has it").to_owned(), command }
    }

    /// Waits until the command has printed this number of lines.
    pub(crate) fn wait_for_lines(&mut self, lines: usize) {
        wait("outputs", || {
            let so_far = self.command.output_so_far().lines().count();
            assert!(so_far >= lines || self.command.is_alive(), "it has ended: {}", self.command.log());
            (so_far >= lines).then_some(())
        });
    }

    /// Waits for its end. Returns its exit code and outputs.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        wait("the command to end", || (!self.command.is_alive()).then_some(()));
        let code = self.command.wait();
        (code, self.command.output(), self.command.log())
    }

    /// The processes of its containers, by host: those of its ApplicationMaster, of executors, or of both.
    pub(crate) fn processes(&self, cluster: &YarnCluster, whose: Whose) -> Vec<(&'static str, Vec<u32>)> {
        let numbers = self.id.strip_prefix("application_").expect("it is an id");
        let of_host = |(host, _)| {
            let mut processes = cluster.processes_of(host, numbers);
            let of_master = cluster.processes_of(host, "_01_000001");
            let of_later_master = cluster.processes_of(host, "_02_000001");
            processes.retain(|id| {
                let is_master = of_master.contains(id) || of_later_master.contains(id);
                match whose {
                    Whose::ApplicationMaster => is_master,
                    Whose::Executors => !is_master,
                    Whose::Containers => true,
                }
            });
            (host, processes)
        };
        NODES.into_iter().map(of_host).filter(|(_, processes)| !processes.is_empty()).collect()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    ApplicationMaster,
    Executors,
    /// All containers; only executors if the ApplicationMaster is not in a container.
    Containers,
}
