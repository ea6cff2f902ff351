//! The driver's daemon: runs the state machine [`Driver`] for the owner of an application.
//!
//! ```text
//! let (driver, mut reports) = driver_daemon::start(application, listen).await?;
//! driver.submit(TaskId::FIRST, spec.into()).await?;
//! driver.finish(Outcome::Succeeded).await?;
//! while let Some(report) = reports.recv().await { .. }    // ends after the last report, Report::Exited
//! ```
//!
//! # The queue of reports
//!
//! The queue is bounded. While it is full, the driver reads no messages from its Master and its executors. These
//! messages wait on their connections until the owner takes reports. All reports of one event are queued together, so
//! the queue can exceed its bound by the reports of one event. The end of an application has the most reports: one for
//! each open task.
//!
//! No call waits forever. The driver serves its [`Handle`] even while the queue is full. This includes an owner that
//! submits or cancels tasks, and the thread that returns the credit of outputs. So an owner may use the handle between
//! two reports, as long as it takes the next report afterwards. Answers come in order with the reports, so the owner
//! must take reports while it waits for an answer.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use firesteel_engine::driver::{
    Answer, Config, Driver, Effect, Ending, Event, Inbound, Note, Outbound, Question, QuestionId,
    Replacement, TaskOutcome, TaskRequest, Until, View,
};
use firesteel_placement::Shortfall;
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId, ProfileId, TaskId};
use firesteel_protocol::messages::{Outcome, ResourceProfile, Stream, Work};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::{self, DecodeError, Role};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::cluster_event::ClusterEvent;
use crate::executor::command::executor_command;
use crate::files::OfferedFiles;
use crate::remark::Remark;
use crate::secret;
use firesteel_host::clock::Clock;
use firesteel_host::daemon;
use firesteel_host::inbox::{Inbox, OwnerGone};
use firesteel_host::net::{AcceptedRole, Arrival, Introduction, Keyring, ListenError, Listener, QueueLimits};
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::description::describe;
use firesteel_settings::listen::Listen;

/// An application that runs tasks on Firesteel's own executors.
#[derive(Clone, Debug)]
pub struct Application {
    pub name: String,
    pub masters: Vec<Address>,
    /// The keys for the cluster. `None`: connections are in the clear.
    pub keyring: Option<Keyring>,
    pub settings: ApplicationSettings,
    pub files: OfferedFiles,
}

/// Listens for the peers of a driver or a launcher. Returns the listener and the address that peers
/// connect to.
///
/// # Errors
/// The address cannot be listened on.
pub async fn open(listen: &Listen) -> Result<(Listener, Address), ListenError> {
    let listener = Listener::bind(&listen.bind).await?;
    let port = listener.local().port();
    let reached = match &listen.advertised {
        Some(host) => Address::new(host.clone(), port),
        None => daemon::reachable(&listen.bind.host, port),
    };
    Ok((listener, reached))
}

#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("cannot listen for executors: {0}")]
    Listen(#[from] ListenError),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A piece of an attempt's output. When the owner has used the output, it calls [`Handle::consumed`].
    Output { attempt: AttemptId, stream: Stream, bytes: Bytes },
    /// An attempt was lost and will be repeated. The owner must discard the attempt's output.
    DiscardOutput { attempt: AttemptId },
    /// A task has ended and will not run again.
    TaskEnded { task: TaskId, outcome: TaskOutcome },
    /// A remark of the driver. The log contains it, too.
    Note(Note),
    /// The application is over. The driver keeps running until its peers have been informed.
    Done(Ending),
    /// The driver has ended, and its last messages are sent. This is the last report.
    Exited,
}

/// The handle of a driver. Its methods wait while the driver's event queue is full.
#[derive(Clone, Debug)]
pub struct Handle {
    inbox: Inbox<Event>,
    questions: Questions,
}

/// The callers that wait for an answer. The senders of the answers are dropped with the driver, so that no caller waits
/// forever.
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
            // The caller may not wait any more.
            let _ = sender.send(answer);
        }
    }

    fn close(&self) {
        self.lock().open.clear();
    }

    fn lock(&self) -> MutexGuard<'_, QuestionTable> {
        self.table.lock().expect("no thread panics with the lock")
    }
}

impl Handle {
    /// Submits a task. Tasks must be submitted in the order of their numbers.
    ///
    /// # Errors
    /// The application is over.
    pub async fn submit(&self, task: TaskId, request: TaskRequest) -> Result<(), OwnerGone> {
        self.inbox.send(Event::Submit { task, request }).await
    }

    /// Ends the application as soon as all submitted tasks have ended. The driver reports this outcome to the Master.
    ///
    /// # Errors
    /// The application is over.
    pub async fn finish(&self, outcome: Outcome) -> Result<(), OwnerGone> {
        self.inbox.send(Event::Finish { outcome: Some(outcome) }).await
    }

