//! A runner: runs one process of an executor or a cluster driver, from its start until it and all its descendants have
//! ended.
//!
//! [`Run`] defines the differences between executors and cluster drivers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use firesteel_host::clock::Clock;
use firesteel_host::inbox::Inbox;
use firesteel_host::net::Introduction;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::process::{Command, ExitStatus, NotStarted, Placeholder, Signal};
use firesteel_settings::rolling::Rolling;
use firesteel_worker::{Event, LastMeasurement, Limits};
use tokio::sync::mpsc;

use super::accounts::Accounts;
use super::confinement::Confinement;
use super::java::Java;
use super::log::{Appender, RemovedBytesTable, Roller};
use super::reaper::control_group::GroupLimits;
use super::reaper::handle::{Ended, Program, Reaper, Reapers};
use super::work_directory::WorkDirectory;
use crate::spark::authentication::HostedSecrets;

/// The number of signals that may be queued for a runner. The Worker's state machine sends at most two.
const SIGNALS: usize = 4;

/// The values that all runners of a Worker share.
#[derive(Debug)]
pub struct RunnerContext {
    pub worker: WorkerId,
    /// The introduction with which the Worker connects to drivers to fetch files.
    pub introduction: Introduction,
    pub work: WorkDirectory,
    /// The settings and paths for executors that are Java classes.
    pub java: Java,
    pub reapers: Reapers,
    pub accounts: Accounts,
    pub limits: Limits,
    /// What programs reach. `None`: they are not confined.
    pub confinement: Option<Confinement>,
    /// How the logs of executors are rolled; `None` if they are not rolled.
    pub rolling: Option<Rolling>,
    pub removed_bytes: Arc<RemovedBytesTable>,
    /// The secrets of Spark's executors and cluster drivers that run here.
    pub spark_secrets: HostedSecrets,
    /// The clock for the names of rolled files.
    pub clock: Clock,
}

#[derive(Debug)]
pub struct Runner {
    signals: mpsc::Sender<Signal>,
}

impl Runner {
    /// Starts a runner. `run` gets the receiver of the signals for its process.
    ///
    /// Call this on a thread of the runtime: see [`super`].
    pub(super) fn start<F>(run: impl FnOnce(mpsc::Receiver<Signal>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, signals) = mpsc::channel(SIGNALS);
        tokio::spawn(run(signals));
        Self { signals: sender }
    }

    /// Signals the process group. A signal before the start is queued. Does nothing if the process has ended.
    pub fn signal(&self, signal: Signal) {
        // If the queue is full, the process is being ended already.
        let _ = self.signals.try_send(signal);
    }

    /// Whether the end of the process was reported.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.signals.is_closed()
    }
}

/// A kind of process that a runner runs: an executor, or a cluster driver.
pub(super) trait Run: Send + Sync + 'static {
    /// The name of the executor or cluster driver, which is unique on the Worker.
    fn name(&self) -> String;

    /// The cores and the memory that it was granted.
    fn granted(&self) -> (Cores, MiB);

    /// The variables of its own command.
    fn environment(&self) -> &BTreeMap<String, String>;

    /// Makes the directory and the files of the process in the work directory, which is of its account, and determines
    /// the program to start. Blocks the thread.
    fn prepare(&self, context: &RunnerContext, work: &WorkDirectory) -> Result<Prepared, NotStarted>;

    fn started(&self, pid: u32) -> Event;

    /// The event that reports what is known of the process and of all of its descendants after their end.
    fn measured(&self, last: LastMeasurement) -> Event;

    /// The event that the process and all of its descendants have ended. `is_own`: the process ran the Worker's own
    /// program.
    fn ended(&self, status: ExitStatus, is_own: bool) -> Event;

    fn failed(&self, why: NotStarted) -> Event;
}

/// A process that can be started.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) command: ChildCommand,
    /// Whether the command starts a JVM.
    pub(super) is_java: bool,
    pub(super) directory: PathBuf,
    /// The directories of the process, the one that it has alone first, and those of its application.
    pub(super) own: Vec<PathBuf>,
    /// All variables that the process gets in addition to the Worker's variables.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) outputs: OutputTargets,
    /// The read ends of the process's outputs, if its logs are rolled.
    pub(super) pipes: Vec<Piped>,
}

