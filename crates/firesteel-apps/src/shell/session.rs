//! The session: reads lines, serves one request at a time, and watches the driver all the time.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use firesteel_core::driver::Allocation;
use firesteel_core::ids::{AppId, TaskId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::complete::Living;
use super::console::Console;
use super::end::End;
use super::executors::AddedProfile;
use super::keeper::Keeper;
use super::reader::{Line, Reader};
use super::reports::{Refusal, at};
use super::request::Request;
use super::tasks::{Tasks, exit_code};
use super::words::sentences;
use super::{Defaults, Job, OnFailure, answers};
use firesteel_daemons::driver_daemon::{Handle, Report};
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequests;
use firesteel_settings::{ApplicationSettings, Properties};

/// How long the first prompt waits for the first executors.
const FIRST_EXECUTORS: Duration = Duration::from_millis(1500);
/// How long after the first prompt missing executors are explained.
const MISSING: Duration = Duration::from_secs(3);
/// How often the session checks for a closed standard output, and for new output of a watched task.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// Maximum number of lines in the session's history.
const LINES: usize = 1000;

/// The result of a request: an exit code, or the session's end.
pub(super) type Served = Result<u8, End>;

/// The state of a session.
pub struct Session {
    pub(super) driver: Handle,
    pub(super) reports: mpsc::Receiver<Report>,
    pub(super) requests: EndRequests,
    pub(super) reader: Reader,
    pub(super) console: Console,
    pub(super) keeper: Keeper,
    pub(super) progress: Progress,
    pub(super) tasks: Tasks,
    pub(super) next: TaskId,
    /// The foreground task, whose output is printed as it comes.
    pub(super) in_hand: Option<TaskId>,
    /// The running map: its first task, and the channel for reports of its tasks.
    pub(super) map: Option<(TaskId, mpsc::Sender<Report>)>,
    pub(super) defaults: Defaults,
    pub(super) properties: Properties,
    pub(super) allocation: Allocation,
    pub(super) profiles: Vec<AddedProfile>,
    pub(super) history: VecDeque<String>,
    pub(super) app: Option<AppId>,
    pub(super) living: Arc<Mutex<Living>>,
    pub(super) is_interactive: bool,
    pub(super) on_failure: OnFailure,
    /// Position of the current command, as a prefix for messages: `line 3: `.
    pub(super) place: String,
    /// Number of `source` files that are being read, one inside the other.
    pub(super) depth: usize,
    /// Whether a line is being typed.
    pub(super) is_prompting: bool,
    /// When missing executors are explained.
    pub(super) missing_at: Option<Instant>,
    /// Errors of Masters that were printed already.
    pub(super) said: BTreeSet<String>,
    /// How a refusal is handled.
    pub(super) refusal: Refusal,
    /// Whether leaving was refused once because tasks run.
    pub(super) was_warned: bool,
    /// Exit code of the last command that failed.
    pub(super) last_failure: u8,
    /// Whether ctrl-c came during the current command.
    pub(super) was_interrupted: bool,
}

impl Session {
    /// Creates a session for an application that has just started.
    ///
    /// # Errors
    /// The script cannot be opened, or the threads cannot be started.
    pub fn new(
        job: &Job,
        settings: &ApplicationSettings,
        driver: Handle,
        reports: mpsc::Receiver<Report>,
        requests: EndRequests,
        progress: Progress,
    ) -> io::Result<Self> {
        let living = Arc::default();
        let mut reader = Reader::open(&job.source, Arc::clone(&living))?;
        let history = std::mem::take(&mut reader.remembered).into();
        Ok(Self {
            keeper: Keeper::start(driver.clone(), settings.kept_output)?,
            console: Console::start(reader.above.take())?,
            driver,
            reports,
            requests,
            reader,
            progress,
            tasks: Tasks::default(),
            next: TaskId::FIRST,
            in_hand: None,
            map: None,
            defaults: job.defaults.clone(),
            properties: job.properties.clone(),
            allocation: settings.allocation,
            profiles: Vec::new(),
            history,
            app: None,
            living,
            is_interactive: job.source.is_terminal(),
            on_failure: job.on_failure,
            place: String::new(),
            depth: 0,
            is_prompting: false,
            missing_at: None,
            said: BTreeSet::new(),
            refusal: Refusal::default(),
            was_warned: false,
            last_failure: 0,
            was_interrupted: false,
        })
    }

    /// Runs the session to its end.
    pub async fn run(mut self) -> End {
        let end = match self.begin().await {
            Ok(()) => self.serve_lines().await,
            Err(end) => end,
        };
        if self.is_prompting {
            if let Some(words) = self.reader.leave() {
                self.console.say(words);
            }
            self.is_prompting = false;
        }
        self.conclude(end).await
    }

    /// Waits until a Master has accepted the application, then shortly for the first executors.
    async fn begin(&mut self) -> Result<(), End> {
        while self.app.is_none() {
            self.step(None).await?;
        }
        if !self.is_interactive {
            return Ok(());
        }
        let until = Instant::now() + FIRST_EXECUTORS;
        while answers::ready(&self.view().await?).is_empty() && Instant::now() < until {
            self.step(Some(until)).await?;
        }
        self.missing_at = Some(Instant::now() + MISSING);
        if !self.progress.is_quiet() {
            let view = self.view().await?;
            self.console.say(answers::banner(&view));
        }
        Ok(())
    }

    async fn serve_lines(&mut self) -> End {
        loop {
            match self.next_line().await {
                Err(end) => return end,
                Ok(Line::Interrupted | Line::Remark(_)) => {}
                Ok(Line::Failed(error)) => {
                    self.console.say(format_args!("firesteel: {error}"));
                    return End::Left(1);
                }
                Ok(Line::End) => {
                    if let Err(end) = self.leave(None).await {
                        return end;
                    }
                }
                Ok(Line::Text { number, text }) => {
                    self.remember(&text);
                    let (place, on_failure) = match self.is_interactive {
                        true => (String::new(), OnFailure::GoesOn),
                        false => (format!("line {number}: "), self.on_failure),
                    };
                    match self.serve_line(place, &text, on_failure).await {
                        Ok(ControlFlow::Continue(_)) => {}
                        Ok(ControlFlow::Break(code)) => return End::Left(code),
                        Err(end) => return end,
                    }
                }
            }
        }
    }

    async fn next_line(&mut self) -> Result<Line, End> {
        self.console.end_line();
        self.settle().await?;
        self.refresh_living().await?;
        self.reader.want();
        self.is_prompting = self.is_interactive;
        let (driver, missing_at) = (self.driver.clone(), self.missing_at);
        let asking = async move {
            at(missing_at).await;
            driver.explain().await
        };
        // The prompt stays usable meanwhile, since a Master may hang.
        let mut asking = pin!(asking);
        loop {
            tokio::select! {
                line = self.reader.next() => {
                    self.is_prompting = false;
                    match line {
                        Line::Remark(words) => self.remark(&words),
                        line => return Ok(line),
                    }
                }
                report = self.reports.recv() => self.on_report(report).await?,
                request = self.requests.next() => return Err(End::Asked(request)),
                answer = &mut asking, if self.missing_at.is_some() => {
                    self.missing_at = None;
                    self.say_missing(answer.ok().flatten().unwrap_or_default());
                }
            }
        }
    }

    /// Serves the commands of a line, and prints the position of a failed command. Stops after the
    /// first failure if `on_failure` says so. Returns the exit code of the last command that
    /// failed, or 0.
    pub(super) async fn serve_line(
        &mut self,
        place: String,
        text: &str,
        on_failure: OnFailure,
    ) -> Result<ControlFlow<u8, u8>, End> {
        self.place = place;
        let sentences = match sentences(text) {
            Ok(sentences) => sentences,
            Err(error) => {
                self.last_failure = self.complain(2, error)?;
                return Ok(on_failure.of(self.last_failure));
            }
        };
        let mut last_failure = 0;
        for sentence in sentences {
            let idle = sentence.idle.clone();
            let code = match Request::of(sentence) {
                Err(error) => self.complain(2, error)?,
                Ok(request) => {
                    let leaves = matches!(request, Request::Quit(_));
                    if let (Some(word), Request::Run(_) | Request::Map(_)) = (idle, &request) {
                        let name = if matches!(request, Request::Map(_)) { "map" } else { "run" };
                        self.remark(&format!(
                            "{}{word} has no meaning here: for a shell line write {name} sh -c '...'",
                            self.place
                        ));
                    }
                    let code = Box::pin(self.serve(request)).await?;
                    self.was_warned &= leaves;
                    code
                }
            };
            self.settle().await?;
            if self.console.is_closed() {
                return Err(End::ReaderGone);
            }
            if code != 0 {
                (last_failure, self.last_failure) = (code, code);
                if let ControlFlow::Break(code) = on_failure.of(code) {
                    return Ok(ControlFlow::Break(code));
                }
            }
        }
        Ok(ControlFlow::Continue(last_failure))
    }

    /// Prints why a command failed and returns its exit code.
    pub(super) fn complain(&mut self, code: u8, words: impl std::fmt::Display) -> Served {
        self.console.say(format_args!("firesteel: {}{words}", self.place));
        Ok(code)
    }

    async fn refresh_living(&mut self) -> Result<(), End> {
        if !self.is_interactive {
            return Ok(());
        }
        let view = self.view().await?;
        let executors = view.executors.iter().map(|executor| executor.id.to_string()).collect();
        let tasks = self.tasks.iter().map(|(id, _)| id.to_string()).collect();
        *self.living.lock().expect("nobody panics with it in hand") = Living { executors, tasks };
        Ok(())
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

    /// The exit code of a task that has ended.
    pub(super) fn code_of(&self, id: TaskId) -> Option<u8> {
        self.tasks.get(id)?.end.as_ref().map(|(outcome, _)| exit_code(outcome))
    }
}
