//! The answers to a session's questions, as text and tables.

use std::fmt::Write;

use firesteel_engine::driver::{ExecutorView, ExecutorViewState, TaskOutcome, View};
use firesteel_engine::session::{
    AddedProfile, AnswerState, Defaults, Task, TaskShare, Tasks, Which, exit_code, quote,
};
use firesteel_placement::advanced::words::{are, counted, have, noun};
use firesteel_placement::{Cores, ExecutorLimit, Shortfall};
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{ResourceProfile, TaskDirectory};

use crate::table::{clean, duration, table};
use firesteel_settings::Properties;

/// Number of ended tasks that `tasks` lists by default.
const RECENT: usize = 10;

/// The maximum number of an executor's tasks that `executors` lists.
const RUNNING: usize = 8;

/// The text at the beginning of a session.
pub(super) fn banner(view: &View) -> String {
    let app = view.app.as_ref().map_or_else(|| "not registered".to_owned(), ToString::to_string);
    let master = view.master.as_ref().map_or_else(|| "no Master".to_owned(), |master| master.url());
    let (version, here) = (env!("CARGO_PKG_VERSION"), here(view));
    format!(
        "firesteel shell {version}: application {app} at {master}\n{here}; help lists the commands, ctrl-d leaves"
    )
}

/// A sentence about the executors: `2 executors with 8 cores are ready, 1 is on its way`.
fn here(view: &View) -> String {
    let count = |state| view.executors.iter().filter(|executor| executor.state == state).count();
    let ready = match count(ExecutorViewState::Offering) {
        0 => "no executor is ready yet".to_owned(),
        ready => {
            let cores = counted(ready_cores(view).0, "core");
            format!("{} with {cores} {} ready", counted(ready, "executor"), are(ready))
        }
    };
    match count(ExecutorViewState::Announced) {
        0 => ready,
        1 => ready + ", 1 is on its way",
        more => format!("{ready}, {more} starting"),
    }
}

fn ready_cores(view: &View) -> Cores {
    let ready = view.executors.iter().filter(|executor| executor.state == ExecutorViewState::Offering);
    ready.map(|executor| executor.cores).sum()
}

fn limited(limit: ExecutorLimit) -> String {
    match limit {
        ExecutorLimit::Unlimited => "any number".to_owned(),
        ExecutorLimit::AtMost(total) => total.to_string(),
    }
}

/// The table of `executors`.
pub(super) fn executors(view: &View) -> String {
    let several = view.executors.iter().any(|executor| executor.profile != ProfileId::DEFAULT);
    let row = |executor: &ExecutorView| {
        let mut tasks: Vec<String> = executor.running.iter().take(RUNNING).map(ToString::to_string).collect();
        if executor.running.len() > RUNNING {
            tasks.push("..".to_owned());
        }
        let state = match executor.state {
            ExecutorViewState::Announced => "assigned",
            ExecutorViewState::Offering => "ready",
            ExecutorViewState::Excluded => "excluded",
            ExecutorViewState::Leaving => "leaving",
            ExecutorViewState::Away => "away",
        };
        let (id, host, worker) =
            (executor.id.to_string(), executor.host.clone(), executor.worker.to_string());
        let mut row = vec![id, host, worker, executor.cores.to_string(), state.to_owned(), tasks.join(" ")];
        row.extend(several.then(|| executor.profile.to_string()));
        row
    };
    let mut header = vec!["EXECUTOR", "HOST", "WORKER", "CORES", "STATE", "TASKS"];
    header.extend(several.then_some("PROFILE"));
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
    let rows = shown.map(|(id, task)| row(now, id, task, view)).collect();
    let text = table(&["TASK", "STATE", "CODE", "EXECUTOR", "TIME", "COMMAND"], rows) + "\n";
    match skipped {
        0 => text,
        skipped => format!("{text}  and {skipped} that ended before: tasks --all\n"),
    }
}

fn row(now: Timestamp, id: TaskId, task: &Task, view: &View) -> Vec<String> {
    let runs_on = view.executors.iter().find(|executor| executor.running.contains(&id));
    let (state, code, executor, time) = match &task.end {
        None => {
            let state = if runs_on.is_some() { "running" } else { "waiting" };
            (state, String::new(), runs_on.map(|executor| executor.id), now.since(task.submitted))
        }
        Some((outcome, time)) => {
            let (state, executor) = match outcome {
                TaskOutcome::Succeeded { executor, .. } => ("succeeded", Some(*executor)),
                TaskOutcome::Failed { executor, .. } => ("failed", Some(*executor)),
                TaskOutcome::Cancelled => ("cancelled", None),
                TaskOutcome::Unfit(_) => ("failed", None),
            };
            (state, exit_code(outcome).to_string(), executor, *time)
        }
    };
    let executor = executor.map_or_else(String::new, |executor| executor.to_string());
    vec![id.to_string(), state.to_owned(), code, executor, duration(time), task.words.clone()]
}

