//! Between Spark's messages and those of the state machines.
//!
//! Ids, amounts and states have the same meaning on both sides. Where they do not fit, a request is refused with a
//! sentence, and nothing is cut to fit.

use std::num::TryFromIntError;

use firesteel_core::executor_command::ExecutorCommand;
use firesteel_core::ids::{ExecutorId, ProfileId, WorkerId};
use firesteel_core::messages::{
    ApplicationDescription, ApplicationEnd, ExecutorState, ExecutorTarget, LossReason, MasterToDriver,
    Placing, ResourceProfile, Submitter, UnsoundProfile, Work,
};
use firesteel_placement::{Cores, ExecutorLimit, MiB, UnknownPolicy};
use thiserror::Error;

use crate::envelope::Address;
use crate::messages::{self, Application, Profile, ToDriver, WantedExecutors};

/// Why a request of a driver of Spark's cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// An amount is negative.
    #[error("{name} of an executor cannot be {amount}")]
    Amount {
        /// The name of what is needed.
        name: String,
        /// How much is asked for.
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
    /// What an executor needs is more than a Master takes.
    #[error(transparent)]
    Unsound(#[from] UnsoundProfile),
}

/// The variable of an application's executors that names its queue: `spark.executorEnv.FIRESTEEL_QUEUE`. Spark has no
/// queues, so its drivers have no other words for them.
pub const QUEUE: &str = "FIRESTEEL_QUEUE";

/// The variable of an application's executors that is its priority in its queue.
pub const PRIORITY: &str = "FIRESTEEL_PRIORITY";

/// The variable of an application's executors that names its placement policy.
pub const POLICY: &str = "FIRESTEEL_POLICY";

/// An application, as its driver describes it.
///
/// # Errors
///
/// If an amount is negative, or more than a Master takes; if a priority is not a number, or a policy is not known.
pub fn application(application: Application) -> Result<ApplicationDescription, Unfit> {
    let Application { name, user, ui_url: _, max_cores, initial_limit, profile: needed, command } =
        application;
    let max_cores =
        max_cores.map(|cores| u32::try_from(cores).map_err(|_| Unfit::Cores(cores))).transpose()?;
    let limit = match initial_limit {
        None => ExecutorLimit::Unlimited,
        Some(limit) => ExecutorLimit::AtMost(u64::try_from(limit).map_err(|_| Unfit::Total(limit))?),
    };
    let wanted = firesteel_core::messages::WantedExecutors {
        profile: profile(&needed)?,
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
    Ok(ApplicationDescription::new(Submitter { name, user }, wanted, placing, work))
}

/// What an executor needs. Spark's Master counts cores, memory and custom resources only: what a JVM needs beside its
/// heap is not among them.
///
/// # Errors
///
/// If an amount is negative, or more than a Master takes.
pub fn profile(profile: &Profile) -> Result<ResourceProfile, Unfit> {
    let mut needed = ResourceProfile::default();
    for (name, amount) in &profile.amounts {
        let negative = |_: TryFromIntError| Unfit::Amount { name: name.clone(), amount: *amount };
        let count = u64::try_from(*amount).map_err(negative)?;
        match name.as_str() {
            "cores" => needed.cores = Some(Cores(*amount)),
            "memory" => needed.memory = Some(MiB(*amount)),
            "offHeap" | "memoryOverhead" | "pyspark.memory" => {}
            _ => drop(needed.resources.insert(name.clone(), count)),
        }
    }
    needed.check()?;
    Ok(needed)
}

/// The numbers of executors that an application wants. `default` is the profile that it came with.
///
/// # Errors
///
/// If a number is negative, or a profile cannot be met.
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

/// The executors that a driver names. Like Spark's Master, what is no number of an executor is passed over.
pub fn executors(named: &[String]) -> Vec<ExecutorId> {
    named.iter().filter_map(|number| number.parse().ok().map(ExecutorId)).collect()
}

/// What becomes of a message to a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is a message of Spark's, too.
    Message(ToDriver),
    /// It answers the oldest request of the driver that waits for an answer.
    Answer(bool),
    /// Spark's drivers are not told of it.
    Nothing,
}

/// What a driver of Spark's is told, which calls the Master by this address.
pub fn to_driver(message: &MasterToDriver, master: &Address) -> Told {
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
            return Told::Answer(*accepted);
        }
        MasterToDriver::ExecutorsGone { .. } | MasterToDriver::Shortfalls(_) => None,
    };
    told.map_or(Told::Nothing, Told::Message)
}

