//! One row of the history: for a table, as JSON and as comma-separated values.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_daemons::wording::application::state;
use firesteel_protocol::messages::{DriverView, ExecutorState, Outcome, PastApplication, PastRow, Used};
use firesteel_protocol::process::ExitStatus;
use serde::Serialize;

use super::super::document::{Application, Driver};
use crate::cli::table::{clean, duration};

pub(super) const HEADER: [&str; 10] =
    ["ID", "NAME", "USER", "STATE", "OUTCOME", "SUBMITTED", "TOOK", "EXECUTORS", "CPU", "MEMORY"];

/// The columns of comma-separated values.
pub(super) const CSV: [&str; 16] = [
    "kind",
    "id",
    "name",
    "user",
    "state",
    "outcome",
    "outcome_words",
    "end",
    "queue",
    "submitted_ms",
    "ended_ms",
    "executors",
    "executors_failed",
    "exit_codes",
    "cpu_ms",
    "peak_memory_bytes",
];

/// An application or a cluster driver that has ended.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Past<'a> {
    Application {
        #[serde(flatten)]
        shown: Application<'a>,
        executors_failed: u64,
        cpu_ms: Option<u64>,
        peak_memory_bytes: Option<u64>,
        /// The resources that each executor used, if they were measured.
        usage: Vec<ExecutorUsed>,
        #[serde(skip)]
        past: &'a PastApplication,
    },
    Driver {
        #[serde(flatten)]
        shown: Driver<'a>,
        cpu_ms: Option<u64>,
        peak_memory_bytes: Option<u64>,
        #[serde(skip)]
        view: &'a DriverView,
        #[serde(skip)]
        used: Option<Used>,
    },
}

#[derive(Serialize)]
pub(super) struct ExecutorUsed {
    executor: u32,
    cpu_ms: u64,
    peak_memory_bytes: Option<u64>,
}

/// The largest measured memory. `None` if the memory was not measured.
fn peak(used: Used) -> Option<u64> {
    Some(used.peak_memory).filter(|bytes| *bytes > 0)
}

impl<'a> Past<'a> {
    pub(super) fn of(row: &'a PastRow) -> Self {
        match row {
            PastRow::Driver { number: _, view, used } => Self::Driver {
                shown: Driver::of(view),
                cpu_ms: used.map(|used| used.cpu_millis),
                peak_memory_bytes: used.and_then(peak),
                view,
                used: *used,
            },
            PastRow::Application(past) => {
                let used =
                    past.used.iter().map(|(executor, Used { cpu_millis, peak_memory, .. })| ExecutorUsed {
                        executor: executor.0,
                        cpu_ms: *cpu_millis,
                        peak_memory_bytes: Some(*peak_memory).filter(|bytes| *bytes > 0),
                    });
                Self::Application {
                    shown: Application::of(&past.view),
                    executors_failed: failed(past),
                    cpu_ms: past.used().map(|used| used.cpu_millis),
                    peak_memory_bytes: past.used().and_then(peak),
                    usage: used.collect(),
                    past,
                }
            }
        }
    }

    pub(super) fn user(&self) -> &str {
        match self {
            Self::Application { past, .. } => &past.view.user,
            Self::Driver { view, .. } => &view.user,
        }
    }

    /// The final state of the application or driver, in capital letters.
    pub(super) fn state(&self) -> &'static str {
        match self {
            Self::Application { past, .. } => state(past.view.state),
            Self::Driver { view, .. } => view.state.name(),
        }
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let dash = || "-".to_owned();
        let (name, outcome, executors, used) = match self {
            Self::Application { past, executors_failed, .. } => {
                let executors = match executors_failed {
                    0 => past.view.executors_ended.to_string(),
                    failed => format!("{} ({failed} failed)", past.view.executors_ended),
                };
                let outcome = past.view.outcome.as_ref().map_or_else(dash, |it| clean(&it.to_string()));
                (past.view.name.clone(), outcome, executors, past.used())
            }
            Self::Driver { shown, used, .. } => (shown.named_command(), dash(), dash(), *used),
        };
        let (id, submitted, ended) = match self {
            Self::Application { past, .. } => {
                (past.view.id.to_string(), past.view.submitted, past.view.ended)
            }
            Self::Driver { view, .. } => (view.id.to_string(), view.submitted, view.ended),
        };
        vec![
            id,
            clean(&name),
            clean(self.user()),
            self.state().to_owned(),
            outcome,
            submitted.to_string(),
            ended.map_or_else(dash, |ended| duration(ended.since(submitted))),
            executors,
            used.map_or_else(dash, |used| duration(Duration::from_millis(used.cpu_millis))),
            used.and_then(peak).map_or_else(dash, |bytes| format!("{} MiB", bytes >> 20)),
        ]
    }

    pub(super) fn csv(&self) -> [String; CSV.len()] {
        let time = |time: Option<u64>| time.map(|time| time.to_string()).unwrap_or_default();
        let text = |text: Option<&str>| clean(text.unwrap_or_default());
        match self {
            Self::Application { shown, executors_failed, cpu_ms, peak_memory_bytes, past, .. } => [
                "application".to_owned(),
                shown.id.to_string(),
                clean(shown.name),
                clean(shown.user),
                self.state().to_owned(),
                text(past.view.outcome.as_ref().map(Outcome::word)),
                text(past.view.outcome.as_ref().and_then(Outcome::words)),
                text(past.view.end.as_deref()),
                text(past.view.queue.as_deref()),
                past.view.submitted.millis().to_string(),
                time(past.view.ended.map(|ended| ended.millis())),
                past.view.executors_ended.to_string(),
                executors_failed.to_string(),
                exit_codes(past),
                time(*cpu_ms),
                time(*peak_memory_bytes),
            ],
            Self::Driver { shown, cpu_ms, peak_memory_bytes, view, used: _ } => [
                "driver".to_owned(),
                view.id.to_string(),
                clean(&shown.named_command()),
                clean(&view.user),
                self.state().to_owned(),
                String::new(),
                String::new(),
                text(shown.error.as_deref()),
                String::new(),
                view.submitted.millis().to_string(),
                time(view.ended.map(|ended| ended.millis())),
                String::new(),
                String::new(),
                shown.exit_code.map(|code| code.to_string()).unwrap_or_default(),
                time(*cpu_ms),
                time(*peak_memory_bytes),
            ],
        }
    }
}

/// The number of listed executors that failed: they could not be started, or exited with a code other than 0.
fn failed(past: &PastApplication) -> u64 {
    let is_failed = |state: &ExecutorState| match state {
        ExecutorState::Failed(_) => true,
        ExecutorState::Exited(status) => *status != ExitStatus::Code(0),
        ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Killed(_)
        | ExecutorState::Lost(_) => false,
    };
    past.view.executors.iter().filter(|executor| is_failed(&executor.state)).count() as u64
}

/// The distinct exit codes of executors, separated by blanks.
fn exit_codes(past: &PastApplication) -> String {
    let codes = past.view.executors.iter().filter_map(|executor| executor.state.exit_status());
    let codes: BTreeSet<i32> = codes.map(ExitStatus::shell_code).collect();
    codes.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
}
