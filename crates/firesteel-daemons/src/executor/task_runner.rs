//! The runner of one task attempt, from the start of its process until the last of its processes has ended.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use firesteel_engine::executor::Event;
use firesteel_placement::Resources;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::{AttemptId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::{Stream, TaskDirectory, TaskSpec};
use firesteel_protocol::process::{ExitStatus, NotStarted, Signal};
use firesteel_protocol::secret::EXECUTOR_SECRET;
use firesteel_settings::CUDA;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::output::{Output, Read};
use crate::worker::cleanup::processes::{Marker, kill_matching};
use crate::worker::environment::{self, APP_ID, EXECUTOR_ID, WORKER_ID};
use firesteel_host::inbox::Inbox;
use firesteel_host::process_group::{ProcessGroup, exit_status};
use firesteel_host::start::{enter, spawn};

/// The environment variable with the task's number.
pub const TASK_ID: &str = "FIRESTEEL_TASK_ID";
/// The environment variable with the number of this attempt.
pub const TASK_ATTEMPT: &str = "FIRESTEEL_TASK_ATTEMPT";
/// The environment variable with the host on which the task runs.
pub const HOST: &str = "FIRESTEEL_HOST";

/// How long the outputs may stay open after the process and its group have ended. After that, the runner searches for
/// the processes that hold the outputs open. Also how long the outputs may stay open and silent after the search.
const OPEN_LIMIT: Duration = Duration::from_millis(250);
/// The time limit of the search for processes that left the group.
const STRAYS_LIMIT: Duration = Duration::from_secs(5);
/// The maximum number of bytes in two full pipes.
const PIPE: u64 = 2 << 20;

#[derive(Clone, Debug)]
pub struct Launch {
    pub attempt: AttemptId,
    pub spec: TaskSpec,
    /// The addresses of the executor's resources that this task may use.
    pub resources: Resources,
}

/// The values that all runners of an executor share.
#[derive(Clone, Debug)]
pub struct RunnerContext {
    pub executor: ExecutorKey,
    pub worker: WorkerId,
    pub host: String,
}

/// The handle of a runner. Dropping it does not end the task.
#[derive(Debug)]
pub struct TaskRunner {
    orders: watch::Sender<Orders>,
}

/// The orders that a runner has got so far. They are stored as a state instead of a queue, so they cannot grow without
/// limit.
#[derive(Clone, Copy, Debug)]
struct Orders {
    /// The total number of output bytes that may be read.
    allowed: u64,
    /// Whether output is read without a limit and discarded.
    drain: bool,
    signal: Option<Signal>,
}

impl TaskRunner {
    /// Starts a task. The inbox receives [`Event::TaskStarted`] or [`Event::TaskNotStarted`]. After `TaskStarted` it
    /// receives output within the allowance and then, when all of the task's processes have ended,
    /// [`Event::TaskExited`].
    ///
    /// Call this on a thread of the runtime.
    #[must_use]
    pub fn start(launch: Launch, allowed: u64, context: Arc<RunnerContext>, inbox: Inbox<Event>) -> Self {
        let (orders, receiver) = watch::channel(Orders { allowed, drain: false, signal: None });
        tokio::spawn(run(launch, context, receiver, inbox));
        Self { orders }
    }

    /// Allows the runner to read this number of further output bytes.
    pub fn allow(&self, bytes: u64) {
        self.orders.send_modify(|orders| orders.allowed = orders.allowed.saturating_add(bytes));
    }

    /// Makes the runner read all remaining output and discard it.
    pub fn drain(&self) {
        self.orders.send_modify(|orders| orders.drain = true);
    }

    /// Signals the task's process group. Does nothing if the task has ended.
    pub fn signal(&self, signal: Signal) {
        self.orders.send_modify(|orders| orders.signal = orders.signal.max(Some(signal)));
    }

    /// Whether the task's end was reported.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.orders.is_closed()
    }
}

