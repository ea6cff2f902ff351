//! One application as text or JSON: the output of `firesteel status APP`.

use firesteel_host::plain;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use firesteel_placement::advanced::words::counted;
use firesteel_placement::{ExecutorLimit, ExecutorSize};
use firesteel_protocol::messages::{ApplicationDetail, ApplicationView, ImpairedWorker, ProfileView};

use super::document;
use crate::cli::table::{clean, duration, table};
use firesteel_daemons::wording::application::{addresses, cores, end, heading, lifetime, shown_state};
use firesteel_daemons::wording::worker::for_how_long;

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
    if let Some(blocker) = detail.scheduling.as_ref().and_then(|scheduling| scheduling.blocker.as_ref()) {
        let _ = writeln!(text, "  waits      {}", clean(&blocker.to_string()));
    }
    if let Some(at) = detail.scheduling.as_ref().and_then(|scheduling| scheduling.expected_start) {
        let _ = writeln!(text, "  expected   to start at {at}, in {}", duration(at.since(detail.now)));
    }
    for worker in detail.scheduling.iter().flat_map(|scheduling| &scheduling.excluded) {
        let _ = writeln!(text, "  excluded   {}", for_how_long(worker, detail.now));
    }
    for ImpairedWorker { worker, impairment } in
        detail.scheduling.iter().flat_map(|scheduling| &scheduling.impaired)
    {
        let _ = writeln!(text, "  impaired   {worker}: it {}", clean(&impairment.to_string()));
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

/// The scheduling options, such as `queue prod, priority 5, gang of 4 executors`. `None` if the application has set
/// none of them.
fn placing(app: &ApplicationView) -> Option<String> {
    let queue = app.queue.as_ref().map(|queue| format!("queue {}", clean(queue)));
    let priority = (app.priority != 0).then(|| format!("priority {}", app.priority));
    let gang = (app.gang > 1).then(|| format!("gang of {}", counted(app.gang, "executor")));
    let words: Vec<String> = [queue, priority, gang].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
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
