//! The answers to a session's questions, as text and tables.

use std::fmt::Write;

use firesteel_engine::driver::{ExecutorView, ExecutorViewState, View};
use firesteel_engine::session::{AddedProfile, Defaults, Standing, Task, TaskShare, Tasks, Which, exit_code};
use firesteel_placement::advanced::words::{are, counted, have, noun};
use firesteel_placement::{Cores, ExecutorLimit, Shortfall};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{ResourceProfile, TaskDirectory};

use super::words::quote;
use crate::table::{clean, duration, table};
use firesteel_settings::Properties;

/// Number of ended tasks that `tasks` lists by default.
const RECENT: usize = 10;

/// Maximum number of characters of a command in a table.
const COMMAND: usize = 60;

/// A command, shortened to fit on a line.
pub(super) fn shortened(words: &[String]) -> String {
    let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(COMMAND) {
        Some((at, _)) => format!("{}..", clean(&line[..at])),
        None => clean(&line),
    }
}

/// The text at the beginning of a session.
pub(super) fn banner(view: &View) -> String {
    let app = view.app.as_ref().map_or_else(|| "not registered".to_owned(), ToString::to_string);
    let master = view.master.as_ref().map_or_else(|| "no Master".to_owned(), |master| master.url());
    format!(
        "firesteel shell {}: application {app} at {master}\n{}; help lists the commands, ctrl-d leaves",
        env!("CARGO_PKG_VERSION"),
        here(view),
    )
}

/// A sentence on the executors: `2 executors with 8 cores are ready, 1 is on its way`.
pub(super) fn here(view: &View) -> String {
    let ready = ready(view);
    let cores: Cores = ready.iter().map(|executor| executor.cores).sum();
    let (verb, cores) = (are(ready.len()), counted(cores.0, "core"));
    let coming = count(view, ExecutorViewState::Announced);
    let mut text = match ready.len() {
        0 => "no executor is ready yet".to_owned(),
        ready => format!("{} with {cores} {verb} ready", counted(ready, "executor")),
    };
    match coming {
        0 => {}
        1 => text += ", 1 is on its way",
        more => write!(text, ", {more} starting").expect("a text takes it"),
    }
    text
}

pub(super) fn ready(view: &View) -> Vec<&ExecutorView> {
    view.executors.iter().filter(|executor| executor.state == ExecutorViewState::Offering).collect()
}

fn count(view: &View, state: ExecutorViewState) -> usize {
    view.executors.iter().filter(|executor| executor.state == state).count()
}

/// The table of `executors`.
pub(super) fn executors(view: &View) -> String {
    let several = view.executors.iter().any(|executor| executor.profile != ProfileId::DEFAULT);
    let row = |executor: &ExecutorView| {
        let tasks: Vec<String> = executor.running.iter().take(8).map(ToString::to_string).collect();
        let more = if executor.running.len() > 8 { " .." } else { "" };
        let state = match executor.state {
            ExecutorViewState::Announced => "assigned",
            ExecutorViewState::Offering => "ready",
            ExecutorViewState::Excluded => "excluded",
            ExecutorViewState::Leaving => "leaving",
            ExecutorViewState::Disconnected => "disconnected",
        };
        let mut row = vec![
            executor.id.to_string(),
            executor.host.clone(),
            executor.worker.to_string(),
            executor.cores.to_string(),
            state.to_owned(),
            tasks.join(" ") + more,
        ];
        if several {
            row.push(executor.profile.to_string());
        }
        row
    };
    let mut header = vec!["EXECUTOR", "HOST", "WORKER", "CORES", "STATE", "TASKS"];
    if several {
        header.push("PROFILE");
    }
    table(&header, view.executors.iter().map(row).collect()) + "\n"
}

