//! Translates messages between Spark's drivers and a Master.

use std::num::TryFromIntError;

use firesteel_placement::{Cores, ExecutorLimit, MiB, UnknownPolicy};
use firesteel_protocol::ids::{ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, ExecutorState, ExecutorTarget, LossReason, MasterToDriver,
    Placing, ResourceProfile, Submitter, UnsoundProfile, Work,
};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use thiserror::Error;

use crate::envelope::Address;
use crate::messages::{self, Application, Profile, ToDriver, WantedExecutors};
use crate::shares::{self, RESOURCES};

/// Why a request of a Spark driver is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// An amount is negative.
    #[error("{name} of an executor cannot be {amount}")]
    Amount {
        /// The name of the resource in the request.
        name: String,
        /// The requested amount.
        amount: i64,
    },
    /// The number of a profile is negative.
    #[error("there is no resource profile {0}")]
    Profile(i32),
    /// The number of executors is negative.
    #[error("an application cannot have {0} executors")]
    Total(i32),
    /// The number of cores is negative.
    #[error("an application cannot have {0} cores")]
    Cores(i32),
    /// The priority is not a number.
    #[error("the priority of an application cannot be {0:?}: {PRIORITY} is a whole number")]
    Priority(String),
    /// No placement policy has that name.
    #[error("{POLICY}: {0}")]
    Policy(#[from] UnknownPolicy),
    /// The value of `FIRESTEEL_RESOURCES` cannot be read.
    #[error("{RESOURCES} cannot have {0:?}: write NAME=AMOUNT,.. such as gpu=0.25 or gpu:A100=1")]
    Resources(String),
    /// An executor needs more than a Master accepts.
    #[error(transparent)]
    Unsound(#[from] UnsoundProfile),
}

/// The variable of an application's executors with its queue: `spark.executorEnv.FIRESTEEL_QUEUE`. Spark has no queues,
/// so its drivers cannot name a queue in another way.
pub const QUEUE: &str = "FIRESTEEL_QUEUE";

/// The variable of an application's executors with its priority in its queue.
pub const PRIORITY: &str = "FIRESTEEL_PRIORITY";

/// The variable of an application's executors with its placement policy.
pub const POLICY: &str = "FIRESTEEL_POLICY";

/// Translates an application's description.
///
/// # Errors
///
/// If an amount is negative or exceeds the Master's limits, a priority is not a number, a policy is unknown, or a
/// resource's amount is not valid.
pub fn application(application: Application) -> Result<ApplicationDescription, Unfit> {
    let Application { name, user, ui_url, max_cores, initial_limit, profile: needed, command } = application;
    let max_cores =
        max_cores.map(|cores| u32::try_from(cores).map_err(|_| Unfit::Cores(cores))).transpose()?;
    let limit = match initial_limit {
        None => ExecutorLimit::Unlimited,
        Some(limit) => ExecutorLimit::AtMost(u64::try_from(limit).map_err(|_| Unfit::Total(limit))?),
    };
    let mut default = profile(&needed)?;
    default.resources.extend(shares::asked(&command.environment).map_err(Unfit::Resources)?);
    default.check()?;
    let wanted = firesteel_protocol::messages::WantedExecutors {
        profile: default,
        max_cores: max_cores.map(|cores| Cores(cores.into())),
        limit,
        ..Default::default()
    };
    let priority = command
        .environment
        .get(PRIORITY)
        .map(|text| text.trim().parse().map_err(|_| Unfit::Priority(text.clone())));
    let policy = command.environment.get(POLICY).map(|name| name.trim().parse());
    let placing = Placing {
        policy: policy.transpose()?,
        queue: command.environment.get(QUEUE).cloned(),
        priority: priority.transpose()?.unwrap_or_default(),
        ..Placing::default()
    };
    let work = Work::of(ExecutorCommand::Java(Box::new(command)));
    let mut description = ApplicationDescription::new(Submitter { name, user }, wanted, placing, work);
    description.web_address = Some(ui_url).filter(|url| !url.is_empty());
    Ok(description)
}

/// Translates an executor's needs. Spark's Master counts only cores, memory and custom resources: memory that a JVM
/// needs in addition to its heap is not counted.
///
/// # Errors
///
/// If an amount is negative or exceeds the Master's limits.
pub fn profile(profile: &Profile) -> Result<ResourceProfile, Unfit> {
    let mut needed = ResourceProfile::default();
    for (name, amount) in &profile.amounts {
        let negative = |_: TryFromIntError| Unfit::Amount { name: name.clone(), amount: *amount };
        let count = u64::try_from(*amount).map_err(negative)?;
        match name.as_str() {
            "cores" => needed.cores = Some(Cores(*amount)),
            "memory" => needed.memory = Some(MiB(*amount)),
            "offHeap" | "memoryOverhead" | "pyspark.memory" => {}
            _ => drop(needed.resources.insert(name.clone(), count.into())),
        }
    }
    needed.check()?;
    Ok(needed)
}

/// Translates the numbers of executors that an application wants. `default` is the application's default profile.
///
/// # Errors
///
/// If a number is negative, or a profile is not valid.
pub fn targets(wanted: &WantedExecutors, default: &ResourceProfile) -> Result<Vec<ExecutorTarget>, Unfit> {
    let total = |total: i32| u64::try_from(total).map_err(|_| Unfit::Total(total));
    match wanted {
        WantedExecutors::OfDefault(count) => {
            let target =
                ExecutorTarget { id: ProfileId::DEFAULT, profile: default.clone(), total: total(*count)? };
            Ok(vec![target])
        }
        WantedExecutors::ByProfile(totals) => {
            let target = |(wanted, count): &(Profile, i32)| {
                let id = u32::try_from(wanted.id).map_err(|_| Unfit::Profile(wanted.id))?;
                Ok(ExecutorTarget { id: ProfileId(id), profile: profile(wanted)?, total: total(*count)? })
            };
            totals.iter().map(target).collect()
        }
    }
}

/// The executors that a driver's list names. Texts that are not numbers are ignored, as in Spark's Master.
pub fn executors(named: &[String]) -> Vec<ExecutorId> {
    named.iter().filter_map(|number| number.parse().ok().map(ExecutorId)).collect()
}

/// The translation of a Master's message for a Spark driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutgoingMessage {
    /// A message of Spark.
    Message(ToDriver),
    /// The answer to the oldest request of the driver that waits for an answer.
    Answer(bool),
    /// Spark has no corresponding message.
    Nothing,
}

