//! The end of a session.

use std::time::Duration;

use firesteel_core::driver::Until;
use firesteel_placement::words::counted;
use tokio::time::{Instant, sleep_until};

use super::reports::at;
use super::session::Session;
use crate::end_reason::EndReason;
use firesteel_daemons::driver_daemon::Report;
use firesteel_host::exit_code;
use firesteel_host::signals::EndRequest;

/// Timeout for the driver's end.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long a request to end waits for a blocked reader.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The user left, or the script ended.
    Left(u8),
    /// The user or the system asked for the end.
    Asked(EndRequest),
    /// The request to end was repeated, and the session stopped without waiting.
    Abandoned(EndRequest),
    /// The application ended, although the session did not end it.
    Over(EndReason),
    /// Standard output is closed.
    ReaderGone,
}

impl End {
    /// The exit code of the command.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Left(code) => *code,
            Self::Asked(request) | Self::Abandoned(request) => request.exit_code(),
            Self::Over(over) => over.exit_code(),
            Self::ReaderGone => exit_code::READER_GONE,
        }
    }
}

impl Session {
    /// Handles the user's wish to leave. It is refused once while tasks run; a script waits for its
    /// tasks.
    pub(super) async fn leave(&mut self, code: Option<u8>) -> Result<(), End> {
        let open = self.tasks.open().len();
        if open > 0 && self.is_interactive && !self.was_warned {
            self.was_warned = true;
            let (run, them) = if open == 1 { ("runs", "it") } else { ("run", "them") };
            let tasks = counted(open, "task");
            self.console.say(format_args!("{tasks} still {run}: quit again to cancel {them}, or wait"));
            return Ok(());
        }
        if open > 0 && !self.is_interactive && code.is_none() {
            let code = self.wait_for_tasks(Vec::new()).await?;
            if code != 0 {
                self.last_failure = code;
            }
        }
        let script = if self.is_interactive { 0 } else { self.last_failure };
        Err(End::Left(code.unwrap_or(script)))
    }

    /// Ends the application in order, and prints why the session ends if the user does not know.
    pub(super) async fn conclude(mut self, end: End) -> End {
        match &end {
            End::Over(over) => {
                self.console.say(format_args!("firesteel: {over}"));
                return self.last_words(end).await;
            }
            End::Asked(_) => self.console.mute(),
            End::Left(_) | End::Abandoned(_) | End::ReaderGone => {}
        }
        // Sending fails if the application is over already.
        let _ = self.driver.cancel(Until::Told).await;
        let until = Instant::now() + GOODBYE;
        let mut last = None;
        let outcome = loop {
            tokio::select! {
                report = self.reports.recv() => match report {
                    None => break last,
                    Some(Report::Done(outcome)) => last = Some(outcome),
                    Some(Report::Exited) => break last,
                    Some(_) => {}
                },
                request = self.requests.next() => return End::Abandoned(request),
                () = sleep_until(until) => break last,
            }
        };
        let end = match (end, outcome.and_then(EndReason::of_driver)) {
            // The application ended during the last command, before the session heard of it.
            (End::Left(_), Some(over)) => {
                self.console.say(format_args!("firesteel: {over}"));
                End::Over(over)
            }
            (end, _) => end,
        };
        self.last_words(end).await
    }

    /// Waits until everything is printed. If the user left or the application is over, there is no
    /// time limit until a request to end.
    async fn last_words(mut self, end: End) -> End {
        let patience = match end {
            End::Left(_) | End::Over(_) => None,
            End::Asked(_) | End::Abandoned(_) | End::ReaderGone => Some(Instant::now() + FAREWELL),
        };
        tokio::select! {
            () = self.console.settled() => end,
            () = at(patience) => end,
            request = self.requests.next() => End::Asked(request),
        }
    }
}
