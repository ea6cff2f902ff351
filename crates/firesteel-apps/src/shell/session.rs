//! The shell of a session: performs what a [`Session`] decides, and tells it what happens.
//!
//! Nothing is decided here. The loop waits for one thing that happens, tells the machine, and does
//! what it wants done, in order. What takes long answers with an event; the machine waits for one
//! answer at a time.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use firesteel_engine::session::{Config, Effect, Ending, Event, Route, Session};
use firesteel_protocol::Machine as _;
use firesteel_protocol::ids::TaskId;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep_until};

use super::Job;
use super::complete::Living;
use super::console::Console;
use super::grammar;
use super::keeper::{Keeper, Record};
use super::map::MapRun;
use super::reader::{Line, Reader};
use super::replay::Bookmark;
use crate::map::input::Input;
use crate::map::run::stdout_is_closed;
use crate::map::summary::Summary;
use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_host::clock::Clock;
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequests;
use firesteel_settings::{ApplicationSettings, Properties};

/// How often a closed standard output is looked for.
const TICK: Duration = Duration::from_millis(50);
/// Maximum number of lines in the session's history.
const LINES: usize = 1000;

/// The shell of a session.
pub struct SessionShell {
    pub(super) machine: Session,
    pub(super) clock: Clock,
    pub(super) driver: Handle,
    reports: Reports,
    requests: EndRequests,
    pub(super) prompt: Prompt,
    pub(super) console: Console,
    pub(super) keeper: Keeper,
    /// The records of background tasks.
    pub(super) records: BTreeMap<TaskId, Arc<Record>>,
    /// Where the record that is printed was left.
    pub(super) bookmark: Bookmark,
    pub(super) progress: Progress,
    pub(super) properties: Properties,
    pub(super) history: VecDeque<String>,
    pub(super) living: Arc<Mutex<Living>>,
    pub(super) map: MapRun,
    /// What the last map run came to.
    pub(super) summary: Option<Summary>,
    /// The answer that the machine waits for.
    pub(super) answer: Option<Pin<Box<dyn Future<Output = Answered> + Send>>>,
    /// What is known, before anything else happens.
    pub(super) raised: VecDeque<Event>,
}

/// What the driver reports, until it has ended.
struct Reports {
    reports: mpsc::Receiver<Report>,
    is_open: bool,
}

/// The reader of lines, and whether a line is wanted.
pub(super) struct Prompt {
    pub(super) reader: Reader,
    pub(super) is_wanted: bool,
    /// Whether a person is typing it.
    pub(super) is_typing: bool,
    pub(super) is_terminal: bool,
}

/// An answer that the machine waited for.
pub(super) enum Answered {
    /// The answer itself.
    Event(Event),
    /// The items of a map run, open.
    Items(Box<Input>),
}

impl SessionShell {
    /// Creates the shell of a session whose application has just started.
    ///
    /// # Errors
    /// The script cannot be opened, or the threads cannot be started.
    pub fn new(
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
        Ok(Self {
            machine: Session::new(config),
            clock: Clock::start(),
            keeper: Keeper::start(driver.clone(), settings.kept_output)?,
            driver,
            reports: Reports { reports, is_open: true },
            requests,
            prompt: Prompt {
                reader,
                is_wanted: false,
                is_typing: false,
                is_terminal: job.source.is_terminal(),
            },
            console,
            records: BTreeMap::new(),
            bookmark: Bookmark::default(),
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

    /// Why standard output could not be written, once it could not, unless its reader is gone.
    #[must_use]
    pub fn output_failure(&self) -> Arc<OnceLock<String>> {
        self.console.failure()
    }

    /// Runs the session to its end.
    ///
    /// # Panics
    /// In debug builds, when an invariant of the machine does not hold.
    pub async fn run(mut self) -> Ending {
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

    /// Waits for what happens next, and raises what the machine needs to know of it.
    async fn next(&mut self, tick: &mut Interval) {
        let deadline = self.machine.next_deadline().map(|(time, _)| self.clock.instant(time));
        let until_deadline = async {
            match deadline {
                Some(instant) => sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        let answer = &mut self.answer;
        let answered = async {
            match answer {
                Some(answer) => answer.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            report = self.reports.reports.recv(), if self.reports.is_open => {
                self.see_closed_console();
                self.on_report(report).await;
            }
            line = self.prompt.reader.next(), if self.prompt.is_wanted => self.on_line(line),
            request = self.requests.next() => self.raise(Event::EndRequested(request)),
            answered = answered => self.on_answered(answered).await,
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
        match report {
            Some(Report::Output { attempt, stream, bytes }) => match self.machine.route(attempt.task) {
                Route::Console => self.console.output(&self.driver, attempt, stream, bytes),
                Route::Record => {
                    if let Some(record) = self.records.get(&attempt.task) {
                        self.keeper.keep(record, attempt, bytes);
                    }
                }
                Route::Map => self.map.tell(Report::Output { attempt, stream, bytes }).await,
                Route::Nowhere => {}
            },
            Some(Report::DiscardOutput { attempt }) => match self.machine.route(attempt.task) {
                Route::Map => self.map.tell(Report::DiscardOutput { attempt }).await,
                Route::Console | Route::Record | Route::Nowhere => {
                    self.raise(Event::OutputDiscarded { attempt });
                }
            },
            Some(Report::TaskEnded { task, outcome }) => match self.machine.route(task) {
                Route::Map => self.map.tell(Report::TaskEnded { task, outcome }).await,
                Route::Console | Route::Record | Route::Nowhere => {
                    self.raise(Event::TaskEnded { task, outcome });
                }
            },
            Some(Report::Note(note)) => {
                self.map.tell(Report::Note(note.clone())).await;
                self.raise(Event::NoteReceived(note));
            }
            Some(Report::Done(ending)) => self.raise(Event::ApplicationEnded(ending)),
            Some(Report::Exited) | None => {
                self.reports.is_open = false;
                self.raise(Event::DriverEnded);
            }
        }
    }

    /// An answer comes after all that the driver has reported until now.
    async fn on_answered(&mut self, answered: Answered) {
        self.answer = None;
        while let Ok(report) = self.reports.reports.try_recv() {
            self.on_report(Some(report)).await;
        }
        self.see_closed_console();
        match answered {
            Answered::Event(event) => self.raise(event),
            Answered::Items(input) => {
                self.map = MapRun::opened(*input);
                self.raise(Event::ItemsOpened);
            }
        }
    }

    fn on_line(&mut self, line: Line) {
        self.prompt.is_typing = false;
        self.prompt.is_wanted = matches!(line, Line::Remark(_));
        match line {
            Line::Remark(words) => self.remark(&words),
            Line::Text { number, text } => {
                self.remember(&text);
                self.raise(Event::LineRead(grammar::parse(number, &text)));
            }
            Line::Interrupted => self.raise(Event::LineDiscarded),
            Line::End => self.raise(Event::LinesEnded),
            Line::Failed(error) => self.raise(Event::LinesFailed { error }),
        }
    }

    fn remember(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.history.push_back(line.to_owned());
        if self.history.len() > LINES {
            self.history.pop_front();
        }
    }

    /// Prints a remark that no command asked for, above the line that is being typed.
    pub(super) fn remark(&self, words: &str) {
        let line = format_args!("firesteel: {words}");
        match (self.progress.is_quiet(), self.prompt.is_typing) {
            (true, _) => {}
            (false, true) => self.console.remark_above(line),
            (false, false) => self.console.remark(line),
        }
    }
}
