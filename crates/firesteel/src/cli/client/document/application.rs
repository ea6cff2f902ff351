//! An application as JSON.

use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{ApplicationDetail, ApplicationState, ApplicationView, Outcome};
use serde::Serialize;

use super::executor::Executor;
use super::scheduling::Scheduling;

#[derive(Serialize)]
pub(in crate::cli::client) struct Detail<'a> {
    schema: u32,
    now_ms: u64,
    master: &'a str,
    application: Application<'a>,
    scheduling: Option<Scheduling<'a>>,
}

impl<'a> Detail<'a> {
    /// The version of this JSON value. Version 4 uses one name for each thing.
    const SCHEMA: u32 = 4;

    pub(in crate::cli::client) fn of(detail: &'a ApplicationDetail) -> Self {
        Self {
            schema: Self::SCHEMA,
            now_ms: detail.now.millis(),
            master: &detail.master,
            application: Application::of(&detail.application),
            scheduling: detail.scheduling.as_ref().map(Scheduling::of),
        }
    }
}

#[derive(Serialize)]
pub(in crate::cli::client) struct Application<'a> {
    pub(in crate::cli::client) id: &'a AppId,
    pub(in crate::cli::client) name: &'a str,
    pub(in crate::cli::client) user: &'a str,
    state: ApplicationState,
    end: Option<&'a str>,
    outcome: Option<&'static str>,
    outcome_words: Option<&'a str>,
    submitted_ms: u64,
    ended_ms: Option<u64>,
    away_since_ms: Option<u64>,
    web_address: Option<&'a str>,
    queue: Option<&'a str>,
    priority: i32,
    gang: u64,
    max_cores: Option<i64>,
    cores_granted: i64,
    executor_memory_mib: i64,
    executors_live: u64,
    executors_ended: u64,
    executors_forgotten: u64,
    executors: Vec<Executor<'a>>,
}

impl<'a> Application<'a> {
    pub(in crate::cli::client) fn of(view: &'a ApplicationView) -> Self {
        Self {
            id: &view.id,
            name: &view.name,
            user: &view.user,
            state: view.state,
            end: view.end.as_deref(),
            outcome: view.outcome.as_ref().map(Outcome::word),
            outcome_words: view.outcome.as_ref().and_then(Outcome::words),
            submitted_ms: view.submitted.millis(),
            ended_ms: view.ended.map(Timestamp::millis),
            away_since_ms: view.away_since.map(Timestamp::millis),
            web_address: view.web_address.as_deref(),
            queue: view.queue.as_deref(),
            priority: view.priority,
            gang: view.gang,
            max_cores: view.max_cores.map(|most| most.0),
            cores_granted: view.cores_granted.0,
            executor_memory_mib: view.memory_per_executor.0,
            executors_live: view.executors_live,
            executors_ended: view.executors_ended,
            executors_forgotten: view.executors_forgotten,
            executors: view.executors.iter().map(|executor| Executor::of(view, executor)).collect(),
        }
    }
}
