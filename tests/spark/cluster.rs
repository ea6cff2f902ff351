//! A Master, Workers, and applications of a release of Spark.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use firesteel_testkit::component::{self, Component, Readiness};
use firesteel_testkit::ports::{free_port, free_ports};
use firesteel_testkit::wait::wait;
use firesteel_testkit::zookeeper::Ensemble;
use firesteel_testkit::{
    CREDENTIALS, Daemon, clean, firesteel, processes, run, scratch_of_applications, wait_for,
};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// The time limit of a driver's actions, on a busy machine.
pub(crate) const LONGEST: Duration = Duration::from_secs(600);

/// The releases that are tested by default.
pub(crate) const RELEASES: [&str; 3] = ["3.5.9", "4.0.1", "4.3.0"];

/// The release on which everything is tested.
pub(crate) const MAIN: &str = "4.0.1";

/// The releases that a driver's messages do not distinguish.
const ALIKE: [[&str; 2]; 2] = [["3.4", "3.5"], ["4.1", "4.2"]];

pub(crate) const SPARK: Component = Component { name: "spark", look, prepare: || Readiness::Ready };

pub(crate) fn look() -> Result<(), String> {
    if !component::is_required("spark") {
        return Err("it takes fifteen minutes, and runs where FIRESTEEL_REQUIRE=spark asks for it".to_owned());
    }
    for version in releases() {
        if !environment(&version).join("home").exists() {
            return Err(format!("Spark {version} is not installed: tests/spark/install installs it"));
        }
    }
    let java = Command::new("java").arg("-version").output().map_err(|error| format!("java: {error}"))?;
    java.status.success().then_some(()).ok_or_else(|| "java -version fails".to_owned())
}

/// The releases in `FIRESTEEL_SPARKS`, on each of which every scenario runs. `None` if the variable is not set.
pub(crate) fn named_releases() -> Option<Vec<String>> {
    let names = std::env::var("FIRESTEEL_SPARKS").ok()?;
    Some(names.split(',').map(|name| name.trim().to_owned()).collect())
}

/// The releases that are installed on Workers.
pub(crate) fn releases() -> Vec<String> {
    named_releases().unwrap_or_else(|| RELEASES.map(str::to_owned).to_vec())
}

/// The first two numbers of a release.
pub(crate) fn line_of(version: &str) -> &str {
    version.rsplit_once('.').expect("a release has three numbers").0
}

/// What `tests/spark/install` has made.
pub(crate) fn environments() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize();
    root.expect("the repository is there").join("target/sparks")
}

fn environment(version: &str) -> PathBuf {
    environments().join(version)
}

pub(crate) fn app(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/spark/apps").join(name)
}

pub(crate) fn home(version: &str) -> PathBuf {
    let file = environment(version).join("home");
    let path = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    PathBuf::from(path.trim_end())
}

/// The value of `JAVA_TOOL_OPTIONS` with which a release's JVMs start fastest.
pub(crate) fn jvm_options(version: &str) -> String {
    format!("-XX:VMOptionsFile={}", environment(version).join("jvm").display())
}

/// The jar with the Scala applications for a release, compiled once by its own compiler.
pub(crate) fn scala_apps(version: &str) -> PathBuf {
    static MADE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let jar = made.entry(version.to_owned()).or_insert_with(|| {
        let jar = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spark-apps-{version}.jar"));
        let class_path = home(version).join("jars/*");
        let mut compiler = clean("java");
        compiler.env("JAVA_TOOL_OPTIONS", jvm_options(version));
        compiler.arg("-Xmx700m").arg("-cp").arg(class_path).args(["scala.tools.nsc.Main", "-usejavacp"]);
        let done = run(compiler.arg("-d").arg(&jar).arg(app("Apps.scala")));
        assert_eq!(done.code(), 0, "{done}");
        jar
    });
    jar.clone()
}

/// A Master and Workers, which all end with this value.
pub(crate) struct SparkCluster {
    pub(crate) master: Daemon,
    /// The Masters for Workers and drivers, if there are several.
    pub(crate) masters: Option<String>,
    pub(crate) workers: Vec<Daemon>,
    /// Ports for Workers, in ascending order, so that their ids are in the order of their start.
    pub(crate) ports: [u16; 6],
    pub(crate) root: TempDir,
    /// The properties of a durable Master.
    settings: Vec<String>,
    /// The Master's port for REST; 0 if it has none.
    pub(crate) rest: u16,
    /// The files with the credentials of the Master and of the Workers, if they have any.
    credentials: Option<[PathBuf; 2]>,
}

