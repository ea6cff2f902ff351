//! How a journal record describes Workers, applications and drivers as text, for people who read the journal.

use std::fmt;

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::messages::{
    DepartureCause, DriverDescription, DriverRestarts, ExecutorTarget, PastRow, StateId, Used,
    WorkerDescription, WorkerRemark, WorkerState, WorkerView,
};
use firesteel_protocol::time::Timestamp;

use crate::tables::applications::health::ApplicationHealth;
use crate::tables::workers::health::{Leave, WorkerHealth};

/// Formats a Worker as `w1 at node-1:7078 with 8 cores and 16 GiB`.
pub(super) struct SizedWorker<'a>(pub(super) &'a WorkerDescription);

impl fmt::Display for SizedWorker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkerDescription { id, host, port, cores, memory, .. } = self.0;
        write!(f, "{id} at {host}:{port} with {} and {memory}", counted(cores.0, "core"))
    }
}

pub(super) fn health_of_worker(health: &WorkerHealth) -> String {
    let WorkerHealth { leaving, asked, global_exclusion } = health;
    match (leaving, asked, global_exclusion.until) {
        (true, None, _) => "about to end".to_owned(),
        (true, Some(Leave { by: None }), _) => "asked to leave".to_owned(),
        (true, Some(Leave { by: Some(by) }), _) => format!("asked to leave by {by}"),
        (false, _, Some(until)) => format!("excluded until {until}"),
        (false, _, None) => "given executors".to_owned(),
    }
}

pub(super) fn departure(cause: &DepartureCause, last_seen: Timestamp) -> String {
    match cause.state() {
        WorkerState::Left => format!("left in order: {cause}; last heard at {last_seen}"),
        _ => format!("lost: {cause}; last heard {last_seen}"),
    }
}

pub(super) fn gone_since(view: &WorkerView) -> String {
    let departure = view.remark.as_ref().and_then(WorkerRemark::departure);
    departure.map(|it| format!("; gone since {}: {}", it.at, it.cause)).unwrap_or_default()
}

pub(super) fn at_most(cores: Cores) -> String {
    match cores {
        Cores::UNLIMITED => String::new(),
        cores => format!(", at most {}", counted(cores.0, "core")),
    }
}

pub(super) fn wanted(targets: &[ExecutorTarget]) -> String {
    let targets = targets.iter().map(|target| format!(" {} of profile {}", target.total, target.id));
    targets.collect::<Vec<_>>().join(",")
}

pub(super) fn health_of_application(health: &ApplicationHealth) -> String {
    let until = health.hold_until.map(|until| format!(", waits until {until}")).unwrap_or_default();
    let blamed = match health.failure_history.len() {
        0 => String::new(),
        workers => format!(", blames {}", counted(workers, "Worker")),
    };
    format!("{} in a row{until}{blamed}", counted(health.in_a_row, "failure"))
}

pub(super) fn and_used(used: Option<Used>) -> String {
    let Some(Used { cpu_millis, peak_memory, exceeded }) = used else { return String::new() };
    let peak = peak_memory >> 20;
    let exceeded = exceeded.map(|exceeded| format!("; {exceeded}")).unwrap_or_default();
    format!("; it used {cpu_millis} ms of processor time and at most {peak} MiB of memory{exceeded}")
}

/// Formats a cluster driver as `"ann" with 2 cores and 1 GiB and 1 of "gpu", supervised`.
pub(super) fn described(description: &DriverDescription) -> String {
    let DriverDescription { user, cores, memory, supervise, resources, .. } = description;
    let resources = resources.iter().map(|(name, amount)| format!(" and {amount} of {name:?}"));
    let resources: String = resources.collect();
    let supervised = if *supervise { ", supervised" } else { "" };
    format!("{user:?} with {} and {memory}{resources}{supervised}", counted(cores.0, "core"))
}

pub(super) fn again(restarts: Option<&DriverRestarts>) -> String {
    let words =
        restarts.map(|it| format!("; started again {}, last {}", counted(it.restarts, "time"), it.last));
    words.unwrap_or_default()
}

pub(super) fn archived(row: &PastRow) -> String {
    match row {
        PastRow::Application(past) => format!("application {} ended before: {}", past.number, past.view.id),
        PastRow::Driver { number, view, .. } => format!("cluster driver {number} ended before: {}", view.id),
    }
}

/// The identity of a state, if it has one.
pub(super) fn identity(state: Option<StateId>) -> String {
    state.map(|state| format!("; state {state}")).unwrap_or_default()
}
