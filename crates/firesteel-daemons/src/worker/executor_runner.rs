//! The ExecutorRunner: runs one executor's process, and handles its files and logs.

use std::collections::BTreeMap;
use std::env;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::ExecutorKey;
use firesteel_protocol::messages::{LogAuthor, Stream, TaskDirectory};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use firesteel_protocol::process::{ExitStatus, Fault, NotStarted, StartFailure, StartStep};
use firesteel_spark::launch::EXECUTOR_DIRECTORIES;
use firesteel_worker::{Event, ExecutorPlan, LastMeasurement};

use super::cleanup::executor_directories;
use super::environment;
use super::header::header;
use super::log::Roller;
use super::log::segments::active_name;
use super::runner::{ChildCommand, OutputTargets, Piped, Prepared, Run, Runner, RunnerContext, run};
use super::work_directory::{Outputs, WorkDirectory};
use firesteel_host::exit_code::SHORTAGE;
use firesteel_host::inbox::Inbox;
use firesteel_host::start::{enter, failed};

/// Starts an executor. The inbox receives [`Event::RunnerStarted`] or [`Event::RunnerFailed`]. After `RunnerStarted` it
/// receives [`Event::ExecutorMeasured`] and, when all of the executor's processes have ended, [`Event::RunnerExited`].
/// The last event is [`Event::DirectoryLeft`].
#[must_use]
pub fn start_executor(plan: ExecutorPlan, context: Arc<RunnerContext>, inbox: Inbox<Event>) -> Runner {
    let plan = Arc::new(plan);
    Runner::start(async move |signals| {
        let last = run(&plan, &context, signals, &inbox).await;
        if !plan.files.is_empty() {
            let (at, plan) = (Arc::clone(&context), Arc::clone(&plan));
            let unlinking =
                tokio::task::spawn_blocking(move || at.work.unlink_files(&plan.executor, &plan.files));
            unlinking.await.expect("removing links does not panic");
        }
        let _ = inbox.send(last).await;
        // Measured after the end is reported, since it may take long.
        let (executor, key) = (plan.executor.clone(), plan.executor.clone());
        let measuring =
            tokio::task::spawn_blocking(move || executor_directories::measure(&context.work, &key));
        if let Some(bytes) = measuring.await.expect("measuring a directory does not panic") {
            let _ = inbox.send(Event::DirectoryLeft { executor, bytes }).await;
        }
    })
}

impl Run for ExecutorPlan {
    fn name(&self) -> String {
        self.executor.to_string()
    }

    fn granted(&self) -> (Cores, MiB) {
        (self.cores, self.memory)
    }

    fn environment(&self) -> &BTreeMap<String, String> {
        self.command.environment()
    }

    fn prepare(&self, context: &RunnerContext, work: &WorkDirectory) -> Result<Prepared, NotStarted> {
        let RunnerContext { worker, java, .. } = context;
        let mut own = vec![work.of_executor(&self.executor)];
        let is_java = matches!(self.command, ExecutorCommand::Java(_));
        let command = match &self.command {
            ExecutorCommand::Program(command) => ChildCommand::filled(command, context),
            ExecutorCommand::Java(command) => {
                let program = java.program(command, self, work)?;
                own.extend(env::split_paths(&program.environment[EXECUTOR_DIRECTORIES]));
                program.into()
            }
        };
        if !self.files.is_empty() {
            own.push(work.files_of_app(&self.executor.app, worker));
        }
        let asked = &command.words.environment;
        let variables = environment::of(self, asked, worker, &own[0]);
        let outputs = work.prepare(&self.executor, &header(&command.words, &variables))?;
        work.link_files(&self.executor, worker, &self.files)?;
        let (outputs, pipes) = connect(outputs, &self.executor, context)?;
        let directory = match &self.directory {
            TaskDirectory::Executor => work.of_executor(&self.executor),
            TaskDirectory::Path(path) => {
                work.act(|| enter(path))?;
                byte_text::path(path)
            }
        };
        Ok(Prepared { command, is_java, directory, own, variables, outputs, pipes })
    }

    fn started(&self, pid: u32) -> Event {
        Event::RunnerStarted { executor: self.executor.clone(), pid }
    }

    fn measured(&self, last: LastMeasurement) -> Event {
        Event::ExecutorMeasured { executor: self.executor.clone(), last }
    }

    fn ended(&self, status: ExitStatus, is_own: bool) -> Event {
        match status {
            ExitStatus::Code(code) if is_own && code == i32::from(SHORTAGE) => {
                let failure = StartFailure { step: StartStep::Program, error: too_little() };
                self.failed(NotStarted { failure, fault: Fault::Shortage })
            }
            ExitStatus::Code(_) | ExitStatus::Signal(_) => {
                Event::RunnerExited { executor: self.executor.clone(), status }
            }
        }
    }

    fn failed(&self, why: NotStarted) -> Event {
        Event::RunnerFailed { executor: self.executor.clone(), why }
    }
}

/// The message that says why one of Firesteel's own executors ended at once with [`SHORTAGE`].
fn too_little() -> String {
    format!(
        "the executor ended with exit code {SHORTAGE}: too few processes, open files or too little memory"
    )
}

/// Connects the executor's output to its files. If logs are rolled, connects it to pipes.
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
