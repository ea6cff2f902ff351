//! Applications and their executors as text: states, ends, amounts.

use std::time::Duration;

use firesteel_host::plain::clean;
use firesteel_placement::advanced::words::duration;
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::{
    ApplicationDetail, ApplicationState, ApplicationView, ExecutorState, ExecutorView, Outcome,
};

#[must_use]
pub fn state(state: ApplicationState) -> &'static str {
    match state {
        ApplicationState::Waiting => "WAITING",
        ApplicationState::Running => "RUNNING",
        ApplicationState::Finished => "FINISHED",
        ApplicationState::Failed => "FAILED",
        ApplicationState::Killed => "KILLED",
        ApplicationState::Unknown => "UNKNOWN",
    }
}

/// The state of a live application: `WAITING`, `RUNNING`, or `RUNNING (0 executors)` if all of its executors have
/// ended. After the driver's connection ended: `UNKNOWN (driver away for 4.0 s)`. After a restart of the Master:
/// `UNKNOWN (driver not back yet)`.
///
/// Source: Spark Master, 4.0.1, where an application is RUNNING from its first executor until its end.
#[must_use]
pub fn live_state(application: &ApplicationView, now: Timestamp) -> String {
    let word = state(application.state);
    match (application.state, application.executors_live) {
        (ApplicationState::Running, 0) => format!("{word} (0 executors)"),
        (ApplicationState::Unknown, _) if application.ended.is_none() => match application.away_since {
            Some(since) => format!("{word} (driver away for {})", duration(now.since(since))),
            None => format!("{word} (driver not back yet)"),
        },
        (
            ApplicationState::Waiting
            | ApplicationState::Running
            | ApplicationState::Finished
            | ApplicationState::Failed
            | ApplicationState::Killed
            | ApplicationState::Unknown,
            _,
        ) => word.to_owned(),
    }
}

/// The application's cores: `8 of 24`, or `8` if there is no maximum.
#[must_use]
pub fn cores(application: &ApplicationView) -> String {
    let granted = application.cores_granted.0;
    match application.max_cores {
        Some(most) if most < Cores::UNLIMITED => format!("{granted} of {}", most.0),
        Some(_) | None => granted.to_string(),
    }
}

/// The number of addresses, used and total: `gpu 1/2`, `gpu:A100 0.75/2`.
#[must_use]
pub fn resources(used: &Resources, all: &Resources) -> String {
    let each =
        all.iter().map(|(name, _)| format!("{name} {}/{}", used.quantity_of(name), all.quantity_of(name)));
    each.collect::<Vec<_>>().join(", ")
}

/// The addresses of each resource: `gpu 0,1`, `gpu 0@0.25`.
#[must_use]
pub fn addresses(resources: &Resources) -> String {
    let each =
        resources.words().map(|(name, words)| format!("{name} {}", words.collect::<Vec<_>>().join(",")));
    each.collect::<Vec<_>>().join("; ")
}

/// The state of an ended application, and the outcome that its driver reported: `KILLED`, `FINISHED (failed: 3 of 10
/// items failed)`.
#[must_use]
pub fn state_and_outcome(ended: ApplicationState, outcome: Option<&Outcome>) -> String {
    let outcome = outcome.map(|outcome| format!(" ({})", clean(&outcome.to_string())));
    format!("{}{}", state(ended), outcome.unwrap_or_default())
}

/// The first line: `app-1 (sums) is RUNNING, submitted 3 m 12 s ago`, `app-1 (sums) ended 3 m 2 s ago after 12 s,
/// KILLED: ..`, or `app-1 (sums) ended 3 m 2 s ago after 12 s, FINISHED (failed: 3 of 10 items failed)`.
#[must_use]
pub fn heading(detail: &ApplicationDetail) -> String {
    let app = &detail.application;
    let name = format!("{} ({})", app.id, clean(&app.name));
    match app.ended {
        None => {
            let age = duration(detail.now.since(app.submitted));
            format!("{name} is {}, submitted {age} ago", live_state(app, detail.now))
        }
        Some(ended) => {
            let took = duration(ended.since(app.submitted));
            let ago = duration(detail.now.since(ended));
            let why = app.end.as_ref().map(|end| format!(": {}", clean(end))).unwrap_or_default();
            let state = state_and_outcome(app.state, app.outcome.as_ref());
            format!("{name} ended {ago} ago after {took}, {state}{why}")
        }
    }
}

/// The executor's lifetime: from its launch to its end, or until now.
#[must_use]
pub fn lifetime(executor: &ExecutorView, now: Timestamp) -> Duration {
    executor.ended.unwrap_or(now).since(executor.launched)
}

/// The executor's state. An executor that ran until its application finished is `FINISHED`, like the application. The
/// executor's process was only asked to end, which is no failure.
///
/// Source: Spark Master, 4.0.1, which shows `KILLED` there, too.
#[must_use]
pub fn shown_state(app: &ApplicationView, executor: &ExecutorView) -> &'static str {
    if finished(app, executor) { state(app.state) } else { executor.state.name() }
}

/// The executor's state and end: `EXITED (exit code 1)`, `FINISHED`.
#[must_use]
pub fn shown_state_and_end(app: &ApplicationView, executor: &ExecutorView) -> String {
    if finished(app, executor) { state(app.state).to_owned() } else { executor.state.to_string() }
}

fn finished(app: &ApplicationView, executor: &ExecutorView) -> bool {
    let outlived = |over| executor.ended.is_some_and(|ended| ended >= over);
    matches!(executor.state, ExecutorState::Killed(_))
        && app.state == ApplicationState::Finished
        && app.ended.is_some_and(outlived)
}

/// How the executor ended: `exit code 1`, `signal 9 (SIGKILL)`, or why the executor was lost or could not be started.
#[must_use]
pub fn end(app: &ApplicationView, executor: &ExecutorView) -> String {
    match &executor.state {
        ExecutorState::Killed(status) if finished(app, executor) => {
            let how = status.map(|status| format!(": {status}")).unwrap_or_default();
            format!("with its application{how}")
        }
        ExecutorState::Launching | ExecutorState::Running | ExecutorState::Killed(None) => String::new(),
        ExecutorState::Killed(Some(status)) | ExecutorState::Exited(status) => status.to_string(),
        ExecutorState::Failed(failure) => failure.to_string(),
        ExecutorState::Lost(reason) => reason.to_string(),
    }
}
