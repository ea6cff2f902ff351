//! A real ResourceManager and real NodeManagers of Hadoop 3.5.0, from Maven.

use std::time::Duration;

use firesteel_testkit::yarn::shared::{self, YARN};
use firesteel_testkit::yarn::{NODES, YarnCluster};
use firesteel_yarn::heartbeats::Changes;
use firesteel_yarn::ipc::{Kind, Retry};
use firesteel_yarn::messages::application::{
    ApplicationReport, ApplicationSubmissionContext, YarnApplicationState,
};
use firesteel_yarn::messages::cluster::NodeState;
use firesteel_yarn::messages::launch::ContainerLaunchContext;
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn::messages::records::FinalApplicationStatus;
use firesteel_yarn::messages::security::Token;
use firesteel_yarn::{NmClient, YarnClient};
use libtest_mimic::Trial;
use tokio::time::timeout;

use super::master::Master;
use crate::wait::wait_async;

/// The limit for one test.
const LONGEST_TEST: Duration = Duration::from_secs(180);

pub(crate) const RETRY: Retry = Retry {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(2),
    within: Duration::from_secs(60),
};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[(
        "cluster::an_unmanaged_application_master_runs_a_container_on_the_host_it_named",
        unmanaged_application_master,
    )])
}

fn unmanaged_application_master() {
    on_cluster(async |cluster| run_on(cluster).await);
}

/// Uses the cluster for at most three minutes.
pub(crate) fn on_cluster(what: impl AsyncFnOnce(&mut YarnCluster)) {
    shared::with(|cluster| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let outcome = runtime.block_on(async { timeout(LONGEST_TEST, what(cluster)).await });
        assert!(outcome.is_ok(), "it takes too long");
    });
}

pub(crate) fn alice(cluster: &YarnCluster) -> YarnClient {
    YarnClient::new(vec![cluster.resource_manager.clone()], "alice", RETRY)
}

async fn run_on(cluster: &YarnCluster) {
    let client = alice(cluster);
    is_seen(&client).await;
    let (application, token) = submitted(&client).await;

    let mut master = Master::new(cluster, token);
    let early = master.client.allocate(Changes::default(), 0.1).await;
    let early = early.expect_err("nobody is registered");
    assert_eq!(early.kind(), Some(Kind::NotRegistered), "{early}");
    let registered = master.register().await.expect("it registers");
    assert!(registered.queue().ends_with("default"), "{}", registered.queue());
    let twice = master.register().await.expect_err("it is registered");
    assert_eq!(twice.kind(), Some(Kind::InvalidApplicationMasterRequest), "{twice}");
    assert_eq!(client.report(application).await.expect("it is known").user(), "alice");

    let (host, rack) = NODES[2];
    let granted = master.granted(host, rack).await;
    assert_eq!(granted.container.node_id.as_ref().expect("it is somewhere").host(), host);

    let nodes = NmClient::new(RETRY);
    let launch = ContainerLaunchContext {
        command: vec!["echo hello 1><LOG_DIR>/stdout; exit 7".to_owned()],
        ..ContainerLaunchContext::default()
    };
    nodes.start(granted.clone(), launch.clone()).await.expect("it is taken");
    nodes.start(granted.clone(), launch).await.expect("that it is there already is no error");
    let ended = master.ended().await;
    assert_eq!(ended.container_id, granted.container.id);
    assert_eq!(ended.exit_status(), 7, "{}", ended.diagnostics());

    master.client.finish(FinalApplicationStatus::Succeeded, "done", "").await.expect("it is written down");
    let report = reported(&client, application, |report| {
        report.yarn_application_state() == YarnApplicationState::Finished
    });
    let report = report.await;
    assert_eq!(report.final_application_status(), FinalApplicationStatus::Succeeded, "{report:?}");
    let unknown = client.report(ApplicationId::new(1, 1)).await.expect_err("there is no such application");
    assert_eq!(unknown.kind(), Some(Kind::ApplicationNotFound), "{unknown}");
}

/// Checks a user's view of the cluster: its nodes with their racks.
async fn is_seen(client: &YarnClient) {
    let nodes = client.nodes(&[NodeState::Running]).await.expect("it answers");
    let mut places: Vec<(&str, &str)> = nodes
        .iter()
        .map(|node| (node.node_id.as_ref().expect("it has an id").host(), node.rack_name()))
        .collect();
    places.sort_unstable();
    assert_eq!(places, NODES);
}

/// Submits an application with an unmanaged ApplicationMaster. Returns its id and that ApplicationMaster's token.
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
    let look = async || Some(client.report(application).await.expect("it is known")).filter(&is_so);
    wait_async("the report of an application", LONGEST_TEST, look).await
}
