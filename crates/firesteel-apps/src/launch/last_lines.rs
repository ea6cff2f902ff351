//! Shows the last lines that a failed executor wrote, without a request of the user.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use firesteel_engine::launcher::{ExecutorEnd, Note};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};
use firesteel_protocol::messages::{ApplicationAnswer, ExecutorState, LogAuthor, LogStart, Stream};
use firesteel_settings::description;

use crate::table::clean;
use firesteel_daemons::log_client::{Log, MasterLogs};
use firesteel_daemons::master_client::MasterClient;
use firesteel_host::net::{Introduction, Keyring};
use firesteel_yarn_mode::container_logs::LogLocation;

/// The maximum number of executors whose last lines are shown. The first failures show the cause.
const MOST: u32 = 3;

const LINES: u64 = 5;

/// Maximum number of characters per line.
const LONGEST: usize = 300;

/// The timeout for fetching the last lines of one executor's log. The launcher handles
/// no other events while it waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Fetches the last lines of failed executors.
#[derive(Debug, Default)]
pub(super) struct LastLines {
    keyring: Option<Keyring>,
    application: Option<(Address, AppId)>,
    shown: u32,
}

impl LastLines {
    /// Fetches with these keys.
    pub(super) fn new(keyring: Option<Keyring>) -> Self {
        Self { keyring, ..Self::default() }
    }

    /// The lines to print after the lines of this note. Empty if the executor wrote nothing or its log cannot be
    /// fetched.
    pub(super) async fn after(&mut self, note: &Note) -> Vec<String> {
        match note {
            Note::Registered { app, master } => {
                self.application = Some((master.clone(), app.clone()));
                Vec::new()
            }
            Note::ExecutorEnded {
                executor,
                end: ExecutorEnd::Reported(ExecutorState::Exited(status)),
                ..
            } if status.shell_code() != 0 && self.shown < MOST => {
                let Some((master, app)) = &self.application else { return Vec::new() };
                let name = format!("firesteel launch {}", std::process::id());
                let ours = Introduction::from(&name).with_keys(self.keyring.clone());
                let fetching = last_lines((master, ours), app, *executor);
                let asked = tokio::time::timeout(ANSWER_TIMEOUT, fetching).await;
                let Some(lines) = asked.ok().flatten().filter(|lines| !lines.is_empty()) else {
                    return Vec::new();
                };
                self.shown += 1;
                // Application ids of YARN have another form.
                let logs = match app.as_str().starts_with("application_") {
                    true => format!("firesteel yarn logs {app} {executor} --stderr"),
                    false => format!("firesteel logs --master {} {app} {executor} --stderr", master.url()),
                };
                let heading = format!("  the end of its standard error (all of it: {logs}):");
                std::iter::once(heading).chain(lines.iter().map(|line| format!("  | {line}"))).collect()
            }
            Note::ExecutorEnded { .. }
            | Note::MasterUnreachable { .. }
            | Note::MasterLost { .. }
            | Note::LeaderConflict(_)
            | Note::ExecutorLaunched { .. }
            | Note::ExecutorRunning { .. }
            | Note::WorkerRemoved { .. }
            | Note::FewerThanAsked { .. }
            | Note::Ending { .. }
            | Note::LeftBehind { .. }
            | Note::UnexpectedMessage { .. } => Vec::new(),
        }
    }
}

/// The last lines of the executor's standard error. `None` if they cannot be fetched.
async fn last_lines(
    (master, ours): (&Address, Introduction),
    app: &AppId,
    executor: ExecutorId,
) -> Option<Vec<String>> {
    let mut client = MasterClient::open(master, ours).await.ok()?;
    let detail = match client.application_from(app.as_str(), executor).await.ok()? {
        ApplicationAnswer::Known(detail) => detail,
        ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. } => return None,
    };
    let view = detail.application.executors.iter().find(|view| view.id == executor)?;
    if let Some(location) = LogLocation::of_link(&view.directory) {
        return last_lines_in_container(location).await;
    }
    let mut log = Log::of(LogAuthor::Executor(ExecutorKey { app: app.clone(), executor }));
    let mut logs = MasterLogs { client, by: description::user().as_str().into() };
    let piece = log.piece(&mut logs, Stream::Stderr, LogStart::LastLines(LINES)).await.ok()?;
    Some(String::from_utf8_lossy(&piece.bytes).lines().map(shown).collect())
}

/// The last lines of an executor in a container. Its NodeManager sends the log from the beginning.
async fn last_lines_in_container(location: LogLocation) -> Option<Vec<String>> {
    let mut end = Tail { bytes: VecDeque::new(), until: Instant::now() + ANSWER_TIMEOUT };
    let reading = tokio::task::spawn_blocking(move || location.copy(Stream::Stderr, &mut end).map(|()| end));
    let end = reading.await.ok()?.ok()?;
    let text: Vec<u8> = end.bytes.into();
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<String> = text.lines().rev().take(LINES as usize).map(shown).collect();
    lines.reverse();
    Some(lines)
}

/// Collects the end of a log while the log is read.
struct Tail {
    bytes: VecDeque<u8>,
    until: Instant,
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        /// Number of bytes to keep for the lines that are shown.
        const MOST: usize = 64 << 10;
        if Instant::now() > self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(MOST);
        self.bytes.drain(..excess);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The line, cut to the maximum length, without the characters that move the cursor.
fn shown(line: &str) -> String {
    let mut short: String = clean(line).chars().take(LONGEST).collect();
    if line.chars().nth(LONGEST).is_some() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_log_is_kept() {
        let mut end = Tail { bytes: VecDeque::new(), until: Instant::now() + Duration::from_secs(60) };
        for line in 0..20_000 {
            writeln!(end, "line {line}").expect("somebody waits");
        }
        assert_eq!(end.bytes.len(), 64 << 10);
        assert!(Vec::from(end.bytes).ends_with(b"line 19998\nline 19999\n"));
        let until = Instant::now().checked_sub(Duration::from_millis(1)).expect("it is not the first moment");
        let mut late = Tail { bytes: VecDeque::new(), until };
        late.write_all(b"x").expect_err("nobody waits any more");
    }
}