/// The read end of a pipe, its log, and the log's name.
pub(super) type Piped = (PipeReader, Roller, String);

/// Runs a process. The inbox receives the events about its start and its measurement. Returns the event about its end,
/// when the process and all of its descendants have ended.
pub(super) async fn run(
    what: &Arc<impl Run>,
    context: &Arc<RunnerContext>,
    mut signals: mpsc::Receiver<Signal>,
    inbox: &Inbox<Event>,
) -> Event {
    // It may connect as soon as it runs.
    let _secret = context.spark_secrets.host(what.environment());
    let Started { mut reaper, is_own, appenders } = match start(what, context).await {
        Ok(started) => started,
        Err(why) => return what.failed(why),
    };
    // If the owner has ended, the reaper ends the process.
    let _ = inbox.send(what.started(reaper.pid())).await;
    let Ended { status, last } = loop {
        tokio::select! {
            ended = reaper.ended() => break ended,
            Some(signal) = signals.recv() => reaper.signal(signal),
        }
    };
    if let Some(last) = last {
        let _ = inbox.send(what.measured(last)).await;
    }
    for appender in appenders {
        appender.finish().await;
    }
    what.ended(status, is_own)
}

struct Started {
    reaper: Reaper,
    is_own: bool,
    /// The tasks that copy the process's output, if its logs are rolled.
    appenders: Vec<Appender>,
}

async fn start(what: &Arc<impl Run>, context: &Arc<RunnerContext>) -> Result<Started, NotStarted> {
    let (plan, at) = (Arc::clone(what), Arc::clone(context));
    let preparing = tokio::task::spawn_blocking(move || {
        let account = at.accounts.of_program(plan.environment())?;
        let work = at.work.of_account(account.clone());
        let mut prepared = plan.prepare(&at, &work)?;
        let reach = match &at.confinement {
            None => None,
            Some(confinement) => Some(confinement.confine(&mut prepared, &work)?),
        };
        Ok::<_, NotStarted>((account, reach, prepared))
    });
    let (account, reach, prepared) = preparing.await.expect("preparing a process does not panic")?;
    let Prepared { command, directory, variables, outputs, pipes, .. } = prepared;
    let ChildCommand { words: Command { program, arguments, environment: _ }, is_own } = command;
    let limits = GroupLimits::of(context.limits, what.granted());
    let program = Program { path: program, is_own, arguments, variables, account, limits, reach };
    let reaper = context.reapers.start(&what.name(), program, &directory, &outputs).await?;
    // The Worker's copies of the pipes' write ends would keep the logs open.
    drop(outputs);
    let appender = |(pipe, roller, name)| match Appender::start(pipe, roller, context.clock, name) {
        Ok(appender) => Some(appender),
        Err(error) => {
            tracing::error!("cannot read the output of an executor: {error}");
            None
        }
    };
    Ok(Started { reaper, is_own, appenders: pipes.into_iter().filter_map(appender).collect() })
}

/// A command that can be started as an executor or a cluster driver.
#[derive(Debug)]
pub(super) struct ChildCommand {
    pub(super) words: Command,
    /// Whether the command runs the Worker's own program.
    pub(super) is_own: bool,
}

/// A command that is not the Worker's own program.
impl From<Command> for ChildCommand {
    fn from(words: Command) -> Self {
        Self { words, is_own: false }
    }
}

impl ChildCommand {
    /// The command with the Worker's own program in place of its placeholder.
    pub(super) fn filled(command: &Command, context: &RunnerContext) -> Self {
        let is_firesteel = |word: &str| Placeholder::of(word) == Some(Placeholder::Firesteel);
        let firesteel = context.reapers.firesteel();
        let mut words = command.clone();
        let is_own = is_firesteel(&words.program);
        if is_own {
            words.program = byte_text::of_os(firesteel.path());
        }
        for word in words.arguments.iter_mut().filter(|word| is_firesteel(word)) {
            *word = byte_text::of_os(firesteel.path_for_others());
        }
        Self { words, is_own }
    }
}

#[derive(Debug)]
pub(super) struct OutputTargets {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl OutputTargets {
    /// Both outputs go to files.
    pub(super) fn files(stdout: File, stderr: File) -> Self {
        Self { stdout: stdout.into(), stderr: stderr.into() }
    }
}
