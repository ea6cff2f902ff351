//! The Worker's side of a reaper.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use firesteel_host::account::Account;
use firesteel_host::children::{self, StartedChild};
use firesteel_host::exit_code::SHORTAGE;
use firesteel_host::own_program::OwnProgram;
use firesteel_host::process_group::{ProcessGroup, exit_status};
use firesteel_host::start::{failed, spawn};
use firesteel_protocol::byte_text;
use firesteel_protocol::process::{ExitStatus, Fault, NotStarted, Signal, StartFailure, StartStep};
use firesteel_worker::LastMeasurement;
use tokio::io::AsyncWriteExt;
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::COMMAND;
use super::control_group::{ControlGroup, ControlGroups, GroupLimits};
use super::message::{self, Start, Started, StartedProcess};
use crate::worker::confinement::Reach;
use crate::worker::environment;
use crate::worker::runner::OutputTargets;

/// The number of signals that may be queued for a reaper. The Worker's state machine sends at most two.
const SIGNALS: usize = 4;

/// How long a reaper may take to report the end after SIGKILL was ordered. This is longer than it tries to kill.
const LIMIT: Duration = Duration::from_secs(15);

/// How long processes that the Worker adopted may take to end.
const ADOPTED_LIMIT: Duration = Duration::from_secs(10);

/// How long the Worker waits for its last reapers.
const RELEASE_LIMIT: Duration = Duration::from_secs(10);

/// The reapers of a Worker.
#[derive(Clone, Debug)]
pub struct Reapers {
    firesteel: OwnProgram,
    control_groups: Option<ControlGroups>,
    /// Whether programs may gain privileges, for example by sudo.
    may_gain_privileges: bool,
    tasks: TaskTracker,
    end: CancellationToken,
}

/// A program that a reaper starts.
#[derive(Debug)]
pub(in crate::worker) struct Program {
    pub(in crate::worker) path: String,
    /// Whether it is the Worker's own program.
    pub(in crate::worker) is_own: bool,
    pub(in crate::worker) arguments: Vec<String>,
    pub(in crate::worker) variables: BTreeMap<String, String>,
    /// The account of the program. `None`: the Worker's own.
    pub(in crate::worker) account: Option<Account>,
    /// The limits of the program, if it has a control group.
    pub(in crate::worker) limits: GroupLimits,
    /// What the program reaches. `None`: it is not confined.
    pub(in crate::worker) reach: Option<Reach>,
}

/// A reaper, and the process that it has started.
#[derive(Debug)]
pub(in crate::worker) struct Reaper {
    pid: u32,
    signals: mpsc::Sender<Signal>,
    attending: JoinHandle<Ended>,
    ended: Option<Ended>,
}

/// The end of a process and of all of its descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worker) struct Ended {
    pub(in crate::worker) status: ExitStatus,
    /// What is known of the process and of all of its descendants. `None`: nothing, because the reaper was killed.
    pub(in crate::worker) last: Option<LastMeasurement>,
}

impl Reapers {
    #[must_use]
    pub fn new(
        firesteel: OwnProgram,
        control_groups: Option<ControlGroups>,
        may_gain_privileges: bool,
    ) -> Self {
        let (tasks, end) = (TaskTracker::new(), CancellationToken::new());
        Self { firesteel, control_groups, may_gain_privileges, tasks, end }
    }

    /// The Worker's own program.
    #[must_use]
    pub fn firesteel(&self) -> &OwnProgram {
        &self.firesteel
    }

    /// Starts a program under a reaper of its own. `name` says whose it is.
    ///
    /// # Errors
    /// The reaper or the program cannot be started.
    pub(in crate::worker) async fn start(
        &self,
        name: &str,
        program: Program,
        directory: &Path,
        outputs: &OutputTargets,
    ) -> Result<Reaper, NotStarted> {
        let Program { path, is_own, arguments, variables, account, limits, reach } = program;
        let control_group = self.control_groups.as_ref().and_then(|groups| groups.of(name, &limits));
        let directory = byte_text::of_os(directory);
        let mut line = self.start_process(name, outputs)?;
        line.control_group.clone_from(&control_group);
        let may_gain_privileges = self.may_gain_privileges;
        let start = Start {
            program: path,
            is_own,
            arguments,
            variables,
            directory,
            account,
            control_group,
            may_gain_privileges,
            reach,
        };
        let first = match line.stream.write_all(&message::bytes(&start)).await {
            Ok(()) => message::next::<Started>(&mut line.stream).await,
            Err(error) => Err(error),
        };
        let Ok(started) = first else { return Err(self.lost_at_start(name, line).await) };
        let StartedProcess { pid, outside } = match started {
            Ok(started) => started,
            Err(why) => {
                let _ = line.child.wait().await;
                return Err(why);
            }
        };
        if let Some(error) = outside {
            tracing::warn!("{name} has no control group, and is watched by its reaper alone: {error}");
        }
        let (signals, receiver) = mpsc::channel(SIGNALS);
        let task = attend(name.to_owned(), line, receiver, self.end.clone());
        let attending = self.tasks.spawn(task);
        Ok(Reaper { pid, signals, attending, ended: None })
    }