/// Translates the Master's message for a driver. `master` is the address that the driver uses for the Master.
pub fn to_driver(message: &MasterToDriver, master: &Address) -> OutgoingMessage {
    let told = match message {
        MasterToDriver::RegisteredApplication { app, .. } => {
            Some(ToDriver::RegisteredApplication { app: app.to_string(), master: master.clone() })
        }
        MasterToDriver::ExecutorAdded { executor, profile: _, worker, host, cores, memory, port } => {
            let address = Address { host: host.clone(), port: *port };
            executor_added(*executor, worker, address, *cores, *memory)
        }
        MasterToDriver::ExecutorUpdated { executor, state, lost_host } => {
            executor_updated(*executor, state, lost_host.clone())
        }
        MasterToDriver::ExecutorLeaving { executor, host } => executor_leaving(*executor, host.clone()),
        MasterToDriver::WorkerRemoved { worker, host, reason } => Some(ToDriver::WorkerRemoved {
            worker: worker.to_string(),
            host: host.clone(),
            message: reason.to_string(),
        }),
        MasterToDriver::ApplicationRemoved(end) => application_removed(end),
        MasterToDriver::ExecutorsRequested { accepted } | MasterToDriver::ExecutorsKilled { accepted } => {
            return OutgoingMessage::Answer(*accepted);
        }
        MasterToDriver::ExecutorsGone { .. } | MasterToDriver::Shortfalls(_) => None,
    };
    told.map_or(OutgoingMessage::Nothing, OutgoingMessage::Message)
}

