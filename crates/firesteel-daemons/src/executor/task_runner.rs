//! The runner of one task attempt, from the start of its process until none of its processes is left.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use firesteel_core::executor::Event;
use firesteel_core::ids::{AttemptId, ExecutorKey, WorkerId};
use firesteel_core::messages::{Stream, TaskDirectory, TaskSpec};
use firesteel_core::process::{ExitStatus, Signal, StartFailure};
use firesteel_placement::Resources;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::output::{Output, Read};
use crate::worker::environment::{self, APP_ID, EXECUTOR_ID, WORKER_ID};
use crate::worker::strays::{Marker, kill_bearers};
use firesteel_host::inbox::Inbox;
use firesteel_host::process_group::{ProcessGroup, exit_status};
use firesteel_host::start_failure::{enter, not_started};

/// The variable with the task's number.
pub const TASK_ID: &str = "FIRESTEEL_TASK_ID";
/// The variable with the number of this attempt.
pub const TASK_ATTEMPT: &str = "FIRESTEEL_TASK_ATTEMPT";
/// The variable with the host on which the task runs.
pub const HOST: &str = "FIRESTEEL_HOST";

/// How long the outputs may stay open after the process and its group have ended, before the runner
/// searches for the processes that hold them open. Also how long they may then be open and silent.
const PATIENCE: Duration = Duration::from_millis(250);
/// The time limit of that search.
const STRAYS_LIMIT: Duration = Duration::from_secs(5);
/// The most bytes that two pipes can hold.
const PIPE: u64 = 2 << 20;

/// A task attempt to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The id of the attempt.
    pub attempt: AttemptId,
    /// The command and the input of the task.
    pub spec: TaskSpec,
    /// The addresses of the executor's resources that this task may use.
    pub resources: Resources,
}

/// What all runners of an executor share.
#[derive(Clone, Debug)]
pub struct Site {
    /// The executor that runs the tasks.
    pub executor: ExecutorKey,
    /// The Worker that started the executor.
    pub worker: WorkerId,
    /// The host of that Worker.
    pub host: String,
}

/// The handle of a runner. Dropping it does not end the task.
#[derive(Debug)]
pub struct TaskRunner {
    orders: watch::Sender<Orders>,
}

/// The orders to a runner so far. This is a state and not a queue, so it cannot grow.
#[derive(Clone, Copy, Debug)]
struct Orders {
    /// The total number of output bytes that may be read.
    allowed: u64,
    /// Whether output is read without a limit and discarded.
    drain: bool,
    signal: Option<Signal>,
}

impl TaskRunner {
    /// Starts a task. The inbox receives [`Event::TaskStarted`] or [`Event::TaskNotStarted`]. After
    /// `TaskStarted` it receives output within the allowance and then, once none of the task's processes is
    /// left, [`Event::TaskExited`].
    ///
    /// Call this on a thread of the runtime.
    #[must_use]
    pub fn start(launch: Launch, allowed: u64, site: Arc<Site>, inbox: Inbox<Event>) -> Self {
        let (orders, told) = watch::channel(Orders { allowed, drain: false, signal: None });
        tokio::spawn(run(launch, site, told, inbox));
        Self { orders }
    }

    /// Allows this many more bytes of output to be read.
    pub fn allow(&self, bytes: u64) {
        self.orders.send_modify(|orders| orders.allowed = orders.allowed.saturating_add(bytes));
    }

    /// Makes the runner read all remaining output and discard it.
    pub fn drain(&self) {
        self.orders.send_modify(|orders| orders.drain = true);
    }

    /// Signals the task's process group. Does nothing if it has ended.
    pub fn signal(&self, signal: Signal) {
        self.orders.send_modify(|orders| orders.signal = orders.signal.max(Some(signal)));
    }

    /// Whether the task's end was reported.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.orders.is_closed()
    }
}

