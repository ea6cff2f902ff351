//! A Worker as JSON.

use firesteel_placement::Resources;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{WorkerRemark, WorkerState, WorkerView};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Worker<'a> {
    id: &'a WorkerId,
    host: &'a str,
    port: u16,
    state: WorkerState,
    /// A remark on the Worker's state. LATE: two heartbeats are missing. FOREIGN: the Worker runs executors of another
    /// Master. LEFT or LOST: the Worker is gone.
    remark: Option<&'static str>,
    /// The time when the Worker was lost or left.
    gone_ms: Option<u64>,
    /// Why the Worker was lost or left.
    gone_why: Option<String>,
    away_since_ms: Option<u64>,
    cores: i64,
    cores_used: i64,
    memory_mib: i64,
    memory_used_mib: i64,
    resources: &'a Resources,
    resources_used: &'a Resources,
    last_heartbeat_ms: u64,
    excluded_for: u64,
    excluded_until_ms: Option<u64>,
    impairment: Option<String>,
    label: Option<String>,
}

impl<'a> Worker<'a> {
    pub(super) fn of(view: &'a WorkerView) -> Self {
        let remark = view.remark.as_ref();
        let gone = remark.and_then(WorkerRemark::departure);
        Self {
            remark: remark.map(WorkerRemark::name),
            gone_ms: gone.map(|gone| gone.at.millis()),
            gone_why: gone.map(|gone| gone.cause.to_string()),
            away_since_ms: view.away_since.map(Timestamp::millis),
            id: &view.id,
            host: &view.host,
            port: view.port,
            state: view.state,
            cores: view.cores.0,
            cores_used: view.cores_used.0,
            memory_mib: view.memory.0,
            memory_used_mib: view.memory_used.0,
            resources: &view.resources,
            resources_used: &view.resources_used,
            last_heartbeat_ms: view.last_heartbeat.millis(),
            excluded_for: view.excluded_for,
            excluded_until_ms: view.excluded_until.map(Timestamp::millis),
            impairment: view.impairment.as_ref().map(ToString::to_string),
            label: view.label.as_ref().map(ToString::to_string),
        }
    }
}