/// The table of `tasks`.
pub(super) fn tasks(now: Timestamp, tasks: &Tasks, view: &View, which: Which) -> String {
    let ended = tasks.iter().filter(|(_, task)| task.end.is_some()).count();
    let skipped = match which {
        Which::All => 0,
        Which::Recent => ended.saturating_sub(RECENT),
    };
    let mut left = skipped;
    let shown = tasks.iter().filter(|(_, task)| {
        let skip = task.end.is_some() && left > 0;
        left -= usize::from(skip);
        !skip
    });
    let rows: Vec<_> = shown.map(|(id, task)| row(now, (id, task), view)).collect();
    let mut text = table(&["TASK", "STATE", "CODE", "EXECUTOR", "TIME", "COMMAND"], rows) + "\n";
    if skipped > 0 {
        writeln!(text, "  and {skipped} that ended before: tasks --all").expect("a text takes every line");
    }
    text
}

fn row(now: Timestamp, (id, task): (TaskId, &Task), view: &View) -> Vec<String> {
    use firesteel_engine::driver::TaskOutcome;
    let runs_on = view.executors.iter().find(|executor| executor.running.contains(&id));
    let number = |executor: ExecutorId| executor.to_string();
    let (state, code, executor, time) = match &task.end {
        None => {
            let state = if runs_on.is_some() { "running" } else { "waiting" };
            let executor = runs_on.map(|executor| number(executor.id));
            (state, String::new(), executor, now.since(task.submitted))
        }
        Some((outcome, time)) => {
            let (state, executor) = match outcome {
                TaskOutcome::Succeeded { executor, .. } => ("succeeded", Some(*executor)),
                TaskOutcome::Failed { executor, .. } => ("failed", Some(*executor)),
                TaskOutcome::Cancelled => ("cancelled", None),
                TaskOutcome::Unfit(_) => ("failed", None),
            };
            (state, exit_code(outcome).to_string(), executor.map(number), *time)
        }
    };
    let executor = executor.unwrap_or_default();
    vec![id.to_string(), state.to_owned(), code, executor, duration(time), task.words.clone()]
}

/// The reasons why there are fewer executors than requested.
pub(super) fn why(shortfalls: &[(ProfileId, Shortfall)], view: &View) -> String {
    let mut text = String::new();
    for (profile, shortfall) in shortfalls {
        let of = if *profile == ProfileId::DEFAULT { String::new() } else { format!("profile {profile}: ") };
        writeln!(text, "{of}{shortfall}").expect("a text takes every line");
    }
    let wanted = view.targets.iter().find(|(profile, _)| *profile == ProfileId::DEFAULT);
    if shortfalls.is_empty() {
        let asked = match wanted {
            Some((_, ExecutorLimit::AtMost(total))) => {
                format!("no executor is missing: {} {} wanted", counted(*total, "executor"), are(*total))
            }
            Some((_, ExecutorLimit::Unlimited)) | None => "no executor is missing".to_owned(),
        };
        writeln!(text, "{asked}").expect("a text takes every line");
    }
    text + &here(view) + "\n"
}

/// The answer to `status`.
pub(super) fn status(view: &View) -> String {
    let ready = ready(view);
    let cores: Cores = ready.iter().map(|executor| executor.cores).sum();
    let app = view.app.as_ref().map(ToString::to_string).unwrap_or_default();
    let master = view.master.as_ref().map_or_else(|| "not connected".to_owned(), |master| master.url());
    let wanted: Vec<String> = view
        .targets
        .iter()
        .map(|(profile, limit)| {
            let total = match limit {
                ExecutorLimit::Unlimited => "any number".to_owned(),
                ExecutorLimit::AtMost(total) => total.to_string(),
            };
            match *profile {
                ProfileId::DEFAULT => total,
                profile => format!("{total} of profile {profile}"),
            }
        })
        .collect();
    let tasks = format!(
        "{} running, {} waiting, {} succeeded, {} failed, {} cancelled",
        view.running, view.waiting, view.succeeded, view.failed, view.cancelled
    );
    let rows = [
        ("application", app),
        ("Master", master),
        ("executors", format!("{} ({} wanted)", here(view), wanted.join(", "))),
        ("cores", cores.to_string()),
        ("tasks", tasks),
    ];
    rows.iter().map(|(name, value)| format!("{name:12} {}\n", clean(value))).collect()
}

