//! Daemons or containers are killed with SIGKILL while an application runs, and every item is still done.

use firesteel_testkit::yarn::YarnCluster;
use firesteel_testkit::yarn::shared::{YARN, with};
use libtest_mimic::Trial;
use serde_json::Value;

use super::commands::{Running, Whose, submit, wait, yarn};

/// The number of items, of a second each.
const ITEMS: usize = 24;

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[
        ("program::a_container_that_is_killed_is_replaced_and_logs_can_be_read_meanwhile", || {
            with(|yarn| container(yarn))
        }),
        ("program::executors_of_a_node_that_is_lost_are_replaced_elsewhere", || with(node)),
        ("program::an_application_outlives_its_resource_manager", || with(resource_manager)),
        ("program::the_second_attempt_of_an_application_master_goes_on_with_the_same_driver", || {
            with(|yarn| master(yarn))
        }),
    ])
}

/// A run in which items have begun.
fn begun(cluster: &YarnCluster) -> Running {
    let items: Vec<String> = (1..=ITEMS).map(|item| item.to_string()).collect();
    let script = ["--num-executors", "3", "--", "sh", "-c", "sleep 1; echo $1", "sh", ":::"];
    let options: Vec<&str> = script.into_iter().chain(items.iter().map(String::as_str)).collect();
    let mut running = Running::start(submit(cluster, "map", &options));
    running.wait_for_lines(2);
    running
}

/// Checks that every item is done exactly once.
#[track_caller]
fn is_whole(running: Running) {
    let (code, output, log) = running.end();
    let expected: String = (1..=ITEMS).map(|item| format!("{item}\n")).collect();
    assert_eq!((code, output.as_str()), (0, expected.as_str()), "{log}");
}

fn container(cluster: &YarnCluster) {
    let running = begun(cluster);
    let logs = yarn(cluster, &["logs", &running.id, "--stderr"]);
    assert_eq!(logs.code(), 0, "{logs}");
    assert!(logs.stdout.contains("container_"), "{logs}");
    let logs = yarn(cluster, &["logs", &running.id, "--stderr", "--json"]);
    assert_eq!(logs.code(), 0, "{logs}");
    let lines: Vec<Value> =
        logs.stdout.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert!(!lines.is_empty(), "{logs}");
    for line in lines {
        assert_eq!((&line["schema"], &line["stream"]), (&1.into(), &"stderr".into()), "{line}");
        assert!(line["container"].as_str().is_some_and(|id| id.starts_with("container_")), "{line}");
    }
    let of_executors = running.processes(cluster, Whose::Executors);
    let (_, processes) = of_executors.first().expect("there are executors");
    cluster.kill(processes);
    is_whole(running);
}

/// Kills a node without the ApplicationMaster.
fn node(cluster: &mut YarnCluster) {
    let running = begun(cluster);
    let of_master = running.processes(cluster, Whose::ApplicationMaster);
    let (masters, _) = of_master.first().expect("there is an ApplicationMaster");
    let of_executors = wait("executors on another node", || {
        let others = running.processes(cluster, Whose::Executors);
        others.into_iter().map(|(host, _)| host).find(|host| host != masters)
    });
    cluster.lose_node(of_executors);
    is_whole(running);
    cluster.bring_back_node(of_executors).expect("it comes back");
}

fn resource_manager(cluster: &mut YarnCluster) {
    let running = begun(cluster);
    cluster.lose_resource_manager();
    cluster.bring_back_resource_manager().expect("it starts");
    is_whole(running);
}

fn master(cluster: &YarnCluster) {
    let running = begun(cluster);
    for (_, processes) in running.processes(cluster, Whose::ApplicationMaster) {
        cluster.kill(&processes);
    }
    running.command.wait_for_line(&["a new ApplicationMaster runs at"]);
    is_whole(running);
}
