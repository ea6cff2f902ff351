//! Executors and cluster drivers that reach the system and their own directories only, under the Worker's account.

use std::fs;

use firesteel_daemons::worker::reaper::restraint::can_confine;
use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::{Cluster, wait_for};
use libtest_mimic::Trial;
use nix::unistd::geteuid;

use crate::contained::TRIES;

const LANDLOCK: Component = Component {
    name: "landlock",
    look: || can_confine().map_err(|error| error.to_string()),
    prepare: || Readiness::Ready,
};

pub(crate) fn trials() -> Vec<Trial> {
    LANDLOCK.trials(&[
        ("confined::an_executor_reaches_the_system_and_its_own_directories_only", executor),
        ("confined::a_cluster_driver_reaches_the_system_and_its_own_directory_only", cluster_driver),
        ("confined::a_path_that_is_not_there_or_has_a_secret_is_named", refused),
    ])
}

/// A cluster whose Worker confines programs, but lets them read `data` and write in `out`.
fn cluster() -> Cluster {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name);
    for name in ["data", "out"] {
        fs::create_dir(path(name)).expect("there is room");
    }
    for name in ["data/table", "data/key", "credentials"] {
        fs::write(path(name), "1").expect("there is room");
    }
    let readable = format!("firesteel.worker.readablePaths={}", path("data").display());
    let writable = format!("firesteel.worker.writablePaths={}", path("out").display());
    // A file with a secret of the Worker's, where programs may read.
    let key = format!("spark.ssl.standalone.privateKey={}", path("data/key").display());
    let confined = ["--conf", CONFINED, "--conf", &readable, "--conf", &writable, "--conf", &key];
    Cluster::plan().worker(&["--cores", "2", "--memory", "2g"]).worker(&confined).start_in(directory, 1)
}

const CONFINED: &str = "firesteel.worker.confined=true";

/// What is tried beside what programs with an account of their own try.
const MORE: &str = r#"
    say touch "$TMPDIR/made"
    say cat "$2/data/table"
    say ls "$2/data"
    say cat "$2/data/key"
    say touch "$2/data/made"
    say touch "$2/out/made"
    say touch "/tmp/made-by-$FIRESTEEL_WORKER_ID"
    say "$3" --version
"#;

fn tries(cluster: &Cluster) -> String {
    let (worker, directory) = (cluster.workers[0].pid(), cluster.directory.path().display());
    format!("set -- {worker} {directory} {}\n{TRIES}{MORE}", firesteel_testkit::binary())
}

/// What could be done. As root, whom the kernel lets look into other processes, one thing more.
fn could(output: &str, cannot: usize) -> Vec<&str> {
    let lines = |word| output.lines().filter_map(move |line| line.strip_prefix(word));
    let is_of_root = |line: &&str| geteuid().is_root() && line.ends_with("/environ");
    let more = lines("can ").filter(is_of_root).count();
    assert_eq!(lines("cannot ").count() + more, cannot, "{output}");
    lines("can ").filter(|line| !is_of_root(line)).collect()
}

fn executor() {
    let cluster = cluster();
    let directory = cluster.directory.path().display().to_string();
    let given = cluster.path("given");
    fs::write(&given, "for the executor").expect("there is room");
    let files = given.display().to_string();
    let launch =
        ["launch", "--name", "tries", "--num-executors", "1", "--executor-cores", "1", "--files", &files];
    cluster.said(&[&launch[..], &["--until", "all", "--", "sh", "-c", &tries(&cluster)]].concat());
    let output = cluster.said(&["logs", "tries/0"]);
    let app = cluster.json(&["status"])["completed"][0]["id"].as_str().expect("an id").to_owned();
    let own = cluster.work(0).join(app).join("0");
    let expected = [
        "test -w .".to_owned(),
        "touch made".to_owned(),
        "mkdir sub".to_owned(),
        "cat given".to_owned(),
        format!("touch {}/tmp/made", own.display()),
        format!("cat {directory}/data/table"),
        format!("ls {directory}/data"),
        format!("touch {directory}/out/made"),
        format!("{} --version", firesteel_testkit::binary()),
    ];
    assert_eq!(could(&output, 11), expected, "{output}");
    // Firesteel's own executors, too, and the files of an application.
    let map = ["map", "--executor-cores", "1", "--files", &files, "--", "sh", "-c"];
    let mapped =
        cluster.said(&[&map[..], &["cat given; cat ../../../credentials || echo no", ":::", "a"]].concat());
    assert_eq!(mapped, "for the executorno\n");
}

fn cluster_driver() {
    let cluster = cluster();
    let id = cluster.said(&["submit", "--deploy-mode", "cluster", "--", "sh", "-c", &tries(&cluster)]);
    let stdout = cluster.work(0).join(id.trim()).join("stdout");
    let output = wait_for("the cluster driver's output", || {
        let text = fs::read_to_string(&stdout).ok()?;
        text.ends_with("--version\n").then_some(text)
    });
    // It has no file.
    assert_eq!(could(&output, 12).len(), 8, "{output}");
}

fn refused() {
    let key = "spark.ssl.standalone.privateKey=/etc/passwd";
    for (path, why) in
        [("/no/such/directory", "failed to open"), ("/etc", "the Worker keeps secrets in /etc/passwd")]
    {
        let writable = format!("firesteel.worker.writablePaths={path}");
        let settings = ["--conf", CONFINED, "--conf", &writable, "--conf", key];
        let plan = Cluster::plan().properties(&["spark.deploy.maxExecutorRetries=1"]);
        let cluster = plan.worker(&["--cores", "1", "--memory", "1g"]).worker(&settings).start(1);
        let refused = cluster.ask(&["launch", "--num-executors", "1", "--executor-cores", "1", "--", "true"]);
        let words = format!("confined programs are to reach {path}: {why}");
        assert!(refused.code() != 0 && refused.stdout.contains(&words), "{refused}");
    }
}
