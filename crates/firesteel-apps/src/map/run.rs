//! One run: items in, tasks through the driver, outputs out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use firesteel_core::NoteLevel;
use firesteel_core::driver::{Note, Outcome, TaskOutcome, TaskRequest};
use firesteel_core::ids::{ExecutorId, TaskId};
use firesteel_placement::Cores;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::input::{Input, InputError};
use super::items::{Content, Item};
use super::leftovers::Leftovers;
use super::outlet::{Outlet, OutletError, Piece, Place};
use super::printer::PrintError;
use super::summary::{Summary, Tally, shown};
use super::template::Template;
use super::wished_hosts::WishedHosts;
use crate::over::Over;
use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_daemons::remark::Remark;
use firesteel_host::progress::{Progress, Standing, counted};
use firesteel_host::signals::{EndRequest, EndRequests};

/// How many items may be begun and not printed: those that wait for an earlier one.
const WINDOW: usize = 100_000;

/// How often the bar is drawn, and a closed standard output looked for.
const TICK: Duration = Duration::from_millis(100);

/// How long the end of the executors is waited for, when somebody asked for the end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tasks that may wait at the driver: for each core, at least, and at most.
const WAITING: (i64, i64, i64) = (4, 64, 65_536);

/// Bytes of blocks that may wait at the driver.
const WAITING_BYTES: usize = 64 << 20;

/// How a run ended.
#[derive(Debug)]
pub enum Ending {
    /// Every item is over, well or not, and everything is printed.
    Completed,
    /// The items ended early; those before are over and printed.
    BadInput,
    /// Nobody reads the output any more.
    ReaderGone,
    /// The output cannot be kept or printed.
    OutputLost,
    /// Somebody asked for the end.
    Asked(EndRequest),
    /// Somebody asked again, and nothing was waited for.
    Abandoned(EndRequest),
    /// The application is over, and nobody here ended it.
    Over(Over),
}

/// What of an application is a run's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stake {
    /// All of it: it ends with the run.
    Application,
    /// The tasks from this number on, until the run is over. Whoever owns the application passes on what is
    /// reported of them, and requests to end, which end these tasks alone.
    Tasks {
        /// The number of the first one.
        first: TaskId,
        /// The executors that are ready, with their hosts and cores.
        executors: Vec<(ExecutorId, String, Cores)>,
    },
}

/// What a run is made of.
pub struct Run {
    input: Input,
    template: Template,
    driver: Handle,
    outlet: Outlet,
    progress: Progress,
    stake: Stake,
    window: Arc<Semaphore>,
    tally: Tally,
    /// Items whose tasks are not over.
    pending: BTreeMap<TaskId, Pending>,
    /// Bytes of their standard input.
    pending_bytes: usize,
    more: More,
    unreachable: BTreeSet<String>,
    started: Instant,
    /// Gets the items that are left.
    leftovers: Option<Leftovers>,
    wished_hosts: WishedHosts,
    /// When the first executor was ready.
    first_executor: Option<Instant>,
    /// Who asked for the end, and when.
    asked: Option<(EndRequest, Instant)>,
    ending: Ending,
}

#[derive(Debug)]
struct Pending {
    number: u64,
    item: String,
    bytes: usize,
    place: Place,
    /// The item as the input had it, for the leftovers if there are any.
    record: Option<Bytes>,
}

/// Why the work is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// The application is.
    Report,
    /// The user does not want to wait for it.
    Abandoned,
    /// There is no use in going on.
    Own,
}

/// Whether items are still taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    Yes,
    No,
}

