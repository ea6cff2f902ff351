//! The event loop around the state machine of a map run, [`MapRun`].
//!
//! The loop waits for an event, gives it to the machine, and performs the machine's effects in order. Effects that take
//! long (reading, printing, writing the remaining items) report their results as events.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use firesteel_engine::driver::{Note, TaskRequest};
use firesteel_engine::map::{Config, Effect, Ending, Event, Item, MapRun, Remark, Scope, Unusable};
use firesteel_protocol::{Machine as _, NoteLevel};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_host::clock::Clock;
use firesteel_host::progress::{Progress, RunProgress};
use firesteel_host::signals::EndRequests;

use crate::detached::Announcement;

use super::input::{Input, InputError};
use super::items::{self, Content, Unit};
use super::outlet::{Outlet, OutletError, OutletEvent, OutletMessage};
use super::printer::PrintError;
use super::remarks::{self, Leftovers};
use super::run_record::RunRecord;
use super::summary::{Summary, kept, shown};
use super::template::Template;
use super::unknown_hosts::UnknownHosts;

/// How often the bar is drawn and standard output is checked.
const TICK: Duration = Duration::from_millis(100);

pub struct Run {
    machine: MapRun,
    clock: Clock,
    started: Instant,
    input: InputReader,
    template: Template,
    driver: Handle,
    reports: Reports,
    requests: EndRequests,
    outlet: Printing,
    progress: Progress,
    record: Option<RunRecord>,
    /// The file for the remaining items.
    left: Leftovers,
    unknown_hosts: UnknownHosts,
    announcement: Option<Announcement>,
    /// Events that the event loop created itself. They are handled before all other events.
    raised: VecDeque<Event>,
}

struct InputReader {
    input: Input,
    /// Whether the machine has requested an item and not received it yet.
    wants: bool,
}

struct Reports {
    reports: mpsc::Receiver<Report>,
    /// Whether the driver has not ended.
    is_open: bool,
}

struct Printing {
    outlet: Outlet,
    /// Whether printing has not ended.
    is_open: bool,
}

impl Run {
    /// Creates a run that has not begun, with this driver. `requests` are the user's requests to end it.
    #[must_use]
    pub fn new(
        (input, template): (Input, Template),
        (driver, reports): (Handle, mpsc::Receiver<Report>),
        outlet: Outlet,
        progress: Progress,
        scope: Scope,
        requests: EndRequests,
    ) -> Self {
        Self {
            machine: MapRun::new(Config { scope, profile: template.profile(), items: input.count() }),
            clock: Clock::start(),
            started: Instant::now(),
            input: InputReader { input, wants: false },
            template,
            driver,
            reports: Reports { reports, is_open: true },
            requests,
            outlet: Printing { outlet, is_open: true },
            progress,
            record: None,
            left: Leftovers { file: PathBuf::new(), unit: Unit::Record },
            unknown_hosts: UnknownHosts::none(),
            announcement: None,
            raised: VecDeque::from([Event::Start]),
        }
    }

    /// Sets the run record, and the unit of the input.
    #[must_use]
    pub fn with_record(self, record: Option<RunRecord>, unit: Unit) -> Self {
        let file = record.as_ref().map(|record| record.target().to_owned()).unwrap_or_default();
        Self { record, left: Leftovers { file, unit }, ..self }
    }

    /// Sets the check that preferred hosts exist.
    #[must_use]
    pub fn with_host_check(self, unknown_hosts: UnknownHosts) -> Self {
        Self { unknown_hosts, ..self }
    }

    /// Sets the announcement of the application's name and id.
    #[must_use]
    pub fn with_announcement(self, announcement: Option<Announcement>) -> Self {
        Self { announcement, ..self }
    }

