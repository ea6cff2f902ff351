//! What the runners of executors and of cluster drivers share: their handle, and how a process is started, signalled, awaited
//! and followed by none of its own.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use firesteel_core::byte_text;
use firesteel_core::ids::WorkerId;
use firesteel_core::process::{Command, ExitStatus, Placeholder, Signal, StartFailure};
use firesteel_host::clock::Clock;
use firesteel_host::process_group::{ProcessGroup, exit_status};
use firesteel_host::start_failure::not_started;
use firesteel_settings::rolling::Rolling;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::environment;
use super::java::Java;
use super::log::RemovedBytesTable;
use super::measure;
use super::strays::Marker;
use super::sweeper::Sweeper;
use super::work_directory::WorkDirectory;

/// The number of signals that may be queued for a runner. The machine sends at most two.
const SIGNALS: usize = 4;

/// What all runners of a Worker share.
#[derive(Debug)]
pub struct RunnerContext {
    /// The Worker's id, which is part of every marker.
    pub worker: WorkerId,
    /// The work directory of the executors.
    pub work: WorkDirectory,
    /// What executors need that are Java classes.
    pub java: Java,
    /// The path of the program, which replaces `{{FIRESTEEL}}`.
    pub firesteel: PathBuf,
    /// The sweeper that ends processes that executors leave behind.
    pub sweeper: Sweeper,
    /// How their logs are rolled; `None` if they are not.
    pub rolling: Option<Rolling>,
    /// The records of rolled logs.
    pub removed_bytes: Arc<RemovedBytesTable>,
    /// The clock for the names of rolled files.
    pub clock: Clock,
}

/// The handle of a runner. Dropping it does not end what runs.
#[derive(Debug)]
pub struct Runner {
    signals: mpsc::Sender<Signal>,
}

impl Runner {
    /// Starts a runner, which is given the receiver of its signals.
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

    /// Signals the process group. Before its start the signal is queued. Does nothing if it has ended.
    pub fn signal(&self, signal: Signal) {
        // If the queue is full, it is being ended already.
        let _ = self.signals.try_send(signal);
    }

    /// Whether the end was reported.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.signals.is_closed()
    }
}

/// The command of a child of the Worker, which leads its own process group. Its arguments and outputs are missing.
pub(super) fn child_command(
    program: &str,
    variables: BTreeMap<String, String>,
    directory: &Path,
) -> std::process::Command {
    let mut command = std::process::Command::new(byte_text::os(program));
    for name in environment::not_inherited() {
        command.env_remove(name);
    }
    let variables = variables.iter().map(|(name, value)| (byte_text::os(name), byte_text::os(value)));
    command.envs(variables).current_dir(directory).stdin(Stdio::null()).process_group(0);
    command
}

/// Starts a command as a child of the Worker. Returns it with the process group that it leads.
pub(super) fn spawned(
    command: std::process::Command,
    program: &str,
) -> Result<(Child, ProcessGroup), StartFailure> {
    let child =
        tokio::process::Command::from(command).spawn().map_err(|error| not_started(program, &error))?;
    let group = ProcessGroup::of(&child);
    Ok((child, group))
}

/// The command with this program in place of its placeholder.
pub(super) fn filled(command: &Command, context: &RunnerContext) -> Command {
    let mut command = command.clone();
    for word in std::iter::once(&mut command.program).chain(&mut command.arguments) {
        if Placeholder::of(word) == Some(Placeholder::Firesteel) {
            *word = byte_text::of_os(context.firesteel.clone());
        }
    }
    command
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// The processor time of all of its life, with that of the children for which it waited, in milliseconds. `None`: the
    /// system does not say.
    pub(super) cpu_millis: Option<u64>,
}

/// Waits for the process's end and passes signals on meanwhile. A signal cannot reach a wrong process: the
/// process id stays in use until this function has waited for the end.
pub(super) async fn wait(child: Child, group: ProcessGroup, mut signals: mpsc::Receiver<Signal>) -> Ended {
    // What a process used can be read as long as nobody has waited for it.
    let cpu_millis = match signal(SignalKind::child()) {
        Ok(mut ends) => loop {
            if has_ended(group.leader()) {
                break measure::cpu_millis_of(group.leader());
            }
            tokio::select! {
                // It goes on for as long as the runtime does.
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

/// Whether a child has ended. It is not waited for, so its id stays in use. An error means that it is no child any more.
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

/// Kills the processes that an executor or a cluster driver left behind: first its group, then those that left the group.
pub(super) async fn kill_leftovers(group: ProcessGroup, marker: Marker, sweeper: &Sweeper) {
    group.signal(Signal::Kill);
    if let Err(survivors) = sweeper.sweep(marker).await {
        tracing::error!("an executor or a driver has ended and {survivors}");
    }
}
