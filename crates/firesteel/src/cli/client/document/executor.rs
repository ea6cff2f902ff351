//! An executor as JSON.

use firesteel_daemons::wording::application::shown_state;
use firesteel_placement::Resources;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{ApplicationView, ExecutorState, ExecutorView};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Executor<'a> {
    id: ExecutorId,
    worker: &'a WorkerId,
    profile: ProfileId,
    state: &'static str,
    exit_code: Option<i32>,
    error: Option<String>,
    cores: i64,
    memory_mib: i64,
    resources: &'a Resources,
    host: &'a str,
    port: u16,
    directory: &'a str,
    launched_ms: u64,
    started_ms: Option<u64>,
    ended_ms: Option<u64>,
}

impl<'a> Executor<'a> {
    pub(super) fn of(application: &ApplicationView, view: &'a ExecutorView) -> Self {
        let error = match &view.state {
            ExecutorState::Failed(failure) => Some(failure.to_string()),
            ExecutorState::Lost(reason) => Some(reason.to_string()),
            ExecutorState::Launching
            | ExecutorState::Running
            | ExecutorState::Killed(_)
            | ExecutorState::Exited(_) => None,
        };
        Self {
            id: view.id,
            worker: &view.worker,
            profile: view.profile,
            state: shown_state(application, view),
            exit_code: view.state.exit_status().map(|status| status.shell_code()),
            error,
            cores: view.cores.0,
            memory_mib: view.memory.0,
            resources: &view.resources,
            host: &view.host,
            port: view.port,
            directory: &view.directory,
            launched_ms: view.launched.millis(),
            started_ms: view.started.map(Timestamp::millis),
            ended_ms: view.ended.map(Timestamp::millis),
        }
    }
}
