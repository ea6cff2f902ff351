//! Programs of others that use a Standalone Master, as they are published: `requirements.txt` has their versions.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::ports::free_port;
use firesteel_testkit::{clean, firesteel, run, wait_for};
use libtest_mimic::Trial;

use crate::cluster::{
    self, MAIN, SparkCluster, app, environments, home, in_surroundings, own_settings, scala_apps,
};

const CLIENTS: Component = Component { name: "spark", look, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    CLIENTS.trials(&[
        ("client_spark_master_rest_api_submits_shows_and_kills", rest_api),
        ("client_spark_submit_of_pypi_polls_a_driver", submit_job),
        ("client_dbt_builds_and_tests_models", dbt),
        ("client_spark_connect_serves_two_users_and_scripts_start_the_servers_of_spark", connect),
        ("client_joblibspark_runs_tasks", joblib),
        ("client_luigi_runs_a_task", luigi),
        ("client_sparkctl_starts_uses_and_stops_a_cluster", sparkctl),
        ("clients_that_monitor_find_what_they_read", monitors),
    ])
}

fn look() -> Result<(), String> {
    cluster::look()?;
    let is_there = programs().join("sparkctl").exists();
    is_there
        .then_some(())
        .ok_or_else(|| "clients of Spark's are not installed: tests/spark/install".to_owned())
}

/// The folder of the programs that `tests/spark/install` has installed.
fn programs() -> PathBuf {
    environments().join("clients/bin")
}

/// A file of this folder.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/spark/clients").join(name)
}

/// A program of a client, with pyspark of the main release.
fn program(name: &str) -> Command {
    with_pyspark(clean(programs().join(name)))
}

fn with_pyspark(mut command: Command) -> Command {
    let home = home(MAIN);
    command.env("PYTHONPATH", home.parent().expect("it is in a folder of modules")).env("SPARK_HOME", &home);
    command.env("PYSPARK_PYTHON", programs().join("python"));
    let settings = ["spark.executor.cores=1", "spark.cores.max=2"];
    command.env("PYSPARK_SUBMIT_ARGS", format!("{} pyspark-shell", own_settings(MAIN, &settings).join(" ")));
    in_surroundings(MAIN, command)
}

/// A script of this folder, on the cluster.
fn script(cluster: &SparkCluster, name: &str) -> Command {
    let mut command = program("python");
    command.arg(file(name)).arg(cluster.url());
    command
}

/// A jar as scripts of this folder take it.
fn jar() -> String {
    scala_apps(MAIN).display().to_string()
}

fn rest_api() {
    let cluster = SparkCluster::durable_with_rest(1, 2);
    let mut command = script(&cluster, "rest_api.py");
    command.arg(cluster.rest.to_string()).arg(jar()).arg(cluster.root.path().join("never"));
    let port = cluster.master.address().port();
    assert_eq!(cluster.run(command), format!("done {}\ndone {port}\n", cluster.rest));
}

fn submit_job() {
    let cluster = SparkCluster::durable_with_rest(1, 2);
    let mut command = script(&cluster, "submit_job.py");
    command.arg(cluster.rest.to_string()).arg(home(MAIN)).arg(jar()).arg(cluster.root.path().join("go"));
    assert_eq!(cluster.run(command), "done FINISHED\ndone FINISHED\n");
}

fn dbt() {
    let cluster = SparkCluster::start(1, 2);
    let folder = cluster.root.path().join("dbt");
    let copied = run(Command::new("cp").arg("-r").arg(file("dbt")).arg(&folder));
    assert_eq!(copied.code(), 0, "{copied}");
    let mut command = program("dbt");
    let settings = own_settings(MAIN, &["spark.sql.shuffle.partitions=2", "spark.cores.max=2"]).join(" ");
    command.env("PYSPARK_SUBMIT_ARGS", format!("--master {} {settings} pyspark-shell", cluster.url()));
    command.env("DBT_SEND_ANONYMOUS_USAGE_STATS", "false");
    command.args(["--no-use-colors", "build", "--profiles-dir", ".", "--threads", "1"]).current_dir(&folder);
    let output = cluster.run(command);
    assert!(output.contains("PASS=5 WARN=0 ERROR=0 SKIP=0"), "{output}");
    assert_eq!(cluster.applications("completed").len(), 1, "it ran on the cluster");
}

