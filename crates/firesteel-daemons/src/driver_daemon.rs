//! The driver's daemon: the shell around [`Driver`], for whatever owns an application.
//!
//! ```text
//! let (driver, mut reports) = driver_daemon::start(application, listen).await?;
//! driver.submit(TaskId::FIRST, spec.into()).await?;
//! driver.end_input().await?;
//! while let Some(report) = reports.recv().await { .. }    // ends after the last report, Report::Exited
//! ```
//!
//! # The queue of reports
//!
//! It has a bound. At the bound the driver hears no more of its Master and its executors, whose messages then wait on
//! their connections, until its owner has taken what is there. What one event brings about is reported in whole, so that
//! the queue passes its bound by one event's reports at most; those of an application's end, one for each open task, are
//! the most.
//!
//! Nobody waits for ever. The driver goes on hearing its [`Handle`] at the bound: an owner that submits or cancels, and
//! the thread that gives output its credit back, are served however many reports wait. So an owner may use its handle
//! between two reports, and must only come back to take the next one. Answers to its questions come in order with its
//! reports: it takes reports while it waits for one.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use firesteel_core::address::Address;
use firesteel_core::driver::{
    Answer, Config, Driver, Effect, Event, Inbound, Note, Outbound, Outcome, Question, QuestionId,
    Replacement, TaskOutcome, TaskRequest, Until, View,
};
use firesteel_core::ids::{AttemptId, ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_core::messages::{ResourceProfile, Stream, Work};
use firesteel_core::process::{Command, Placeholder};
use firesteel_core::wire::{self, DecodeError, Role};
use firesteel_placement::Shortfall;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::cluster_news::ClusterNews;
use crate::files::OfferedFiles;
use crate::remark::Remark;
use firesteel_host::clock::Clock;
use firesteel_host::daemon;
use firesteel_host::inbox::{Inbox, OwnerGone};
use firesteel_host::net::{Limits, ListenError, Listener, Welcome};
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::description::describe;
use firesteel_settings::listen::Listen;

/// An application that runs tasks on Firesteel's own executors.
#[derive(Clone, Debug)]
pub struct Application {
    /// A name for people.
    pub name: String,
    /// The Masters to try.
    pub masters: Vec<Address>,
    /// Everything else.
    pub settings: ApplicationSettings,
    /// What its executors find in their directories.
    pub files: OfferedFiles,
}

/// Listens there for a driver's or a launcher's peers; and the address that they are told to dial.
///
/// # Errors
/// It cannot listen there.
pub async fn open(listen: &Listen) -> Result<(Listener, Address), ListenError> {
    let listener = Listener::bind(&listen.bind).await?;
    let port = listener.local().port();
    let reached = match &listen.advertised {
        Some(host) => Address::new(host.clone(), port),
        None => daemon::reachable(&listen.bind.host, port),
    };
    Ok((listener, reached))
}

/// Why a driver could not start.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// It cannot listen.
    #[error("cannot listen for executors: {0}")]
    Listen(#[from] ListenError),
}

/// What comes out of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A piece of an attempt's output. It is to be answered with [`Handle::consumed`].
    Output {
        /// Which attempt's.
        attempt: AttemptId,
        /// From which stream.
        stream: Stream,
        /// The bytes.
        bytes: Bytes,
    },
    /// An attempt came to nothing and will be repeated: its output is worth nothing.
    DiscardOutput {
        /// Which attempt's.
        attempt: AttemptId,
    },
    /// A task is over for good.
    TaskEnded {
        /// Which.
        task: TaskId,
        /// How.
        outcome: TaskOutcome,
    },
    /// A remark. It is in the log already.
    Note(Note),
    /// The application is over. The driver goes on until that is said to everybody who has to know.
    Done(Outcome),
    /// The driver has ended, and what it had to say is sent. The last report.
    Exited,
}

/// The way into a driver. Its methods wait while the driver has much to do.
#[derive(Clone, Debug)]
pub struct Handle {
    inbox: Inbox<Event>,
    questions: Questions,
}

