//! The runner of one attempt at a task, from its process's start until nothing of it is left.

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

/// The task's number.
pub const TASK_ID: &str = "FIRESTEEL_TASK_ID";
/// Which attempt at it.
pub const TASK_ATTEMPT: &str = "FIRESTEEL_TASK_ATTEMPT";
/// The host on which it runs.
pub const HOST: &str = "FIRESTEEL_HOST";

/// How long the outputs may stay open after the process and its group have ended, before somebody is looked for
/// who holds them; and how long they may then be open and silent.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long that search may take.
const STRAYS_LIMIT: Duration = Duration::from_secs(5);
/// Two pipes hold no more than that.
const PIPE: u64 = 2 << 20;

/// A task to be run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Which attempt.
    pub attempt: AttemptId,
    /// What to run.
    pub spec: TaskSpec,
    /// Those of the executor's addresses that it may use.
    pub resources: Resources,
}

/// What all runners of an executor have in common.
#[derive(Clone, Debug)]
pub struct Site {
    /// The executor.
    pub executor: ExecutorKey,
    /// The Worker that started it.
    pub worker: WorkerId,
    /// That Worker's host.
    pub host: String,
}

/// The handle of a runner. Dropping it does not end the task.
#[derive(Debug)]
pub struct TaskRunner {
    orders: watch::Sender<Orders>,
}

/// What a runner was told so far. It is a state and no queue, so it cannot grow.
#[derive(Clone, Copy, Debug)]
struct Orders {
    /// Bytes of output that may be read in all.
    allowed: u64,
    /// Output is read without a limit and thrown away.
    drain: bool,
    signal: Option<Signal>,
}

impl TaskRunner {
    /// Starts a task. [`Event::TaskStarted`] or [`Event::TaskNotStarted`] comes to the inbox; after the first,
    /// output as far as it is allowed, and once nothing of the task is left, [`Event::TaskExited`].
    ///
    /// To be called on a thread of the runtime.
    #[must_use]
    pub fn start(launch: Launch, allowed: u64, site: Arc<Site>, inbox: Inbox<Event>) -> Self {
        let (orders, told) = watch::channel(Orders { allowed, drain: false, signal: None });
        tokio::spawn(run(launch, site, told, inbox));
        Self { orders }
    }

    /// So many more bytes of output may be read.
    pub fn allow(&self, bytes: u64) {
        self.orders.send_modify(|orders| orders.allowed = orders.allowed.saturating_add(bytes));
    }

    /// Output is read to its end and thrown away from now on.
    pub fn drain(&self) {
        self.orders.send_modify(|orders| orders.drain = true);
    }

    /// Signals the task's process group. Nothing if it has ended.
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
            // Where the owner has ended nobody is told anything any more.
            let _ = inbox.send(Event::TaskStarted { attempt, pid }).await;
            let status = process.attend(attempt, &site, orders, &inbox).await;
            Event::TaskExited { attempt, status }
        }
        Err(failure) => Event::TaskNotStarted { attempt, failure },
    };
    let _ = inbox.send(last).await;
}

/// A task's process, which leads a process group of its own.
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
        // The executor's marker comes last: whoever carries it dies with the executor.
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
    /// Feeds it, reads it, signals it, and sees to its end: it is over when the process has ended and both
    /// outputs have been read to their end.
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
            // Whichever is ready, in no order: both outputs get their share of the allowance.
            let (stream, piece) = tokio::select! {
                piece = self.stdout.read(room), if room > 0 && self.stdout.is_open() => (Stream::Stdout, piece),
                piece = self.stderr.read(room), if room > 0 && self.stderr.is_open() => (Stream::Stderr, piece),
                () = &mut feeding, if !fed => {
                    fed = true;
                    continue;
                }
                ended = self.child.wait(), if stage == Stage::Running => {
                    // What it left in its group would hold the outputs open for ever.
                    self.group.signal(Signal::Kill);
                    stage = Stage::Ended { status: exit_status(ended), look_at: Instant::now() + PATIENCE };
                    continue;
                }
                changed = told.changed(), if !deaf => {
                    // Without its handle it may read what it was allowed to, and no more.
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

/// Where a process stands whose outputs are being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// It has ended, and its group was killed. If the outputs are still open then, whoever holds them has left the
    /// group and is looked for.
    Ended {
        status: ExitStatus,
        look_at: Instant,
    },
    /// Whoever could be found was killed. What is in the pipes is still to be read: so many bytes at most.
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

/// Kills what the task started and what left its group.
async fn kill_strays(attempt: AttemptId, site: &Site) {
    let marker = Marker::of_executor(&site.worker, &site.executor)
        .and(TASK_ID, attempt.task)
        .and(TASK_ATTEMPT, attempt.attempt);
    let killing = tokio::task::spawn_blocking(move || kill_bearers(&marker, 1, STRAYS_LIMIT)).await;
    if let Err(survivors) = killing.expect("looking for processes does not panic") {
        tracing::error!("task {attempt} has ended and {survivors}");
    }
}

/// Writes a task's standard input. A task that does not read it all is free not to.
async fn feed(stdin: Option<(ChildStdin, Bytes)>) {
    if let Some((mut pipe, bytes)) = stdin {
        let _ = pipe.write_all(&bytes).await;
    }
}

#[cfg(test)]
mod tests;