    /// Performs the run until it ends.
    ///
    /// # Panics
    /// In debug builds, if an invariant of the machine is broken.
    pub async fn finish(mut self) -> (Ending, Summary) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let event = match self.raised.pop_front() {
                Some(event) => event,
                None => match self.next(&mut tick).await {
                    Some(event) => event,
                    None => continue,
                },
            };
            let effects = self.machine.apply(self.clock.now(), event);
            if cfg!(debug_assertions)
                && let Err(violation) = self.machine.check()
            {
                panic!("{violation}");
            }
            for effect in effects {
                if effect == Effect::Finish {
                    return self.conclude().await;
                }
                self.perform(effect).await;
            }
            self.flush_record();
        }
    }

    /// Waits for the next event. `None` if the machine does not need to handle it.
    async fn next(&mut self, tick: &mut tokio::time::Interval) -> Option<Event> {
        let deadline = self.machine.next_deadline().map(|(time, _)| self.clock.instant(time));
        let until_deadline = async {
            match deadline {
                Some(instant) => sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            report = self.reports.reports.recv(), if self.reports.is_open => self.on_report(report),
            item = self.input.input.next(), if self.input.wants => {
                self.input.wants = false;
                Some(self.on_item(item))
            }
            request = self.requests.next() => Some(Event::EndRequested(request)),
            event = self.outlet.outlet.next(), if self.outlet.is_open => Some(match event {
                OutletEvent::Printed(tasks) => Event::Printed { tasks },
                OutletEvent::Ended(ended) => self.on_outlet_ended(ended),
            }),
            () = until_deadline => Some(Event::Deadline),
            _ = tick.tick() => self.on_tick(),
        }
    }

    fn on_report(&mut self, report: Option<Report>) -> Option<Event> {
        Some(match report {
            Some(Report::Output { attempt, stream, bytes }) => {
                Event::OutputReceived { attempt, stream, bytes }
            }
            Some(Report::DiscardOutput { attempt }) => Event::OutputDiscarded { attempt },
            Some(Report::TaskEnded { task, outcome }) => Event::TaskEnded { task, outcome },
            Some(Report::Note(note)) => {
                if let (Some(announcement), Note::Registered { app, .. }) = (&self.announcement, &note) {
                    announcement.registered(app);
                }
                Event::NoteReceived(note)
            }
            Some(Report::Done(ending)) => Event::ApplicationEnded(ending),
            Some(Report::Exited) | None => {
                self.reports.is_open = false;
                Event::DriverEnded
            }
        })
    }

    fn on_item(&mut self, item: Option<Result<items::Item, InputError>>) -> Event {
        let item = match item {
            None => return Event::InputEnded,
            Some(Err(error)) => {
                return Event::InputFailed { error: error.to_string(), item: Unusable::None };
            }
            Some(Ok(item)) => item,
        };
        if let Some(record) = &mut self.record {
            record.take(&item);
        }
        let items::Item { number, content, hosts } = item;
        self.unknown_hosts.add(number, &hosts);
        let bytes = match &content {
            Content::Argument(_) => 0,
            Content::Block { bytes, .. } => bytes.len(),
        };
        let words = kept(&content);
        match self.template.task(content) {
            Ok(task) => {
                let request = TaskRequest { preferred_hosts: hosts, ..task };
                Event::InputItem(Item { number, words, bytes, request })
            }
            Err(error) => Event::InputFailed {
                error: format!("item {number} ({}): {error}", shown(&words)),
                item: Unusable::Taken,
            },
        }
    }

    fn on_outlet_ended(&mut self, ended: Result<(), OutletError>) -> Event {
        self.outlet.is_open = false;
        match ended {
            Ok(()) => Event::OutputClosed,
            Err(OutletError::Print(PrintError::Closed(_))) => Event::ReaderClosed,
            Err(error) => Event::OutputLost { error: error.to_string() },
        }
    }

    fn on_tick(&mut self) -> Option<Event> {
        self.unknown_hosts.remarks().iter().for_each(|remark| self.progress.remark(remark));
        self.progress.update(&self.run_progress());
        stdout_is_closed().then_some(Event::ReaderClosed)
    }

    /// Performs an effect. After the end of the application, the driver refuses calls. It reports the end itself.
    async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ReadItem => self.input.wants = true,
            Effect::Submit { task, request } => drop(self.driver.submit(task, request).await),
            Effect::FinishApplication { outcome } => drop(self.driver.finish(outcome).await),
            Effect::CancelApplication { outcome, until } => {
                let _ = self.driver.cancel_with(outcome, until).await;
            }
            Effect::CancelTasks { tasks } => {
                for task in tasks {
                    let _ = self.driver.cancel_task(task).await;
                }
            }
            Effect::Output { attempt, stream, bytes } => {
                self.outlet.outlet.send(OutletMessage::Output { attempt, stream, bytes });
            }
            Effect::DiscardOutput { attempt } => {
                self.outlet.outlet.send(OutletMessage::Discarded { attempt })
            }
            Effect::Print { task, attempt } => {
                self.outlet.outlet.send(OutletMessage::Ended { task, last: attempt });
            }
            Effect::CloseOutput => {
                self.progress.update(&self.run_progress());
                self.outlet.outlet.close();
            }
            Effect::MarkDone { number } => {
                if let Some(record) = &mut self.record {
                    record.mark(number);
                }
            }
            Effect::LeaveRest => {
                let rest = self.leave_rest().await;
                self.raised.push_back(rest);
            }
            Effect::Remark(remark) => self.remark(&remark),
            // `finish` handles this effect.
            Effect::Finish => {}
        }
    }

    async fn leave_rest(&mut self) -> Event {
        self.input.wants = false;
        let Some(record) = self.record.take() else { return Event::RestLeft { items: None } };
        let closed = spawn_blocking(move || record.close());
        match closed.await.expect("writing the record does not panic") {
            Ok(items) => Event::RestLeft { items: Some(items) },
            Err(error) => Event::RecordLost { error: error.to_string() },
        }
    }

    /// Writes the marks to the run record. If that fails, the run continues without a record.
    fn flush_record(&mut self) {
        if let Some(Err(error)) = self.record.as_mut().map(RunRecord::flush) {
            self.record = None;
            self.raised.push_back(Event::RecordLost { error: error.to_string() });
        }
    }

    fn remark(&self, remark: &Remark) {
        let words = remarks::words(remark, &self.left);
        match remark.level() {
            NoteLevel::Info => self.progress.remark(words),
            NoteLevel::Warn => self.progress.error(words),
        }
    }

    async fn conclude(mut self) -> (Ending, Summary) {
        let remarks = self.unknown_hosts.last_remarks().await;
        remarks.iter().for_each(|remark| self.progress.remark(remark));
        self.progress.finish();
        let ending = self.machine.ending().clone();
        let summary = Summary::of(self.machine.tally(), &ending, self.started.elapsed());
        (ending, summary)
    }

    fn run_progress(&self) -> RunProgress {
        let tally = self.machine.tally();
        let (executors, cores) = tally.ready();
        let first = self.machine.first_executor();
        RunProgress {
            done: tally.totals.succeeded + tally.totals.failed,
            failed: tally.totals.failed,
            total: self.machine.items(),
            executors,
            cores: cores.0,
            elapsed: first.map(|first| self.clock.now().since(first)).unwrap_or_default(),
        }
    }
}

/// Whether the program that reads standard output has closed it. A write would also show this, but the next write may
/// be much later.
pub(crate) fn stdout_is_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    poll(&mut fds, PollTimeout::ZERO).is_ok()
        && fds[0].revents().is_some_and(|events| events.intersects(gone))
}