async fn run(
    launch: Launch,
    context: Arc<RunnerContext>,
    orders: watch::Receiver<Orders>,
    inbox: Inbox<Event>,
) {
    let attempt = launch.attempt;
    let last = match start(launch, &context) {
        Ok(process) => {
            let pid = process.group.leader();
            // If the owner has ended, no one needs the event.
            let _ = inbox.send(Event::TaskStarted { attempt, pid }).await;
            let status = process.run_to_end(attempt, &context, orders, &inbox).await;
            Event::TaskExited { attempt, status }
        }
        Err(why) => Event::TaskNotStarted { attempt, why },
    };
    let _ = inbox.send(last).await;
}

/// The process of a task, which leads its own process group.
struct Process {
    child: Child,
    group: ProcessGroup,
    stdin: Option<(ChildStdin, Bytes)>,
    stdout: Output<ChildStdout>,
    stderr: Output<ChildStderr>,
    stage: Stage,
    signalled: Option<Signal>,
    read: u64,
}

fn start(launch: Launch, context: &RunnerContext) -> Result<Process, NotStarted> {
    let Launch { attempt, spec, resources } = launch;
    let TaskSpec { command, directory, stdin, cores: _ } = spec;
    let mut child_command = std::process::Command::new(byte_text::os(&command.program));
    child_command
        .args(command.arguments.iter().map(|word| byte_text::os(word)))
        // The secret identifies the executor, not its task.
        .env_remove(EXECUTOR_SECRET)
        .envs(command.environment.iter().map(|(name, value)| (byte_text::os(name), byte_text::os(value))))
        .envs(environment::of_task(&resources, std::env::var(CUDA).ok().as_deref()))
        // The executor's marker comes last: every process that carries it dies with the executor.
        .env(APP_ID, context.executor.app.as_str())
        .env(EXECUTOR_ID, context.executor.executor.to_string())
        .env(WORKER_ID, context.worker.as_str())
        .env(HOST, &context.host)
        .env(TASK_ID, attempt.task.to_string())
        .env(TASK_ATTEMPT, attempt.attempt.to_string());
    if let TaskDirectory::Path(path) = &directory {
        enter(path)?;
        child_command.current_dir(byte_text::path(path));
    }
    let (mut child, group) = spawn(child_command, &command.program, |child_command| {
        let stdin = if stdin.is_empty() { Stdio::null() } else { Stdio::piped() };
        child_command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(())
    })?;
    let stdin = child.stdin.take().map(|pipe| (pipe, stdin));
    let stdout = Output::new(child.stdout.take().expect("it was piped"));
    let stderr = Output::new(child.stderr.take().expect("it was piped"));
    Ok(Process { child, group, stdin, stdout, stderr, stage: Stage::Running, signalled: None, read: 0 })
}

impl Process {
    /// Writes the task's input, reads its outputs and sends signals, until the task has ended: the process has ended,
    /// and both outputs are read to their end.
    async fn run_to_end(
        mut self,
        attempt: AttemptId,
        context: &RunnerContext,
        mut receiver: watch::Receiver<Orders>,
        inbox: &Inbox<Event>,
    ) -> ExitStatus {
        let mut feeding = std::pin::pin!(feed(self.stdin.take()));
        let (mut fed, mut handle_is_gone) = (false, false);
        loop {
            let orders = *receiver.borrow_and_update();
            self.signal_as_ordered(orders);
            if let Some(status) = self.final_status() {
                return status;
            }
            let room = if orders.drain { u64::MAX } else { orders.allowed.saturating_sub(self.read) };
            // The branches are polled in random order, so both outputs get a share of the allowance.
            let (stream, piece) = tokio::select! {
                piece = self.stdout.read(room), if room > 0 && self.stdout.is_open() => (Stream::Stdout, piece),
                piece = self.stderr.read(room), if room > 0 && self.stderr.is_open() => (Stream::Stderr, piece),
                () = &mut feeding, if !fed => {
                    fed = true;
                    continue;
                }
                ended = self.child.wait(), if self.stage == Stage::Running => {
                    // Processes left in its group would hold the outputs open forever.
                    self.group.signal(Signal::Kill);
                    let search_at = Instant::now() + OPEN_LIMIT;
                    self.stage = Stage::Ended { status: exit_status(ended), search_at };
                    continue;
                }
                changed = receiver.changed(), if !handle_is_gone => {
                    // Without its handle, the runner reads only what it was allowed.
                    handle_is_gone = changed.is_err();
                    continue;
                }
                status = self.stage.search_is_due() => {
                    kill_leftovers(attempt, context).await;
                    self.stage = Stage::Cleared { status, left: PIPE };
                    continue;
                }
                () = self.stage.close_is_due(), if room > 0 => {
                    tracing::warn!("closed the output of task {attempt}: a process that it started still holds it open");
                    self.close_outputs();
                    continue;
                }
            };
            let Read::Piece(bytes) = piece else { continue };
            self.count_after_end(bytes.len() as u64);
            if !orders.drain {
                self.read += bytes.len() as u64;
                let _ = inbox.send(Event::TaskOutput { attempt, stream, bytes }).await;
            }
        }
    }