impl Run {
    /// A run that has not begun.
    #[must_use]
    pub fn new(
        input: Input,
        template: Template,
        driver: Handle,
        outlet: Outlet,
        progress: Progress,
        stake: Stake,
    ) -> Self {
        let mut tally = Tally::new();
        let mut first_executor = None;
        if let Stake::Tasks { executors, .. } = &stake {
            for (executor, host, cores) in executors {
                first_executor.get_or_insert_with(Instant::now);
                tally.add_executor(*executor, host.clone(), *cores);
            }
        }
        Self {
            input,
            template,
            driver,
            outlet,
            progress,
            stake,
            window: Arc::new(Semaphore::new(WINDOW)),
            tally,
            pending: BTreeMap::new(),
            pending_bytes: 0,
            more: More::Yes,
            unreachable: BTreeSet::new(),
            started: Instant::now(),
            leftovers: None,
            wished_hosts: WishedHosts::none(),
            first_executor,
            asked: None,
            ending: Ending::Completed,
        }
    }

    /// The same, writing there the items that are left.
    #[must_use]
    pub fn leaving(self, leftovers: Option<Leftovers>) -> Self {
        Self { leftovers, ..self }
    }

    /// The same, saying which hosts items prefer in vain.
    #[must_use]
    pub fn looking_after(self, wished_hosts: WishedHosts) -> Self {
        Self { wished_hosts, ..self }
    }

    /// Runs it to its end.
    pub async fn finish(mut self, mut reports: mpsc::UnboundedReceiver<Report>) -> (Ending, Summary) {
        let last = self.work(&mut reports).await;
        let requests = match self.stake {
            Stake::Application => EndRequests::install().ok(),
            // Its owner hears them, and sees to the output.
            Stake::Tasks { .. } => Some(EndRequests::nobody()),
        };
        let asked = self.asked;
        match (last, requests) {
            (Last::Abandoned, _) | (Last::Report | Last::Own, None) => {}
            // A slow reader keeps nobody who wants to go.
            (last, Some(mut requests)) => tokio::select! {
                () = self.conclude(last, &mut reports) => {}
                request = another(&mut requests, asked) => self.ending = Ending::Abandoned(request),
            },
        }
        self.leave_rest().await;
        let remarks = self.wished_hosts.last_remarks().await;
        remarks.iter().for_each(|remark| self.progress.remark(remark));
        self.progress.finish();
        (self.ending, self.tally.close(self.started.elapsed()))
    }

