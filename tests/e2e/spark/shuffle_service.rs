//! The external shuffle service as a child of a Worker, with a Java that only listens.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use firesteel_testkit::ports::free_port;
use firesteel_testkit::{Daemon, binary, firesteel, processes, run, run_with_input, wait_for, write_program};
use nix::sys::signal::Signal;
use tempfile::TempDir;

/// The longest time that a process may outlive its Worker.
const SOON: Duration = Duration::from_secs(3);

/// An installation of Spark, whose Java listens on the port of the shuffle service. It exits with code 3 while a file
/// `broken` exists.
struct Installation {
    root: TempDir,
    port: u16,
}

impl Installation {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let java = root.path().join("jdk/bin/java");
        let jar = root.path().join("spark/jars/spark-core_2.13-4.0.1.jar");
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\"\n\
             for word; do case $word in -Dspark.shuffle.service.port=*) port=${{word#*=}};; esac; done\n\
             if [ -e {broken} ]; then echo 'no room: password=hush' >&2; exit 3; fi\n\
             exec {program} master --host 0.0.0.0 --port $port --conf firesteel.insecure=true\n",
            program = binary(),
            broken = root.path().join("broken").display(),
        );
        for (path, text) in [(&java, script.as_str()), (&jar, "")] {
            write_program(path, text);
        }
        Self { root, port: free_port() }
    }

    fn worker(&self, master: &str) -> Command {
        let mut command = firesteel();
        command.args(["worker", "--port", "0", "--cores", "1", "--memory", "1g"]);
        command.args(["--conf", "spark.shuffle.service.enabled=true"]);
        command.arg("--conf").arg(format!("spark.shuffle.service.port={}", self.port));
        command.arg("--work-dir").arg(self.root.path().join("work")).arg(master);
        command.env("SPARK_HOME", self.root.path().join("spark"));
        command.env("JAVA_HOME", self.root.path().join("jdk"));
        command.env("SPARK_LOCAL_DIRS", self.root.path().join("local"));
        command
    }

    fn directory(&self) -> PathBuf {
        self.root.path().join(format!("work/shuffle-service-{}", self.port))
    }

    fn broken(&self) -> PathBuf {
        self.root.path().join("broken")
    }

    fn processes(&self) -> Vec<u32> {
        processes::within(&self.directory())
    }

    fn accepts(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    fn wait_until_gone(&self) {
        wait_for("the end of the service", || self.processes().is_empty().then_some(()));
    }
}

/// Starts a Worker that must fail. Returns its message.
fn refusal(command: &mut Command) -> String {
    let done = run(command);
    assert_eq!(done.code(), 1, "{done}");
    let said = done.stderr.lines().find(|line| line.contains("the external shuffle service"));
    said.unwrap_or_else(|| panic!("{done}")).to_owned()
}

/// The URL of a Master that does not exist: nothing listens on the discard port of loopback.
const NO_MASTER: &str = "spark://127.0.0.1:9";

#[test]
fn a_worker_without_spark_refuses_to_run_a_shuffle_service() {
    let installation = Installation::new();
    let without = refusal(installation.worker(NO_MASTER).env_remove("SPARK_HOME"));
    assert!(without.contains("Spark is not installed here: the Worker has no SPARK_HOME; "), "{without}");
    assert!(without.contains("set spark.shuffle.service.enabled to false"), "{without}");
    let empty = installation.root.path().join("empty");
    let home = format!("firesteel.worker.sparkHomes={}", empty.display());
    let elsewhere = refusal(installation.worker(NO_MASTER).args(["--conf", &home]));
    assert!(elsewhere.contains(&format!("{} has none", empty.display())), "{elsewhere}");
    assert!(installation.processes().is_empty());
}

#[test]
fn a_shuffle_service_that_cannot_start_ends_its_worker_with_its_last_words() {
    let installation = Installation::new();
    fs::write(installation.broken(), "").expect("it is written");
    let ended = refusal(&mut installation.worker(NO_MASTER));
    let expected = format!("on port {}: it ended with exit code 3; ", installation.port);
    assert!(ended.contains(&expected) && ended.contains("stderr ends with: no room"), "{ended}");
    assert!(!ended.contains("hush"), "{ended}");

    fs::remove_file(installation.broken()).expect("it is there");
    let other = TcpListener::bind(("0.0.0.0", installation.port)).expect("it is free");
    let known = installation.directory().join("database/executors");
    fs::create_dir_all(known.parent().expect("it is in a directory")).expect("it is made");
    fs::write(&known, "").expect("it is written");
    let taken = refusal(&mut installation.worker(NO_MASTER));
    assert!(known.exists(), "it may be that of the service which runs");
    assert!(taken.contains(&format!("port {} cannot be used", installation.port)), "{taken}");

    drop(other);
    let no_java = refusal(installation.worker(NO_MASTER).env("JAVA_HOME", "/nowhere"));
    assert!(no_java.contains("it could not be started: /nowhere/bin/java: not found; "), "{no_java}");
    assert!(installation.processes().is_empty());
}

