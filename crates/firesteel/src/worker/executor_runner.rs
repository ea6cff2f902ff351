//! The ExecutorRunner: one task for one executor's process, from its start until nothing of it is left.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use firesteel_core::ids::WorkerId;
use firesteel_core::messages::TaskDirectory;
use firesteel_core::process::{Command, ExitStatus, Placeholder, Signal, StartFailure};
use firesteel_core::worker::{Event, ExecutorPlan};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::environment;
use super::header::header;
use super::strays::Marker;
use super::sweeper::Sweeper;
use super::work_directory::{Outputs, WorkDirectory};
use crate::inbox::Inbox;
use crate::process_group::{ProcessGroup, exit_status};
use crate::start_failure::{enter, not_started};

/// Signals that may wait for a runner. The machine sends two at most.
const SIGNALS: usize = 4;

/// What all runners of a Worker have in common.
#[derive(Debug)]
pub struct Site {
    /// The Worker's id, part of every marker.
    pub worker: WorkerId,
    /// Where executors have their directories.
    pub work: WorkDirectory,
    /// What `{{FIRESTEEL}}` stands for.
    pub firesteel: PathBuf,
    /// Ends what executors leave behind.
    pub sweeper: Sweeper,
}

/// The handle of a runner. Dropping it does not end the executor.
#[derive(Debug)]
pub struct ExecutorRunner {
    signals: mpsc::Sender<Signal>,
}

impl ExecutorRunner {
    /// Starts an executor. [`Event::RunnerStarted`] or [`Event::RunnerFailed`] comes to the inbox, and after the
    /// first, once nothing of the executor is left, [`Event::RunnerExited`].
    ///
    /// To be called on a thread of the runtime: see [`super`].
    #[must_use]
    pub fn start(plan: ExecutorPlan, site: Arc<Site>, inbox: Inbox<Event>) -> Self {
        let (sender, signals) = mpsc::channel(SIGNALS);
        tokio::spawn(run(plan, site, signals, inbox));
        Self { signals: sender }
    }

    /// Signals the executor's process group; before its start, as soon as it has started. Nothing if it has
    /// ended.
    pub fn signal(&self, signal: Signal) {
        // Full: it is being ended already.
        let _ = self.signals.try_send(signal);
    }

    /// Whether the executor's end was reported.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.signals.is_closed()
    }
}

async fn run(plan: ExecutorPlan, site: Arc<Site>, signals: mpsc::Receiver<Signal>, inbox: Inbox<Event>) {
    let (executor, files) = (plan.executor.clone(), plan.files.clone());
    let marker = Marker::of_executor(&site.worker, &executor);
    let last = match start(plan, &site).await {
        Ok((child, group)) => {
            let pid = group.leader();
            // If the owner has ended, the reaper sees to the process.
            let _ = inbox.send(Event::RunnerStarted { executor: executor.clone(), pid }).await;
            let status = wait(child, group, signals).await;
            kill_the_rest(group, marker, &site.sweeper).await;
            Event::RunnerExited { executor: executor.clone(), status }
        }
        Err(failure) => Event::RunnerFailed { executor: executor.clone(), failure },
    };
    if !files.is_empty() {
        let unlinking = tokio::task::spawn_blocking(move || site.work.unlink_files(&executor, &files));
        unlinking.await.expect("removing links does not panic");
    }
    let _ = inbox.send(last).await;
}

/// The process and the group that it leads.
async fn start(mut plan: ExecutorPlan, site: &Arc<Site>) -> Result<(Child, ProcessGroup), StartFailure> {
    fill_in_own_binary(&mut plan.command, site);
    let directory = site.work.of_executor(&plan.executor);
    let variables = environment::of(&plan, &site.worker, &directory);

    let header = header(&plan.command, &variables);
    let (executor, files, at) = (plan.executor.clone(), plan.files.clone(), Arc::clone(site));
    let prepared = tokio::task::spawn_blocking(move || {
        let outputs = at.work.prepare(&executor, &header)?;
        at.work.link_files(&executor, &at.worker, &files)?;
        Ok(outputs)
    })
    .await;
    let Outputs { stdout, stderr } = prepared.expect("preparing a directory does not panic")?;

    let Command { program, arguments, environment: _ } = plan.command;
    let mut command = std::process::Command::new(&program);
    for name in environment::not_inherited() {
        command.env_remove(name);
    }
    command
        .args(arguments)
        .envs(variables)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    if let TaskDirectory::Path(path) = &plan.directory {
        enter(path)?;
        command.current_dir(path);
    }
    let child =
        tokio::process::Command::from(command).spawn().map_err(|error| not_started(&program, &error))?;
    let group = ProcessGroup::of(&child);
    Ok((child, group))
}

fn fill_in_own_binary(command: &mut Command, site: &Site) {
    for word in std::iter::once(&mut command.program).chain(&mut command.arguments) {
        if Placeholder::of(word) == Some(Placeholder::Firesteel) {
            *word = site.firesteel.display().to_string();
        }
    }
}

/// Waits for the process's end and passes signals on meanwhile. A signal cannot hit a stranger: until the end was
/// waited for, here, the id is the process's.
async fn wait(mut child: Child, group: ProcessGroup, mut signals: mpsc::Receiver<Signal>) -> ExitStatus {
    loop {
        tokio::select! {
            status = child.wait() => return exit_status(status),
            Some(signal) = signals.recv() => group.signal(signal),
        }
    }
}

/// Kills what the process left behind: its group, and then those that left the group.
async fn kill_the_rest(group: ProcessGroup, marker: Marker, sweeper: &Sweeper) {
    group.signal(Signal::Kill);
    if let Err(survivors) = sweeper.sweep(marker).await {
        tracing::error!("an executor has ended and {survivors}");
    }
}

#[cfg(test)]
pub(super) mod tests;