impl SparkCluster {
    /// Starts Workers with this number of cores each, and the installations of all releases.
    pub(crate) fn start(workers: usize, cores: u32) -> Self {
        Self::with(workers, &["--cores", &cores.to_string(), "--memory", "8g"])
    }

    pub(crate) fn with(workers: usize, arguments: &[&str]) -> Self {
        let cluster = Self::without_workers(&[]);
        (0..workers).fold(cluster, |cluster, _| cluster.and_worker(arguments))
    }

    /// Starts a durable Master, and Workers with this number of cores each.
    pub(crate) fn durable(workers: usize, cores: u32) -> Self {
        Self::durable_with(workers, cores, 0, Vec::new())
    }

    /// Like `durable`, with a port for REST.
    pub(crate) fn durable_with_rest(workers: usize, cores: u32) -> Self {
        let rest = free_port();
        Self::durable_with(workers, cores, rest, rest_settings(rest))
    }

    fn durable_with(workers: usize, cores: u32, rest: u16, settings: Vec<String>) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        Self::of(root, workers, cores, rest, settings, None)
    }

    /// Starts a durable Master in this directory, and Workers with this number of cores each.
    pub(crate) fn of(
        root: TempDir,
        workers: usize,
        cores: u32,
        rest: u16,
        settings: Vec<String>,
        credentials: Option<[PathBuf; 2]>,
    ) -> Self {
        let master = Daemon::start(&mut durable_master(root.path(), "0", &settings, credentials.as_ref()));
        let (workers_so_far, ports) = (Vec::new(), free_ports());
        let cluster =
            Self { master, masters: None, workers: workers_so_far, ports, root, settings, rest, credentials };
        let arguments = ["--cores", &cores.to_string(), "--memory", "8g"];
        (0..workers).fold(cluster, |cluster, _| cluster.and_worker(&arguments))
    }

    /// The first of two Masters, without Workers, and the other one, a standby.
    pub(crate) fn with_standby(ensemble: &Ensemble) -> (Self, Daemon) {
        let root = tempfile::tempdir().expect("a temporary directory");
        let start = || {
            let mut command = firesteel();
            command.args(["master", "--port", "0", "--conf", "spark.deploy.recoveryMode=ZOOKEEPER"]);
            command.args(["--conf", "firesteel.master.zookeeper.sessionTimeout=2s"]);
            command.args([
                "--conf",
                "spark.master.rest.enabled=true",
                "--conf",
                "spark.master.rest.port=0",
                "--conf",
            ]);
            Daemon::start(command.arg(format!("spark.deploy.zookeeper.url={}", ensemble.url())))
        };
        let master = start();
        master.wait_for_line(&["leads in epoch 1"]);
        let standby = start();
        standby.wait_for_line(&["standing by", "leads"]);
        let masters = Some(format!("{},{}", master.url(), standby.url().trim_start_matches("spark://")));
        let (settings, rest) = (Vec::new(), rest_port(&master));
        let (workers, ports) = (Vec::new(), free_ports());
        (Self { master, masters, workers, ports, root, settings, rest, credentials: None }, standby)
    }

    /// Kills the Master, and restarts it from its journal.
    pub(crate) fn restart_master(&mut self) {
        let port = self.master.address().port().to_string();
        self.master.signal(Signal::SIGKILL);
        self.master.wait();
        let credentials = self.credentials.as_ref();
        self.master =
            Daemon::start(&mut durable_master(self.root.path(), &port, &self.settings, credentials));
    }

    pub(crate) fn without_workers(arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        Self {
            master: Daemon::master(arguments),
            masters: None,
            workers: Vec::new(),
            ports: free_ports(),
            root,
            settings: Vec::new(),
            rest: 0,
            credentials: None,
        }
    }

    /// A Master with these properties and a port for REST.
    pub(crate) fn with_rest(settings: &[&str]) -> Self {
        let rest = free_port();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).chain(rest_settings(rest));
        let arguments: Vec<String> = settings.flat_map(|setting| ["--conf".to_owned(), setting]).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Self { rest, ..Self::without_workers(&arguments) }
    }

    /// Adds a Worker with these arguments and the installations of all releases.
    pub(crate) fn and_worker(mut self, arguments: &[&str]) -> Self {
        let number = self.workers.len();
        self.workers.push(self.worker(number, arguments));
        self.master.wait_for_workers(self.workers.len());
        self
    }

    /// Starts a Worker in the directories with this number.
    pub(crate) fn worker(&self, number: usize, arguments: &[&str]) -> Daemon {
        let homes: Vec<String> =
            releases().iter().map(|version| home(version).display().to_string()).collect();
        let mut command = firesteel();
        command.args(["worker", "--conf"]);
        command.arg(format!("firesteel.worker.sparkHomes={}", homes.join(",")));
        if !arguments.contains(&"--port") {
            command.args(["--port", "0"]);
        }
        command.args(arguments).arg("--work-dir").arg(self.work(number));
        command.envs(self.credentials.iter().map(|[_, file]| (CREDENTIALS, file)));
        command.env("SPARK_LOCAL_DIRS", self.local(number)).env("JAVA_TOOL_OPTIONS", jvm_options(MAIN));
        Daemon::start(command.arg(self.url()))
    }

    /// The URL of the Master, or of all Masters.
    pub(crate) fn url(&self) -> &str {
        self.masters.as_deref().unwrap_or_else(|| self.master.url())
    }

    pub(crate) fn work(&self, number: usize) -> PathBuf {
        self.root.path().join(format!("work{number}"))
    }

    /// The directory for scratch directories of a Worker.
    pub(crate) fn local(&self, number: usize) -> PathBuf {
        self.root.path().join(format!("local{number}"))
    }

    pub(crate) fn driver(&self, version: &str, app: &str, arguments: &[&str], settings: &[&str]) -> Command {
        driver(self.url(), version, app, arguments, settings)
    }

    /// A program of Spark, such as `spark-submit`, with these arguments.
    pub(crate) fn program(&self, version: &str, name: &str, words: &[&str]) -> Command {
        let mut command = clean(home(version).join("bin").join(name));
        command.args(["--master", self.master.url()]).args(own_settings(version, &[])).args(words);
        command.env("PYSPARK_PYTHON", environment(version).join("bin/python"));
        in_surroundings(version, command)
    }

    /// Runs a driver to its end. Returns its output.
    pub(crate) fn run(&self, command: Command) -> String {
        Driver::start(command).finish()
    }

    /// The applications in this list of the Master, latest last.
    pub(crate) fn applications(&self, list: &str) -> Vec<Value> {
        self.master.status()[list].as_array().expect("a list").clone()
    }

    /// Waits until no application has left anything on the Workers.
    pub(crate) fn wait_until_clean(&self) {
        wait_for("the end of all executors", || {
            let idle = |row: &Value| row["cores_used"] == 0;
            let status = self.master.status();
            let is_idle = status["workers"].as_array()?.iter().all(idle);
            (is_idle && self.processes().is_empty() && self.scratch().is_empty()).then_some(())
        });
    }

    /// The processes in the Workers' directories.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes::within(self.root.path())
    }

    /// The scratch directories of applications.
    pub(crate) fn scratch(&self) -> Vec<PathBuf> {
        let locals = (0..self.workers.len()).map(|number| self.local(number));
        locals.flat_map(|local| scratch_of_applications(&local)).collect()
    }
}

