//! Commands on the cluster, and what is left of their applications.

use std::fs;
use std::process::Command;

use firesteel_testkit::yarn::{NODES, YarnCluster};
use firesteel_testkit::{DEADLINE, Daemon, Finished, firesteel, run};

/// Small containers, and everybody in a hurry.
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

/// A command of a user's of the cluster, whose home directory is the cluster's.
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
    // The program is large: it is not copied for each application.
    submit.args(["--conf", concat!("firesteel.yarn.binary=", env!("CARGO_BIN_EXE_firesteel"))]);
    submit.args(options);
    submit
}

/// The same, with a copy of the program for the application, and options to come.
pub(crate) fn submit_copied(cluster: &YarnCluster, command: &str) -> Command {
    let mut submit = on(cluster);
    submit.args([command, "--master", "yarn"]);
    for property in PROPERTIES {
        submit.args(["--conf", property]);
    }
    submit
}

/// What `firesteel yarn` says.
pub(crate) fn yarn(cluster: &YarnCluster, words: &[&str]) -> Finished {
    run(on(cluster).arg("yarn").args(words))
}

/// What the ResourceManager's pages say, as JSON.
pub(crate) fn told(cluster: &YarnCluster, path: &str) -> serde_json::Value {
    let url = format!("http://{}/ws/v1/cluster/{path}?user.name=root", cluster.pages);
    let text = ureq::get(&url).call().and_then(|mut answer| answer.body_mut().read_to_string());
    serde_json::from_str(&text.expect("it answers")).expect("it is JSON")
}

/// Waits until all that was given to applications is given back.
pub(crate) fn nothing_runs(cluster: &YarnCluster) {
    wait("the cluster to be empty", || {
        (told(cluster, "metrics")["clusterMetrics"]["containersAllocated"] == 0).then_some(())
    });
}

/// Waits until `look` finds something. A cluster may take longer than a process.
pub(crate) fn wait<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    firesteel_testkit::wait::wait(what, 4 * DEADLINE, look)
}

/// An application that runs.
pub(crate) struct Running {
    pub(crate) command: Daemon,
    /// Its id.
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

    /// Waits for its end: its exit code, and what it wrote.
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
    /// All of it: executors alone, where the ApplicationMaster is in no container.
    Containers,
}
