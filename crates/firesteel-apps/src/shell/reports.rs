//! The events that a session handles while it waits: the driver's reports and requests to end.

use std::pin::pin;

use firesteel_core::NoteLevel;
use firesteel_core::driver::{ExecutorLoss, Note, TaskOutcome};
use firesteel_core::ids::{ProfileId, TaskId};
use firesteel_placement::Shortfall;
use tokio::time::{Instant, sleep_until};

use super::end::{End, FAREWELL};
use super::session::Session;
use super::tasks::ending;
use crate::end_reason::EndReason;
use firesteel_daemons::driver_daemon::Report;
use firesteel_daemons::remark::Remark;
use firesteel_host::exit_code;
use firesteel_host::signals::EndRequest;

/// The event that [`Session::step`] saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The driver sent a report.
    Report,
    /// The user pressed ctrl-c.
    Interrupted,
    /// The given time has passed.
    Time,
}

/// How a refusal of the Master or the driver is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The refusal is printed as a remark.
    #[default]
    Remarked,
    /// A command waits for the refusal or its absence.
    Awaited,
    /// The refusal came, with these words.
    Came(String),
}

/// The result of [`Session::settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Everything is printed.
    Printed,
    /// The user pressed ctrl-c, and some outputs were dropped.
    GivenUp,
}

impl Session {
    /// Waits for the next event, or until the given time. A request to end ends the session, except
    /// for a ctrl-c in an interactive session.
    pub(super) async fn step(&mut self, until: Option<Instant>) -> Result<Step, End> {
        if self.console.is_closed() {
            return Err(End::ReaderGone);
        }
        tokio::select! {
            report = self.reports.recv() => self.on_report(report).await.map(|()| Step::Report),
            request = self.requests.next() => match request {
                EndRequest::Interrupt if self.app.is_some() => {
                    self.was_interrupted = true;
                    Ok(Step::Interrupted)
                }
                request => Err(End::Asked(request)),
            },
            () = at(until) => match crate::map::run::stdout_is_closed() || self.console.is_closed() {
                true => Err(End::ReaderGone),
                false => Ok(Step::Time),
            },
        }
    }

    /// Waits until everything queued is printed. A ctrl-c drops the queued outputs. A script that
    /// was interrupted does not wait for a blocked reader.
    pub(super) async fn settle(&mut self) -> Result<Settled, End> {
        let mut settled = Settled::Printed;
        let until = (!self.is_interactive && self.was_interrupted).then(|| Instant::now() + FAREWELL);
        let mut printed = pin!(self.console.settled());
        loop {
            tokio::select! {
                () = &mut printed => {
                    self.console.unmute();
                    return Ok(settled);
                }
                step = self.step(until) => match (step?, self.is_interactive) {
                    (Step::Report, _) => {}
                    (Step::Interrupted, true) => {
                        self.console.mute();
                        settled = Settled::GivenUp;
                    }
                    (Step::Interrupted | Step::Time, _) => return Err(End::Asked(EndRequest::Interrupt)),
                },
            }
        }
    }

    /// Handles all reports that the driver has sent until now.
    pub(super) async fn hear(&mut self) -> Result<(), End> {
        while let Ok(report) = self.reports.try_recv() {
            self.on_report(Some(report)).await?;
        }
        Ok(())
    }

    pub(super) async fn on_report(&mut self, report: Option<Report>) -> Result<(), End> {
        // The driver is gone without a last report: it panicked, and the panic is in the log.
        let Some(report) = report else { return Err(End::Left(1)) };
        if let Some((first, map)) = &self.map {
            let is_maps = match &report {
                Report::Output { attempt, .. } | Report::DiscardOutput { attempt } => attempt.task >= *first,
                Report::TaskEnded { task, .. } => task >= first,
                Report::Note(note) => {
                    let _ = map.send(report.clone()).await;
                    return match note {
                        Note::Registered { app, .. } => {
                            self.app = Some(app.clone());
                            Ok(())
                        }
                        _ => Ok(()),
                    };
                }
                // The map ends with the session.
                Report::Done(_) | Report::Exited => false,
            };
            if is_maps {
                // Sending fails only if the map run has ended, and it ends after the last of its
                // tasks.
                let _ = map.send(report).await;
                return Ok(());
            }
        }
        match report {
            Report::Output { attempt, stream, bytes } => {
                let record = self.tasks.get(attempt.task).and_then(|task| task.record.clone());
                match record {
                    Some(record) => self.keeper.keep(&record, attempt, bytes),
                    None => self.console.output(&self.driver, attempt, stream, bytes),
                }
            }
            Report::DiscardOutput { attempt } => {
                if let Some(record) = self.tasks.get(attempt.task).and_then(|task| task.record.clone()) {
                    self.keeper.begin_anew(&record);
                } else if self.in_hand == Some(attempt.task) {
                    self.remark(&format!("task {} runs again: its output starts over", attempt.task));
                }
            }
            Report::TaskEnded { task, outcome } => self.on_task_ended(task, outcome),
            Report::Note(note) => self.on_note(&note),
            Report::Done(outcome) => {
                // If the session ended the application itself, it handles no more reports.
                return Err(EndReason::of_driver(outcome).map_or(End::Left(exit_code::FAILURE), End::Over));
            }
            Report::Exited => {}
        }
        Ok(())
    }

    fn on_task_ended(&mut self, id: TaskId, outcome: TaskOutcome) {
        if self.in_hand != Some(id) && self.is_interactive {
            let words = format!("task {id} {} (watch {id} shows its output)", ending(&outcome));
            self.remark(&words);
        }
        if let Some(record) = self.tasks.get(id).and_then(|task| task.record.as_ref()) {
            self.keeper.end(record);
        }
        self.tasks.end(id, outcome);
    }

    fn on_note(&mut self, note: &Note) {
        let is_worth_it = match note {
            Note::Registered { app, .. } => {
                let is_first = self.app.is_none();
                self.app = Some(app.clone());
                !is_first
            }
            Note::ExecutorRegistered { .. } => self.is_interactive && self.missing_at.is_some(),
            Note::RequestRefused { .. } | Note::TargetIsDynamic { .. } | Note::ProfileRefused { .. }
                if self.refusal == Refusal::Awaited =>
            {
                self.refusal = Refusal::Came(note.to_string());
                false
            }
            Note::MasterUnreachable { .. } => self.said.insert(note.to_string()),
            // The last failure of a task is reported when the task ends.
            Note::TaskFailed { failures, limit, .. } => failures < limit,
            // The user ended this executor and knows about it.
            Note::ExecutorLost { loss: ExecutorLoss::Ended(state), tasks: 0, .. } => {
                self.is_interactive || !matches!(state, firesteel_core::messages::ExecutorState::Killed(_))
            }
            Note::TargetSet { .. } | Note::ExecutorsKilled { .. } | Note::ExecutorAdded { .. } => false,
            _ => note.level() == NoteLevel::Warn,
        };
        if is_worth_it {
            self.remark(&Remark(note).to_string());
        }
    }

    /// Prints a remark that no command asked for, above the line that is being typed.
    pub(super) fn remark(&mut self, words: &str) {
        let line = format_args!("firesteel: {words}");
        match (self.progress.is_quiet(), self.is_prompting) {
            (true, _) => {}
            (false, true) => self.console.remark_above(line),
            (false, false) => self.console.remark(line),
        }
    }

    pub(super) fn say_missing(&mut self, shortfalls: Vec<(ProfileId, Shortfall)>) {
        for (_, shortfall) in shortfalls {
            self.remark(&shortfall.to_string());
        }
    }
}

/// Waits until the given time; without a time, it waits forever.
pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