    /// Adds a resource profile, with the initial number of its executors.
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

    /// Sets the total number of executors that a profile should have. A lower number does not end running executors.
    ///
    /// # Errors
    /// The application is over.
    pub async fn request_executors(&self, profile: ProfileId, total: u64) -> Result<(), OwnerGone> {
        self.inbox.send(Event::RequestExecutors { profile, total }).await
    }

    /// Ends executors, including busy ones. The tasks of busy executors run again elsewhere. Refusals are reported as
    /// notes.
    ///
    /// # Errors
    ///
    /// The application is over.
    pub async fn kill_executors(
        &self,
        executors: Vec<ExecutorId>,
        replacement: Replacement,
    ) -> Result<(), OwnerGone> {
        self.inbox.send(Event::KillExecutors { executors, replacement }).await
    }

    /// Cancels one task. `Report::TaskEnded` follows when the last of the task's processes has ended. Does nothing if
    /// the task has already ended.
    ///
    /// # Errors
    /// The application is over.
    pub async fn cancel_task(&self, task: TaskId) -> Result<(), OwnerGone> {
        self.inbox.send(Event::CancelTask { task }).await
    }

    /// The present tables of the driver, as a copy.
    ///
    /// # Errors
    ///
    /// The application is over.
    pub async fn view(&self) -> Result<View, OwnerGone> {
        match self.ask(Question::Look).await? {
            Answer::View(view) => Ok(view),
            answer @ (Answer::Shortfalls(_) | Answer::NoMaster) => unreachable!("no view: {answer:?}"),
        }
    }

    /// Why a profile has fewer executors than requested, in the Master's words. The list is empty if all requested
    /// executors are assigned. `None`: the application is not registered with a Master at the moment.
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

    /// Passes the cluster's events on to the driver until the application ends. The cluster's Masters cannot report
    /// these events.
    pub fn follow(&self, events: Option<mpsc::Receiver<ClusterEvent>>) {
        ClusterEvent::pass_on(events, &self.inbox, |event| match event {
            ClusterEvent::Moved(masters) => Event::MastersMoved { masters },
            ClusterEvent::Over(end) => Event::Removed { end },
        });
    }

    /// Ends all tasks and the application. Then the driver ends, but not before `until` permits it.
    ///
    /// # Errors
    /// The application is over.
    pub async fn cancel(&self, until: Until) -> Result<(), OwnerGone> {
        self.inbox.send(Event::Cancel { outcome: None, until }).await
    }

    /// Cancels everything like [`cancel`](Self::cancel), and reports this outcome to the Master.
    ///
    /// # Errors
    /// The application is over.
    pub async fn cancel_with(&self, outcome: Outcome, until: Until) -> Result<(), OwnerGone> {
        self.inbox.send(Event::Cancel { outcome: Some(outcome), until }).await
    }

    /// Reports that this number of bytes of an attempt's output was consumed, so that the same number of further bytes
    /// may be sent. For threads outside the runtime.
    ///
    /// # Errors
    /// The application is over.
    pub fn consumed(&self, attempt: AttemptId, bytes: u64) -> Result<(), OwnerGone> {
        self.inbox.send_blocking(Event::OutputConsumed { attempt, bytes })
    }
}

/// The limits of the queue to an executor. The driver sends the input of a task for every core of
/// the executor at once.
const LIMITS: QueueLimits = QueueLimits { of_peer: 4 << 30, in_all: 64 << 30, partial: 4 << 30 };

const REPORTS: usize = 4096;

/// Starts a driver, which runs until its application is over. The owner handles requests to end.
///
/// # Errors
/// The driver cannot listen for executors.
pub async fn start(
    application: Application,
    listen: Listen,
) -> Result<(Handle, mpsc::Receiver<Report>), DriverError> {
    daemon::raise_open_files();
    let (listener, reached) = open(&listen).await?;
    let listener = application.files.serve_on(listener);
    let secret = secret::draw();
    let introduction = Introduction::new(Role::Driver, reached.to_string())
        .with_keys(application.keyring.clone())
        .with_application(application.keyring.is_some().then_some(&secret));
    let driver = Driver::new(config(application, &reached, secret));
    let mut context = Context::introduced(introduction, LIMITS, Clock::start());
    context.peers.serve(listener, vec![AcceptedRole { role: Role::Executor, decode: from_executor }]);
    tracing::info!("listening for executors on {reached}");
    context.raise(Event::Start);
    let questions = Questions::default();
    let handle = Handle { inbox: context.inbox(), questions: questions.clone() };
    let (sender, reports) = mpsc::channel(REPORTS);
    let shell = DriverShell { reports: sender.clone(), undelivered: VecDeque::new(), questions };
    spawn_owner(driver, shell, context, sender);
    Ok((handle, reports))
}

