//! Requests of an application to YARN besides memory and cores, and whether YARN fulfils them.

use std::process::Command;
use std::{fs, io};

use firesteel_testkit::yarn::shared::{YARN, with};
use firesteel_testkit::yarn::{LABEL, NODES, RICH_NODE, YarnCluster};
use firesteel_testkit::{Finished, run};
use libtest_mimic::Trial;

use super::commands::{Running, Whose, on, submit, told, wait, yarn};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[
        ("program::containers_have_the_resources_that_were_asked_for_and_no_more", || {
            with(|yarn| amounts(yarn))
        }),
        ("program::executors_and_application_masters_are_on_nodes_with_their_label", || {
            with(|yarn| labels(yarn))
        }),
        ("program::who_is_in_an_applications_lists_may_end_it_and_nobody_else", || with(|yarn| lists(yarn))),
        ("program::too_many_executors_that_fail_end_the_application_with_code_11", || {
            with(|yarn| failures(yarn))
        }),
    ])
}

/// Sends the ResourceManager a command of the administrator.
fn tell(cluster: &YarnCluster, path: &str, body: &str) {
    let url = format!("http://{}/ws/v1/cluster/{path}&user.name=root", cluster.pages);
    ureq::post(&url).header("content-type", "application/json").send(body).expect("it is done");
}

/// How much of this resource is in use on its node.
fn given(cluster: &YarnCluster, resource: &str) -> u64 {
    let nodes = told(cluster, "nodes");
    let all = nodes["nodes"]["node"].as_array().expect("there are nodes");
    let node = all.iter().find(|node| node["nodeHostName"] == RICH_NODE.0).expect("it has joined");
    let amounts = &node["usedResource"]["resourceInformations"]["resourceInformation"];
    let amounts = amounts.as_array().expect("there are amounts");
    let amount = amounts.iter().find(|amount| amount["name"] == resource).expect("it has that");
    amount["value"].as_u64().expect("it is a number")
}

fn amounts(cluster: &YarnCluster) {
    let (rich, licences, gpus) = RICH_NODE;
    // Three are requested, and there are licences for two.
    let each = licences / 2;
    let licence = format!("spark.yarn.executor.resource.licence.amount={each}");
    let gpu = "spark.executor.resource.gpu.amount=1";
    let options = ["--num-executors", "3", "--conf", &licence, "--conf", gpu];
    let mut launch = submit(cluster, "launch", &options);
    launch.args(["--until", "all", "--", "sh", "-c", "echo $FIRESTEEL_HOST; exec sleep 600"]);
    let running = Running::start(launch);
    wait("two executors", || (given(cluster, "licence") == u64::from(licences)).then_some(()));
    assert_eq!(given(cluster, "yarn.io/gpu"), u64::from(gpus));
    let of_executors = wait("their processes", || {
        let found = running.processes(cluster, Whose::Executors);
        (!found.is_empty()).then_some(found)
    });
    assert_eq!(of_executors.iter().map(|(host, _)| *host).collect::<Vec<_>>(), [rich]);
    let application = told(cluster, &format!("apps/{}", running.id));
    let asked = application["app"]["resourceRequests"].to_string();
    assert!(asked.contains(&format!("\"value\":{each}")) && asked.contains("\"licence\""), "{asked}");

    let done = yarn(cluster, &["kill", &running.id, "--json"]);
    assert_eq!(done.code(), 0, "{done}");
    let value: serde_json::Value = serde_json::from_str(&done.stdout).expect("it is JSON");
    assert_eq!((&value["schema"], &value["killed"][0]["id"]), (&1.into(), &running.id.as_str().into()));
    running.end();
    wait("all to be given back", || (given(cluster, "licence") == 0).then_some(()));
}

