//! A real ResourceManager and real NodeManagers, of Hadoop 3.5.0, as Maven brings them.

use std::time::{Duration, Instant};

use firesteel_yarn::ipc::{Kind, Retry};
use firesteel_yarn::messages::application::{
    ApplicationReport, ApplicationSubmissionContext, FinalApplicationStatus, YarnApplicationState,
};
use firesteel_yarn::messages::cluster::NodeState;
use firesteel_yarn::messages::launch::ContainerLaunchContext;
use firesteel_yarn::messages::master::{AllocateResponse, Container, ContainerStatus};
use firesteel_yarn::messages::records::{ApplicationId, Resource};
use firesteel_yarn::messages::security::Token;
use firesteel_yarn::request_table::ContainerRequest;
use firesteel_yarn::{AmRmClient, NmClient, NodeTokens, YarnClient};
use libtest_mimic::Trial;
use tokio::time::{sleep, timeout};

use crate::cluster::{NODES, YarnCluster};
use crate::shared::{self, YARN};

pub(crate) const RETRY: Retry = Retry {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(2),
    within: Duration::from_secs(60),
};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[(
        "an_unmanaged_application_master_runs_a_container_on_the_host_it_named",
        unmanaged_application_master,
    )])
}

fn unmanaged_application_master() {
    on_cluster(async |cluster| run_on(cluster).await);
}

/// Does something with the cluster, in three minutes at most.
pub(crate) fn on_cluster(what: impl AsyncFnOnce(&mut YarnCluster)) {
    shared::with(|cluster| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let outcome = runtime.block_on(async { timeout(Duration::from_secs(180), what(cluster)).await });
        assert!(outcome.is_ok(), "it takes too long");
    });
}

/// A user of the cluster.
pub(crate) fn alice(cluster: &YarnCluster) -> YarnClient {
    YarnClient::new(vec![cluster.resource_manager.clone()], "alice", RETRY)
}

async fn run_on(cluster: &YarnCluster) {
    let client = alice(cluster);
    nodes_have_joined(&client).await;
    let (application, token) = submitted(&client).await;

    let tokens = NodeTokens::default();
    let mut master = AmRmClient::new(vec![cluster.scheduler.clone()], token, tokens.clone(), RETRY);
    let early = master.allocate(0.1).await;
    let early = early.expect_err("nobody is registered");
    assert_eq!(early.kind(), Some(Kind::NotRegistered), "{early}");
    let registered = master.register("127.0.0.1", -1, "").await.expect("it registers");
    assert!(registered.queue().ends_with("default"), "{}", registered.queue());
    let twice = master.register("127.0.0.1", -1, "").await.expect_err("it is registered");
    assert_eq!(twice.kind(), Some(Kind::InvalidApplicationMasterRequest), "{twice}");
    assert_eq!(client.report(application).await.expect("it is known").user(), "alice");

    let (host, rack) = NODES[2];
    let wanted = ContainerRequest::anywhere(0, Resource::new(256, 1)).near(&[host], |_| rack.to_owned());
    let request = master.table.add(wanted);
    let granted = granted(&mut master).await;
    assert_eq!(granted.node_id.as_ref().expect("it is somewhere").host(), host);
    master.table.remove(request).expect("it was wanted");

    let nodes = NmClient::new(tokens, RETRY);
    let launch = ContainerLaunchContext {
        command: vec!["echo hello 1><LOG_DIR>/stdout; exit 7".to_owned()],
        ..ContainerLaunchContext::default()
    };
    nodes.start(&granted, launch.clone()).await.expect("it is taken");
    nodes.start(&granted, launch).await.expect("that it is there already is no error");
    let ended = ended(&mut master).await;
    assert_eq!(ended.container_id, granted.id);
    assert_eq!(ended.exit_status(), 7, "{}", ended.diagnostics());

    master.finish(FinalApplicationStatus::Succeeded, "done", "").await.expect("it is written down");
    let report = reported(&client, application, |report| {
        report.yarn_application_state() == YarnApplicationState::Finished
    });
    let report = report.await;
    assert_eq!(report.final_application_status(), FinalApplicationStatus::Succeeded, "{report:?}");
    let unknown = client.report(ApplicationId::new(1, 1)).await.expect_err("there is no such application");
    assert_eq!(unknown.kind(), Some(Kind::ApplicationNotFound), "{unknown}");
}

pub(crate) async fn nodes_have_joined(client: &YarnClient) {
    loop {
        let metrics = client.cluster_metrics().await.expect("the ResourceManager answers");
        if metrics.num_active_nms() == 3 {
            break;
        }
        sleep(Duration::from_millis(200)).await;
    }
    let nodes = client.nodes(&[NodeState::Running]).await.expect("it answers");
    let mut places: Vec<(&str, &str)> = nodes
        .iter()
        .map(|node| (node.node_id.as_ref().expect("it has an id").host(), node.rack_name()))
        .collect();
    places.sort_unstable();
    assert_eq!(places, NODES);
    let queue = client.queue("default").await.expect("there is one");
    assert!(queue.queue_name().ends_with("default"), "{}", queue.queue_name());
}

/// An application without an ApplicationMaster of YARN's own, and the token of whoever is it.
pub(crate) async fn submitted(client: &YarnClient) -> (ApplicationId, Token) {
    let new = client.new_application().await.expect("there is an id");
    let application = new.application_id.expect("it is there");
    let context = ApplicationSubmissionContext {
        application_id: Some(application),
        application_name: Some("unmanaged".to_owned()),
        queue: Some("default".to_owned()),
        am_container_spec: Some(ContainerLaunchContext::default()),
        unmanaged_am: Some(true),
        max_app_attempts: Some(1),
        application_type: Some("FIRESTEEL".to_owned()),
        ..ApplicationSubmissionContext::default()
    };
    client.submit(context.clone()).await.expect("it is taken");
    client.submit(context).await.expect("that it is known already is no error");
    let report = reported(client, application, |report| report.am_rm_token.is_some()).await;
    (application, report.am_rm_token.expect("it was there"))
}

pub(crate) async fn reported(
    client: &YarnClient,
    application: ApplicationId,
    is_so: impl Fn(&ApplicationReport) -> bool,
) -> ApplicationReport {
    loop {
        let report = client.report(application).await.expect("it is known");
        if is_so(&report) {
            return report;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) async fn granted(master: &mut AmRmClient) -> Container {
    heard(master, |response| response.allocated_containers.first().cloned()).await
}

pub(crate) async fn ended(master: &mut AmRmClient) -> ContainerStatus {
    heard(master, |response| response.completed_container_statuses.first().cloned()).await
}

/// Heartbeats until there is something in the answer.
pub(crate) async fn heard<T>(master: &mut AmRmClient, what: impl Fn(&AllocateResponse) -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        let response = master.allocate(0.1).await.expect("the ResourceManager answers");
        if let Some(found) = response.as_ref().and_then(&what) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing comes: {response:?}");
        sleep(Duration::from_millis(100)).await;
    }
}
