//! A runner: runs one process of an executor or a cluster driver, from its start until it and all its descendants have
//! ended.
//!
//! [`Run`] defines the differences between executors and cluster drivers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use firesteel_host::clock::Clock;
use firesteel_host::inbox::Inbox;
use firesteel_host::net::Introduction;
use firesteel_host::own_program::OwnProgram;
use firesteel_host::process_group::{ProcessGroup, exit_status};
use firesteel_host::start;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::process::{Command, ExitStatus, Fault, NotStarted, Placeholder, Signal};
use firesteel_settings::rolling::Rolling;
use firesteel_worker::Event;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::cleanup::executor_processes::ProcessCleanup;
use super::cleanup::processes::Marker;
use super::environment;
use super::java::Java;
use super::log::{Appender, RemovedBytesTable, Roller};
use super::measure;
use super::work_directory::WorkDirectory;

/// The number of signals that may be queued for a runner. The Worker's state machine sends at most two.
const SIGNALS: usize = 4;

/// The values that all runners of a Worker share.
#[derive(Debug)]
pub struct RunnerContext {
    /// The Worker's id, which is part of every marker.
    pub worker: WorkerId,
    /// The introduction with which the Worker connects to drivers to fetch files.
    pub introduction: Introduction,
    pub work: WorkDirectory,
    /// The settings and paths for executors that are Java classes.
    pub java: Java,
    /// The Worker's own program, which replaces `{{FIRESTEEL}}`.
    pub firesteel: OwnProgram,
    pub process_cleanup: ProcessCleanup,
    /// How the logs of executors are rolled; `None` if they are not rolled.
    pub rolling: Option<Rolling>,
    pub removed_bytes: Arc<RemovedBytesTable>,
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
    /// The marker by which the processes are found.
    fn marker(&self, worker: &WorkerId) -> Marker;

    /// Makes the directory and the files of the process, and determines the program to start. Blocks the thread.
    fn prepare(&self, context: &RunnerContext) -> Result<Prepared, NotStarted>;

    fn started(&self, pid: u32) -> Event;

    /// The event that reports the processor time of the whole life of the process.
    fn measured(&self, cpu_millis: u64) -> Event;

    /// The event that the process and all of its descendants have ended. `is_own`: the process ran the Worker's own
    /// program.
    fn ended(&self, status: ExitStatus, is_own: bool) -> Event;

    fn failed(&self, why: NotStarted) -> Event;
}

/// A process that can be started.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) command: ChildCommand,
    pub(super) directory: PathBuf,
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
    signals: mpsc::Receiver<Signal>,
    inbox: &Inbox<Event>,
) -> Event {
    let Started { child, group, is_own, appenders } = match start(what, context).await {
        Ok(started) => started,
        Err(why) => return what.failed(why),
    };
    // If the owner has ended, the reaper ends the process.
    let _ = inbox.send(what.started(group.leader())).await;
    let Ended { status, cpu_millis } = wait(child, group, signals).await;
    if let Some(cpu_millis) = cpu_millis {
        let _ = inbox.send(what.measured(cpu_millis)).await;
    }
    kill_leftovers(group, what.marker(&context.worker), &context.process_cleanup).await;
    for appender in appenders {
        appender.finish().await;
    }
    what.ended(status, is_own)
}

struct Started {
    child: Child,
    group: ProcessGroup,
    is_own: bool,
    /// The tasks that copy the process's output, if its logs are rolled.
    appenders: Vec<Appender>,
}

async fn start(what: &Arc<impl Run>, context: &Arc<RunnerContext>) -> Result<Started, NotStarted> {
    let (plan, at) = (Arc::clone(what), Arc::clone(context));
    let preparing = tokio::task::spawn_blocking(move || plan.prepare(&at));
    let prepared = preparing.await.expect("preparing a process does not panic")?;
    let Prepared { command, directory, variables, outputs, pipes } = prepared;
    let is_own = command.is_own;
    let (child, group) = command.start(context, &directory, variables, &outputs)?;
    let appender = |(pipe, roller, name)| match Appender::start(pipe, roller, context.clock, name) {
        Ok(appender) => Some(appender),
        Err(error) => {
            tracing::error!("cannot read the output of an executor: {error}");
            None
        }
    };
    Ok(Started { child, group, is_own, appenders: pipes.into_iter().filter_map(appender).collect() })
}

