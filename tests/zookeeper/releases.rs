//! Masters of two releases that share a cluster and take over from each other.

use firesteel_testkit::component::Component;
use firesteel_testkit::firesteel;
use firesteel_testkit::previous_release;
use firesteel_testkit::zookeeper::{self, Ensemble};
use libtest_mimic::Trial;

use crate::shared::{Plan, SharedCluster, assert_undisturbed};

const PREVIOUS: Component = Component { name: "previous", look, prepare: zookeeper::prepare };

pub(crate) fn trials() -> Vec<Trial> {
    PREVIOUS
        .trials(&[("previous::a_standby_of_another_release_takes_over_and_the_cluster_goes_back", take_over)])
}

fn look() -> Result<(), String> {
    previous_release::look()?;
    zookeeper::look()
}

fn take_over() {
    let plan = Plan { programs: [firesteel, previous_release::command], ..Plan::HERE };
    let mut cluster = SharedCluster::start_as(plan, Ensemble::start(1));
    let launch = cluster.servers();
    let before = cluster.executors();
    cluster.kill_master(0);
    cluster.masters[1].wait_for_line(&["leads in epoch 2"]);
    cluster.masters[1].wait_for_line(&["recovered 1 Worker, 1 application and 2 executors"]);
    cluster.masters[1].wait_for_line(&["all Workers and applications are back"]);
    cluster.assert_places();
    cluster.restart_master(0);
    cluster.masters[0].wait_for_line(&["standing by"]);
    cluster.kill_master(1);
    cluster.masters[0].wait_for_line(&["leads in epoch 3"]);
    cluster.masters[0].wait_for_line(&["all Workers and applications are back"]);
    assert_eq!(cluster.executors(), before);
    assert_undisturbed(&launch);
    cluster.assert_places();
    let status = cluster.masters[0].status();
    assert_eq!(status["completed"][0]["state"], "FINISHED", "a map of each release: {status}");
}
