//! Applications that run to their end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use firesteel_testkit::run_with_input;
use firesteel_testkit::yarn::shared::{YARN, with};
use firesteel_testkit::yarn::{NODES, YarnCluster};
use libtest_mimic::Trial;
use serde_json::Value;
use tempfile::TempDir;

use super::commands::{Running, Whose, nothing_runs, submit, told, wait, yarn};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[
        ("program::client_and_cluster_mode_give_what_each_command_gives_by_itself", || {
            with(|yarn| checksums(yarn))
        }),
        ("program::a_host_is_met_where_it_has_room_then_its_rack_then_any", || with(|yarn| near(yarn))),
        ("program::a_task_finds_nothing_of_the_submitters_environment", || with(|yarn| environment(yarn))),
        ("program::what_a_failing_executor_wrote_last_is_shown", || with(|yarn| last_words(yarn))),
        ("program::the_final_status_says_what_became_of_the_work", || with(|yarn| outcomes(yarn))),
        ("program::executors_come_and_go_as_they_are_asked_for", || with(|yarn| targets(yarn))),
        ("program::more_executors_than_the_cluster_has_room_for_come_as_far_as_they_do", || {
            with(|yarn| too_many(yarn))
        }),
    ])
}

/// Computes checksums of files of this repository.
fn checksums(cluster: &YarnCluster) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logic/scripts");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("it is there")
        .map(|entry| entry.expect("it can be read").path().canonicalize().expect("it exists"))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    assert!(files.len() > 20);
    let alone = Command::new("sha256sum").args(&files).output().expect("it runs");
    let expected = String::from_utf8(alone.stdout).expect("it is text");
    let input: String = files.iter().map(|file| format!("{}\n", file.display())).collect();

    let mut client =
        submit(cluster, "map", &["--num-executors", "3", "--executor-cores", "2", "--", "sha256sum"]);
    let done = run_with_input(&mut client, input.clone().into_bytes());
    assert_eq!((done.code(), done.stdout.as_str()), (0, expected.as_str()), "{done}");

    let directory = TempDir::new().expect("there is room");
    let sums = directory.path().join("sums");
    let output = sums.to_str().expect("it is text");
    let options = ["--deploy-mode", "cluster", "--output", output, "--num-executors", "2", "--", "sha256sum"];
    let done = run_with_input(&mut submit(cluster, "map", &options), input.into_bytes());
    assert_eq!((done.code(), done.stdout.as_str()), (0, ""), "{done}");
    assert_eq!(fs::read_to_string(&sums).expect("it was written"), expected, "{done}");
    let staged = cluster.directory().join("home/.firesteelStaging");
    let left: Vec<_> = fs::read_dir(staged).expect("it was there").collect();
    assert!(left.is_empty(), "nobody needs what was staged any more: {left:?}");
    let listed = yarn(cluster, &["apps", "--state", "finished"]);
    assert!(listed.stdout.matches("application_").count() >= 2, "{listed}");
}

fn environment(cluster: &YarnCluster) {
    let directory = TempDir::new().expect("there is room");
    let file = directory.path().join("found");
    let output = file.to_str().expect("it is text");
    let show = "echo ${OURS-unset} $PASSED $SET";
    for mode in [&["--deploy-mode", "client"][..], &["--deploy-mode", "cluster"]] {
        let mut map = submit(cluster, "map", &["--num-executors", "1", "--output", output]);
        map.args(mode).args(["--env", "PASSED", "--conf", "spark.executorEnv.SET=set"]);
        map.args(["--", "sh", "-c", show, "sh", ":::", "a"]).env("OURS", "ours").env("PASSED", "passed");
        let done = run_with_input(&mut map, Vec::new());
        assert_eq!(done.code(), 0, "{done}");
        let found = fs::read_to_string(&file).expect("it was written");
        assert_eq!(found, "unset passed set\n", "{mode:?}: {done}");
    }
}

fn last_words(cluster: &YarnCluster) {
    let mut launch = submit(cluster, "launch", &["--num-executors", "1"]);
    launch.args(["--until", "all", "--", "sh", "-c", "echo out of fuel >&2; exit 3"]);
    let done = run_with_input(&mut launch, Vec::new());
    assert_eq!(done.code(), 3, "{done}");
    let all = done.to_string();
    assert!(all.contains("  | out of fuel") && all.contains("firesteel yarn logs application_"), "{done}");
}

fn outcomes(cluster: &YarnCluster) {
    let cases = [
        ("exit 0", "client", 0, "SUCCEEDED", "the driver is done"),
        ("exit 124", "client", 1, "FAILED", "the driver is done; failed: 2 of 2 items failed"),
        (
            "exit 124",
            "cluster",
            1,
            "FAILED",
            "the program ended with exit code 1; failed: 2 of 2 items failed",
        ),
    ];
    for (script, mode, code, status, words) in cases {
        let mut map = submit(cluster, "map", &["--num-executors", "1", "--deploy-mode", mode]);
        map.args(["--conf", "spark.yarn.maxAppAttempts=1", "--", "sh", "-c", script, ":::", "a", "b"]);
        let map = Running::start(map);
        let id = map.id.clone();
        let ended = map.end();
        assert_eq!(ended.0, code, "{ended:?}");
        let app = wait("YARN to know the end", || {
            let app = told(cluster, &format!("apps/{id}"))["app"].clone();
            (app["state"] == "FINISHED").then_some(app)
        });
        assert_eq!(app["finalStatus"], status, "{app}");
        assert!(app["diagnostics"].as_str().is_some_and(|said| said.contains(words)), "{app}");
    }
}

