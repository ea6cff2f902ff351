//! Events as output lines: text for a human reader, or JSON with one object per line.

use firesteel_engine::launcher::{Ending, ExecutorEnd, Note};
use firesteel_host::plain::{clean, escaped};
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::ExecutorState;
use firesteel_protocol::time::millis;
use firesteel_yarn::messages::records::ApplicationId;
use serde::Serialize;
use serde_json::{Value, json};

/// Version of the JSON lines. It is incremented on incompatible changes.
pub const SCHEMA: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchEvent {
    Noted {
        at: Timestamp,
        note: Note,
    },
    /// The application has ended.
    Done {
        at: Timestamp,
        ending: Ending,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    Text,
    Json,
    Nothing,
}

#[derive(Clone, Debug)]
pub struct Lines {
    format: LineFormat,
    /// The Master's URL and the application's id, for the line that shows how to read logs. `None` once the first
    /// executor was launched.
    logs: Option<(String, String)>,
}

impl Lines {
    #[must_use]
    pub fn new(format: LineFormat) -> Self {
        Self { format, logs: None }
    }

    #[must_use]
    pub fn format(&self) -> LineFormat {
        self.format
    }

    pub fn of(&mut self, event: &LaunchEvent) -> Vec<String> {
        match self.format {
            LineFormat::Text => self.text(event).iter().map(|line| clean(line)).collect(),
            LineFormat::Json => vec![escaped(&json_of(event))],
            LineFormat::Nothing => Vec::new(),
        }
    }

    fn text(&mut self, event: &LaunchEvent) -> Vec<String> {
        let LaunchEvent::Noted { at, note } = event else { return Vec::new() };
        self.text_of(note).into_iter().map(|line| format!("{at} {line}")).collect()
    }

    /// The text lines of a note, without the time.
    fn text_of(&mut self, note: &Note) -> Vec<String> {
        match note {
            Note::Registered { app, master } => {
                self.logs = Some((master.url(), app.to_string()));
                vec![note.to_string()]
            }
            Note::ExecutorLaunched { .. } => {
                let logs = self.logs.take();
                let hint = logs.map(|(url, app)| format!("output: {}", logs_command(&url, &app)));
                std::iter::once(note.to_string()).chain(hint).collect()
            }
            Note::ExecutorRunning { .. } | Note::ExecutorEnded { .. } | Note::Ending { .. } => {
                vec![note.to_string()]
            }
            // These notes go to standard error as remarks.
            Note::MasterUnreachable { .. }
            | Note::MasterLost { .. }
            | Note::LeaderConflict(_)
            | Note::WorkerRemoved { .. }
            | Note::FewerThanAsked { .. }
            | Note::LeftBehind { .. }
            | Note::UnexpectedMessage { .. } => Vec::new(),
        }
    }
}

#[derive(Serialize)]
struct Line {
    schema: u32,
    time_ms: u64,
    #[serde(flatten)]
    event: Value,
}

fn json_of(event: &LaunchEvent) -> String {
    let (at, event) = match event {
        LaunchEvent::Noted { at, note } => (at, note_json(note)),
        LaunchEvent::Done { at, ending } => (at, ending_json(ending)),
    };
    let line = Line { schema: SCHEMA, time_ms: at.millis(), event };
    serde_json::to_string(&line).expect("numbers and words can be written as JSON")
}

fn note_json(note: &Note) -> Value {
    match note {
        Note::MasterUnreachable { master, error, patience: _ } => {
            json!({ "event": "master_unreachable", "master": master.url(), "error": error })
        }
        Note::Registered { app, master } => {
            json!({ "event": "registered", "app": app.as_str(), "master": master.url() })
        }
        Note::MasterLost { master } => json!({ "event": "master_lost", "master": master.url() }),
        Note::LeaderConflict(dispute) => json!({ "event": "master_dispute", "error": dispute.to_string() }),
        Note::ExecutorLaunched { executor, worker, host, cores, memory } => json!({
            "event": "executor_launched", "executor": executor.0, "worker": worker.as_str(), "host": host,
            "cores": cores.0, "memory_mib": memory.0,
        }),
        Note::ExecutorRunning { executor, host, after } => json!({
            "event": "executor_running", "executor": executor.0, "host": host,
            "after_ms": millis(*after),
        }),
        Note::ExecutorEnded { executor, host, end, ran } => {
            let (state, code) = match end {
                ExecutorEnd::Reported(state) => {
                    (state.name(), state.exit_status().map(|status| status.shell_code()))
                }
                ExecutorEnd::ApplicationReplaced => ("LOST", None),
            };
            let error = match end {
                ExecutorEnd::Reported(ExecutorState::Failed(_) | ExecutorState::Lost(_))
                | ExecutorEnd::ApplicationReplaced => Some(end.to_string()),
                ExecutorEnd::Reported(_) => None,
            };
            json!({
                "event": "executor_ended", "executor": executor.0, "host": host, "state": state,
                "exit_code": code, "error": error,
                "ran_ms": ran.map(millis),
            })
        }
        Note::WorkerRemoved { worker, host, reason } => json!({
            "event": "worker_removed", "worker": worker.as_str(), "host": host, "reason": reason.to_string(),
        }),
        Note::FewerThanAsked { held, .. } => {
            json!({ "event": "fewer_than_asked", "executors": held, "reason": note.to_string() })
        }
        Note::Ending { executors } => json!({ "event": "ending", "executors": executors }),
        Note::LeftBehind { executors } => json!({ "event": "left_behind", "executors": executors }),
        Note::UnexpectedMessage { peer } => json!({ "event": "unexpected_message", "peer": peer.0 }),
    }
}

fn ending_json(ending: &Ending) -> Value {
    match ending {
        Ending::Met { code } => json!({ "event": "done", "ending": "met", "exit_code": code }),
        Ending::Asked => json!({ "event": "done", "ending": "asked" }),
        Ending::Removed(end) => json!({ "event": "done", "ending": "removed", "error": end.to_string() }),
        Ending::NoMaster { errors } => {
            let errors: Vec<Value> = errors
                .iter()
                .map(|(master, error)| json!({ "master": master.url(), "error": error.words }))
                .collect();
            json!({ "event": "done", "ending": "no_master", "errors": errors })
        }
    }
}

/// The command that shows an application's logs. Workers store them. On YARN, NodeManagers do.
fn logs_command(master: &str, app: &str) -> String {
    match app.parse::<ApplicationId>() {
        Ok(app) => format!("firesteel yarn logs {app}"),
        Err(_) => format!("firesteel logs --master {master} {app}"),
    }
}
