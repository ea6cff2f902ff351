//! Custom resources with real processes: the addresses of a Worker, an executor and a task.

use std::collections::BTreeSet;
use std::process::Output;

use firesteel_testkit::{Daemon, firesteel, write_program};
use serde_json::json;
use tempfile::TempDir;

/// A Master and a Worker with two gpus.
struct Rig {
    _directory: TempDir,
    _worker: Daemon,
    master: Daemon,
}

impl Rig {
    fn new(flags: &[&str]) -> Self {
        Self::with_master(&[], flags)
    }

    fn with_master(master: &[&str], flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let master = Daemon::master(master);
        let flags = [&["--cores", "4", "--memory", "2g"], flags].concat();
        let worker = Daemon::worker(&master, &directory.path().join("work"), &flags);
        Self { _directory: directory, _worker: worker, master }
    }

    /// The output of a map of these items. Its executors have all four cores.
    fn map(&self, options: &[&str], script: &str, items: &[&str]) -> Output {
        self.run(&[&["--executor-cores", "4"], options].concat(), script, items)
    }

    fn run(&self, options: &[&str], script: &str, items: &[&str]) -> Output {
        let mut map = firesteel();
        map.args(["-q", "map", "--master", self.master.url(), "--executor-memory", "64m"]);
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
    // There are cores for four tasks and addresses for two: two tasks wait for the others.
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

/// As Spark's guides for GPUs set it. Executors see only the GPUs that they were given.
#[test]
fn a_discovery_script_says_which_gpus_there_are() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let script = directory.path().join("gpus.sh");
    let text = "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"2\", \"GPU-5d\", \"7\"]}'\n";
    write_program(&script, text);
    let named = format!("spark.worker.resource.gpu.discoveryScript={}", script.display());
    let rig = Rig::new(&["--conf", "spark.worker.resource.gpu.amount=2", "--conf", &named]);
    rig.master.wait_for_workers(1);
    assert_eq!(rig.master.status()["workers"][0]["resources"]["gpu"], json!(["2", "7", "GPU-5d"]));
    let script = "echo \"$FIRESTEEL_RESOURCE_GPU $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER\"";
    let found = lines(&rig.map(&["--executor-resource", "gpu=2"], script, &["a"]));
    assert_eq!(found, ["2,7 2,7 PCI_BUS_ID"]);
}

/// The setting that lets a Master give parts of addresses.
const SHARES: [&str; 2] = ["--conf", "firesteel.master.resourceShares=true"];

#[test]
fn four_executors_share_one_address_and_are_told_which_part_is_theirs() {
    let rig = Rig::with_master(&SHARES, &["--resource", "gpu:A100=7,"]);
    let (_place, env) = meeting("4");
    let env: Vec<&str> = env.iter().map(String::as_str).collect();
    let said = r#"
        echo "$FIRESTEEL_EXECUTOR_ID: $FIRESTEEL_RESOURCE_GPU $FIRESTEEL_RESOURCE_GPU_SHARE $FIRESTEEL_RESOURCE_GPU_KIND" \
             "cuda $CUDA_VISIBLE_DEVICES $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
        : > "$MEETING/$1"
        for i in $(seq 400); do [ "$(ls "$MEETING" | wc -l)" -ge "$COUNT" ] && exit 0; sleep 0.05; done
        exit 1
    "#;
    let share = ["--executor-cores", "1", "--num-executors", "4", "--executor-resource", "gpu=0.25"];
    let options = [&share[..], &env].concat();
    let found: BTreeSet<String> =
        lines(&rig.run(&options, said, &["a", "b", "c", "d"])).into_iter().collect();
    let expected = (0..4).map(|executor| format!("{executor}: 7 0.25 A100 cuda 7 25"));
    assert_eq!(found, expected.collect());
}

#[test]
fn tasks_share_the_part_that_their_executor_has() {
    let rig = Rig::with_master(&SHARES, &["--resource", "gpu=7,"]);
    let (_place, env) = meeting("2");
    let env: Vec<&str> = env.iter().map(String::as_str).collect();
    let options = [&["--executor-resource", "gpu=0.5", "--task-resource", "gpu=0.25"], &env[..]].concat();
    assert_eq!(lines(&rig.map(&options, MEET, &["a", "b"])), ["7 of 7"; 2]);
    let one = "mkdir \"$MEETING/x$FIRESTEEL_TASK_RESOURCE_GPU\" && sleep 0.1 && rmdir \"$MEETING/x$FIRESTEEL_TASK_RESOURCE_GPU\"";
    let script = format!("{one} || exit 1; echo done");
    let options = [&["--executor-resource", "gpu=0.5", "--task-resource", "gpu=0.3"], &env[..]].concat();
    assert_eq!(lines(&rig.map(&options, &script, &["c", "d", "e"])), ["done"; 3], "one at a time");
}

#[test]
fn a_part_of_an_address_is_refused_with_the_setting_that_allows_it() {
    let rig = Rig::new(&["--resource", "gpu=1"]);
    let output = rig.map(&["--executor-resource", "gpu=0.25"], "true", &["a"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    let sentence = "0.25 of gpu is asked for, and this Master gives only whole addresses: \
        firesteel.master.resourceShares=true on the Master allows parts of them";
    assert!(said.contains(sentence), "{said}");
}

#[test]
fn an_executor_that_names_a_kind_goes_where_it_is() {
    let rig = Rig::new(&["--resource", "gpu:A100=3,", "--resource", "gpu:T4=5,"]);
    for (asked, address) in [("gpu:T4=1", "5 T4"), ("gpu:A100=1", "3 A100"), ("gpu=1", "3 A100")] {
        let options = ["--executor-resource", asked, "--task-resource", "gpu=1"];
        let said = "echo $FIRESTEEL_TASK_RESOURCE_GPU $FIRESTEEL_RESOURCE_GPU_KIND";
        assert_eq!(lines(&rig.map(&options, said, &["a"])), [address], "{asked}");
    }
}