/// A command that can be started as a child of the Worker.
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
        let mut words = command.clone();
        let is_own = is_firesteel(&words.program);
        if is_own {
            words.program = byte_text::of_os(context.firesteel.path());
        }
        for word in words.arguments.iter_mut().filter(|word| is_firesteel(word)) {
            *word = byte_text::of_os(context.firesteel.path_for_others());
        }
        Self { words, is_own }
    }

    /// Starts the command as a child of the Worker, in this directory, with these variables. Returns the child and the
    /// process group that it leads.
    fn start(
        self,
        context: &RunnerContext,
        directory: &Path,
        variables: BTreeMap<String, String>,
        outputs: &OutputTargets,
    ) -> Result<(Child, ProcessGroup), NotStarted> {
        let Self { words: Command { program, arguments, environment: _ }, is_own } = self;
        let mut command = if is_own {
            context.firesteel.command()
        } else {
            std::process::Command::new(byte_text::os(&program))
        };
        for name in environment::not_inherited() {
            command.env_remove(name);
        }
        command.args(arguments.iter().map(|word| byte_text::os(word))).current_dir(directory);
        command.envs(variables.iter().map(|(name, value)| (byte_text::os(name), byte_text::os(value))));
        let started = start::spawn(command, &program, |command| {
            command.stdin(Stdio::null());
            command.stdout(outputs.stdout.try_clone()?).stderr(outputs.stderr.try_clone()?);
            Ok(())
        });
        started.map_err(|NotStarted { failure, fault }| match fault {
            Fault::Command if is_own => NotStarted { failure, fault: Fault::OwnProgram },
            fault => NotStarted { failure, fault },
        })
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ended {
    status: ExitStatus,
    /// The processor time of the whole life of the process, in milliseconds. Includes the children that the process
    /// waited for. `None`: unknown.
    cpu_millis: Option<u64>,
}

/// Waits until the process ends. Meanwhile passes signals on. A signal cannot reach a wrong process: the process id
/// stays in use until this function has waited for the end.
async fn wait(child: Child, group: ProcessGroup, mut signals: mpsc::Receiver<Signal>) -> Ended {
    // The usage of a process can be read until it is waited for.
    let cpu_millis = match signal(SignalKind::child()) {
        Ok(mut ends) => loop {
            if has_ended(group.leader()) {
                break measure::cpu_millis_of(group.leader());
            }
            tokio::select! {
                // This continues as long as the runtime runs.
                end = ends.recv() => if end.is_none() { break None },
                Some(signal) = signals.recv() => group.signal(signal),
            }
        },
        Err(error) => {
            tracing::debug!("cannot measure a process at its end: {error}");
            None
        }
    };
    Ended { status: reap(child, group, signals).await, cpu_millis }
}

/// Whether a child has ended. This does not reap the child, so the child's id stays in use. `true` if the system no
/// longer has such a child.
fn has_ended(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return true };
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(Pid::from_raw(pid)), flags) != Ok(WaitStatus::StillAlive)
}

async fn reap(mut child: Child, group: ProcessGroup, mut signals: mpsc::Receiver<Signal>) -> ExitStatus {
    loop {
        tokio::select! {
            status = child.wait() => return exit_status(status),
            Some(signal) = signals.recv() => group.signal(signal),
        }
    }
}

/// Kills the processes that an executor or a cluster driver left behind: first the process group, then the processes
/// that left the group.
async fn kill_leftovers(group: ProcessGroup, marker: Marker, process_cleanup: &ProcessCleanup) {
    group.signal(Signal::Kill);
    if let Err(survivors) = process_cleanup.end_matching(marker).await {
        tracing::error!("an executor or a driver has ended and {survivors}");
    }
}
