//! The event loop around the state machine of a session: performs the effects of a [`Session`], and gives it events.
//!
//! The loop makes no decisions. It waits for one event, gives it to the machine, and performs the machine's effects in
//! order. An effect that takes long reports its result as an event. The machine waits for one answer at a time.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_daemons::remark;
use firesteel_engine::driver::Until;
use firesteel_engine::session::{
    Answer, Command, Config, Effect, Ending, Event, Message, Piece, Remark, Route, RunMode, Session, overview,
};
use firesteel_host::clock::Clock;
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequests;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Machine as _;
use firesteel_settings::{ApplicationSettings, Properties};
use tokio::sync::mpsc;
use tokio::task::{block_in_place, spawn_blocking};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep_until};

use super::complete::Living;
use super::console::Console;
use super::map::{self, MapRun};
use super::reader::{Line, Reader};
use super::records::Records;
use super::{Job, answers, script};
use crate::end_reason::EndReason;
use crate::map::input::Input;
use crate::map::run::stdout_is_closed;
use crate::map::summary::Summary;

/// How often the event loop checks whether standard output was closed.
const TICK: Duration = Duration::from_millis(50);
/// The maximum number of lines in the session's history.
const LINES: usize = 1000;

/// The event that results from an effect, with the items of a map run if the effect opened them.
type PendingEvent = Pin<Box<dyn Future<Output = (Event, Option<Input>)> + Send>>;

/// The event loop around the state machine of a session.
pub(super) struct SessionShell {
    machine: Session,
    clock: Clock,
    driver: Handle,
    /// The reports of the driver. `None` once the driver has ended.
    reports: Option<mpsc::Receiver<Report>>,
    requests: EndRequests,
    prompt: Prompt,
    console: Console,
    records: Records,
    progress: Progress,
    properties: Properties,
    history: VecDeque<String>,
    living: Arc<Mutex<Living>>,
    map: MapRun,
    /// The summary of the last map run.
    summary: Option<Summary>,
    /// The answer that the machine waits for, with the items of a map run if they were opened.
    answer: Option<PendingEvent>,
    /// Events that are already known. They are handled before all others.
    raised: VecDeque<Event>,
}

/// The reader of lines, and whether the session has requested a line.
struct Prompt {
    reader: Reader,
    is_wanted: bool,
    /// Whether a person is typing a line.
    is_typing: bool,
    is_terminal: bool,
}

impl SessionShell {
    /// Creates the event loop of a session whose application has just started.
    pub(super) fn new(
        job: &Job,
        settings: &ApplicationSettings,
        (driver, reports): (Handle, mpsc::Receiver<Report>),
        requests: EndRequests,
        progress: Progress,
    ) -> io::Result<Self> {
        let living = Arc::default();
        let mut reader = Reader::open(&job.source, Arc::clone(&living))?;
        let history = std::mem::take(&mut reader.remembered).into();
        let console = Console::start(reader.above.take())?;
        let config = Config {
            commands: job.source.commands(),
            on_failure: job.on_failure,
            defaults: job.defaults.clone(),
            allocation: settings.allocation,
        };
        let is_terminal = job.source.is_terminal();
        Ok(Self {
            machine: Session::new(config),
            clock: Clock::start(),
            records: Records::new(settings.kept_output)?,
            driver,
            reports: Some(reports),
            requests,
            prompt: Prompt { reader, is_wanted: false, is_typing: false, is_terminal },
            console,
            progress,
            properties: job.properties.clone(),
            history,
            living,
            map: MapRun::None,
            summary: None,
            answer: None,
            raised: VecDeque::new(),
        })
    }

    /// Why standard output could not be written. Empty while there is no error, and if it was closed at the other end.
    pub(super) fn output_failure(&self) -> Arc<OnceLock<String>> {
        self.console.failure()
    }

