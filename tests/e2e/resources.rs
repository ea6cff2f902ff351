//! Custom resources on real processes: which addresses a Worker, an executor and a task have.

use std::collections::BTreeSet;
use std::process::Output;

use tempfile::TempDir;

use crate::cluster::{Daemon, firesteel};

/// A Master and a Worker with two gpus.
struct Rig {
    _directory: TempDir,
    _worker: Daemon,
    master: Daemon,
}

impl Rig {
    fn new(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(&[]);
        let flags = [&["--cores", "4", "--memory", "2g"], flags].concat();
        let worker = Daemon::worker(&master, &directory.path().join("work"), &flags);
        Self { _directory: directory, _worker: worker, master }
    }

    /// What a map of these items wrote.
    fn map(&self, options: &[&str], script: &str, items: &[&str]) -> Output {
        let mut map = firesteel();
        map.args([
            "-q",
            "map",
            "--master",
            self.master.url(),
            "--executor-cores",
            "4",
            "--executor-memory",
            "64m",
        ]);
        map.args(options).args(["--", "sh", "-c", script, "sh", ":::"]).args(items);
        map.output().expect("firesteel runs")
    }
}

fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Writes the task's addresses, and waits until `$COUNT` tasks have done so.
const MEET: &str = r#"
    echo "$FIRESTEEL_TASK_RESOURCE_GPU of $FIRESTEEL_RESOURCE_GPU"
    : > "$MEETING/$1"
    for i in $(seq 400); do [ "$(ls "$MEETING" | wc -l)" -ge "$COUNT" ] && exit 0; sleep 0.05; done
    exit 1
"#;

fn meeting(count: &str) -> (TempDir, [String; 4]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = format!("MEETING={}", directory.path().display());
    (directory, ["--env".to_owned(), place, "--env".to_owned(), format!("COUNT={count}")])
}

#[test]
fn two_tasks_at_once_have_an_address_each() {
    let rig = Rig::new(&["--resource", "gpu=7,9"]);
    let (_place, env) = meeting("2");
    let env: Vec<&str> = env.iter().map(String::as_str).collect();
    let options = [&["--executor-resource", "gpu=2", "--task-resource", "gpu=1"], &env[..]].concat();
    let found: BTreeSet<String> = lines(&rig.map(&options, MEET, &["a", "b"])).into_iter().collect();
    assert_eq!(found, BTreeSet::from(["7 of 7,9".to_owned(), "9 of 7,9".to_owned()]));
    // There are cores for four of them and addresses for two: the other two come when those have ended.
    let one = "mkdir \"$MEETING/$FIRESTEEL_TASK_RESOURCE_GPU\" && sleep 0.1 && rmdir \"$MEETING/$FIRESTEEL_TASK_RESOURCE_GPU\"";
    let script = format!("{one} || exit 1; echo done");
    assert_eq!(lines(&rig.map(&options, &script, &["a", "b", "c", "d"])), ["done"; 4]);
}

#[test]
fn tasks_share_an_address_by_their_fraction() {
    let rig = Rig::new(&["--resource", "gpu=2"]);
    let (_place, env) = meeting("4");
    let env: Vec<&str> = env.iter().map(String::as_str).collect();
    let options = [&["--executor-resource", "gpu=2", "--task-resource", "gpu=0.5"], &env[..]].concat();
    let mut found = lines(&rig.map(&options, MEET, &["a", "b", "c", "d"]));
    found.sort();
    assert_eq!(found, ["0 of 0,1", "0 of 0,1", "1 of 0,1", "1 of 0,1"], "four at once");
}

#[test]
fn a_task_that_asks_for_none_has_none_and_one_that_asks_for_all_has_all() {
    let rig = Rig::new(&["--resource", "gpu=2"]);
    let script = r#"echo "task: $FIRESTEEL_TASK_RESOURCE_GPU, executor: $FIRESTEEL_RESOURCE_GPU""#;
    let executor = ["--executor-resource", "gpu=2"];
    assert_eq!(lines(&rig.map(&executor, script, &["a"])), ["task: , executor: 0,1"]);
    let both = [&executor[..], &["--task-resource", "gpu=2"]].concat();
    assert_eq!(lines(&rig.map(&both, script, &["a"])), ["task: 0,1, executor: 0,1"]);
}

#[test]
fn an_address_is_free_again_when_its_executor_was_killed() {
    let rig = Rig::new(&["--resource", "gpu=1"]);
    let options = ["--executor-resource", "gpu=1", "--task-resource", "gpu=1"];
    // The first attempt kills its executor.
    let script = r#"[ "$FIRESTEEL_TASK_ATTEMPT" = 0 ] && kill -9 $PPID; echo "$FIRESTEEL_EXECUTOR_ID $FIRESTEEL_TASK_RESOURCE_GPU""#;
    let found = lines(&rig.map(&options, script, &["a"]));
    assert_eq!(found, ["1 0"]);
}

#[test]
fn a_worker_has_what_its_property_says_and_its_flag_is_stronger() {
    let rig = Rig::new(&["--conf", "spark.worker.resource.gpu.amount=2", "--resource", "nic=eth0"]);
    let options =
        ["--executor-resource", "gpu=1", "--executor-resource", "nic=1", "--task-resource", "nic=1"];
    let script = r#"echo "$FIRESTEEL_RESOURCE_GPU $FIRESTEEL_TASK_RESOURCE_NIC""#;
    assert_eq!(lines(&rig.map(&options, script, &["a"])), ["0 eth0"]);
}

#[test]
fn a_task_of_a_profile_runs_on_its_executors_and_has_their_addresses() {
    let rig = Rig::new(&["--resource", "gpu=2"]);
    let commands = r#"
wait --executors 1
profile add 1 --cores 2 --resource gpu=2 --task-resource gpu=1
wait --executors 2
run sh -c 'echo $FIRESTEEL_EXECUTOR_ID $FIRESTEEL_CORES $FIRESTEEL_TASK_RESOURCE_GPU'
run --profile 1 sh -c 'echo $FIRESTEEL_EXECUTOR_ID $FIRESTEEL_CORES $FIRESTEEL_TASK_RESOURCE_GPU'
map --profile 1 sh -c 'echo $1 $FIRESTEEL_CORES' sh ::: a b
"#;
    let mut shell = firesteel();
    shell.args([
        "-q",
        "shell",
        "--master",
        rig.master.url(),
        "--executor-cores",
        "1",
        "--num-executors",
        "1",
    ]);
    let shell = shell.args(["--executor-memory", "64m", "--command", commands]).output();
    let found = lines(&shell.expect("firesteel runs"));
    assert_eq!(found[found.len() - 4..], ["0 1", "1 2 0", "a 2", "b 2"], "{found:?}");
}