#[test]
fn a_shuffle_service_has_what_its_worker_was_given_and_is_started_again_when_it_dies() {
    let installation = Installation::new();
    let master = Daemon::master(&[]);
    let mut command = installation.worker(master.url());
    command.env("SPARK_WORKER_OPTS", "-Dspark.shuffle.io.serverThreads=4 -Dspark.shuffle.service.port=1");
    command.env("SPARK_SHUFFLE_OPTS", "-Xss4m -Dname='a b'").env("SPARK_DAEMON_MEMORY", "256m");
    let worker = Daemon::start(&mut command);
    let home = installation.root.path().join("spark").display().to_string();
    worker.wait_for_line(&["the external shuffle service of Spark 4.0.1 in ", &home, "listens on port"]);
    let words = fs::read_to_string(installation.directory().join("stdout")).expect("it is there");
    let words: Vec<&str> = words.lines().collect();
    let port = format!("-Dspark.shuffle.service.port={}", installation.port);
    let expected = ["-Dspark.shuffle.io.serverThreads=4", "-Xss4m", "-Dname=a b", "-Xmx256m", &port];
    assert!(expected.iter().all(|word| words.contains(word)), "{words:?}");
    assert_eq!(words.last(), Some(&"org.apache.spark.deploy.ExternalShuffleService"));

    let first = installation.processes();
    assert_eq!(first.len(), 1);
    fs::write(installation.broken(), "").expect("it is written");
    processes::signal(first[0], Signal::SIGKILL).expect("it runs");
    worker.wait_for_line(&["the external shuffle service ended with signal 9 (SIGKILL)", "again in 1s"]);
    worker.wait_for_line(&["ended with exit code 3", "ends with: no room", "again in 2s"]);
    fs::remove_file(installation.broken()).expect("it is there");
    wait_for("the next service", || installation.accepts().then_some(()));
    let second = installation.processes();
    assert!(second.len() == 1 && second != first, "{second:?}");
    assert_eq!(worker.terminate(), 0);
    assert!(!installation.accepts());
}

#[test]
fn kill_9_of_a_worker_ends_its_shuffle_service() {
    let installation = Installation::new();
    let master = Daemon::master(&[]);
    let mut worker = Daemon::start(&mut installation.worker(master.url()));
    assert_eq!(installation.processes().len(), 1);
    let killed = Instant::now();
    worker.signal(Signal::SIGKILL);
    assert_eq!(worker.wait(), 137);
    installation.wait_until_gone();
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
}

#[test]
fn a_worker_that_is_stopped_ends_its_shuffle_service_also_while_that_starts() {
    let installation = Installation::new();
    let master = Daemon::master(&[]);
    let worker = Daemon::start(&mut installation.worker(master.url()));
    assert!(installation.accepts());
    assert_eq!(worker.terminate(), 0);
    assert!(installation.processes().is_empty());
    assert!(!installation.directory().join("database").exists());

    let java = installation.root.path().join("jdk/bin/java");
    fs::write(&java, "#!/bin/sh\necho begun\nexec sleep 600\n").expect("it is written");
    let mut slow = Daemon::spawn(&mut installation.worker(master.url()));
    let begun = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text == "begun\n");
    let output = installation.directory().join("stdout");
    wait_for("the start of the service", || begun(&output).then_some(()));
    slow.signal(Signal::SIGTERM);
    assert_eq!(slow.wait(), 0);
    installation.wait_until_gone();
}

/// This Worker also reads the properties file of Spark's applications.
#[test]
fn a_local_cluster_runs_no_shuffle_service() {
    let mut command = firesteel();
    command.args(["map", "--master", "local-cluster[2,1,1024]"]);
    command.args(["--conf", "spark.shuffle.service.enabled=true", "--", "echo", "{}"]);
    let done = run_with_input(&mut command, b"done\n".to_vec());
    assert_eq!((done.code(), done.stdout.as_str()), (0, "done\n"), "{done}");
}