/// Reports a new executor; `None` if a number exceeds Spark's range.
fn executor_added(
    executor: ExecutorId,
    worker: &WorkerId,
    address: Address,
    cores: Cores,
    memory: MiB,
) -> Option<ToDriver> {
    Some(ToDriver::ExecutorAdded {
        executor: i32::try_from(executor.0).ok()?,
        worker: worker.to_string(),
        address,
        cores: i32::try_from(cores.0).ok()?,
        memory: i32::try_from(memory.0).ok()?,
    })
}

/// Reports that an executor will be ended, so that the driver does not count its tasks as failed. `None` if the
/// executor's number exceeds Spark's range.
fn executor_leaving(executor: ExecutorId, host: Option<String>) -> Option<ToDriver> {
    let message = if host.is_some() { "worker decommissioned" } else { "preempted" };
    Some(ToDriver::ExecutorUpdated {
        executor: i32::try_from(executor.0).ok()?,
        state: messages::ExecutorState::Decommissioned,
        message: Some(message.to_owned()),
        exit_status: None,
        lost_host: host,
    })
}

/// Reports an executor's new state; `None` if the executor's number exceeds Spark's range.
///
/// Source: Spark Worker and Master, 4.0.1. The end of a process by a signal n is reported as 128 + n, as in Java.
fn executor_updated(
    executor: ExecutorId,
    state: &ExecutorState,
    lost_host: Option<String>,
) -> Option<ToDriver> {
    use messages::ExecutorState as Spark;
    let (told, message) = match state {
        ExecutorState::Launching => (Spark::Launching, None),
        ExecutorState::Running => (Spark::Running, None),
        // Without a status: a driver counts the tasks of an executor that exited as failed.
        ExecutorState::Killed(_) => (Spark::Killed, None),
        ExecutorState::Failed(failure) => (Spark::Failed, Some(format!("Error running executor: {failure}"))),
        ExecutorState::Lost(reason) => (Spark::Lost, Some(loss(reason, lost_host.is_some()))),
        ExecutorState::Exited(status) => {
            (Spark::Exited, Some(format!("Command exited with code {}", status.shell_code())))
        }
    };
    Some(ToDriver::ExecutorUpdated {
        executor: i32::try_from(executor.0).ok()?,
        state: told,
        message,
        exit_status: told_status(state),
        lost_host,
    })
}

/// The exit status to report to a driver. `None` for an executor that was ended on request.
fn told_status(state: &ExecutorState) -> Option<i32> {
    match state {
        ExecutorState::Exited(status) => Some(status.shell_code()),
        ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Killed(_)
        | ExecutorState::Failed(_)
        | ExecutorState::Lost(_) => None,
    }
}

/// Reports the end of an application: Spark's word, and then the reason. `None` if the driver itself ended the
/// application.
fn application_removed(end: &ApplicationEnd) -> Option<ToDriver> {
    let word = match end {
        ApplicationEnd::Finished { .. } | ApplicationEnd::DriverLost | ApplicationEnd::NotBack => {
            return None;
        }
        ApplicationEnd::Killed { .. } => "KILLED",
        ApplicationEnd::ExecutorsFailed { .. }
        | ApplicationEnd::GivenUp { .. }
        | ApplicationEnd::Refused { .. }
        | ApplicationEnd::GangRefused(_) => "FAILED",
    };
    Some(ToDriver::ApplicationRemoved { message: format!("{word}: {end}") })
}

fn loss(reason: &LossReason, of_worker: bool) -> String {
    if of_worker { format!("worker lost: {reason}") } else { reason.to_string() }
}

#[cfg(test)]
mod tests;