fn targets(cluster: &YarnCluster) {
    let script = "wait --executors 1 --for 60
request 3
wait --executors 3 --for 60
executors
request 1 --kill
wait --executors 1 --for 60
executors
request 2
wait --executors 2 --for 60
executors";
    let mut shell = submit(cluster, "shell", &["--num-executors", "1", "-c", script]);
    let done = run_with_input(&mut shell, Vec::new());
    assert_eq!(done.code(), 0, "{done}");
    // The cluster decides how many are assigned at once.
    for executors in [3, 2] {
        assert!(done.stdout.contains(&format!("{executors} executors are wanted in all")), "{done}");
    }
    let tables = done.stdout.split("EXECUTOR").skip(1);
    let ready: Vec<usize> = tables.map(|table| table.matches(" ready").count()).collect();
    assert_eq!(ready, [3, 1, 2], "{done}");
    assert_eq!(done.stdout.matches("have ended").count(), 1, "{done}");
}

/// Each node has room for at most eight of these.
fn too_many(cluster: &YarnCluster) {
    let options =
        ["--num-executors", "100", "--", "sh", "-c", "echo $1", "sh", ":::", "1", "2", "3", "4", "5", "6"];
    let (code, output, log) = Running::start(submit(cluster, "map", &options)).end();
    assert_eq!((code, output.as_str()), (0, "1\n2\n3\n4\n5\n6\n"), "{log}");
}

/// Each node has room for one executor. At first all nodes are full, so that the requests are visible; then one node
/// after the other gets room. With more choice, a scheduler may decide differently when nodes report late.
fn near(cluster: &YarnCluster) {
    let mut fillers = full(cluster);
    let [(first, rack), (beside, _), (last, _)] = NODES;
    // The first requests are never changed, so the ApplicationMaster waits until it knows all items.
    let options = ["--conf", "spark.yarn.scheduler.initial-allocation.interval=2s"];
    let script =
        ["--conf", "spark.locality.wait=0s", "--locality-column", "1", "--", "sh", "-c", "exec sleep 600"];
    let directory = TempDir::new().expect("there is room");
    let items = directory.path().join("items");
    fs::write(&items, [1, 2, 3].map(|item| format!("{first}\t{item}\n")).concat()).expect("there is room");
    let items = items.to_str().expect("it is text");
    let mut map = one_each(submit(cluster, "map", &["--num-executors", "3", "-i", items]));
    map.args(options).args(script);
    let running = Running::start(map);

    let wanted = [("*", 3), (rack, 3), (first, 3)].map(|(place, count)| (place.to_owned(), count));
    wait("three executors to be wanted on that host, in its rack and anywhere", || {
        (asked(cluster, &running.id) == BTreeMap::from(wanted.clone())).then_some(())
    });
    let mut met = Vec::new();
    for host in [first, beside, last] {
        let filler = fillers.remove(host).expect("each host has one");
        assert_eq!(yarn(cluster, &["kill", &filler.id]).code(), 0);
        filler.end();
        met.push(host);
        wait("an executor on each host that has room", || {
            let executors = running.processes(cluster, Whose::Containers);
            let hosts: Vec<&str> = executors.into_iter().map(|(host, _)| host).collect();
            (hosts == met).then_some(())
        });
    }
    assert_eq!(yarn(cluster, &["kill", &running.id]).code(), 0);
    running.end();
}

/// The command, with executors so large that each node has room for one. No node has an ApplicationMaster.
fn one_each(mut command: Command) -> Command {
    command.args(["--executor-memory", "1400m", "--conf", "spark.yarn.unmanagedAM.enabled=true"]);
    command
}

/// Fills each node with a separate application. Returns these by host.
fn full(cluster: &YarnCluster) -> BTreeMap<&'static str, Running> {
    nothing_runs(cluster);
    let mut fillers = BTreeMap::new();
    for _ in NODES {
        let mut launch = one_each(submit(cluster, "launch", &["--num-executors", "1"]));
        launch.args(["--until", "all", "--", "sleep", "600"]);
        let filler = Running::start(launch);
        let host = wait("an executor that fills its node", || {
            filler.processes(cluster, Whose::Containers).first().map(|(host, _)| *host)
        });
        assert!(fillers.insert(host, filler).is_none(), "{host} has room for one");
    }
    fillers
}

/// How many containers an application waits for, by place.
fn asked(cluster: &YarnCluster, application: &str) -> BTreeMap<String, u64> {
    let told = told(cluster, &format!("apps/{application}"));
    let requests = told["app"]["resourceRequests"].as_array().cloned().unwrap_or_default();
    let place = |request: &Value| {
        let count = request["numContainers"].as_u64().filter(|count| *count > 0)?;
        Some((request["resourceName"].as_str()?.to_owned(), count))
    };
    requests.iter().filter_map(place).collect()
}