/// Who waits for an answer. Senders go when the driver does, so that nobody waits for ever.
#[derive(Clone, Debug, Default)]
struct Questions {
    table: Arc<Mutex<QuestionTable>>,
}

#[derive(Debug, Default)]
struct QuestionTable {
    last: u64,
    open: BTreeMap<QuestionId, oneshot::Sender<Answer>>,
}

impl Questions {
    fn open(&self) -> (QuestionId, oneshot::Receiver<Answer>) {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.lock();
        table.last += 1;
        let number = QuestionId(table.last);
        table.open.insert(number, sender);
        (number, receiver)
    }

    fn answer(&self, number: QuestionId, answer: Answer) {
        if let Some(sender) = self.lock().open.remove(&number) {
            // Whoever asked may not want to know any more.
            let _ = sender.send(answer);
        }
    }

    fn close(&self) {
        self.lock().open.clear();
    }

    fn lock(&self) -> MutexGuard<'_, QuestionTable> {
        self.table.lock().expect("nobody panics with the table in hand")
    }
}

impl Handle {
    /// One more task. Tasks come in the order of their numbers.
    ///
    /// # Errors
    /// The application is over.
    pub async fn submit(&self, task: TaskId, request: TaskRequest) -> Result<(), OwnerGone> {
        self.inbox.send(Event::Submit { task, request }).await
    }

    /// No more tasks come.
    ///
    /// # Errors
    /// The application is over.
    pub async fn end_input(&self) -> Result<(), OwnerGone> {
        self.inbox.send(Event::InputEnded).await
    }

    /// A resource profile besides the default one, and how many executors of it there are to be. What it needs is
    /// fixed once it is known; its target changes.
    ///
    /// # Errors
    /// The application is over.
    pub async fn add_profile(
        &self,
        profile: ProfileId,
        needs: ResourceProfile,
        total: u64,
    ) -> Result<(), OwnerGone> {
        self.inbox.send(Event::AddProfile { profile, needs, total }).await
    }

    /// Sets how many executors of a profile there are to be in all. A lower number ends none.
    ///
    /// # Errors
    /// The application is over.
    pub async fn request_executors(&self, profile: ProfileId, total: u64) -> Result<(), OwnerGone> {
        self.inbox.send(Event::RequestExecutors { profile, total }).await
    }

    /// Ends executors, busy ones too: their tasks run again elsewhere. What is refused comes as a note.
    ///
    /// # Errors
    /// The application is over.
    pub async fn kill_executors(
        &self,
        executors: Vec<ExecutorId>,
        replacement: Replacement,
    ) -> Result<(), OwnerGone> {
        self.inbox.send(Event::KillExecutors { executors, replacement }).await
    }

    /// Gives one task up: `Report::TaskEnded` comes when nothing of it is left. Nothing if it has ended.
    ///
    /// # Errors
    /// The application is over.
    pub async fn cancel_task(&self, task: TaskId) -> Result<(), OwnerGone> {
        self.inbox.send(Event::CancelTask { task }).await
    }

    /// The driver's tables as they are.
    ///
    /// # Errors
    /// The application is over.
    pub async fn view(&self) -> Result<View, OwnerGone> {
        match self.ask(Question::Look).await? {
            Answer::View(view) => Ok(view),
            answer @ (Answer::Shortfalls(_) | Answer::NoMaster) => unreachable!("no view: {answer:?}"),
        }
    }

    /// Why there are fewer executors than asked, by profile, in the Master's words; nothing if all that were
    /// asked for are assigned. `None`: no Master has the application at the moment.
    ///
    /// # Errors
    /// The application is over.
    pub async fn explain(&self) -> Result<Option<Vec<(ProfileId, Shortfall)>>, OwnerGone> {
        match self.ask(Question::Explain).await? {
            Answer::Shortfalls(shortfalls) => Ok(Some(shortfalls)),
            Answer::NoMaster => Ok(None),
            answer @ Answer::View(_) => unreachable!("no explanation: {answer:?}"),
        }
    }

