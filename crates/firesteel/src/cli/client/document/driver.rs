//! A cluster driver as JSON.

use firesteel_placement::Resources;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{DriverId, WorkerId};
use firesteel_protocol::messages::{DriverState, DriverView};
use firesteel_protocol::process::ExitStatus;
use firesteel_settings::secrets::shown_text;
use serde::Serialize;

#[derive(Serialize)]
pub(in crate::cli) struct Driver<'a> {
    id: &'a DriverId,
    user: &'a str,
    /// The driver's command, with secrets replaced.
    pub(super) command: String,
    cores: i64,
    memory_mib: i64,
    /// The addresses of the driver's custom resources. After its end: the addresses that it had.
    resources: &'a Resources,
    supervise: bool,
    state: &'static str,
    /// The name with which the driver was submitted.
    name: Option<&'a str>,
    /// How often the driver was restarted on its Worker.
    restarts: u32,
    /// The exit code of the driver's last ended process, before the last start or pause. 128 + N for signal N.
    last_exit_code: Option<i32>,
    /// The time of the next start, if the driver is in a pause before a restart.
    next_start_ms: Option<u64>,
    waits_for: Option<String>,
    /// The driver's exit code; 128 + N for signal N.
    pub(in crate::cli) exit_code: Option<i32>,
    pub(in crate::cli) error: Option<String>,
    /// The cluster driver that replaced this one, if it was relaunched.
    successor: Option<&'a DriverId>,
    worker: Option<&'a WorkerId>,
    host: Option<&'a str>,
    port: Option<u16>,
    directory: Option<&'a str>,
    submitted_ms: u64,
    launched_ms: Option<u64>,
    ended_ms: Option<u64>,
}

impl<'a> Driver<'a> {
    /// The version of the JSON value of one cluster driver.
    pub(in crate::cli) const SCHEMA: u32 = 1;

    /// The driver's command, preceded by the driver's name if it has one.
    pub(in crate::cli) fn named_command(&self) -> String {
        self.name.map_or_else(|| self.command.clone(), |name| format!("{name}: {}", self.command))
    }

    pub(in crate::cli) fn of(view: &'a DriverView) -> Self {
        let DriverView {
            id,
            user,
            command,
            cores,
            memory,
            supervise,
            state,
            submitted,
            launched,
            ended,
            worker,
            name,
            needs: _,
            has,
            restarts,
            wait,
        } = view;
        let place = worker.as_ref();
        Self {
            id,
            user,
            command: shown_text(command),
            cores: cores.0,
            memory_mib: memory.0,
            resources: has,
            supervise: *supervise,
            state: state.name(),
            name: name.as_deref(),
            restarts: restarts.map_or(0, |it| it.restarts),
            last_exit_code: restarts.map(|it| it.last.shell_code()),
            next_start_ms: restarts.and_then(|it| it.until).map(Timestamp::millis),
            waits_for: wait.as_ref().map(|wait| wait.to_string()),
            exit_code: state.exit_status().map(ExitStatus::shell_code),
            error: match state {
                DriverState::Error(error) => Some(error.to_string()),
                _ => None,
            },
            successor: match state {
                DriverState::Relaunching { successor } => Some(successor),
                _ => None,
            },
            worker: place.map(|place| &place.worker),
            host: place.map(|place| place.host.as_str()),
            port: place.map(|place| place.port),
            directory: place.map(|place| place.directory.as_str()),
            submitted_ms: submitted.millis(),
            launched_ms: launched.map(Timestamp::millis),
            ended_ms: ended.map(Timestamp::millis),
        }
    }
}
