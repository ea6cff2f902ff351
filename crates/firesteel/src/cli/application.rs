//! One application as text or JSON: the output of `firesteel status APP`.

use firesteel_host::plain;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use firesteel_core::Timestamp;
use firesteel_core::messages::{
    ApplicationDetail, ApplicationState, ApplicationView, ExecutorState, ExecutorView, ImpairedWorker,
    Outcome, ProfileView,
};
use firesteel_placement::words::counted;
use firesteel_placement::{ExecutorLimit, ExecutorSize};

use super::document;
use super::excluded;
use super::status::{addresses, cores, live_state, state};
use super::table::{clean, duration, table};

/// Writes the application to standard output.
pub(super) fn print(detail: &ApplicationDetail, json: bool) -> io::Result<()> {
    if json {
        let mut stdout = plain::json();
        serde_json::to_writer_pretty(&mut stdout, &document::Detail::of(detail))?;
        return writeln!(stdout);
    }
    let mut stdout = plain::stdout();
    writeln!(stdout, "{}", text(detail))?;
    stdout.flush()
}

fn text(detail: &ApplicationDetail) -> String {
    let app = &detail.application;
    let mut text = format!("{}\n", heading(detail));
    let _ = writeln!(text, "  user       {}", clean(&app.user));
    let _ = writeln!(text, "  submitted  {}", app.submitted);
    if let Some(ended) = app.ended {
        let _ = writeln!(text, "  ended      {ended}");
    } else {
        let _ = writeln!(text, "  cores      {}", cores(app));
    }
    if let Some(placing) = placing(app) {
        let _ = writeln!(text, "  order      {placing}");
    }
    if let Some(hindrance) = detail.scheduling.as_ref().and_then(|scheduling| scheduling.hindrance.as_ref()) {
        let _ = writeln!(text, "  waits      {}", clean(&hindrance.to_string()));
    }
    for worker in detail.scheduling.iter().flat_map(|scheduling| &scheduling.excluded) {
        let _ = writeln!(text, "  excluded   {}", excluded::for_how_long(worker, detail.now));
    }
    for ImpairedWorker { worker, impairment } in
        detail.scheduling.iter().flat_map(|scheduling| &scheduling.impaired)
    {
        let _ = writeln!(text, "  excluded   {worker}: it {}", clean(&impairment.to_string()));
    }
    let _ = writeln!(text, "  master     {}", clean(&detail.master));
    if let Some(scheduling) = &detail.scheduling {
        let _ = write!(text, "\nProfiles\n{}\n", profiles(&scheduling.profiles));
    }
    let _ = write!(text, "\nExecutors\n{}", executors(detail));
    if app.executors_forgotten > 0 {
        let _ = write!(text, "\n  and {} earlier ones, no longer listed", app.executors_forgotten);
    }
    text
}

/// `queue prod, priority 5, gang of 4 executors`; `None` if the application set none of these.
fn placing(app: &ApplicationView) -> Option<String> {
    let queue = app.queue.as_ref().map(|queue| format!("queue {}", clean(queue)));
    let priority = (app.priority != 0).then(|| format!("priority {}", app.priority));
    let gang = (app.gang > 1).then(|| format!("gang of {}", counted(app.gang, "executor")));
    let words: Vec<String> = [queue, priority, gang].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The state of an ended application, and what became of its work: `KILLED`, `FINISHED (failed: 3 of 10 items failed)`.
pub(super) fn state_and_outcome(ended: ApplicationState, outcome: Option<&Outcome>) -> String {
    let outcome = outcome.map(|outcome| format!(" ({})", clean(&outcome.to_string())));
    format!("{}{}", state(ended), outcome.unwrap_or_default())
}

/// The first line: `app-1 (sums) is RUNNING, submitted 3 m 12 s ago`, `app-1 (sums) ended 3 m 2 s ago after 12 s, KILLED: ..`,
/// or `app-1 (sums) ended 3 m 2 s ago after 12 s, FINISHED (failed: 3 of 10 items failed)`.
pub(super) fn heading(detail: &ApplicationDetail) -> String {
    let app = &detail.application;
    let name = format!("{} ({})", app.id, clean(&app.name));
    match app.ended {
        None => {
            let age = duration(detail.now.since(app.submitted));
            format!("{name} is {}, submitted {age} ago", live_state(app))
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

fn profiles(profiles: &[ProfileView]) -> String {
    let rows = profiles.iter().map(|profile| {
        let most = match profile.limit {
            ExecutorLimit::Unlimited => "any number".to_owned(),
            ExecutorLimit::AtMost(limit) => limit.to_string(),
        };
        let resources = profile.resources.iter().map(|(name, amount)| format!("{name} {amount}"));
        vec![
            profile.id.to_string(),
            size(profile.size),
            profile.memory.to_string(),
            resources.collect::<Vec<_>>().join(", "),
            profile.held.to_string(),
            most,
        ]
    });
    let header =
        ["PROFILE", "CORES PER EXECUTOR", "MEMORY PER EXECUTOR", "RESOURCES", "EXECUTORS", "WANTED AT MOST"];
    table(&header, rows.collect())
}

/// The cores of an executor: `4`, or `all of a worker`.
fn size(size: ExecutorSize) -> String {
    match size {
        ExecutorSize::Fixed(cores) => cores.0.to_string(),
        ExecutorSize::OnePerWorker => "all of a worker".to_owned(),
    }
}

fn executors(detail: &ApplicationDetail) -> String {
    let rows = detail.application.executors.iter().map(|executor| {
        vec![
            executor.id.to_string(),
            shown_state(&detail.application, executor).to_owned(),
            end(&detail.application, executor),
            executor.cores.0.to_string(),
            executor.memory.to_string(),
            addresses(&executor.resources),
            duration(lifetime(executor, detail.now)),
            executor.host.clone(),
            executor.directory.clone(),
        ]
    });
    let header =
        ["EXECUTOR", "STATE", "END", "CORES", "MEMORY", "RESOURCES", "DURATION", "HOST", "DIRECTORY"];
    table(&header, rows.collect())
}

/// The executor's lifetime: from its launch to its end, or until now.
fn lifetime(executor: &ExecutorView, now: Timestamp) -> std::time::Duration {
    executor.ended.unwrap_or(now).since(executor.launched)
}

/// The executor's state. An executor that ran until its application finished is `FINISHED`, like
/// the application. Its process was only told to end, which is no failure.
///
/// Source: Spark Master, 4.0.1, which shows `KILLED` there, too.
pub(super) fn shown_state(app: &ApplicationView, executor: &ExecutorView) -> &'static str {
    if finished(app, executor) { state(app.state) } else { executor.state.name() }
}

/// The executor's state and end: `EXITED (exit code 1)`, `FINISHED`.
pub(super) fn shown_state_and_end(app: &ApplicationView, executor: &ExecutorView) -> String {
    if finished(app, executor) { state(app.state).to_owned() } else { executor.state.to_string() }
}

fn finished(app: &ApplicationView, executor: &ExecutorView) -> bool {
    let outlived = |over| executor.ended.is_some_and(|ended| ended >= over);
    matches!(executor.state, ExecutorState::Killed(_))
        && app.state == ApplicationState::Finished
        && app.ended.is_some_and(outlived)
}

/// How the executor ended: `exit code 1`, `signal 9 (SIGKILL)`, or why it was lost or could not be
/// started.
fn end(app: &ApplicationView, executor: &ExecutorView) -> String {
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