    async fn ask(&self, question: Question) -> Result<Answer, OwnerGone> {
        let (number, answer) = self.questions.open();
        self.inbox.send(Event::Ask { number, question }).await?;
        answer.await.map_err(|_| OwnerGone)
    }

    /// Hears what the Masters of its cluster cannot say themselves, for as long as the application lives.
    pub fn follow(&self, news: Option<mpsc::Receiver<ClusterNews>>) {
        ClusterNews::pass_on(news, &self.inbox, |news| match news {
            ClusterNews::Moved(masters) => Event::MastersMoved { masters },
            ClusterNews::Over(end) => Event::Removed { end },
        });
    }

    /// Ends all tasks and the application; the driver ends once it may.
    ///
    /// # Errors
    /// The application is over.
    pub async fn cancel(&self, until: Until) -> Result<(), OwnerGone> {
        self.inbox.send(Event::Cancel { until }).await
    }

    /// So many bytes of an attempt's output were put away, and as many more may come. For threads that are not
    /// of the runtime.
    ///
    /// # Errors
    /// The application is over.
    pub fn consumed(&self, attempt: AttemptId, bytes: u64) -> Result<(), OwnerGone> {
        self.inbox.send_blocking(Event::OutputConsumed { attempt, bytes })
    }
}

/// What may wait for an executor: a task's input for every core that it has, which its driver gives it at once.
const LIMITS: Limits = Limits { frames: 1 << 20, bytes: 4 << 30 };

/// Reports that may wait.
const REPORTS: usize = 4096;

/// Starts a driver. It runs until it is done. Requests to end are its owner's to hear.
///
/// # Errors
/// It cannot listen for executors.
pub async fn start(
    application: Application,
    listen: Listen,
) -> Result<(Handle, mpsc::Receiver<Report>), DriverError> {
    daemon::raise_open_files();
    let (listener, reached) = open(&listen).await?;
    let listener = application.files.serve_on(listener);
    let driver = Driver::new(config(application, &reached));
    let mut context = Context::new(Role::Driver, &reached.to_string(), LIMITS, Clock::start());
    context.peers.serve(listener, vec![Welcome { role: Role::Executor, decode: from_executor }]);
    tracing::info!("listening for executors on {reached}");
    context.raise(Event::Start);
    let questions = Questions::default();
    let handle = Handle { inbox: context.inbox(), questions: questions.clone() };
    let (sender, reports) = mpsc::channel(REPORTS);
    let shell = DriverShell { reports: sender.clone(), late: VecDeque::new(), questions };
    tokio::spawn(async move {
        owner::run(driver, shell, context, EndRequests::nobody()).await;
        // Whoever started it may have gone.
        let _ = sender.send(Report::Exited).await;
    });
    Ok((handle, reports))
}

fn config(application: Application, driver: &Address) -> Config {
    let Application { name, masters, settings, files } = application;
    let work = Work { files: files.description(driver), ..Work::of(executor_command(driver)) };
    let description = describe(name, &settings, work);
    Config {
        masters,
        description,
        max_task_failures: settings.max_task_failures,
        fatal_exit_codes: settings.fatal_exit_codes,
        allocation: settings.allocation,
        output_credit: settings.output_credit,
        registration_timeout: settings.registration_timeout,
        starvation_timeout: settings.starvation_timeout,
        loss_delay: settings.loss_delay,
        executor_timeout: settings.executor_timeout,
        topology: settings.topology,
        exclusion: settings.exclusion,
        locality_wait: settings.locality_wait,
        seed: seed(),
    }
}

/// Drivers that start at the same time do not dial in step.
pub fn seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn executor_command(driver: &Address) -> Command {
    let words = [
        ("--driver-url", driver.to_string()),
        ("--app-id", Placeholder::AppId.word().to_owned()),
        ("--executor-id", Placeholder::ExecutorId.word().to_owned()),
        ("--resource-profile-id", Placeholder::ResourceProfileId.word().to_owned()),
        ("--worker-id", Placeholder::WorkerId.word().to_owned()),
        ("--hostname", Placeholder::Hostname.word().to_owned()),
        ("--cores", Placeholder::Cores.word().to_owned()),
        ("--resources", Placeholder::Resources.word().to_owned()),
    ];
    let flags = words.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    Command {
        program: Placeholder::Firesteel.word().to_owned(),
        arguments: std::iter::once("executor".to_owned()).chain(flags).collect(),
        environment: BTreeMap::new(),
    }
}

