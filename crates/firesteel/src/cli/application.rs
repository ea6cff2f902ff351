//! One application, for people and for programs: what `firesteel status APP` prints.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use firesteel_core::Timestamp;
use firesteel_core::messages::{ApplicationDetail, ExecutorState, ExecutorView, ProfileView};
use firesteel_placement::{ExecutorLimit, ExecutorSize};
use serde::Serialize;

use super::status::{addresses, cores, state};
use super::table::{clean, duration, table};

/// The form of the JSON value.
const SCHEMA: u32 = 1;

/// The JSON value. `schema` rises when a field goes or changes its meaning.
#[derive(Serialize)]
struct Value<'a> {
    schema: u32,
    #[serde(flatten)]
    detail: &'a ApplicationDetail,
}

/// Writes it to standard output.
pub(super) fn print(detail: &ApplicationDetail, json: bool) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut stdout, &Value { schema: SCHEMA, detail })?;
    } else {
        write!(stdout, "{}", text(detail))?;
    }
    writeln!(stdout)?;
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
    let _ = writeln!(text, "  master     {}", clean(&detail.master));
    if let Some(standing) = &detail.standing {
        let _ = write!(text, "\nProfiles\n{}\n", profiles(&standing.profiles));
    }
    let _ = write!(text, "\nExecutors\n{}", executors(detail));
    if app.executors_forgotten > 0 {
        let _ = write!(text, "\n  and {} earlier ones, remembered no longer", app.executors_forgotten);
    }
    text
}

/// `app-1 (sums) is RUNNING, since 3 m 12 s`, or `app-1 (sums) was KILLED after 12 s, 3 m 2 s ago: ..`.
pub(super) fn heading(detail: &ApplicationDetail) -> String {
    let app = &detail.application;
    let name = format!("{} ({})", app.id, clean(&app.name));
    match app.ended {
        None => {
            format!("{name} is {}, since {}", state(app.state), duration(detail.now.since(app.submitted)))
        }
        Some(ended) => {
            let took = duration(ended.since(app.submitted));
            let ago = duration(detail.now.since(ended));
            let why = app.end.as_ref().map(|end| format!(": {}", clean(end))).unwrap_or_default();
            format!("{name} is over, {} after {took}, {ago} ago{why}", state(app.state))
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

/// `4`, or `all of a worker`.
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
            executor.state.name().to_owned(),
            end(&executor.state),
            executor.cores.0.to_string(),
            executor.memory.to_string(),
            addresses(&executor.resources),
            duration(lived(executor, detail.now)),
            executor.host.clone(),
            executor.directory.clone(),
        ]
    });
    let header =
        ["EXECUTOR", "STATE", "END", "CORES", "MEMORY", "RESOURCES", "DURATION", "HOST", "DIRECTORY"];
    table(&header, rows.collect())
}

/// From its launch to its end, or until now.
fn lived(executor: &ExecutorView, now: Timestamp) -> std::time::Duration {
    executor.ended.unwrap_or(now).since(executor.launched)
}

/// How it ended: `exit code 1`, `signal 9 (SIGKILL)`, or why it is lost or could not be started.
fn end(state: &ExecutorState) -> String {
    match state {
        ExecutorState::Launching | ExecutorState::Running | ExecutorState::Killed(None) => String::new(),
        ExecutorState::Killed(Some(status)) | ExecutorState::Exited(status) => status.to_string(),
        ExecutorState::Failed(failure) => failure.to_string(),
        ExecutorState::Lost(reason) => reason.to_string(),
    }
}