/// The main release with the scripts of Firesteel over its own.
fn laid_over(folder: &Path) -> PathBuf {
    let laid = folder.join("spark");
    fs::create_dir_all(laid.join("sbin")).expect("it is new");
    for entry in fs::read_dir(home(MAIN)).expect("it is there").flatten() {
        if entry.file_name() != "sbin" {
            symlink(entry.path(), laid.join(entry.file_name())).expect("it is new");
        }
    }
    for entry in fs::read_dir(home(MAIN).join("sbin")).expect("it is there").flatten() {
        fs::copy(entry.path(), laid.join("sbin").join(entry.file_name())).expect("it can be copied");
    }
    let installed = run(firesteel().args(["sbin", "install"]).arg(&laid));
    assert!(
        installed.stdout.ends_with("kept: spark-config.sh.spark, spark-daemon.sh.spark\n"),
        "{installed}"
    );
    laid
}

fn connect() {
    let cluster = SparkCluster::start(1, 2);
    let root = cluster.root.path();
    let laid = laid_over(root);
    let sbin = |name: &str, words: &[&str]| {
        let mut command = clean(laid.join("sbin").join(name));
        command.env("SPARK_PID_DIR", root.join("pids")).env("SPARK_LOG_DIR", root.join("logs"));
        let events = format!("-Dspark.history.fs.logDirectory={} -Dspark.history.ui.port=0", root.display());
        command.env("SPARK_HISTORY_OPTS", events).args(words);
        let done = run(&mut in_surroundings(MAIN, command));
        assert_eq!(done.code(), 0, "{name} {words:?}: {done}");
    };
    const SERVER: &str = "org.apache.spark.sql.connect.service.SparkConnectServer";
    let port = free_port().to_string();
    let settings = own_settings(MAIN, &["spark.cores.max=2", "spark.sql.shuffle.partitions=2"]);
    let binding = ["binding.address=127.0.0.1", &format!("binding.port={port}")]
        .map(|setting| format!("spark.connect.grpc.{setting}"));
    let mut words = vec!["submit", SERVER, "1", "--master", cluster.url()];
    words.extend(settings.iter().map(String::as_str));
    words.extend(["--conf", &binding[0], "--conf", &binding[1]]);
    sbin("spark-daemon.sh", &words);
    sbin("start-history-server.sh", &[]);
    sbin("spark-daemon.sh", &["status", "org.apache.spark.deploy.history.HistoryServer", "1"]);
    sbin("stop-history-server.sh", &[]);
    let address = format!("127.0.0.1:{port}");
    wait_for("the server", || std::net::TcpStream::connect(&address).ok());
    let mut command = program("python");
    // The client has a pyspark of its own.
    command.env_remove("PYTHONPATH").env_remove("PYSPARK_SUBMIT_ARGS").env_remove("SPARK_HOME");
    command.arg(file("connect.py")).arg(port);
    assert_eq!(cluster.run(command), "ann 332833500\nbob 285\n");
    sbin("spark-daemon.sh", &["stop", SERVER, "1"]);
}

fn joblib() {
    let cluster = SparkCluster::start(1, 2);
    assert_eq!(cluster.run(script(&cluster, "joblib_backend.py")), "sum 328350\n");
}

fn luigi() {
    let cluster = SparkCluster::start(1, 2);
    let result = cluster.root.path().join("total");
    let mut command = script(&cluster, "luigi_task.py");
    command.arg(home(MAIN)).arg(&result).current_dir(cluster.root.path());
    cluster.run(command);
    assert_eq!(fs::read_to_string(result).expect("it is written"), "332833500\n");
    assert_eq!(cluster.applications("completed").len(), 1, "it ran on the cluster");
}

fn sparkctl() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let laid = laid_over(root.path());
    let java = run(Command::new("sh").args(["-c", "dirname $(dirname $(readlink -f $(command -v java)))"]));
    // A network, a name and processes of its own.
    let mut command = with_pyspark(clean("unshare"));
    command.args(["--map-root-user", "--net", "--uts", "--mount", "--pid", "--mount-proc"]);
    command.args(["--fork", "--kill-child"]).arg(file("sparkctl.sh"));
    command.env("SPARK_HOME", &laid).current_dir(root.path());
    command.arg(programs()).arg(&laid).arg(java.stdout.trim()).arg(app("squares.py"));
    command.env("SPARK_PID_DIR", root.path().join("pids"));
    let done = run(&mut command);
    assert_eq!(done.code(), 0, "{done}");
    assert!(done.stdout.contains("sum 332833500\n"), "{done}");
    let left = fs::read_dir(root.path().join("pids")).expect("it is there").count();
    assert_eq!(left, 0, "all are stopped: {done}");
}

fn monitors() {
    let cluster = SparkCluster::durable_with_rest(1, 2);
    let mut command = script(&cluster, "monitors.py");
    command.args([&cluster.master, &cluster.workers[0]].map(|daemon| format!("http://{}", daemon.http())));
    assert_eq!(cluster.run(command), "app watched\ndone\n");
}
