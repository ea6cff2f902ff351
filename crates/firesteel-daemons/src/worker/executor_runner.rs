//! The ExecutorRunner: runs one executor's process, from its start until none of its processes is left.

use std::collections::BTreeMap;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use firesteel_core::byte_text;
use firesteel_core::executor_command::ExecutorCommand;
use firesteel_core::ids::ExecutorKey;
use firesteel_core::messages::{LogAuthor, Stream, TaskDirectory};
use firesteel_core::process::{ExitStatus, Fault, NotStarted, Signal, StartFailure, StartStep};
use firesteel_core::worker::{Event, ExecutorPlan};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::environment;
use super::header::header;
use super::left_directories;
use super::log::segments::active_name;
use super::log::{Appender, Roller};
use super::runner::{ChildCommand, Ended, OutputTargets, Runner, RunnerContext, kill_leftovers, wait};
use super::strays::Marker;
use super::work_directory::Outputs;
use firesteel_host::exit_code::SHORTAGE;
use firesteel_host::inbox::Inbox;
use firesteel_host::process_group::ProcessGroup;
use firesteel_host::start::{enter, failed};

/// Starts an executor. The inbox receives [`Event::RunnerStarted`] or [`Event::RunnerFailed`]. After `RunnerStarted` it
/// receives [`Event::ExecutorMeasured`] and, once none of the executor's processes is left, [`Event::RunnerExited`]. The last
/// event is [`Event::DirectoryLeft`].
#[must_use]
pub fn start_executor(plan: ExecutorPlan, context: Arc<RunnerContext>, inbox: Inbox<Event>) -> Runner {
    Runner::start(|signals| run(plan, context, signals, inbox))
}

async fn run(
    plan: ExecutorPlan,
    context: Arc<RunnerContext>,
    signals: mpsc::Receiver<Signal>,
    inbox: Inbox<Event>,
) {
    let (executor, files) = (plan.executor.clone(), plan.files.clone());
    let marker = Marker::of_executor(&context.worker, &executor);
    let last = match start(plan, &context).await {
        Ok(Started { child, group, is_own, appenders }) => {
            let pid = group.leader();
            // If the owner has ended, the reaper ends the process.
            let _ = inbox.send(Event::RunnerStarted { executor: executor.clone(), pid }).await;
            let Ended { status, cpu_millis } = wait(child, group, signals).await;
            if let Some(cpu_millis) = cpu_millis {
                let executor = executor.clone();
                let _ = inbox.send(Event::ExecutorMeasured { executor, cpu_millis }).await;
            }
            kill_leftovers(group, marker, &context.sweeper).await;
            for appender in appenders {
                appender.finish().await;
            }
            match status {
                ExitStatus::Code(code) if is_own && code == i32::from(SHORTAGE) => {
                    let failure = StartFailure { step: StartStep::Program, error: too_little() };
                    let why = NotStarted { failure, fault: Fault::Shortage };
                    Event::RunnerFailed { executor: executor.clone(), why }
                }
                ExitStatus::Code(_) | ExitStatus::Signal(_) => {
                    Event::RunnerExited { executor: executor.clone(), status }
                }
            }
        }
        Err(why) => Event::RunnerFailed { executor: executor.clone(), why },
    };
    if !files.is_empty() {
        let (at, key) = (Arc::clone(&context), executor.clone());
        let unlinking = tokio::task::spawn_blocking(move || at.work.unlink_files(&key, &files));
        unlinking.await.expect("removing links does not panic");
    }
    let _ = inbox.send(last).await;
    // Measured after the end was told, since it may take long.
    let key = executor.clone();
    let measuring = tokio::task::spawn_blocking(move || left_directories::measure(&context.work, &key));
    if let Some(bytes) = measuring.await.expect("measuring a directory does not panic") {
        let _ = inbox.send(Event::DirectoryLeft { executor, bytes }).await;
    }
}

/// Why an executor of Firesteel's own ended at once with [`SHORTAGE`].
fn too_little() -> String {
    format!(
        "the executor ended with exit code {SHORTAGE}: too few processes, open files or too little memory"
    )
}

