//! Workers of Spark's at a Master: what they say to it, and what it says to them.

use std::num::TryFromIntError;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::host;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::{
    ExecutorLaunch, ExecutorReport, ExecutorState, MasterToWorker, Offered, WorkerDescription,
};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};
use firesteel_protocol::scheduling::label::Label;
use thiserror::Error;

use crate::dialect::Release;
use crate::envelope;
use crate::messages::{self, RunningExecutor, ToWorker, WorkerRegistration};
use crate::order_form::Order;
use crate::shares::told_to_spark;

/// Why a Worker of Spark's cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnfitWorker {
    /// It is of a release that is not known, so nobody can say which executors it can run.
    #[error("this Master does not know the Worker's release of Spark: start `firesteel worker` there")]
    Release,
}

/// Why an executor cannot be launched on a Worker of Spark's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unordered {
    /// It is a program, and such a Worker starts Java classes of Spark's only.
    #[error("a Worker of Spark's runs only executors of Spark's")]
    Program,
    /// A number is greater than any of Spark's.
    #[error("a number is greater than any of Spark's")]
    Number(#[from] TryFromIntError),
}

/// A Worker, as it describes itself.
///
/// # Errors
///
/// If its release is not known.
pub fn worker(registration: &WorkerRegistration) -> Result<WorkerDescription, UnfitWorker> {
    let WorkerRegistration { worker, address, cores, memory, resources, releases, .. } = registration;
    let numbers = releases.iter().copied().flat_map(Release::numbers).copied();
    let label = Label::of(numbers).ok_or(UnfitWorker::Release)?;
    let resources: Resources = resources
        .iter()
        .map(|(name, addresses)| (name.as_str(), addresses.iter().map(String::as_str)))
        .collect();
    let offered = Offered { cores: Cores((*cores).into()), memory: MiB((*memory).into()), resources };
    let address = Address::new(host::plain_or_as_given(&address.host), address.port);
    let description = WorkerDescription::new(WorkerId::new(worker.as_str()), address, offered, String::new());
    Ok(description.with_label(Some(label)))
}

/// The state of an executor that its Worker reports. `None` if no Worker reports it.
pub fn report(
    app: &str,
    executor: i32,
    state: messages::ExecutorState,
    message: Option<String>,
    status: Option<i32>,
) -> Option<ExecutorReport> {
    use messages::ExecutorState as Spark;
    let status = status.map(ExitStatus::Code);
    let state = match state {
        Spark::Launching => ExecutorState::Launching,
        Spark::Running => ExecutorState::Running,
        Spark::Killed => ExecutorState::Killed(status),
        Spark::Failed => {
            let error = message.unwrap_or_else(|| "the Worker does not say why".to_owned());
            ExecutorState::Failed(StartFailure { step: StartStep::Program, error })
        }
        Spark::Exited => ExecutorState::Exited(status.unwrap_or(ExitStatus::SUCCESS)),
        Spark::Lost | Spark::Decommissioned => return None,
    };
    Some(ExecutorReport::new(key(app, executor)?, state))
}

/// What runs on a Worker.
pub fn latest_state(executors: &[RunningExecutor]) -> Vec<ExecutorReport> {
    let reports =
        executors.iter().map(|running| report(&running.app, running.executor, running.state, None, None));
    reports.flatten().collect()
}

/// `None` if that is no number of an executor.
fn key(app: &str, executor: i32) -> Option<ExecutorKey> {
    let executor = ExecutorId(u32::try_from(executor).ok()?);
    Some(ExecutorKey { app: AppId::new(app), executor })
}

/// What a Worker is told that calls the Master by this address. `dialled` is the address that it registered with. `None` if
/// Spark's Workers are not told of it, or in another way: see [`order`].
pub fn to_worker(
    message: &MasterToWorker,
    master: &envelope::Address,
    dialled: &envelope::Address,
) -> Option<ToWorker> {
    Some(match message {
        MasterToWorker::RegisteredWorker { duplicate, .. } => ToWorker::RegisteredWorker {
            master: master.clone(),
            dialled: dialled.clone(),
            web_ui_url: String::new(),
            is_duplicate: *duplicate,
        },
        MasterToWorker::RegisterWorkerFailed(reason) => {
            ToWorker::RegisterWorkerFailed { message: reason.to_string() }
        }
        MasterToWorker::ReconnectWorker => ToWorker::ReconnectWorker { master_url: master.url() },
        MasterToWorker::KillExecutor { executor } => ToWorker::KillExecutor {
            master_url: master.url(),
            app: executor.app.to_string(),
            executor: i32::try_from(executor.executor.0).ok()?,
        },
        MasterToWorker::ApplicationFinished { app } => ToWorker::ApplicationFinished { app: app.to_string() },
        // Without spark.decommission.enabled such a Worker would not obey, and it never ends by itself.
        MasterToWorker::DecommissionWorker { .. }
        | MasterToWorker::LaunchExecutor(_)
        | MasterToWorker::ExecutorEndNoted { .. }
        // Cluster drivers do not run on Workers of Spark's.
        | MasterToWorker::LaunchDriver(_)
        | MasterToWorker::KillDriver { .. }
        | MasterToWorker::DriverEndNoted { .. } => return None,
    })
}

/// An executor to launch.
///
/// # Errors
///
/// If it is no executor of Spark's, or has numbers that are too great for one.
pub fn order(launch: &ExecutorLaunch) -> Result<Order<'_>, Unordered> {
    let ExecutorLaunch { executor, profile, cores, memory, resources, work } = launch;
    let ExecutorCommand::Java(command) = &work.command else { return Err(Unordered::Program) };
    Ok(Order {
        app: executor.app.as_str(),
        executor: i32::try_from(executor.executor.0)?,
        profile: i32::try_from(profile.0)?,
        cores: i32::try_from(cores.0)?,
        memory: i32::try_from(memory.0)?,
        resources: told_to_spark(resources, &command.environment),
        description: &command.description,
    })
}
