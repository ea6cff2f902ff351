//! Translates messages between Spark's Workers and a Master.

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

/// Why a Worker of Spark is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnfitWorker {
    /// The Worker's release is unknown, so the Worker may not be able to run the executors.
    #[error("this Master does not know the Worker's release of Spark: start `firesteel worker` there")]
    Release,
}

/// Why an executor cannot be launched on a Worker of Spark.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unordered {
    /// The executor is a program. A Worker of Spark starts only Spark's Java classes.
    #[error("one of Spark's own Workers can start only Spark's Java executors")]
    Program,
    /// A number exceeds Spark's range.
    #[error("a number is greater than Spark's types can hold")]
    Number(#[from] TryFromIntError),
}

/// Translates a Worker's registration.
///
/// # Errors
///
/// If the Worker's release of Spark is unknown.
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

/// Translates an executor's state in a Worker's report; `None` for a state that Workers do not report.
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

/// Translates the executors that run on a Worker.
pub fn latest_state(executors: &[RunningExecutor]) -> Vec<ExecutorReport> {
    let reports =
        executors.iter().map(|running| report(&running.app, running.executor, running.state, None, None));
    reports.flatten().collect()
}

/// The executor's key; `None` if the executor's number is negative.
fn key(app: &str, executor: i32) -> Option<ExecutorKey> {
    let executor = ExecutorId(u32::try_from(executor).ok()?);
    Some(ExecutorKey { app: AppId::new(app), executor })
}

/// Translates the Master's message for a Worker. `master` is the address that the Worker uses for the Master, and
/// `dialled` is the Master's address in the Worker's registration. `None` if Spark's Workers get no such message, or
/// get it in another way: see [`order`].
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
        // Without `spark.decommission.enabled` such a Worker would not obey, and it never ends by itself.
        MasterToWorker::DecommissionWorker { .. }
        | MasterToWorker::LaunchExecutor(_)
        | MasterToWorker::ExecutorEndNoted { .. }
        // Cluster drivers do not run on Spark's Workers.
        | MasterToWorker::LaunchDriver(_)
        | MasterToWorker::KillDriver { .. }
        | MasterToWorker::DriverEndNoted { .. } => return None,
    })
}

/// Translates an order to launch an executor.
///
/// # Errors
///
/// If the executor is not one of Spark's, or its numbers exceed Spark's range.
pub fn order(launch: &ExecutorLaunch) -> Result<Order<'_>, Unordered> {
    let ExecutorLaunch { executor, profile, cores, memory, resources, work, mark: _ } = launch;
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