/// The process of a started executor.
struct Started {
    child: Child,
    /// The process group that it leads.
    group: ProcessGroup,
    /// Whether it runs the Worker's own program.
    is_own: bool,
    /// The tasks that copy its output, if its logs are rolled.
    appenders: Vec<Appender>,
}

async fn start(plan: ExecutorPlan, context: &Arc<RunnerContext>) -> Result<Started, NotStarted> {
    let directory = context.work.of_executor(&plan.executor);
    let at = Arc::clone(context);
    let preparing = tokio::task::spawn_blocking(move || Ok::<_, NotStarted>((prepare(&plan, &at)?, plan)));
    let (prepared, plan) = preparing.await.expect("preparing an executor does not panic")?;
    let Prepared { command, variables, outputs } = prepared;
    let (targets, pipes) = connect(outputs, &plan.executor, context)?;
    let directory = match &plan.directory {
        TaskDirectory::Executor => directory,
        TaskDirectory::Path(path) => {
            enter(path)?;
            byte_text::path(path)
        }
    };
    let is_own = command.is_own;
    let (child, group) = command.start(context, &directory, variables, &targets)?;
    let appender = |(pipe, roller, name)| match Appender::start(pipe, roller, context.clock, name) {
        Ok(appender) => Some(appender),
        Err(error) => {
            tracing::error!("cannot read the output of an executor: {error}");
            None
        }
    };
    Ok(Started { child, group, is_own, appenders: pipes.into_iter().filter_map(appender).collect() })
}

/// An executor that can be started.
struct Prepared {
    command: ChildCommand,
    /// All variables that it gets on top of the Worker's.
    variables: BTreeMap<String, String>,
    outputs: Outputs,
}

/// Makes an executor's directory and files, and finds out what to start. Blocks the thread.
fn prepare(plan: &ExecutorPlan, context: &RunnerContext) -> Result<Prepared, NotStarted> {
    let RunnerContext { worker, work, java, .. } = context;
    let command = match &plan.command {
        ExecutorCommand::Program(command) => ChildCommand::filled(command, context),
        ExecutorCommand::Java(command) => java.program(command, plan, work)?.into(),
    };
    let asked = &command.words.environment;
    let variables = environment::of(plan, asked, worker, &work.of_executor(&plan.executor));
    let outputs = work.prepare(&plan.executor, &header(&command.words, &variables))?;
    work.link_files(&plan.executor, worker, &plan.files)?;
    Ok(Prepared { command, variables, outputs })
}

/// The read end of a pipe, its log, and the log's name.
type Piped = (PipeReader, Roller, String);

/// Connects the output to the files or, if logs are rolled, to pipes.
fn connect(
    outputs: Outputs,
    executor: &ExecutorKey,
    context: &RunnerContext,
) -> Result<(OutputTargets, Vec<Piped>), NotStarted> {
    let Outputs { stdout, stderr } = outputs;
    let Some(rolling) = context.rolling else {
        return Ok((OutputTargets::files(stdout, stderr), Vec::new()));
    };
    let directory = context.work.of_executor(executor);
    let mut pipes = Vec::new();
    let mut through_pipe = |stream, file| -> std::io::Result<OwnedFd> {
        let removed = context.removed_bytes.open(LogAuthor::Executor(executor.clone()), stream);
        let roller = Roller::open(&directory, stream, file, rolling, removed, context.clock.now())?;
        let (ours, theirs) = std::io::pipe()?;
        pipes.push((ours, roller, format!("{executor} {}", active_name(stream))));
        Ok(theirs.into())
    };
    let no_pipe = |error| failed(StartStep::Output, directory.display(), &error);
    let stdout = through_pipe(Stream::Stdout, stdout).map_err(no_pipe)?;
    let stderr = through_pipe(Stream::Stderr, stderr).map_err(no_pipe)?;
    Ok((OutputTargets { stdout, stderr }, pipes))
}

#[cfg(test)]
pub(super) mod tests;