/// Performs a driver's effects: talks to Masters and executors, and reports the rest.
struct DriverShell {
    reports: mpsc::Sender<Report>,
    /// What comes after the reports for which there is room, in order.
    late: VecDeque<Late>,
    questions: Questions,
}

/// What waits for room.
enum Late {
    Report(Report),
    /// It comes after the reports that were made before it.
    Answer(QuestionId, Answer),
}

impl Drop for DriverShell {
    fn drop(&mut self) {
        self.questions.close();
    }
}

impl DriverShell {
    fn report(&mut self, report: Report) {
        if self.is_full() {
            return self.late.push_back(Late::Report(report));
        }
        match self.reports.try_send(report) {
            Err(TrySendError::Full(report)) => self.late.push_back(Late::Report(report)),
            // If nobody listens any more, the process is about to end.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    fn answer(&mut self, number: QuestionId, answer: Answer) {
        match self.is_full() {
            true => self.late.push_back(Late::Answer(number, answer)),
            false => self.questions.answer(number, answer),
        }
    }
}

impl Shell for DriverShell {
    type Machine = Driver;
    type End = ();

    fn deadline() -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<()> {
        match effect {
            Effect::Connect { master } => {
                let dialled = master.clone();
                context.peers.dial(&dialled, Role::Master, from_master, |result| match result {
                    Ok(peer) => Event::Connected { peer, master },
                    Err(error) => Event::ConnectFailed { master, error: error.to_string() },
                });
            }
            Effect::Send { peer, message: Outbound::Master(message) } => context.peers.send(peer, &message),
            Effect::Send { peer, message: Outbound::Executor(message) } => context.peers.send(peer, &message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Output { attempt, stream, bytes } => {
                self.report(Report::Output { attempt, stream, bytes });
            }
            Effect::DiscardOutput { attempt } => self.report(Report::DiscardOutput { attempt }),
            Effect::TaskEnded { task, outcome } => self.report(Report::TaskEnded { task, outcome }),
            Effect::Answer { number, answer } => self.answer(number, answer),
            Effect::Done(outcome) => self.report(Report::Done(outcome)),
            Effect::Exit => return ControlFlow::Break(()),
            Effect::Note(note) => {
                // Whoever gets the reports words what matters to people.
                tracing::info!("{}", Remark(&note));
                self.report(Report::Note(note));
            }
        }
        ControlFlow::Continue(())
    }

    fn is_full(&self) -> bool {
        !self.late.is_empty()
    }

    async fn drain(&mut self) {
        while self.is_full() {
            // Nobody listens any more: the process is about to end.
            let Ok(permit) = self.reports.reserve().await else { return self.late.clear() };
            match self.late.pop_front() {
                Some(Late::Report(report)) => permit.send(report),
                Some(Late::Answer(number, answer)) => self.questions.answer(number, answer),
                None => {}
            }
        }
    }

    /// Its owner hears requests to end, and not the driver.
    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<(), Event> {
        ControlFlow::Continue(Event::Cancel { until: Until::Told })
    }
}

fn from_master(peer: PeerId, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Master(wire::decode(body)?) })
}

fn from_executor(peer: PeerId, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Executor(wire::decode(body)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executors_command_has_every_word_that_its_worker_fills_in() {
        let command = executor_command(&Address::new("me", 7100));
        assert_eq!(
            command.to_string(),
            "{{FIRESTEEL}} executor --driver-url me:7100 --app-id {{APP_ID}} --executor-id {{EXECUTOR_ID}} \
             --resource-profile-id {{RESOURCE_PROFILE_ID}} --worker-id {{WORKER_ID}} --hostname {{HOSTNAME}} --cores {{CORES}} \
             --resources {{RESOURCES}}"
        );
    }
}
