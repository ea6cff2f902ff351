//! Applications that are refused or given up.

use firesteel_testkit::run;
use firesteel_testkit::yarn::YarnCluster;
use firesteel_testkit::yarn::shared::{YARN, with};
use libtest_mimic::Trial;

use super::commands::{Running, submit, yarn};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[
        ("program::what_never_fits_and_a_queue_that_is_none_are_refused_with_the_reason", || {
            with(|yarn| refused(yarn))
        }),
        ("program::an_application_that_is_killed_from_outside_ends_with_the_reason", || {
            with(|yarn| killed(yarn))
        }),
        ("program::a_task_that_fails_in_cluster_mode_fails_the_application", || with(|yarn| failed(yarn))),
    ])
}

fn refused(cluster: &YarnCluster) {
    let done = run(&mut submit(cluster, "map", &["--queue", "nowhere", "--", "true", ":::", "a"]));
    assert_ne!(done.code(), 0, "{done}");
    assert!(done.stderr.contains("nowhere") && done.stderr.contains("queue"), "{done}");
    let done = run(&mut submit(cluster, "map", &["--executor-memory", "64g", "--", "true", ":::", "a"]));
    assert_ne!(done.code(), 0, "{done}");
    assert!(done.stderr.contains("65600 MiB in its container") && done.stderr.contains("2048"), "{done}");
}

fn killed(cluster: &YarnCluster) {
    let sleeping = Running::start(submit(cluster, "map", &["--", "sleep", ":::", "600"]));
    let done = yarn(cluster, &["kill", &sleeping.id]);
    assert_eq!(done.code(), 0, "{done}");
    let (code, _, log) = sleeping.end();
    assert_ne!(code, 0, "{log}");
    assert!(log.to_lowercase().contains("killed"), "{log}");
}

fn failed(cluster: &YarnCluster) {
    let options = [
        "--deploy-mode",
        "cluster",
        "--conf",
        "spark.yarn.maxAppAttempts=1",
        "--",
        "sh",
        "-c",
        "exit 3",
        "sh",
        ":::",
        "a",
    ];
    let done = run(&mut submit(cluster, "map", &options));
    assert_eq!(done.code(), 1, "{done}");
    let listed = yarn(cluster, &["apps", "--state", "all", "--json"]);
    assert!(listed.stdout.contains("FAILED"), "{listed}");
}