/// Starts the task that owns the driver. This is a separate function because an `async fn` is compiled again in each
/// crate that awaits it.
fn spawn_owner(driver: Driver, shell: DriverShell, context: Context<Event>, reports: mpsc::Sender<Report>) {
    tokio::spawn(async move {
        owner::run(driver, shell, context, &mut EndRequests::none()).await;
        // The owner may be gone.
        let _ = reports.send(Report::Exited).await;
    });
}

fn config(application: Application, driver: &Address, secret: Secret) -> Config {
    let Application { name, masters, keyring, settings, files } = application;
    let command = executor_command(driver, &secret, keyring.is_some());
    let for_files = keyring.is_some().then(|| secret.clone());
    let work = Work { files: files.description(driver, for_files), ..Work::of(command) };
    let description = describe(name, &settings, work);
    Config {
        masters,
        description,
        secret,
        max_task_failures: settings.max_task_failures,
        fatal_exit_codes: settings.fatal_exit_codes,
        allocation: settings.allocation,
        output_credit: settings.output_credit,
        registration_timeout: settings.registration_timeout,
        starvation_timeout: settings.starvation_timeout,
        loss_delay: settings.loss_delay,
        away_timeout: settings.away_timeout,
        executor_timeout: settings.executor_timeout,
        heartbeats: settings.heartbeats,
        topology: settings.topology,
        exclusion: settings.exclusion,
        locality_wait: settings.locality_wait,
        seed: seed(),
    }
}

/// A random seed, so that drivers that start together do not all connect at the same moments.
pub fn seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Performs a driver's effects: exchanges messages with Masters and executors, and reports events.
struct DriverShell {
    reports: mpsc::Sender<Report>,
    /// Reports and answers that wait, in order, until the queue has room.
    undelivered: VecDeque<Undelivered>,
    questions: Questions,
}

enum Undelivered {
    Report(Report),
    /// An answer. It is delivered after the reports that were made before it.
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
            return self.undelivered.push_back(Undelivered::Report(report));
        }
        match self.reports.try_send(report) {
            Err(TrySendError::Full(report)) => self.undelivered.push_back(Undelivered::Report(report)),
            // A closed queue has no reader: the process is about to end.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    fn answer(&mut self, number: QuestionId, answer: Answer) {
        match self.is_full() {
            true => self.undelivered.push_back(Undelivered::Answer(number, answer)),
            false => self.questions.answer(number, answer),
        }
    }
}

impl Shell for DriverShell {
    type Machine = Driver;
    type End = ();

    fn deadline(_: Timestamp) -> Event {
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
                    Ok((peer, leadership)) => Event::Connected { peer, master, leadership },
                    Err(error) => Event::ConnectFailed { master, error: error.into() },
                });
            }
            Effect::Send { peer, message: Outbound::Master(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Executor(message) } => context.peers.send(peer, message),
            Effect::HandleArrived { peer } => {
                context.peers.after_arrived(peer, Event::ArrivedHandled { peer });
            }
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Output { attempt, stream, bytes } => {
                self.report(Report::Output { attempt, stream, bytes });
            }
            Effect::DiscardOutput { attempt } => self.report(Report::DiscardOutput { attempt }),
            Effect::TaskEnded { task, outcome } => self.report(Report::TaskEnded { task, outcome }),
            Effect::Answer { number, answer } => self.answer(number, answer),
            Effect::Done(ending) => self.report(Report::Done(ending)),
            Effect::Exit => return ControlFlow::Break(()),
            Effect::Note(note) => {
                // The owner of the reports shows the important ones to people.
                tracing::info!("{}", Remark(&note));
                self.report(Report::Note(note));
            }
        }
        ControlFlow::Continue(())
    }

    fn is_full(&self) -> bool {
        !self.undelivered.is_empty()
    }

    async fn drain(&mut self) {
        while self.is_full() {
            // The queue is closed: the process is about to end.
            let Ok(permit) = self.reports.reserve().await else { return self.undelivered.clear() };
            match self.undelivered.pop_front() {
                Some(Undelivered::Report(report)) => permit.send(report),
                Some(Undelivered::Answer(number, answer)) => self.questions.answer(number, answer),
                None => {}
            }
        }
    }

    /// The owner handles requests to end, so the driver ignores them.
    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<(), Event> {
        ControlFlow::Continue(Event::Cancel { outcome: None, until: Until::Notified })
    }
}

fn from_master(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Master(wire::decode(body)?) })
}

fn from_executor(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Executor(wire::decode(body)?) })
}
