//! The DriverRunner: runs one process of a cluster driver, from its start until none of its processes is left.
//!
//! Whether the cluster driver is started again, the Worker's machine decides. Its logs are appended to then, and are not rolled.

use std::collections::BTreeMap;
use std::sync::Arc;

use firesteel_core::byte_text;
use firesteel_core::ids::{DriverId, WorkerId};
use firesteel_core::process::{Command, Signal, StartFailure, StartStep};
use firesteel_core::worker::{DriverPlan, Event};
use firesteel_spark::cluster_driver::SparkDriver;
use tokio::process::Child;
use tokio::sync::mpsc;

use super::environment;
use super::header::driver_header;
use super::runner::{Ended, Runner, RunnerContext, child_command, filled, kill_leftovers, spawned, wait};
use super::strays::Marker;
use super::work_directory::Outputs;
use firesteel_host::inbox::Inbox;
use firesteel_host::process_group::ProcessGroup;

/// Starts a cluster driver. The inbox receives [`Event::DriverStarted`] or [`Event::DriverFailed`]. After `DriverStarted` it
/// receives [`Event::DriverMeasured`] and, once none of its processes is left, [`Event::DriverExited`].
#[must_use]
pub fn start_driver(plan: DriverPlan, context: Arc<RunnerContext>, inbox: Inbox<Event>) -> Runner {
    Runner::start(|signals| run(plan, context, signals, inbox))
}

async fn run(
    plan: DriverPlan,
    context: Arc<RunnerContext>,
    signals: mpsc::Receiver<Signal>,
    inbox: Inbox<Event>,
) {
    let driver = plan.driver.clone();
    let marker = Marker::of_driver(&context.worker, &driver);
    let last = match start(plan, &context).await {
        Ok((child, group)) => {
            let pid = group.leader();
            // If the owner has ended, the reaper ends the process.
            let _ = inbox.send(Event::DriverStarted { driver: driver.clone(), pid }).await;
            let Ended { status, cpu_millis } = wait(child, group, signals).await;
            if let Some(cpu_millis) = cpu_millis {
                let driver = driver.clone();
                let _ = inbox.send(Event::DriverMeasured { driver, cpu_millis }).await;
            }
            kill_leftovers(group, marker, &context.sweeper).await;
            Event::DriverExited { driver, status }
        }
        Err(failure) => Event::DriverFailed { driver, failure },
    };
    let _ = inbox.send(last).await;
}

async fn start(
    plan: DriverPlan,
    context: &Arc<RunnerContext>,
) -> Result<(Child, ProcessGroup), StartFailure> {
    let directory = context.work.of_driver(&plan.driver);
    let at = Arc::clone(context);
    let preparing = tokio::task::spawn_blocking(move || prepare(&plan, &at));
    let prepared = preparing.await.expect("preparing a cluster driver does not panic")?;
    let Prepared { command: Command { program, arguments, environment: _ }, variables, outputs } = prepared;
    let Outputs { stdout, stderr } = outputs;
    let mut command = child_command(&program, variables, &directory);
    command.args(arguments.iter().map(|word| byte_text::os(word))).stdout(stdout).stderr(stderr);
    spawned(command, &program)
}

/// A cluster driver that can be started.
struct Prepared {
    command: Command,
    /// All variables that it gets on top of the Worker's.
    variables: BTreeMap<String, String>,
    outputs: Outputs,
}

/// Makes a cluster driver's directory and files, and finds out what to start. Blocks the thread.
fn prepare(plan: &DriverPlan, context: &RunnerContext) -> Result<Prepared, StartFailure> {
    let command = match SparkDriver::of(&plan.command) {
        None => filled(&plan.command, context),
        Some(Ok(driver)) => context.java.driver_program(&driver, plan, &context.work)?,
        Some(Err(unsound)) => {
            return Err(StartFailure { step: StartStep::Program, error: unsound.to_string() });
        }
    };
    let variables = variables(plan, &command.environment, &context.worker);
    let outputs = context.work.prepare_driver(&plan.driver, &driver_header(&command, &variables))?;
    Ok(Prepared { command, variables, outputs })
}

/// All variables that a cluster driver gets on top of the Worker's environment: those that its submitter asked for, and ours.
/// `MASTER` names the cluster for `firesteel map` and other commands, unless the submitter named another one.
fn variables(
    plan: &DriverPlan,
    asked: &BTreeMap<String, String>,
    worker: &WorkerId,
) -> BTreeMap<String, String> {
    let DriverPlan { driver, command: _, cores, memory, resources, on_worker, master_url, is_first: _ } =
        plan;
    let mut variables = BTreeMap::from([(environment::MASTER.to_owned(), master_url.clone())]);
    variables.extend(asked.clone());
    variables.extend(environment::of_resources(resources, on_worker, asked));
    variables.extend(own_variables(driver, worker));
    variables.extend([
        (environment::CORES.to_owned(), cores.0.to_string()),
        (environment::MEMORY_MIB.to_owned(), memory.0.to_string()),
    ]);
    variables
}

/// The variables by which a cluster driver's processes are found.
fn own_variables(driver: &DriverId, worker: &WorkerId) -> [(String, String); 2] {
    [
        (environment::DRIVER_ID.to_owned(), driver.to_string()),
        (environment::WORKER_ID.to_owned(), worker.to_string()),
    ]
}
