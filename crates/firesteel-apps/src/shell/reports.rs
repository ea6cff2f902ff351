//! What a session hears while it waits: the driver's reports, and requests to end.

use std::pin::pin;

use firesteel_core::NoteLevel;
use firesteel_core::driver::{ExecutorLoss, Note, TaskOutcome};
use firesteel_core::ids::{ProfileId, TaskId};
use firesteel_placement::Shortfall;
use tokio::time::{Instant, sleep_until};

use super::end::{End, FAREWELL};
use super::session::Session;
use super::tasks::ending;
use crate::over::Over;
use firesteel_daemons::driver_daemon::Report;
use firesteel_daemons::remark::Remark;
use firesteel_host::exit_code;
use firesteel_host::signals::EndRequest;

/// What [`Session::step`] saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The driver said something.
    Report,
    /// ctrl-c.
    Interrupted,
    /// The time has come.
    Time,
}

/// What is done with a refusal, the Master's or the driver's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is remarked.
    #[default]
    Remarked,
    /// Whoever asked for something awaits it.
    Awaited,
    /// It came, in these words.
    Came(String),
}

/// What [`Session::settle`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Everything is printed.
    Printed,
    /// ctrl-c: some outputs are not.
    GivenUp,
}

impl Session {
    /// Waits for the next thing that happens, or until then. A request to end ends the session, but for a ctrl-c
    /// where a person is.
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

    /// Waits until what is to be printed is printed; ctrl-c gives outputs up. A script that was interrupted waits for
    /// nobody who does not read.
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

    /// Hears what the driver has said until now.
    pub(super) async fn hear(&mut self) -> Result<(), End> {
        while let Ok(report) = self.reports.try_recv() {
            self.on_report(Some(report)).await?;
        }
        Ok(())
    }

    pub(super) async fn on_report(&mut self, report: Option<Report>) -> Result<(), End> {
        // The driver is gone without a last word: it has panicked, and has said so.
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
                // It ends with the session.
                Report::Done(_) | Report::Exited => false,
            };
            if is_maps {
                // It has ended only when none of its tasks is left.
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
                // The session ends it only when it hears no more.
                return Err(Over::of_driver(outcome).map_or(End::Left(exit_code::FAILURE), End::Over));
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
            // What failed for good is said when the task ends.
            Note::TaskFailed { failures, limit, .. } => failures < limit,
            // Whoever ended one knows it.
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

    /// Says something that was not asked for: above the line that is being typed.
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

/// Waits until then; for ever if that is never.
pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