/// The defaults that tasks run with.
pub(super) fn defaults(defaults: &Defaults) -> String {
    let directory = match &defaults.directory {
        TaskDirectory::Executor => "executor",
        TaskDirectory::Path(path) => path,
    };
    let mut text = format!("cores {}\ndirectory {}\n", defaults.needs.cores, quote(directory));
    for (name, amount) in &defaults.needs.resources {
        writeln!(text, "{amount} of {name}").expect("a text takes every line");
    }
    for (name, value) in &defaults.environment {
        writeln!(text, "env {}", quote(&format!("{name}={value}"))).expect("a text takes every line");
    }
    text
}

/// The settings that the session started with.
pub(super) fn settings(properties: &Properties) -> String {
    let rows = properties.iter().map(|(key, value)| vec![key.to_owned(), value.to_owned()]);
    table(&["PROPERTY", "VALUE"], rows.collect()) + "\n"
}

/// The answer to `profile list`: a table of the resource profiles.
pub(super) fn profiles(view: &View, known: &[AddedProfile]) -> String {
    let row = |(profile, limit): &(ProfileId, ExecutorLimit)| {
        let added = known.iter().find(|added| added.id == *profile);
        let wanted = match limit {
            ExecutorLimit::Unlimited => "any number".to_owned(),
            ExecutorLimit::AtMost(total) => total.to_string(),
        };
        let here = view.executors.iter().filter(|executor| executor.profile == *profile).count();
        vec![
            profile.to_string(),
            wanted,
            here.to_string(),
            added.map_or_else(|| "default".into(), |added| words(&added.needs)),
            added.map_or_else(|| "default".into(), |added| share(&added.task)),
        ]
    };
    let header = ["PROFILE", "WANTED", "READY", "AN EXECUTOR HAS", "A TASK TAKES"];
    table(&header, view.targets.iter().map(row).collect()) + "\n"
}

/// The answer to `request`.
pub(super) fn requested(total: u64, assigned: usize) -> String {
    let wanted = format!("{} {} wanted in all", counted(total, "executor"), are(total));
    let all = format!("{wanted}, and {assigned} {} assigned", are(assigned));
    match (assigned as u64).saturating_sub(total) {
        0 => format!("{all}\n"),
        stay => format!("{all}: {stay} more than that, until killed (request {total} --kill)\n"),
    }
}

/// The answer to `kill`.
pub(super) fn ended(executors: &[ExecutorId], wanted: Option<u64>) -> String {
    let numbers: Vec<String> = executors.iter().map(ToString::to_string).collect();
    let (noun, have) = (noun(numbers.len(), "executor"), have(numbers.len()));
    let ended = format!("{noun} {} {have} ended", numbers.join(", "));
    match wanted {
        Some(wanted) => {
            let wanted = format!("{} {}", counted(wanted, "executor"), are(wanted));
            format!("{ended}, and {wanted} wanted in all from now on\n")
        }
        None => format!("{ended}\n"),
    }
}

/// The answer to `profile add`.
pub(super) fn profile_added(
    profile: ProfileId,
    needs: &ResourceProfile,
    total: u64,
    standing: Standing,
) -> String {
    let wanted = format!("{} {}", counted(total, "executor"), are(total));
    let each = words(needs);
    match standing {
        Standing::Answered => format!("profile {profile}: {wanted} wanted, each with {each}\n"),
        Standing::Unanswered => {
            format!("profile {profile}: {wanted} asked for, each with {each}: no Master has answered yet\n")
        }
    }
}

/// The share of an executor that a task takes.
fn share(task: &TaskShare) -> String {
    let cores = task.cores.map(|cores| counted(cores.0, "core"));
    let resources = task.resources.iter().map(|(name, amount)| format!("{amount} {name}"));
    let parts: Vec<String> = cores.into_iter().chain(resources).collect();
    if parts.is_empty() { "default cores".to_owned() } else { parts.join(", ") }
}

/// The resources of a profile's executor.
fn words(needs: &ResourceProfile) -> String {
    let mut parts = Vec::new();
    if let Some(cores) = needs.cores {
        parts.push(counted(cores.0, "core"));
    }
    parts.extend(needs.memory.map(|memory| memory.to_string()));
    parts.extend(needs.resources.iter().map(|(name, count)| format!("{count} {name}")));
    if parts.is_empty() { "the same as the others".to_owned() } else { parts.join(", ") }
}