fn durable_master(
    root: &Path,
    port: &str,
    settings: &[String],
    credentials: Option<&[PathBuf; 2]>,
) -> Command {
    let mut command = firesteel();
    let directory = format!("spark.deploy.recoveryDirectory={}", root.join("state").display());
    command.args(["master", "--port", port, "--webui-port", "0", "--conf", &directory]);
    command.args(settings.iter().flat_map(|setting| ["--conf", setting]));
    command.envs(credentials.map(|[file, _]| (CREDENTIALS, file)));
    command
}

/// The properties of a Master that serves REST on this port.
pub(crate) fn rest_settings(port: u16) -> Vec<String> {
    vec!["spark.master.rest.enabled=true".to_owned(), format!("spark.master.rest.port={port}")]
}

/// The port on which a Master of Firesteel logs that it serves REST.
pub(crate) fn rest_port(master: &Daemon) -> u16 {
    let line = master.wait_for_line(&["serving Spark's REST protocol"]);
    let port = line.trim_end().trim_end_matches('/').rsplit(':').next();
    port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line:?} has no port"))
}

pub(crate) fn executors_within(directory: &Path) -> Vec<u32> {
    running_within(directory, "CoarseGrainedExecutorBackend")
}

/// The processes within a directory that run this class.
pub(crate) fn running_within(directory: &Path, class: &str) -> Vec<u32> {
    let runs = |pid: &u32| processes::command_line(*pid).iter().any(|word| word.ends_with(class));
    processes::within(directory).into_iter().filter(runs).collect()
}

