//! Unmanaged and managed ApplicationMasters.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_engine::driver::{Ending, TaskOutcome};
use firesteel_host::signals::EndRequests;
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::Outcome;
use firesteel_testkit::yarn::shared::{self, YARN};
use firesteel_testkit::yarn::{NODES, YarnCluster};
use firesteel_yarn::messages::application::YarnApplicationState;
use firesteel_yarn::messages::records::FinalApplicationStatus;
use firesteel_yarn_mode::application_master::{self, Attempt, FinalStatus};
use firesteel_yarn_mode::blueprint::Deploy;
use libtest_mimic::Trial;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::application::{Submitted, task};

pub(crate) fn trials() -> Vec<Trial> {
    YARN.trials(&[
        (
            "application_masters::an_unmanaged_application_master_has_a_drivers_tasks_run_in_containers",
            || on(unmanaged),
        ),
        (
            "application_masters::an_application_master_in_a_container_has_a_drivers_tasks_run_in_others",
            || on(managed),
        ),
    ])
}

/// Uses the cluster for at most four minutes.
fn on(test: impl AsyncFnOnce(&YarnCluster)) {
    // The log of the ApplicationMaster, for the report of a failure.
    let _ = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).try_init();
    shared::with(|cluster| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        let outcome = runtime.block_on(async { timeout(Duration::from_secs(240), test(cluster)).await });
        assert!(outcome.is_ok(), "it takes too long");
    });
}

async fn unmanaged(cluster: &YarnCluster) {
    let submitted = Submitted::new(cluster, Deploy::Unmanaged, 1).await;
    let report = submitted.reported(|report| report.am_rm_token.is_some()).await;
    let attempt = Attempt::unmanaged(
        report.current_application_attempt_id.expect("there is one"),
        report.am_rm_token.expect("it was there"),
        "127.0.0.1",
    );
    let master =
        tokio::spawn(application_master::run(submitted.blueprint.clone(), attempt, EndRequests::none()));
    run_tasks(&submitted, 1).await;
    let ended = master.await.expect("it does not panic").expect("it starts");
    assert_eq!((ended.status, ended.code), (FinalStatus::Succeeded, 0), "{}", ended.message);
    has_succeeded(&submitted).await;
    assert!(!submitted.is_staged(), "nobody needs it any more");
}

async fn managed(cluster: &YarnCluster) {
    let submitted = Submitted::new(cluster, Deploy::Client, 2).await;
    run_tasks(&submitted, 1).await;
    has_succeeded(&submitted).await;
}

/// Runs nine tasks on three executors, and ends the application.
async fn run_tasks(submitted: &Submitted, attempt: i32) {
    let address = submitted.master(attempt).await;
    let (driver, mut reports) = submitted.driver(vec![address]).await;
    // A task's environment: its host, a variable with all odd characters, and its own directory.
    let script = r#"printf '%s|%s|%s' "$NM_HOST" "$ODD" "$([ -x "$FIRESTEEL_EXECUTOR_DIR/firesteel" ] && echo there)"; sleep 1"#;
    for number in 1..=9 {
        let (id, request) = task(number, script);
        driver.submit(id, request).await.expect("it takes tasks");
    }
    driver.finish(Outcome::Succeeded).await.expect("it takes tasks");
    let outputs = all_succeed(&driver, &mut reports, 9).await;
    let hosts = NODES.map(|(host, _)| host);
    for output in outputs.values() {
        let (host, rest) = output.split_once('|').expect("it has three parts");
        assert!(hosts.contains(&host), "{output}");
        assert_eq!(rest, "a \"b\" $c `d` \\e {{PWD}} <LOG_DIR>|there");
    }
}

/// Runs this number of tasks, which must all succeed, and returns their output.
async fn all_succeed(
    driver: &Handle,
    reports: &mut mpsc::Receiver<Report>,
    tasks: usize,
) -> BTreeMap<TaskId, String> {
    let mut outputs = BTreeMap::<TaskId, String>::new();
    let mut succeeded = 0;
    while let Some(report) = reports.recv().await {
        match report {
            Report::Output { attempt, bytes, .. } => {
                let driver = driver.clone();
                outputs.entry(attempt.task).or_default().push_str(&String::from_utf8_lossy(&bytes));
                let length = bytes.len() as u64;
                let consumed = tokio::task::spawn_blocking(move || driver.consumed(attempt, length));
                let _ = consumed.await;
            }
            Report::TaskEnded { outcome: TaskOutcome::Succeeded { .. }, .. } => succeeded += 1,
            Report::TaskEnded { task, outcome } => panic!("task {task}: {outcome:?}"),
            Report::Done(ending) => {
                assert!(ending == Ending::Completed, "{ending:?}");
                break;
            }
            Report::DiscardOutput { attempt } => _ = outputs.remove(&attempt.task),
            Report::Note(_) | Report::Exited => {}
        }
    }
    assert_eq!((succeeded, outputs.len()), (tasks, tasks));
    outputs
}

async fn has_succeeded(submitted: &Submitted) {
    let over =
        submitted.reported(|report| report.yarn_application_state() == YarnApplicationState::Finished).await;
    assert_eq!(over.final_application_status(), FinalApplicationStatus::Succeeded, "{}", over.diagnostics());
}
