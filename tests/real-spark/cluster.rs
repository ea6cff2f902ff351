//! A Master, Workers, and applications of a release of Spark on them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{Daemon, Finished, clean, firesteel, processes, run, scratch_of_applications, wait_for};
use crate::component::{self, Component, Readiness};
use crate::wait::wait;

/// The longest that a driver takes for anything, on a busy machine.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);

/// The releases that are installed.
pub(crate) const RELEASES: [&str; 3] = ["3.5.9", "4.0.1", "4.3.0"];

/// The one on which everything is tried.
pub(crate) const MAIN: &str = "4.0.1";

pub(crate) const SPARK: Component = Component { name: "spark", look, prepare: || Readiness::Ready };

fn look() -> Result<(), String> {
    if !component::is_required("spark") {
        return Err("it takes fifteen minutes, and runs where FIRESTEEL_REQUIRE=spark asks for it".to_owned());
    }
    for version in RELEASES {
        if !environment(version).join("done").exists() {
            return Err(format!("Spark {version} is not installed: tests/real-spark/install installs it"));
        }
    }
    let java = Command::new("java").arg("-version").output().map_err(|error| format!("java: {error}"))?;
    java.status.success().then_some(()).ok_or_else(|| "java -version fails".to_owned())
}

fn environment(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/sparks").join(version)
}

fn app(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real-spark/apps").join(name)
}

/// The installation of a release: what SPARK_HOME names.
pub(crate) fn home(version: &str) -> PathBuf {
    let script = "import pyspark; print(pyspark.__path__[0])";
    let found = run(clean(environment(version).join("bin/python")).args(["-c", script]));
    assert_eq!(found.code(), 0, "{found}");
    PathBuf::from(found.stdout.trim())
}

/// A Master and Workers. All ends with it.
pub(crate) struct Cluster {
    pub(crate) master: Daemon,
    pub(crate) workers: Vec<Daemon>,
    pub(crate) root: TempDir,
}

impl Cluster {
    /// Workers of this number of cores each, with the installations of all releases.
    pub(crate) fn start(workers: usize, cores: u32) -> Self {
        Self::with(workers, &["--cores", &cores.to_string(), "--memory", "8g"])
    }

    /// Workers with these arguments.
    pub(crate) fn with(workers: usize, arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let homes: Vec<String> = RELEASES.iter().map(|version| home(version).display().to_string()).collect();
        let workers = (0..workers).map(|number| {
            let mut command = firesteel();
            command.args(["worker", "--port", "0", "--conf"]);
            command.arg(format!("firesteel.worker.sparkHomes={}", homes.join(",")));
            command.args(arguments).arg("--work-dir").arg(root.path().join(format!("work{number}")));
            command.env("SPARK_LOCAL_DIRS", root.path().join(format!("local{number}")));
            Daemon::start(command.arg(master.url()))
        });
        let cluster = Self { workers: workers.collect(), master, root };
        cluster.master.wait_for_workers(cluster.workers.len());
        cluster
    }

    /// A driver in Python, with these settings of Spark.
    pub(crate) fn python(
        &self,
        version: &str,
        script: &str,
        arguments: &[&str],
        settings: &[&str],
    ) -> Command {
        python(self.master.url(), version, script, arguments, settings)
    }

    /// A program of Spark's own, as `spark-submit`, with these words.
    pub(crate) fn program(&self, version: &str, name: &str, words: &[&str]) -> Command {
        let mut command = clean(home(version).join("bin").join(name));
        command.args(["--master", self.master.url(), "--driver-memory", "512m"]);
        command.args(["--conf", "spark.executor.memory=512m"]).args(words);
        command.env("PYSPARK_PYTHON", environment(version).join("bin/python"));
        in_surroundings(command)
    }

    /// Runs a driver to its end: what it wrote.
    pub(crate) fn run(&self, command: &mut Command) -> String {
        let done: Finished = run(command);
        assert_eq!(done.code(), 0, "{done}\n--- Master ---\n{}", self.master.log());
        done.stdout
    }

    /// The file of an application.
    pub(crate) fn file(&self, name: &str) -> String {
        app(name).display().to_string()
    }

    /// The applications that live or have ended, latest last.
    pub(crate) fn applications(&self, list: &str) -> Vec<Value> {
        self.master.status()[list].as_array().expect("a list").clone()
    }

    /// Waits until nothing is left of any application on the Workers.
    pub(crate) fn wait_until_clean(&self) {
        wait_for("the end of all executors", || {
            let idle = |row: &Value| row["cores_used"] == 0;
            let status = self.master.status();
            let is_idle = status["workers"].as_array()?.iter().all(idle);
            (is_idle && self.processes().is_empty() && self.scratch().is_empty()).then_some(())
        });
    }

    /// The processes that run within the Workers' directories.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes::within(self.root.path())
    }

    /// The scratch directories of applications.
    pub(crate) fn scratch(&self) -> Vec<PathBuf> {
        let locals = (0..self.workers.len()).map(|number| self.root.path().join(format!("local{number}")));
        locals.flat_map(|local| scratch_of_applications(&local)).collect()
    }
}

/// A driver in Python for the Master at this URL, with these settings of Spark.
pub(crate) fn python(
    master: &str,
    version: &str,
    script: &str,
    arguments: &[&str],
    settings: &[&str],
) -> Command {
    let mut command = clean(environment(version).join("bin/python"));
    command.arg(app(script)).arg(master).args(arguments);
    let settings: String = settings.iter().map(|setting| format!(" --conf {setting}")).collect();
    let words = format!("--driver-memory 512m --conf spark.executor.memory=512m{settings} pyspark-shell");
    command.env("PYSPARK_SUBMIT_ARGS", words);
    in_surroundings(command)
}

/// A driver that may be ended before its time. All of its processes end with it.
pub(crate) struct Driver(pub(crate) Daemon);

impl Driver {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(Daemon::spawn(command.process_group(0)))
    }

    /// Waits for a line of its output that begins with this word: the rest of it.
    pub(crate) fn wait_for(&self, word: &str) -> String {
        wait(word, LONGEST, || {
            let output = self.0.output_so_far();
            let whole = output.rfind('\n').map_or("", |end| &output[..end]);
            whole.lines().find_map(|line| line.strip_prefix(word).map(|rest| rest.trim().to_owned()))
        })
    }

    /// Kills the driver: python and its JVM.
    pub(crate) fn kill(&self) {
        // It may have ended already.
        let _ = killpg(group(&self.0), Signal::SIGKILL);
    }

    /// Waits for its end: what it wrote.
    pub(crate) fn finish(mut self) -> String {
        wait("the end of a driver", LONGEST, || (!self.0.is_alive()).then_some(()));
        let code = self.0.wait();
        assert_eq!(code, 0, "{}\n{}", self.0.output_so_far(), self.0.log());
        self.0.output()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.kill();
    }
}

fn group(daemon: &Daemon) -> Pid {
    Pid::from_raw(i32::try_from(daemon.pid()).expect("a process id is an i32"))
}

/// Drivers bind loopback, and say only what is wrong.
pub(crate) fn in_surroundings(mut command: Command) -> Command {
    command.env("SPARK_LOCAL_IP", "127.0.0.1").env("PYTHONDONTWRITEBYTECODE", "1");
    command
}