    async fn work(&mut self, reports: &mut mpsc::UnboundedReceiver<Report>) -> Last {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.is_over() {
                return Last::Report;
            }
            let wants_item = self.wants_item();
            let window = Arc::clone(&self.window);
            let input = &mut self.input;
            let item = async {
                let place = window.acquire_owned().await.expect("it is never closed");
                (place, input.next().await)
            };
            tokio::select! {
                report = reports.recv() => match report {
                    Some(report) => {
                        if matches!(report, Report::AskedToEnd(_)) {
                            self.cancel_tasks().await;
                        }
                        if let Some(last) = self.on_report(report) {
                            return last;
                        }
                    }
                    // The driver is gone without a last word: it has panicked, and has said so.
                    None => {
                        self.lose_output("the driver ended unexpectedly");
                        return Last::Report;
                    }
                },
                (place, item) = item, if wants_item => self.on_item(place, item).await,
                error = self.outlet.broken() => {
                    self.on_broken(&error);
                    return Last::Own;
                }
                _ = tick.tick() => {
                    self.wished_hosts.remarks().iter().for_each(|remark| self.progress.remark(remark));
                    self.progress.update(&self.standing());
                    if stdout_is_closed() {
                        self.end_with(Ending::ReaderGone);
                        return Last::Own;
                    }
                }
            }
        }
    }

    /// Prints what there is to print, or ends the application for which nobody prints any more.
    async fn conclude(&mut self, last: Last, reports: &mut mpsc::UnboundedReceiver<Report>) {
        match last {
            Last::Abandoned => {}
            Last::Report => {
                self.progress.update(&self.standing());
                if let Err(error) = self.outlet.close().await {
                    self.on_broken(&error);
                }
                if let (Stake::Application, Ending::Asked(_)) = (&self.stake, &self.ending) {
                    self.see_off(reports).await;
                }
            }
            Last::Own => {
                self.more = More::No;
                match self.stake {
                    // Refused if it is over already.
                    Stake::Application => drop(self.driver.cancel().await),
                    Stake::Tasks { .. } => self.cancel_tasks().await,
                }
                while !self.is_over()
                    && let Some(report) = reports.recv().await
                {
                    if self.on_report(report).is_some() {
                        break;
                    }
                }
            }
        }
    }

    /// Stays until the executors have ended, for which their Workers give them some time.
    async fn see_off(&mut self, reports: &mut mpsc::UnboundedReceiver<Report>) {
        let last = async {
            // The driver may be gone at once: then there is nobody to wait for.
            while let Some(report) = reports.recv().await {
                match report {
                    Report::NothingLeft => break,
                    Report::Abandoned(request) => return Some(request),
                    Report::Output { .. }
                    | Report::DiscardOutput { .. }
                    | Report::TaskEnded { .. }
                    | Report::Note(_)
                    | Report::AskedToEnd(_)
                    | Report::Done(_) => {}
                }
            }
            None
        };
        match timeout(PATIENCE, last).await {
            Ok(None) => {}
            Ok(Some(request)) => self.ending = Ending::Abandoned(request),
            Err(_) => self.progress.remark(
                "no Master confirmed the end of all executors; their Workers end them when they reach a Master again",
            ),
        }
    }

    /// Writes an item that is left.
    fn leave(&mut self, record: Option<Bytes>) {
        let (Some(leftovers), Some(record)) = (&mut self.leftovers, record) else { return };
        if let Err(error) = leftovers.leave(&record) {
            self.leftovers = None;
            self.lose_output(&error.to_string());
        }
    }

    /// Writes the items that did not come to their end.
    async fn leave_rest(&mut self) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            self.leave(pending.record);
        }
        let Some(mut leftovers) = self.leftovers.take() else { return };
        match leftovers.close(&mut self.input).await {
            Err(error) => self.lose_output(&error.to_string()),
            Ok(()) if leftovers.count() > 0 => {
                let (items, path) = (counted(leftovers.count(), "item"), leftovers.path().display());
                self.progress.remark(format_args!("{items} not done: {path} lists them for another run"));
            }
            Ok(()) => {}
        }
    }

    /// Whether all of its tasks are over, where the application goes on.
    fn is_over(&self) -> bool {
        match self.stake {
            Stake::Application => false,
            Stake::Tasks { .. } => self.more == More::No && self.pending.is_empty(),
        }
    }

    /// Ends its tasks where they are not all of the application, which ends them itself.
    async fn cancel_tasks(&mut self) {
        match self.stake {
            Stake::Application => {}
            Stake::Tasks { .. } => {
                for task in self.pending.keys() {
                    // Refused only when the application is over, and then its end is on the way.
                    let _ = self.driver.cancel_task(*task).await;
                }
            }
        }
    }

    /// No more tasks come.
    async fn end_tasks(&mut self) {
        self.more = More::No;
        match self.stake {
            Stake::Application => drop(self.driver.end_input().await),
            Stake::Tasks { .. } => {}
        }
    }

    fn first(&self) -> u64 {
        match &self.stake {
            Stake::Application => TaskId::FIRST.0,
            Stake::Tasks { first, .. } => first.0,
        }
    }

    /// Whether one more item fits at the driver: enough wait that no core does.
    fn wants_item(&self) -> bool {
        let (_, cores) = self.tally.ready();
        let (each, least, most) = WAITING;
        let room = cores.0.saturating_mul(each).clamp(least, most).saturating_add(cores.0);
        let fits = i64::try_from(self.pending.len()).unwrap_or(i64::MAX) < room;
        let running = usize::try_from(cores.0).unwrap_or(0);
        let average = self.pending_bytes / self.pending.len().max(1);
        self.more == More::Yes && fits && self.pending_bytes < WAITING_BYTES + running * average
    }

    async fn on_item(&mut self, place: Place, item: Option<Result<Item, InputError>>) {
        match item {
            Some(Ok(item)) => {
                let record = self.leftovers.as_ref().map(|leftovers| leftovers.record(&item));
                let Item { number, content, hosts } = item;
                self.wished_hosts.add(number, &hosts);
                let bytes = match &content {
                    Content::Argument(_) => 0,
                    Content::Block { bytes, .. } => bytes.len(),
                };
                let item = shown(&content);
                match self.template.task(content) {
                    Ok(task) => {
                        let id = TaskId(self.first() + self.tally.summary.items);
                        self.tally.summary.items += 1;
                        self.pending_bytes += bytes;
                        self.pending.insert(id, Pending { number, item, bytes, place, record });
                        // Refused only when the application is over, and then its end is on the way.
                        let request = TaskRequest { preferred_hosts: hosts, ..task };
                        let _ = self.driver.submit(id, request).await;
                    }
                    Err(error) => {
                        self.leave(record);
                        self.end_input(format!("item {number} ({item}): {error}")).await;
                    }
                }
            }
            Some(Err(error)) => self.end_input(error.to_string()).await,
            None => self.end_tasks().await,
        }
    }

    /// The items end early; those before are still done.
    async fn end_input(&mut self, error: String) {
        self.progress.error(&error);
        self.tally.summary.error = Some(error);
        self.end_with(Ending::BadInput);
        self.end_tasks().await;
    }

    /// The end of it, if that was the last one.
    fn on_report(&mut self, report: Report) -> Option<Last> {
        match report {
            Report::Output { attempt, stream, bytes } => {
                self.outlet.put(Piece::Output { attempt, stream, bytes });
            }
            Report::DiscardOutput { attempt } => {
                self.tally.summary.repeated_attempts += 1;
                self.outlet.put(Piece::Discarded { attempt });
            }
            Report::TaskEnded { task, outcome } => self.on_task_ended(task, &outcome),
            Report::Note(note) => self.on_note(note),
            Report::AskedToEnd(request) => {
                self.asked.get_or_insert((request, Instant::now()));
                if self.stake == Stake::Application && !self.pending.is_empty() {
                    let items = counted(self.pending.len() as u64, "item");
                    self.progress.remark(format_args!("cancelling {items}; ctrl-c again leaves at once"));
                }
                self.more = More::No;
                self.end_with(Ending::Asked(request));
            }
            Report::Done(outcome) => {
                self.on_done(outcome);
                return Some(Last::Report);
            }
            Report::NothingLeft => {}
            Report::Abandoned(request) => {
                self.ending = Ending::Abandoned(request);
                return Some(Last::Abandoned);
            }
        }
        None
    }

    fn on_task_ended(&mut self, task: TaskId, outcome: &TaskOutcome) {
        let Some(Pending { number, item, bytes, place, record }) = self.pending.remove(&task) else { return };
        self.pending_bytes -= bytes;
        self.tally.add_outcome(number, &item, outcome);
        let last = match outcome {
            TaskOutcome::Succeeded { attempt, .. } | TaskOutcome::Failed { attempt, .. } => Some(*attempt),
            TaskOutcome::Cancelled | TaskOutcome::Unfit(_) => None,
        };
        self.outlet.put(Piece::Ended { task, last, place });
        match outcome {
            TaskOutcome::Succeeded { .. } => {}
            TaskOutcome::Failed { .. } | TaskOutcome::Cancelled | TaskOutcome::Unfit(_) => {
                self.leave(record);
            }
        }
    }

    fn on_note(&mut self, note: Note) {
        match &note {
            Note::Registered { app, .. } => self.tally.summary.app = Some(app.clone()),
            // Executors of other profiles take none of these items.
            Note::ExecutorRegistered { profile, .. } if *profile != self.template.profile() => {}
            Note::ExecutorRegistered { executor, host, cores, .. } => {
                self.first_executor.get_or_insert_with(Instant::now);
                self.tally.add_executor(*executor, host.clone(), *cores);
            }
            Note::ExecutorLost { executor, loss, .. } => self.tally.lose_executor(*executor, loss),
            Note::Excluded { cause, .. } => self.tally.exclude(cause),
            // Once for each Master and error is enough.
            Note::MasterUnreachable { .. } if !self.unreachable.insert(note.to_string()) => return,
            // Repeated attempts are counted; what failed for good is in the summary.
            Note::TaskFailed { attempt, host, .. } => {
                if let Some(pending) = self.pending.get(&attempt.task) {
                    self.tally.fail_on(pending.number, host);
                }
                return;
            }
            Note::MasterUnreachable { .. }
            | Note::MasterLost { .. }
            | Note::ExecutorAdded { .. }
            | Note::ExecutorRefused { .. }
            | Note::ExecutorAbsent { .. }
            | Note::TargetSet { .. }
            | Note::TargetIsDynamic { .. }
            | Note::IdleExecutorsKilled { .. }
            | Note::ExecutorsKilled { .. }
            | Note::KillUnknown { .. }
            | Note::ProfileUnknown { .. }
            | Note::ProfileRefused { .. }
            | Note::RequestRefused { .. }
            | Note::WorkerRemoved { .. }
            | Note::TaskTooLarge { .. }
            | Note::Readmitted { .. }
            | Note::HostsReadmitted { .. }
            | Note::NeverFits { .. }
            | Note::NoExecutor { .. }
            | Note::CreditExceeded { .. }
            | Note::UnexpectedMessage { .. }
            | Note::UnexpectedTask { .. } => {}
        }
        match (note.level(), &self.ending) {
            (NoteLevel::Warn, Ending::Completed) => self.progress.remark(Remark(&note)),
            (NoteLevel::Info | NoteLevel::Warn, _) => {}
        }
    }

    fn on_done(&mut self, outcome: Outcome) {
        // A user who gave up was heard before.
        if let Some(over) = Over::of_driver(outcome) {
            self.progress.error(&over);
            self.tally.summary.error = Some(over.to_string());
            self.end_with(Ending::Over(over));
        }
    }

    fn on_broken(&mut self, error: &OutletError) {
        match error {
            OutletError::Print(PrintError::Closed(_)) => self.end_with(Ending::ReaderGone),
            OutletError::Print(_) | OutletError::Spool(_) | OutletError::Thread(_) | OutletError::Gone => {
                self.lose_output(&error.to_string());
            }
        }
    }

    fn lose_output(&mut self, error: &str) {
        self.progress.error(error);
        self.tally.summary.error = Some(error.to_owned());
        self.end_with(Ending::OutputLost);
    }

    /// The first reason counts.
    fn end_with(&mut self, ending: Ending) {
        if matches!(self.ending, Ending::Completed) {
            self.ending = ending;
        }
    }

    fn standing(&self) -> Standing {
        let (executors, cores) = self.tally.ready();
        let summary = &self.tally.summary;
        let total = match self.more {
            More::No if matches!(self.ending, Ending::Completed) => Some(summary.items),
            More::Yes | More::No => self.input.count(),
        };
        let elapsed = self.first_executor.map(|first| first.elapsed()).unwrap_or_default();
        Standing {
            done: summary.succeeded + summary.failed,
            failed: summary.failed,
            total,
            executors,
            cores: cores.0,
            elapsed,
        }
    }
}

/// The next request that is not the one of before, heard again.
async fn another(requests: &mut EndRequests, before: Option<(EndRequest, Instant)>) -> EndRequest {
    loop {
        let request = requests.next().await;
        if !before.is_some_and(|(first, since)| first.is_echoed_by(request, since.elapsed())) {
            return request;
        }
    }
}

/// Whether whoever read our standard output has gone. It shows without a write, which may be far off.
pub(crate) fn stdout_is_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    poll(&mut fds, PollTimeout::ZERO).is_ok()
        && fds[0].revents().is_some_and(|events| events.intersects(gone))
}