    fn start_process(&self, name: &str, outputs: &OutputTargets) -> Result<Line, NotStarted> {
        let path = self.firesteel.path().display();
        let no_pipe = |error| failed(StartStep::Program, &path, &error);
        let (ours, theirs) = UnixStream::pair().map_err(no_pipe)?;
        ours.set_nonblocking(true).map_err(no_pipe)?;
        let mut command = self.firesteel.command();
        for variable in environment::not_inherited() {
            command.env_remove(variable);
        }
        command.args([COMMAND, name]).current_dir("/");
        let start = || {
            spawn(command, &path.to_string(), |command| {
                command.stdin(std::os::fd::OwnedFd::from(theirs.try_clone()?));
                command.stdout(outputs.stdout.try_clone()?).stderr(outputs.stderr.try_clone()?);
                Ok(())
            })
        };
        let started = children::start(start, |(_, group): &(Child, ProcessGroup)| group.leader());
        let ((child, _), record) = started.map_err(|NotStarted { failure, fault }| match fault {
            Fault::Command => NotStarted { failure, fault: Fault::OwnProgram },
            fault => NotStarted { failure, fault },
        })?;
        let stream = tokio::net::UnixStream::from_std(ours).map_err(no_pipe)?;
        Ok(Line { child, record, stream, control_group: None })
    }

    /// Why a reaper ended before it had started its process.
    async fn lost_at_start(&self, name: &str, mut line: Line) -> NotStarted {
        let status = exit_status(line.child.wait().await);
        end_adopted(name, line.control_group).await;
        let is_shortage = status == ExitStatus::Code(i32::from(SHORTAGE));
        let fault = if is_shortage { Fault::Shortage } else { Fault::OwnProgram };
        let program = self.firesteel.path().display();
        let error = format!("{program} {COMMAND}: ended with {status}; its last lines are in stderr");
        NotStarted { failure: StartFailure { step: StartStep::Program, error }, fault }
    }

    /// Has all reapers kill their processes, and waits for their end, at most 10 s. Then removes the control groups.
    pub async fn release(self) {
        self.end.cancel();
        self.tasks.close();
        if timeout(RELEASE_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::warn!("the reapers are still killing processes");
        }
        if let Some(groups) = self.control_groups {
            groups.remove();
        }
    }
}

impl Reaper {
    /// The id of the process that the reaper has started, which leads its own process group.
    pub(in crate::worker) fn pid(&self) -> u32 {
        self.pid
    }

    /// Signals the process group. Does nothing if the process has ended.
    pub(in crate::worker) fn signal(&self, signal: Signal) {
        // If the queue is full, the process is being ended already.
        let _ = self.signals.try_send(signal);
    }

    /// Waits until the process and all of its descendants have ended. The future may be dropped before it is ready, and
    /// the method called again.
    pub(in crate::worker) async fn ended(&mut self) -> Ended {
        if let Some(ended) = self.ended {
            return ended;
        }
        let ended = (&mut self.attending).await.expect("attending to a reaper does not panic");
        *self.ended.insert(ended)
    }
}

/// A reaper process and the connection to it. The standard library marks the connection close-on-exec, so no program
/// that the Worker starts holds it open.
struct Line {
    child: Child,
    record: StartedChild,
    stream: tokio::net::UnixStream,
    /// The control group of the process.
    control_group: Option<ControlGroup>,
}

/// Passes signals on and waits for the report of the end.
async fn attend(
    name: String,
    line: Line,
    mut signals: mpsc::Receiver<Signal>,
    end: CancellationToken,
) -> Ended {
    let Line { mut child, record, stream, control_group } = line;
    let (reader, mut writer) = stream.into_split();
    let mut report = std::pin::pin!(message::next::<message::Ended>(reader));
    let (mut give_up, mut is_told) = (None, false);
    let report = loop {
        tokio::select! {
            report = &mut report => break report,
            Some(signal) = signals.recv() => {
                // If the reaper has ended, the report fails.
                let _ = writer.write_all(&message::bytes(&signal)).await;
                if signal == Signal::Kill {
                    give_up.get_or_insert_with(|| Instant::now() + LIMIT);
                }
            }
            () = end.cancelled(), if !is_told => {
                is_told = true;
                // The reaper kills its processes when it can read no more.
                let _ = writer.shutdown().await;
                give_up = Some(Instant::now() + LIMIT);
            }
            () = at(give_up) => {
                tracing::error!("the reaper of {name} does not answer: killing it");
                let _ = child.start_kill();
                give_up = None;
            }
        }
    };
    let waited = exit_status(child.wait().await);
    drop(record);
    match report {
        Ok(message::Ended { status, cpu_millis, is_out_of_memory, left }) => {
            if !left.is_empty() {
                tracing::error!("{name} has ended, and killed processes are not gone: {left:?}");
            }
            Ended { status, last: Some(LastMeasurement { cpu_millis, is_out_of_memory }) }
        }
        Err(_) => {
            if !end.is_cancelled() {
                tracing::warn!("the reaper of {name} ended with {waited}: killing the processes of {name}");
            }
            end_adopted(&name, control_group).await;
            Ended { status: waited, last: None }
        }
    }
}

/// Ends the processes of a killed reaper: those in its control group, and those that the Worker has adopted.
async fn end_adopted(name: &str, control_group: Option<ControlGroup>) {
    let ending = tokio::task::spawn_blocking(move || {
        control_group.iter().for_each(ControlGroup::kill);
        let left = children::end_adopted(ADOPTED_LIMIT);
        control_group.iter().for_each(ControlGroup::remove);
        left
    });
    let left = ending.await.expect("ending processes does not panic");
    if !left.is_empty() {
        tracing::error!("{name} has ended, and killed processes are not gone: {left:?}");
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
