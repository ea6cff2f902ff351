//! What becomes of an application when daemons are killed with SIGKILL.

use firesteel_yarn::messages::application::FinalApplicationStatus;
use firesteel_yarn::messages::launch::ContainerLaunchContext;
use firesteel_yarn::messages::master::Container;
use firesteel_yarn::messages::records::Resource;
use firesteel_yarn::request_table::ContainerRequest;
use firesteel_yarn::{AmRmClient, NmClient, NodeTokens};
use libtest_mimic::Trial;

use crate::cluster::{NODES, YarnCluster};
use crate::shared::YARN;
use crate::unmanaged::{RETRY, alice, ended, granted, nodes_have_joined, on_cluster, submitted};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[("an_application_outlives_its_resource_manager_and_is_told_what_a_lost_node_took", || {
        on_cluster(async |cluster| outlives(cluster).await);
    })])
}

/// Two containers run; the ResourceManager is restarted, and grants a third; then a node is lost, and its container's end
/// is told.
async fn outlives(cluster: &mut YarnCluster) {
    let client = alice(cluster);
    nodes_have_joined(&client).await;
    let (application, token) = submitted(&client).await;
    let tokens = NodeTokens::default();
    let mut master = AmRmClient::new(vec![cluster.scheduler.clone()], token, tokens.clone(), RETRY);
    master.register("127.0.0.1", -1, "").await.expect("it registers");
    let nodes = NmClient::new(tokens, RETRY);
    let mut containers = Vec::new();
    for (number, (host, rack)) in NODES.into_iter().enumerate() {
        if number == 2 {
            cluster.lose_resource_manager();
            cluster.bring_back_resource_manager().expect("it starts");
        }
        let wanted = ContainerRequest::anywhere(0, Resource::new(256, 1)).near(&[host], |_| rack.to_owned());
        let request = master.table.add(wanted);
        let container = granted(&mut master).await;
        master.table.remove(request).expect("it was wanted");
        let sleep = ContainerLaunchContext { command: vec!["sleep 600".to_owned()], ..Default::default() };
        nodes.start(&container, sleep).await.expect("it is taken");
        containers.push(container);
    }
    // Nodes that report late may have two of them.
    let host_of =
        |container: &Container| container.node_id.clone().expect("it is somewhere").host().to_owned();
    let host = host_of(&containers[0]);
    // A ResourceManager to which a node has not come back does not know what is lost with it.
    nodes_have_joined(&client).await;
    cluster.lose_node(&host);
    let end = ended(&mut master).await;
    assert_eq!(end.exit_status(), -100, "{}", end.diagnostics());
    let lost = containers.iter().filter(|container| host_of(container) == host);
    assert!(lost.map(|container| container.id).any(|id| id == end.container_id), "{end:?}");
    cluster.bring_back_node(&host).expect("it starts");
    nodes_have_joined(&client).await;
    master.finish(FinalApplicationStatus::Succeeded, "done", "").await.expect("it is written down");
    assert_eq!(client.report(application).await.expect("it is known").user(), "alice");
}
