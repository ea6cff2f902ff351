//! The ExecutorRunner: runs one executor's process, from its start until none of its processes is left.

use std::collections::BTreeMap;
use std::io::PipeReader;
use std::process::Stdio;
use std::sync::Arc;

use firesteel_core::byte_text;
use firesteel_core::executor_command::ExecutorCommand;
use firesteel_core::ids::ExecutorKey;
use firesteel_core::messages::{LogAuthor, Stream, TaskDirectory};
use firesteel_core::process::{Command, Signal, StartFailure, StartStep};
use firesteel_core::worker::{Event, ExecutorPlan};
use tokio::process::Child;
use tokio::sync::mpsc;

use super::environment;
use super::header::header;
use super::left_directories;
use super::log::segments::active_name;
use super::log::{Appender, Roller};
use super::runner::{Ended, Runner, RunnerContext, child_command, filled, kill_leftovers, spawned, wait};
use super::strays::Marker;
use super::work_directory::{Outputs, failure};
use firesteel_host::inbox::Inbox;
use firesteel_host::process_group::ProcessGroup;
use firesteel_host::start_failure::enter;

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
        Ok(Started { child, group, appenders }) => {
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
            Event::RunnerExited { executor: executor.clone(), status }
        }
        Err(failure) => Event::RunnerFailed { executor: executor.clone(), failure },
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

/// The process of a started executor.
struct Started {
    child: Child,
    /// The process group that it leads.
    group: ProcessGroup,
    /// The tasks that copy its output, if its logs are rolled.
    appenders: Vec<Appender>,
}

async fn start(plan: ExecutorPlan, context: &Arc<RunnerContext>) -> Result<Started, StartFailure> {
    let directory = context.work.of_executor(&plan.executor);
    let at = Arc::clone(context);
    let preparing = tokio::task::spawn_blocking(move || Ok((prepare(&plan, &at)?, plan)));
    let (prepared, plan) = preparing.await.expect("preparing an executor does not panic")?;
    let Prepared { command: Command { program, arguments, environment: _ }, variables, outputs } = prepared;
    let OutputTargets { stdout, stderr, pipes } = connect(outputs, &plan.executor, context)?;

    let mut command = child_command(&program, variables, &directory);
    command.args(arguments.iter().map(|word| byte_text::os(word))).stdout(stdout).stderr(stderr);
    if let TaskDirectory::Path(path) = &plan.directory {
        enter(path)?;
        command.current_dir(byte_text::path(path));
    }
    let (child, group) = spawned(command, &program)?;
    let appender = |(pipe, roller, name)| match Appender::start(pipe, roller, context.clock, name) {
        Ok(appender) => Some(appender),
        Err(error) => {
            tracing::error!("cannot read the output of an executor: {error}");
            None
        }
    };
    Ok(Started { child, group, appenders: pipes.into_iter().filter_map(appender).collect() })
}

/// An executor that can be started.
struct Prepared {
    command: Command,
    /// All variables that it gets on top of the Worker's.
    variables: BTreeMap<String, String>,
    outputs: Outputs,
}

/// Makes an executor's directory and files, and finds out what to start. Blocks the thread.
fn prepare(plan: &ExecutorPlan, context: &RunnerContext) -> Result<Prepared, StartFailure> {
    let RunnerContext { worker, work, java, .. } = context;
    let command = match &plan.command {
        ExecutorCommand::Program(command) => filled(command, context),
        ExecutorCommand::Java(command) => java.program(command, plan, work)?,
    };
    let variables = environment::of(plan, &command.environment, worker, &work.of_executor(&plan.executor));
    let outputs = work.prepare(&plan.executor, &header(&command, &variables))?;
    work.link_files(&plan.executor, worker, &plan.files)?;
    Ok(Prepared { command, variables, outputs })
}

/// Where an executor's output goes.
struct OutputTargets {
    stdout: Stdio,
    stderr: Stdio,
    /// The read ends of the pipes, each with its log and the log's name.
    pipes: Vec<(PipeReader, Roller, String)>,
}

/// Connects the output to the files or, if logs are rolled, to pipes.
fn connect(
    outputs: Outputs,
    executor: &ExecutorKey,
    context: &RunnerContext,
) -> Result<OutputTargets, StartFailure> {
    let Outputs { stdout, stderr } = outputs;
    let Some(rolling) = context.rolling else {
        return Ok(OutputTargets { stdout: stdout.into(), stderr: stderr.into(), pipes: Vec::new() });
    };
    let directory = context.work.of_executor(executor);
    let mut pipes = Vec::new();
    let mut through_pipe = |stream, file| -> std::io::Result<Stdio> {
        let removed = context.removed_bytes.open(LogAuthor::Executor(executor.clone()), stream);
        let roller = Roller::open(&directory, stream, file, rolling, removed, context.clock.now())?;
        let (ours, theirs) = std::io::pipe()?;
        pipes.push((ours, roller, format!("{executor} {}", active_name(stream))));
        Ok(theirs.into())
    };
    let failure = |error| failure(StartStep::Output, &directory, &error);
    let stdout = through_pipe(Stream::Stdout, stdout).map_err(failure)?;
    let stderr = through_pipe(Stream::Stderr, stderr).map_err(failure)?;
    Ok(OutputTargets { stdout, stderr, pipes })
}

#[cfg(test)]
pub(super) mod tests;