/// A new executor. `None` if a number of it is greater than any of Spark's.
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

/// An executor will be ended. A driver then counts what runs there as not failed. `None` if its number is greater than any
/// of Spark's.
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

/// An executor's new state. `None` if its number is greater than any of Spark's.
///
/// Source: Spark Worker and Master, 4.0.1. The end of a process by a signal is 128 + n, as Java has it.
fn executor_updated(
    executor: ExecutorId,
    state: &ExecutorState,
    lost_host: Option<String>,
) -> Option<ToDriver> {
    use messages::ExecutorState as Spark;
    let (told, message) = match state {
        ExecutorState::Launching => (Spark::Launching, None),
        ExecutorState::Running => (Spark::Running, None),
        // Without a status: a driver counts what ran on an executor that exited as failed.
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

/// The exit status that a driver is told. It has none of an executor that was ended on request.
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

/// The end of an application, if its driver did not end it. Spark's word comes first, then why.
fn application_removed(end: &ApplicationEnd) -> Option<ToDriver> {
    let word = match end {
        ApplicationEnd::Finished { .. } | ApplicationEnd::DriverLost => return None,
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
mod tests {
    use firesteel_core::executor_command::JavaCommand;
    use firesteel_core::ids::AppId;
    use firesteel_core::process::{ExitStatus, StartFailure, StartStep};
    use firesteel_placement::Policy;
    use messages::ExecutorState as Spark;

    use super::*;

    fn spark(id: i32, amounts: &[(&str, i64)]) -> Profile {
        let amounts = amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount));
        Profile { id, amounts: amounts.collect() }
    }

    fn needed(cores: Option<i64>, memory: i64, resources: &[(&str, u64)]) -> ResourceProfile {
        let resources = resources.iter().map(|(name, amount)| ((*name).to_owned(), *amount));
        ResourceProfile { cores: cores.map(Cores), memory: Some(MiB(memory)), resources: resources.collect() }
    }

    #[test]
    fn cores_memory_and_custom_resources_are_counted_and_nothing_else() {
        let rows = [
            (spark(0, &[("memory", 512), ("offHeap", 0)]), needed(None, 512, &[])),
            (spark(0, &[("memory", 1024), ("cores", 2), ("gpu", 1)]), needed(Some(2), 1024, &[("gpu", 1)])),
            (
                spark(7, &[("memory", 1), ("memoryOverhead", 384), ("pyspark.memory", 5), ("fpga", 0)]),
                needed(None, 1, &[("fpga", 0)]),
            ),
        ];
        for (asked, expected) in rows {
            assert_eq!(profile(&asked), Ok(expected));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_sentence() {
        let rows = [
            (spark(0, &[("memory", -1)]), "memory of an executor cannot be -1"),
            (spark(0, &[("gpu", i64::MIN)]), "gpu of an executor cannot be -9223372036854775808"),
            (spark(0, &[("cores", 0)]), "an executor cannot have 0 cores"),
            (spark(0, &[("cores", 1 << 40)]), "an executor cannot have 1099511627776 cores"),
        ];
        for (asked, expected) in rows {
            assert_eq!(profile(&asked).expect_err("it is refused").to_string(), expected);
        }
        let wanted = |id, total| WantedExecutors::ByProfile(vec![(spark(id, &[("memory", 1)]), total)]);
        let default = ResourceProfile::default();
        let refused =
            |wanted: &WantedExecutors| targets(wanted, &default).expect_err("it is refused").to_string();
        assert_eq!(refused(&wanted(-1, 1)), "there is no resource profile -1");
        assert_eq!(refused(&wanted(0, -2)), "an application cannot have -2 executors");
        assert_eq!(refused(&WantedExecutors::OfDefault(-3)), "an application cannot have -3 executors");
    }

    /// An application whose executors have this variable.
    fn with(name: &str, value: &str) -> Result<ApplicationDescription, Unfit> {
        let environment = [(name.to_owned(), value.to_owned())].into();
        let command = JavaCommand {
            main_class: "Executor".to_owned(),
            arguments: Vec::new(),
            environment,
            class_path: Vec::new(),
            library_path: Vec::new(),
            java_options: Vec::new(),
            releases: Vec::new(),
        };
        application(Application {
            name: "app".to_owned(),
            user: "ann".to_owned(),
            ui_url: String::new(),
            max_cores: None,
            initial_limit: None,
            profile: spark(0, &[("memory", 512)]),
            command,
        })
    }

    #[test]
    fn an_application_names_its_queue_priority_and_policy_by_variables() {
        let placed = |name, value| {
            let ApplicationDescription { queue, priority, policy, .. } = with(name, value).expect("it fits");
            (queue, priority, policy)
        };
        assert_eq!(placed("COLOUR", "red"), (None, 0, None));
        assert_eq!(placed(QUEUE, "nightly"), (Some("nightly".to_owned()), 0, None));
        assert_eq!(placed(PRIORITY, " -3 "), (None, -3, None));
        assert_eq!(placed(POLICY, " Spread-Held"), (None, 0, Some(Policy::SpreadHeld)));
        let refused = |name, value| with(name, value).expect_err("it is refused").to_string();
        assert_eq!(
            refused(PRIORITY, "high"),
            "the priority of an application cannot be \"high\": FIRESTEEL_PRIORITY is a whole number"
        );
        assert_eq!(
            refused(POLICY, "best"),
            "FIRESTEEL_POLICY: no policy is called \"best\": use spark, best-fit, least-fragmentation or spread-held"
        );
    }

    #[test]
    fn totals_are_those_of_the_profiles_that_are_named() {
        let default = needed(Some(1), 512, &[]);
        let of_default = targets(&WantedExecutors::OfDefault(4), &default);
        let target = |id, profile, total| ExecutorTarget { id: ProfileId(id), profile, total };
        assert_eq!(of_default, Ok(vec![target(0, default.clone(), 4)]));
        let wanted = vec![(spark(0, &[("memory", 512)]), 0), (spark(3, &[("memory", 1), ("cores", 2)]), 5)];
        let expected = vec![target(0, needed(None, 512, &[]), 0), target(3, needed(Some(2), 1, &[]), 5)];
        assert_eq!(targets(&WantedExecutors::ByProfile(wanted), &default), Ok(expected));
    }

    #[test]
    fn only_numbers_name_executors() {
        let named = ["3", "x", "", "-1", "12", "99999999999"].map(str::to_owned);
        assert_eq!(executors(&named), [ExecutorId(3), ExecutorId(12)]);
    }

    #[test]
    fn a_driver_is_told_states_as_spark_s_master_tells_them() {
        let failure = StartFailure { step: StartStep::Program, error: "no such file".to_owned() };
        let failed = format!("Error running executor: {failure}");
        let rows = [
            (ExecutorState::Running, None, (Spark::Running, None, None)),
            (
                ExecutorState::Exited(ExitStatus::Signal(9)),
                None,
                (Spark::Exited, Some("Command exited with code 137"), Some(137)),
            ),
            (
                ExecutorState::Exited(ExitStatus::Code(1)),
                None,
                (Spark::Exited, Some("Command exited with code 1"), Some(1)),
            ),
            (ExecutorState::Killed(Some(ExitStatus::Signal(15))), None, (Spark::Killed, None, None)),
            (ExecutorState::Killed(None), None, (Spark::Killed, None, None)),
            (ExecutorState::Failed(failure), None, (Spark::Failed, Some(failed.as_str()), None)),
            (
                ExecutorState::Lost(LossReason::Disconnected),
                Some("host"),
                (Spark::Lost, Some("worker lost: the Worker's connection ended"), None),
            ),
            (
                ExecutorState::Lost(LossReason::Unanswered),
                None,
                (Spark::Lost, Some("the Worker did not answer the request to launch it"), None),
            ),
        ];
        for (state, host, (told, why, status)) in rows {
            let expected = ToDriver::ExecutorUpdated {
                executor: 4,
                state: told,
                message: why.map(str::to_owned),
                exit_status: status,
                lost_host: host.map(str::to_owned),
            };
            let updated = executor_updated(ExecutorId(4), &state, host.map(str::to_owned));
            assert_eq!(updated, Some(expected), "{state}");
        }
        assert_eq!(executor_updated(ExecutorId(u32::MAX), &ExecutorState::Running, None), None);
    }

    #[test]
    fn a_driver_that_ended_its_application_is_not_told_that_it_is_gone() {
        let message = |end: &ApplicationEnd| match application_removed(end) {
            Some(ToDriver::ApplicationRemoved { message }) => Some(message),
            _ => None,
        };
        assert_eq!(message(&ApplicationEnd::Finished { outcome: None }), None);
        assert_eq!(message(&ApplicationEnd::DriverLost), None);
        let killed = ApplicationEnd::Killed { by: "ann@host".to_owned() };
        assert_eq!(message(&killed).as_deref(), Some("KILLED: it was killed by ann@host"));
        let refused = ApplicationEnd::Refused { reason: "no".to_owned() };
        assert_eq!(message(&refused).as_deref(), Some("FAILED: refused: no"));
    }

    #[test]
    fn a_driver_of_spark_s_is_told_what_its_master_would_tell_and_answered_when_it_asked() {
        let master = Address { host: "m".to_owned(), port: 7077 };
        let (app, worker, host) = (AppId::new("app-1"), WorkerId::new("worker-1"), "h".to_owned());
        let added = |executor| MasterToDriver::ExecutorAdded {
            executor: ExecutorId(executor),
            profile: ProfileId::DEFAULT,
            worker: worker.clone(),
            host: host.clone(),
            cores: Cores(2),
            memory: MiB(512),
            port: 7078,
        };
        let registered = MasterToDriver::RegisteredApplication {
            app: app.clone(),
            master_url: "spark://elsewhere:1".to_owned(),
            max_cores: Cores(4),
            first_executor: ExecutorId(0),
        };
        let lost = MasterToDriver::WorkerRemoved {
            worker: worker.clone(),
            host: host.clone(),
            reason: LossReason::Disconnected,
        };
        let rows = [
            (
                registered,
                Told::Message(ToDriver::RegisteredApplication {
                    app: app.to_string(),
                    master: master.clone(),
                }),
            ),
            (
                added(3),
                Told::Message(ToDriver::ExecutorAdded {
                    executor: 3,
                    worker: worker.to_string(),
                    address: Address { host: host.clone(), port: 7078 },
                    cores: 2,
                    memory: 512,
                }),
            ),
            (added(u32::MAX), Told::Nothing),
            (
                lost,
                Told::Message(ToDriver::WorkerRemoved {
                    worker: worker.to_string(),
                    host: host.clone(),
                    message: "the Worker's connection ended".to_owned(),
                }),
            ),
            (
                MasterToDriver::ExecutorLeaving { executor: ExecutorId(3), host: Some(host.clone()) },
                Told::Message(ToDriver::ExecutorUpdated {
                    executor: 3,
                    state: Spark::Decommissioned,
                    message: Some("worker decommissioned".to_owned()),
                    exit_status: None,
                    lost_host: Some(host.clone()),
                }),
            ),
            (MasterToDriver::ExecutorsRequested { accepted: true }, Told::Answer(true)),
            (MasterToDriver::ExecutorsKilled { accepted: false }, Told::Answer(false)),
            (MasterToDriver::ExecutorsGone { app }, Told::Nothing),
            (MasterToDriver::Shortfalls(Vec::new()), Told::Nothing),
        ];
        for (message, told) in rows {
            assert_eq!(to_driver(&message, &master), told, "{message:?}");
        }
    }
}
