//! Applications while daemons are killed with SIGKILL.

use firesteel_testkit::yarn::shared::YARN;
use firesteel_testkit::yarn::{NODES, YarnCluster};
use firesteel_yarn::NmClient;
use firesteel_yarn::messages::launch::ContainerLaunchContext;
use firesteel_yarn::messages::records::FinalApplicationStatus;
use libtest_mimic::Trial;

use super::master::Master;
use super::unmanaged::{RETRY, alice, on_cluster, submitted};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[(
        "cluster::an_application_outlives_its_resource_manager_and_is_told_what_a_lost_node_took",
        || {
            on_cluster(async |cluster| outlives(cluster).await);
        },
    )])
}

/// Two containers run. The ResourceManager is restarted and grants a third. Then a node is lost, and the end of its
/// container is reported.
async fn outlives(cluster: &mut YarnCluster) {
    let client = alice(cluster);
    let (application, token) = submitted(&client).await;
    let mut master = Master::new(cluster, token);
    master.register().await.expect("it registers");
    let nodes = NmClient::new(RETRY);
    let mut containers = Vec::new();
    for (number, (host, rack)) in NODES.into_iter().enumerate() {
        if number == 2 {
            cluster.lose_resource_manager();
            cluster.bring_back_resource_manager().expect("it starts");
        }
        let granted = master.granted(host, rack).await;
        containers.push(granted.container.id);
        let sleep = ContainerLaunchContext { command: vec!["sleep 600".to_owned()], ..Default::default() };
        nodes.start(granted, sleep).await.expect("it is taken");
    }
    // A ResourceManager does not know what is lost with a node that has not returned to it.
    cluster.wait_until_up().expect("the nodes come back");
    let (host, _) = NODES[0];
    cluster.lose_node(host);
    let end = master.ended().await;
    assert_eq!(end.exit_status(), -100, "{}", end.diagnostics());
    assert_eq!(end.container_id, containers[0], "{end:?}");
    master.client.finish(FinalApplicationStatus::Succeeded, "done", "").await.expect("it is written down");
    assert_eq!(client.report(application).await.expect("it is known").user(), "alice");
    cluster.bring_back_node(host).expect("it comes back");
}