fn labels(cluster: &YarnCluster) {
    let (labelled, _) = NODES[1];
    let all = format!("{{\"nodeLabelInfo\":[{{\"name\":\"{LABEL}\",\"exclusivity\":true}}]}}");
    tell(cluster, "add-node-labels?", &all);
    tell(cluster, &format!("nodes/{labelled}:0/replace-labels?labels={LABEL}"), "");
    let [executors, master] =
        ["executor", "am"].map(|who| format!("spark.yarn.{who}.nodeLabelExpression={LABEL}"));
    let hosts = |settings: &[&str]| {
        let mut map = submit(cluster, "map", &["--num-executors", "3"]);
        for setting in settings {
            map.args(["--conf", setting]);
        }
        let done = run(map
            .args(["--", "sh", "-c", "sleep 0.3; echo $FIRESTEEL_HOST", "sh", ":::"])
            .args(["1", "2", "3", "4", "5", "6"]));
        assert_eq!(done.code(), 0, "{done}");
        let mut hosts: Vec<String> = done.stdout.lines().map(str::to_owned).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    };
    assert_eq!(hosts(&[&executors]), [labelled]);
    assert!(!hosts(&[]).iter().any(|host| host == labelled), "nobody else is let in");

    let running = Running::start(submit(cluster, "map", &["--conf", &master, "--", "sleep", ":::", "600"]));
    let of_master = wait("its ApplicationMaster", || {
        running.processes(cluster, Whose::ApplicationMaster).first().map(|(host, _)| *host)
    });
    assert_eq!(of_master, labelled);
    yarn(cluster, &["kill", &running.id]);
    running.end();
    tell(cluster, &format!("nodes/{labelled}:0/replace-labels?labels="), "");
}

fn lists(cluster: &YarnCluster) {
    let mut sleeping = submit(cluster, "map", &["--conf", "spark.modify.acls=bob"]);
    sleeping.args(["--conf", "spark.ui.view.acls=carol", "--", "sleep", ":::", "600"]);
    let running = Running::start(sleeping);
    wait("its executors", || {
        let executors = running.processes(cluster, Whose::Executors);
        (!executors.is_empty()).then_some(())
    });
    let by = |user: &str, word: &str| -> Finished {
        let mut command: Command = on(cluster);
        run(command.env("HADOOP_USER_NAME", user).args(["yarn", word, &running.id]))
    };
    for user in ["carol", "dave"] {
        let refused = by(user, "kill");
        assert_ne!(refused.code(), 0, "{refused}");
        assert!(refused.stderr.contains(user) && refused.stderr.contains("MODIFY_APP"), "{refused}");
    }
    let [shown, hidden] = ["carol", "dave"].map(|user| by(user, "status"));
    assert!(shown.stdout.contains("127.0.0."), "where it runs is told: {shown}");
    assert!(!hidden.stdout.contains("127.0.0."), "where it runs is not told: {hidden}");
    let done = by("bob", "kill");
    assert_eq!(done.code(), 0, "{done}");
    let (code, _, log) = running.end();
    assert!(code != 0 && log.contains("bob"), "{log}");
}

fn failures(cluster: &YarnCluster) {
    let options = ["--num-executors", "1", "--conf", "spark.executor.maxNumFailures=2"];
    let mut launch = submit(cluster, "launch", &options);
    launch.args(["--conf", "spark.yarn.maxAppAttempts=1", "--until", "never", "--", "sh", "-c", "exit 3"]);
    let running = Running::start(launch);
    let id = running.id.clone();
    let (code, _, log) = running.end();
    assert!(code == 1 && log.contains("too many executors failed: 2"), "{code}: {log}");
    let status = yarn(cluster, &["status", &id]);
    assert!(status.stdout.contains("FAILED"), "{status}");
    assert!(status.stdout.contains("too many executors failed: 2"), "{status}");
    // What a NodeManager saw of the ApplicationMaster. The ids of containers name the ResourceManager's epoch, if it
    // was ever restarted.
    let last_words = format!("{}_01_000001 is : 11", id.trim_start_matches("application_"));
    let is_end =
        |line: &str| line.contains("Exit code from container container_") && line.ends_with(&last_words);
    wait("the ApplicationMaster's exit code", || {
        let written = |(host, _)| fs::read_to_string(cluster.directory().join(host).join("out"));
        let is_said = |text: io::Result<String>| text.is_ok_and(|text| text.lines().any(is_end));
        NODES.into_iter().map(written).any(is_said).then_some(())
    });
}