    /// Sends the ordered signal, unless the same or a stronger signal was sent already.
    fn signal_as_ordered(&mut self, orders: Orders) {
        if self.stage == Stage::Running
            && orders.signal > self.signalled
            && let Some(signal) = orders.signal
        {
            self.signalled = orders.signal;
            self.group.signal(signal);
        }
    }

    /// The exit status, if the process has ended and both outputs were read to their end.
    fn final_status(&self) -> Option<ExitStatus> {
        self.stage.status().filter(|_| !self.stdout.is_open() && !self.stderr.is_open())
    }

    /// Counts bytes that were read after the end of all processes. Closes the outputs when the count reaches the number
    /// of bytes that two pipes can hold.
    fn count_after_end(&mut self, length: u64) {
        if let Stage::Cleared { left, .. } = &mut self.stage {
            *left = left.saturating_sub(length);
            if *left == 0 {
                self.close_outputs();
            }
        }
    }

    fn close_outputs(&mut self) {
        self.stdout.close();
        self.stderr.close();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The process has ended, and its group was killed. If the outputs are still open, the runner searches for
    /// processes outside the group that keep them open.
    Ended {
        status: ExitStatus,
        search_at: Instant,
    },
    /// All processes that could be found were killed. At most this many bytes are left to be read from the pipes.
    Cleared {
        status: ExitStatus,
        left: u64,
    },
}

impl Stage {
    fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Ended { status, .. } | Self::Cleared { status, .. } => Some(status),
        }
    }

    async fn search_is_due(self) -> ExitStatus {
        match self {
            Self::Ended { status, search_at } => {
                sleep_until(search_at).await;
                status
            }
            Self::Running | Self::Cleared { .. } => std::future::pending().await,
        }
    }

    async fn close_is_due(self) {
        match self {
            Self::Cleared { .. } => sleep(OPEN_LIMIT).await,
            Self::Running | Self::Ended { .. } => std::future::pending().await,
        }
    }
}

/// Kills the processes that the task started and that left the task's process group.
async fn kill_leftovers(attempt: AttemptId, context: &RunnerContext) {
    let marker = Marker::of_executor(&context.worker, &context.executor)
        .and(TASK_ID, attempt.task)
        .and(TASK_ATTEMPT, attempt.attempt);
    let killing = tokio::task::spawn_blocking(move || kill_matching(&marker, 1, STRAYS_LIMIT)).await;
    if let Err(survivors) = killing.expect("scanning processes does not panic") {
        tracing::error!("task {attempt} has ended and {survivors}");
    }
}

/// Writes a task's standard input. A task may end without reading all of its input.
async fn feed(stdin: Option<(ChildStdin, Bytes)>) {
    if let Some((mut pipe, bytes)) = stdin {
        let _ = pipe.write_all(&bytes).await;
    }
}

#[cfg(test)]
mod tests;