/// The reasons why there are fewer executors than requested.
pub(super) fn why(shortfalls: &[(ProfileId, Shortfall)], view: &View) -> String {
    let mut text: String = shortfalls
        .iter()
        .map(|(profile, shortfall)| match *profile {
            ProfileId::DEFAULT => format!("{shortfall}\n"),
            profile => format!("profile {profile}: {shortfall}\n"),
        })
        .collect();
    if shortfalls.is_empty() {
        let wanted = view.targets.iter().find(|(profile, _)| *profile == ProfileId::DEFAULT);
        text += "no executor is missing";
        if let Some((_, ExecutorLimit::AtMost(total))) = wanted {
            text += &format!(": {} {} wanted", counted(*total, "executor"), are(*total));
        }
        text += "\n";
    }
    text + &here(view) + "\n"
}

/// The answer to `status`.
pub(super) fn status(view: &View) -> String {
    let app = view.app.as_ref().map(ToString::to_string).unwrap_or_default();
    let master = view.master.as_ref().map_or_else(|| "not connected".to_owned(), |master| master.url());
    let wanted = view.targets.iter().map(|(profile, limit)| match *profile {
        ProfileId::DEFAULT => limited(*limit),
        profile => format!("{} of profile {profile}", limited(*limit)),
    });
    let wanted = wanted.collect::<Vec<_>>().join(", ");
    let View { running, waiting, succeeded, failed, cancelled, .. } = view;
    let tasks = format!(
        "{running} running, {waiting} waiting, {succeeded} succeeded, {failed} failed, {cancelled} cancelled"
    );
    let rows = [
        ("application", app),
        ("Master", master),
        ("executors", format!("{} ({wanted} wanted)", here(view))),
        ("cores", ready_cores(view).to_string()),
        ("tasks", tasks),
    ];
    rows.iter().map(|(name, value)| format!("{name:12} {}\n", clean(value))).collect()
}

/// The defaults for tasks.
pub(super) fn defaults(defaults: &Defaults) -> String {
    let directory = match &defaults.directory {
        TaskDirectory::Executor => "executor",
        TaskDirectory::Path(path) => path,
    };
    let mut text = format!("cores {}\ndirectory {}\n", defaults.needs.cores, quote(directory));
    let amounts = defaults.needs.resources.iter().map(|(name, amount)| format!("{amount} of {name}\n"));
    text.extend(amounts);
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
        let here = view.executors.iter().filter(|executor| executor.profile == *profile).count();
        let (needs, share) = match known.iter().find(|added| added.id == *profile) {
            Some(added) => (words(&added.needs), share(&added.task)),
            None => ("default".to_owned(), "default".to_owned()),
        };
        vec![profile.to_string(), limited(*limit), here.to_string(), needs, share]
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
    answer_state: AnswerState,
) -> String {
    let (wanted, each) = (format!("{} {}", counted(total, "executor"), are(total)), words(needs));
    match answer_state {
        AnswerState::Answered => format!("profile {profile}: {wanted} wanted, each with {each}\n"),
        AnswerState::Unanswered => {
            format!("profile {profile}: {wanted} asked for, each with {each}: no Master has answered yet\n")
        }
    }
}

/// The share of an executor that a task takes, as text.
fn share(task: &TaskShare) -> String {
    let cores = task.cores.map(|cores| counted(cores.0, "core"));
    let resources = task.resources.iter().map(|(name, amount)| format!("{amount} {name}"));
    listed(cores.into_iter().chain(resources), "default cores")
}

/// The resources of a profile's executor, as text.
fn words(needs: &ResourceProfile) -> String {
    let cores = needs.cores.map(|cores| counted(cores.0, "core"));
    let memory = needs.memory.map(|memory| memory.to_string());
    let resources = needs.resources.iter().map(|(name, count)| format!("{count} {name}"));
    listed(cores.into_iter().chain(memory).chain(resources), "the same as the others")
}

fn listed(parts: impl Iterator<Item = String>, none: &str) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(", ") }
}