/// A driver for the Master at this URL, with these settings of Spark: in Python, or in Scala if the release does not
/// support the installed Python (3.3 with 3.11).
pub(crate) fn driver(
    master: &str,
    version: &str,
    app: &str,
    arguments: &[&str],
    settings: &[&str],
) -> Command {
    let is_sql = ["sql", "streaming"].contains(&app);
    if line_of(version) == "3.3" && !is_sql {
        return scala(master, version, app, arguments, settings);
    }
    let mut command = clean(environment(version).join("bin/python"));
    command.arg(self::app(&format!("{app}.py"))).arg(master).args(arguments);
    let own = own_settings(version, settings).join(" ");
    command.env("PYSPARK_SUBMIT_ARGS", format!("{own} pyspark-shell"));
    in_surroundings(version, command)
}

/// A Scala driver for the Master at this URL, with these settings of Spark.
pub(crate) fn scala(
    master: &str,
    version: &str,
    app: &str,
    arguments: &[&str],
    settings: &[&str],
) -> Command {
    let mut command = clean(home(version).join("bin/spark-submit"));
    command.args(own_settings(version, settings)).args(["--master", master]);
    let class = format!("{}{}", app[..1].to_uppercase(), &app[1..]);
    command.args(["--class", &class]).arg(scala_apps(version)).arg(master).args(arguments);
    in_surroundings(version, command)
}

/// The settings of all drivers, and these.
pub(crate) fn own_settings(version: &str, settings: &[&str]) -> Vec<String> {
    let mut own = vec![
        "spark.executor.memory=512m".to_owned(),
        format!("spark.executorEnv.JAVA_TOOL_OPTIONS={}", jvm_options(version)),
    ];
    if named_releases().is_some() && ALIKE.iter().flatten().any(|alike| *alike == line_of(version)) {
        own.push(format!("spark.executorEnv.SPARK_HOME={}", home(version).display()));
    }
    own.extend(settings.iter().map(|setting| (*setting).to_owned()));
    let settings = own.into_iter().flat_map(|setting| ["--conf".to_owned(), setting]);
    ["--driver-memory".to_owned(), "512m".to_owned()].into_iter().chain(settings).collect()
}

/// A driver that may be ended early, with all its processes.
pub(crate) struct Driver(pub(crate) Daemon);

impl Driver {
    pub(crate) fn start(mut command: Command) -> Self {
        Self(Daemon::spawn(command.process_group(0)))
    }

    /// Waits for a line of its output that begins with this word. Returns the rest of it.
    pub(crate) fn wait_for(&self, word: &str) -> String {
        wait(word, LONGEST, || {
            let output = self.0.output_so_far();
            // A line may be incomplete.
            let whole = output.rfind('\n').map_or("", |end| &output[..end]);
            whole.lines().find_map(|line| line.strip_prefix(word).map(|rest| rest.trim().to_owned()))
        })
    }

    pub(crate) fn wait_for_log(&self, words: &str) {
        wait("the driver's word", LONGEST, || {
            // Spark 3.3 writes its log to standard output.
            let has = |text: String| text.contains(words);
            (has(self.0.log()) || has(self.0.output_so_far())).then_some(())
        });
    }

    /// Kills the driver: Python and its JVM.
    pub(crate) fn kill(&self) {
        // It may already have ended.
        let _ = killpg(group(&self.0), Signal::SIGKILL);
    }

    /// Waits for its end. Returns its output.
    pub(crate) fn finish(mut self) -> String {
        wait("the end of a driver", LONGEST, || (!self.0.is_alive()).then_some(()));
        let code = self.0.wait();
        assert_eq!(code, 0, "{}\n{}", self.0.output_so_far(), self.0.log());
        let output = self.0.output();
        output.split_inclusive('\n').filter(|line| !is_of_log(line)).collect()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a line begins with a time such as `26/11/25 02:25:27`, like those of Spark's log.
fn is_of_log(line: &str) -> bool {
    let is_number = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = line.splitn(3, ' ');
    let (Some(day), Some(time)) = (parts.next(), parts.next()) else { return false };
    day.split('/').all(is_number) && time.split(':').all(is_number)
}

fn group(daemon: &Daemon) -> Pid {
    Pid::from_raw(i32::try_from(daemon.pid()).expect("a process id is an i32"))
}

/// Sets the environment of a driver: it binds loopback, and its JVMs start fast.
pub(crate) fn in_surroundings(version: &str, mut command: Command) -> Command {
    command.env("SPARK_LOCAL_IP", "127.0.0.1").env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("JAVA_TOOL_OPTIONS", jvm_options(version));
    command
}