async fn run(launch: Launch, site: Arc<Site>, orders: watch::Receiver<Orders>, inbox: Inbox<Event>) {
    let attempt = launch.attempt;
    let last = match start(launch, &site) {
        Ok(process) => {
            let pid = process.group.leader();
            // If the owner has ended, no one needs the event.
            let _ = inbox.send(Event::TaskStarted { attempt, pid }).await;
            let status = process.attend(attempt, &site, orders, &inbox).await;
            Event::TaskExited { attempt, status }
        }
        Err(failure) => Event::TaskNotStarted { attempt, failure },
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
}

fn start(launch: Launch, site: &Site) -> Result<Process, StartFailure> {
    let Launch { attempt, spec, resources } = launch;
    let TaskSpec { command, directory, stdin, cores: _ } = spec;
    let mut words = std::process::Command::new(&command.program);
    words
        .args(&command.arguments)
        .envs(&command.environment)
        .envs(environment::of_task(&resources))
        // The executor's marker comes last: every process that carries it dies with the executor.
        .env(APP_ID, site.executor.app.as_str())
        .env(EXECUTOR_ID, site.executor.executor.to_string())
        .env(WORKER_ID, site.worker.as_str())
        .env(HOST, &site.host)
        .env(TASK_ID, attempt.task.to_string())
        .env(TASK_ATTEMPT, attempt.attempt.to_string())
        .stdin(if stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let TaskDirectory::Path(path) = &directory {
        enter(path)?;
        words.current_dir(path);
    }
    let mut child = tokio::process::Command::from(words)
        .spawn()
        .map_err(|error| not_started(&command.program, &error))?;
    let group = ProcessGroup::of(&child);
    let stdin = child.stdin.take().map(|pipe| (pipe, stdin));
    let stdout = Output::new(child.stdout.take().expect("it was piped"));
    let stderr = Output::new(child.stderr.take().expect("it was piped"));
    Ok(Process { child, group, stdin, stdout, stderr })
}

impl Process {
    /// Feeds, reads and signals the process until its end. The task has ended when the process has ended
    /// and both outputs are read to their end.
    async fn attend(
        mut self,
        attempt: AttemptId,
        site: &Site,
        mut told: watch::Receiver<Orders>,
        inbox: &Inbox<Event>,
    ) -> ExitStatus {
        let mut feeding = std::pin::pin!(feed(self.stdin.take()));
        let (mut fed, mut deaf) = (false, false);
        let (mut stage, mut signalled, mut read) = (Stage::Running, None, 0);
        loop {
            let orders = *told.borrow_and_update();
            if stage == Stage::Running
                && orders.signal > signalled
                && let Some(signal) = orders.signal
            {
                signalled = orders.signal;
                self.group.signal(signal);
            }
            if let Some(status) = stage.status()
                && !self.stdout.is_open()
                && !self.stderr.is_open()
            {
                return status;
            }
            let room = if orders.drain { u64::MAX } else { orders.allowed.saturating_sub(read) };
            // The branches are polled in random order, so both outputs get a share of the allowance.
            let (stream, piece) = tokio::select! {
                piece = self.stdout.read(room), if room > 0 && self.stdout.is_open() => (Stream::Stdout, piece),
                piece = self.stderr.read(room), if room > 0 && self.stderr.is_open() => (Stream::Stderr, piece),
                () = &mut feeding, if !fed => {
                    fed = true;
                    continue;
                }
                ended = self.child.wait(), if stage == Stage::Running => {
                    // Processes left in its group would hold the outputs open forever.
                    self.group.signal(Signal::Kill);
                    stage = Stage::Ended { status: exit_status(ended), look_at: Instant::now() + PATIENCE };
                    continue;
                }
                changed = told.changed(), if !deaf => {
                    // Without its handle the runner reads what it was allowed, and no more.
                    deaf = changed.is_err();
                    continue;
                }
                status = stage.to_look() => {
                    kill_strays(attempt, site).await;
                    stage = Stage::Cleared { status, left: PIPE };
                    continue;
                }
                () = stage.to_give_up(), if room > 0 => {
                    tracing::warn!("closed the output of task {attempt}: a process that it started still holds it open");
                    self.close_outputs();
                    continue;
                }
            };
            let Read::Piece(bytes) = piece else { continue };
            let length = bytes.len() as u64;
            if let Stage::Cleared { left, .. } = &mut stage {
                *left = left.saturating_sub(length);
                if *left == 0 {
                    self.close_outputs();
                }
            }
            if !orders.drain {
                read += length;
                let _ = inbox.send(Event::TaskOutput { attempt, stream, bytes }).await;
            }
        }
    }

    fn close_outputs(&mut self) {
        self.stdout.close();
        self.stderr.close();
    }
}

/// The stage of a process whose outputs are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The process has ended, and its group was killed. If the outputs are still open, processes outside
    /// the group hold them, and the runner searches for those.
    Ended {
        status: ExitStatus,
        look_at: Instant,
    },
    /// All processes that could be found were killed. At most this many bytes in the pipes are still to be
    /// read.
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

    async fn to_look(self) -> ExitStatus {
        match self {
            Self::Ended { status, look_at } => {
                sleep_until(look_at).await;
                status
            }
            Self::Running | Self::Cleared { .. } => std::future::pending().await,
        }
    }

    async fn to_give_up(self) {
        match self {
            Self::Cleared { .. } => sleep(PATIENCE).await,
            Self::Running | Self::Ended { .. } => std::future::pending().await,
        }
    }
}

/// Kills the processes that the task started and that left its group.
async fn kill_strays(attempt: AttemptId, site: &Site) {
    let marker = Marker::of_executor(&site.worker, &site.executor)
        .and(TASK_ID, attempt.task)
        .and(TASK_ATTEMPT, attempt.attempt);
    let killing = tokio::task::spawn_blocking(move || kill_bearers(&marker, 1, STRAYS_LIMIT)).await;
    if let Err(survivors) = killing.expect("looking for processes does not panic") {
        tracing::error!("task {attempt} has ended and {survivors}");
    }
}

/// Writes a task's standard input. A task need not read all of it.
async fn feed(stdin: Option<(ChildStdin, Bytes)>) {
    if let Some((mut pipe, bytes)) = stdin {
        let _ = pipe.write_all(&bytes).await;
    }
}

#[cfg(test)]
mod tests;