    /// Runs the session to its end.
    pub(super) async fn run(mut self) -> Ending {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let Some(event) = self.raised.pop_front() else {
                self.next(&mut tick).await;
                continue;
            };
            let effects = self.machine.apply(self.clock.now(), event);
            if cfg!(debug_assertions)
                && let Err(violation) = self.machine.check()
            {
                panic!("{violation}");
            }
            for effect in effects {
                match effect {
                    Effect::Finish(ending) => return ending,
                    effect => self.perform(effect).await,
                }
            }
        }
    }

    /// Waits for the next event, and queues the events that the machine needs.
    async fn next(&mut self, tick: &mut Interval) {
        let deadline = self.machine.next_deadline().map(|(time, _)| self.clock.instant(time));
        let until_deadline = async {
            match deadline {
                Some(instant) => sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        let (answer, reports) = (&mut self.answer, &mut self.reports);
        let answered = async {
            match answer {
                Some(answer) => answer.await,
                None => std::future::pending().await,
            }
        };
        let reported = async {
            match reports {
                Some(reports) => reports.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            report = reported => {
                self.see_closed_console();
                self.on_report(report).await;
            }
            line = self.prompt.reader.next(), if self.prompt.is_wanted => self.on_line(line),
            request = self.requests.next() => self.raise(Event::EndRequested(request)),
            (event, input) = answered => self.on_answered(event, input).await,
            (end, summary) = self.map.ended() => {
                self.map = MapRun::None;
                self.summary = Some(summary);
                self.raise(Event::MapEnded(end));
            }
            () = until_deadline => self.raise(Event::Deadline),
            _ = tick.tick(), if self.machine.waits_long() => {
                if stdout_is_closed() || self.console.is_closed() {
                    self.raise(Event::ReaderClosed);
                }
            }
        }
    }

    fn raise(&mut self, event: Event) {
        self.raised.push_back(event);
    }

    fn see_closed_console(&mut self) {
        if self.console.is_closed() {
            self.raise(Event::ReaderClosed);
        }
    }

    async fn on_report(&mut self, report: Option<Report>) {
        let of = match &report {
            Some(Report::Output { attempt, .. } | Report::DiscardOutput { attempt }) => Some(attempt.task),
            Some(Report::TaskEnded { task, .. }) => Some(*task),
            _ => None,
        };
        let route = of.map(|task| self.machine.route(task));
        match (report, route) {
            (Some(report), Some(Route::Map)) => self.map.tell(report).await,
            (Some(Report::Output { attempt, stream, bytes }), Some(Route::Console)) => {
                self.console.output(&self.driver, attempt, stream, bytes);
            }
            (Some(Report::Output { attempt, bytes, .. }), Some(Route::Record)) => {
                block_in_place(|| {
                    self.records.append(attempt.task, &bytes);
                    // The application may already have ended.
                    let _ = self.driver.consumed(attempt, bytes.len() as u64);
                });
            }
            (Some(Report::Output { .. }), _) => {}
            (Some(Report::DiscardOutput { attempt }), _) => self.raise(Event::OutputDiscarded(attempt.task)),
            (Some(Report::TaskEnded { task, outcome }), _) => self.raise(Event::TaskEnded(task, outcome)),
            (Some(Report::Note(note)), _) => {
                self.map.tell(Report::Note(note.clone())).await;
                self.raise(Event::NoteReceived(note));
            }
            (Some(Report::Done(ending)), _) => self.raise(Event::ApplicationEnded(ending)),
            (Some(Report::Exited) | None, _) => {
                self.reports = None;
                self.raise(Event::DriverEnded);
            }
        }
    }

    /// Handles an answer to the machine. It comes after all earlier reports of the driver.
    async fn on_answered(&mut self, event: Event, input: Option<Input>) {
        self.answer = None;
        while let Some(report) = self.reports.as_mut().and_then(|reports| reports.try_recv().ok()) {
            self.on_report(Some(report)).await;
        }
        self.see_closed_console();
        if let Some(input) = input {
            self.map = MapRun::opened(input);
        }
        self.raise(event);
    }

    fn on_line(&mut self, line: Line) {
        self.prompt.is_typing = false;
        self.prompt.is_wanted = matches!(line, Line::Remark(_));
        match line {
            Line::Remark(words) => self.remark(&words),
            Line::Text(text) => {
                if !text.trim().is_empty() {
                    self.history.push_back(text.clone());
                }
                if self.history.len() > LINES {
                    self.history.pop_front();
                }
                self.raise(Event::LineRead(text));
            }
            Line::Interrupted => self.raise(Event::LineDiscarded),
            Line::End => self.raise(Event::LinesEnded),
            Line::Failed(error) => self.raise(Event::LinesFailed(error)),
        }
    }

    /// Prints a remark that is not an answer to a command, above the line that is being typed.
    fn remark(&self, words: &str) {
        if !self.progress.is_quiet() {
            self.console.remark(format_args!("firesteel: {words}"), self.prompt.is_typing);
        }
    }

    /// Performs an effect. The application may already have ended. Then the driver refuses the call, and the event
    /// about its end follows.
    async fn perform(&mut self, effect: Effect) {
        let driver = self.driver.clone();
        match effect {
            Effect::OfferNames(executors, tasks) => {
                let executors = executors.iter().map(ToString::to_string).collect();
                let tasks = tasks.iter().map(ToString::to_string).collect();
                *self.living.lock().expect("nobody panics with it in hand") = Living { executors, tasks };
            }
            Effect::WantLine => {
                self.prompt.reader.want();
                self.prompt.is_wanted = true;
                self.prompt.is_typing = self.prompt.is_terminal;
            }
            Effect::LeavePrompt => {
                if self.prompt.is_typing
                    && let Some(words) = self.prompt.reader.leave()
                {
                    self.console.say(words);
                }
                self.prompt.is_typing = false;
            }
            // If the driver has ended, no answer comes, but the driver's last report will.
            Effect::Look => self.answer_with(async move {
                match driver.view().await {
                    Ok(view) => Event::TablesSeen(view),
                    Err(_) => std::future::pending().await,
                }
            }),
            Effect::AskMaster => self.answer_with(async move {
                match driver.explain().await {
                    Ok(shortfalls) => Event::MasterAnswered(shortfalls),
                    Err(_) => std::future::pending().await,
                }
            }),
            // The file may be on a network file system that hangs.
            Effect::ReadFile(path) => self.answer_with(async {
                let reading = spawn_blocking(move || script::read(&path));
                match reading.await.expect("reading a file does not panic") {
                    Ok(text) => Event::FileRead(text),
                    Err(error) => Event::FileFailed(error.to_string()),
                }
            }),
            Effect::OpenItems(items) => {
                self.answer = Some(Box::pin(async {
                    match map::open(items).await {
                        Ok(input) => (Event::ItemsOpened, Some(input)),
                        Err(error) => (Event::ItemsFailed(error.to_string()), None),
                    }
                }));
            }
            Effect::Forget => self.answer = None,
            Effect::StartMap(start) => {
                let (sinks, progress) = (self.console.sinks(), self.progress.again());
                match std::mem::take(&mut self.map).start(*start, driver, sinks, progress) {
                    Ok(map) => self.map = map,
                    Err(error) => self.raise(Event::MapFailed(error.to_string())),
                }
            }
            Effect::InterruptMap => self.map.interrupt().await,
            Effect::Submit(task, request, place) => {
                if place == RunMode::Background {
                    self.records.begin(task);
                }
                let _ = driver.submit(task, *request).await;
            }
            Effect::CancelTasks(tasks) => {
                for task in tasks {
                    let _ = driver.cancel_task(task).await;
                }
            }
            Effect::RequestExecutors(profile, total) => {
                let _ = driver.request_executors(profile, total).await;
            }
            Effect::KillExecutors(executors, replacement) => {
                let _ = driver.kill_executors(executors, replacement).await;
            }
            Effect::AddProfile(profile, needs, total) => {
                let _ = driver.add_profile(profile, needs, total).await;
            }
            Effect::EndApplication => {
                let _ = driver.cancel(Until::Notified).await;
            }
            Effect::RestartRecord(task) => self.records.restart(task),
            Effect::CloseRecord(task) => self.records.close(task),
            Effect::DropRecord(task) => self.records.remove(task),
            Effect::Rewind(task) => self.records.rewind(task),
            Effect::Replay(task) => {
                let piece = match self.records.next() {
                    Ok(bytes) if bytes.is_empty() => Piece::Nothing,
                    Ok(bytes) => {
                        self.console.replay(bytes);
                        Piece::Printed
                    }
                    Err(error) => Piece::Failed(error.to_string()),
                };
                let replayed = Event::Replayed(piece, self.records.loss(task));
                self.answer_when_printed(replayed);
            }
            Effect::Print(answer) => self.console.print(self.words(&answer)),
            Effect::Say(message) => self.say(message),
            Effect::Complain(position, complaint) => {
                self.console.say(format_args!("firesteel: {position}{complaint}"));
            }
            Effect::Remark(Remark::Driver(note)) => self.remark(&remark::Remark(&note).to_string()),
            Effect::Remark(remark) => self.remark(&remark.to_string()),
            Effect::EndLine => self.console.end_line(),
            Effect::ShowInterrupt => self.console.interrupted(),
            Effect::Settle => self.answer_when_printed(Event::OutputSettled),
            Effect::Mute => self.console.mute(true),
            Effect::Unmute => self.console.mute(false),
            // `run` handles this effect.
            Effect::Finish(_) => {}
        }
    }

    fn answer_with(&mut self, answer: impl Future<Output = Event> + Send + 'static) {
        self.answer = Some(Box::pin(async { (answer.await, None) }));
    }

    fn answer_when_printed(&mut self, event: Event) {
        let settled = self.console.settled();
        self.answer_with(async {
            settled.await;
            event
        });
    }

    /// An answer as text.
    fn words(&self, answer: &Answer) -> String {
        match answer {
            Answer::Executors(view) => answers::executors(view),
            Answer::Tasks(which, tasks, view) => answers::tasks(self.clock.now(), tasks, view, *which),
            Answer::Profiles(added, view) => answers::profiles(view, added),
            Answer::Status(view) => answers::status(view),
            Answer::Defaults(defaults) => answers::defaults(defaults),
            Answer::Settings => answers::settings(&self.properties),
            Answer::History(last) => {
                let skipped = self.history.len().saturating_sub(last.unwrap_or(usize::MAX));
                self.history.iter().skip(skipped).map(|line| format!("{line}\n")).collect()
            }
            Answer::Help(None) => overview(),
            Answer::Help(Some(Command { help, .. })) => format!("{help}\n"),
            Answer::Requested(total, assigned) => answers::requested(*total, *assigned),
            Answer::Ended(executors, wanted) => answers::ended(executors, *wanted),
            Answer::Why(shortfalls, view) => answers::why(shortfalls, view),
            Answer::ProfileAdded(profile, needs, total, answer_state) => {
                answers::profile_added(*profile, needs, *total, *answer_state)
            }
        }
    }

    fn say(&mut self, message: Message) {
        match message {
            Message::Banner(_) | Message::InBackground(_) | Message::MapSummary(0)
                if self.progress.is_quiet() => {}
            Message::Banner(view) => self.console.say_lines(answers::banner(&view)),
            Message::InBackground(task) => {
                self.console.say(format_args!("task {task} runs in the background"));
            }
            Message::MapSummary(_) => {
                if let Some(summary) = self.summary.take() {
                    self.console.say_lines(format_args!("firesteel: {summary}"));
                }
            }
            Message::TasksRun(open) => {
                let (run, them) = if open == 1 { ("runs", "it") } else { ("run", "them") };
                let tasks = counted(open, "task");
                let words = format_args!("{tasks} still {run}: quit again to cancel {them}, or wait");
                self.console.say(words);
            }
            Message::LinesFailed(error) => self.console.say(format_args!("firesteel: {error}")),
            Message::Over(ending) => {
                if let Some(over) = EndReason::of_driver(ending) {
                    self.console.say(format_args!("firesteel: {over}"));
                }
            }
        }
    }
}
