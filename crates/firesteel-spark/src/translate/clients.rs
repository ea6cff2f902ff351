//! Answers to clients that submit cluster drivers by REST or by the classic gateway. The texts are those of Spark's
//! Master.

use std::collections::BTreeMap;
use std::fmt;

use firesteel_placement::{Amount, Cores, MiB, ResourceAmounts};
use firesteel_protocol::messages::{
    ClientToMaster, DriverDescription, DriverError, DriverState, DriverView, KillDriverAnswer, LossReason,
    SubmitDriverAnswer,
};

use firesteel_protocol::process::executor_command::JavaCommand;
use firesteel_protocol::process::name_proven_user;
use thiserror::Error;

use crate::authentication::Proven;
use crate::cluster_driver::SparkDriver;
use crate::envelope::Address;
use crate::jar::{Jar, Unfetchable};
use crate::launch::driver::{USER_JAR, WORKER_URL, WRAPPER, is_passed_on};
use crate::messages::{self, DriverStatus, DriverSubmission, ToClient};

/// The state of a Master that is not the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAlive {
    /// Another Master is the leader, or there is no leader yet.
    Standby,
    /// The Master is reading its state. After that, it will be the leader.
    Recovering,
}

impl NotAlive {
    /// Why the Master accepts no submission.
    #[must_use]
    pub fn no_submissions(self) -> String {
        self.not_alive("accept driver submissions")
    }

    /// Why the Master ends no cluster driver.
    #[must_use]
    pub fn no_kills(self) -> String {
        self.not_alive("kill drivers")
    }

    /// Why the Master cannot report on cluster drivers.
    #[must_use]
    pub fn no_status(self) -> String {
        self.not_alive("request driver status")
    }

    /// The text for this state. Clients try the next Master when they read it. Source: Spark Master, 4.0.1.
    fn not_alive(self, what: &str) -> String {
        let state = match self {
            Self::Standby => "STANDBY",
            Self::Recovering => "RECOVERING",
        };
        format!("Current state is not alive: {state}. Can only {what} in ALIVE state.")
    }
}

/// The needs of a cluster driver, and whether it is supervised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The number of cores; Spark's default is 1.
    pub cores: i64,
    /// The driver's memory in MiB.
    pub memory: i64,
    /// Whether the driver is restarted when it fails or its Worker is lost.
    pub supervise: bool,
    /// The number of addresses that the driver needs of each custom resource, by name.
    pub resources: BTreeMap<String, i64>,
}

/// Why a Spark cluster driver is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnfitDriver {
    /// No Worker can fetch the driver's jar.
    #[error(transparent)]
    Jar(#[from] Unfetchable),
    /// The driver needs an impossible number of addresses.
    #[error(
        "a driver cannot have {amount} addresses of {name}: spark.driver.resource.{name}.amount is a number from 0 on"
    )]
    Resources {
        /// The name of the custom resource in the request.
        name: String,
        /// The requested number of addresses.
        amount: i64,
    },
    /// The driver's command differs from the commands of Spark's clients.
    #[error(
        "a cluster driver has to be started by {WRAPPER} with {WORKER_URL}, {USER_JAR} and a class; submit it with spark-submit"
    )]
    Command,
}

/// The request to the Master that submits a Spark cluster driver. The user is the one who has proven a secret, or comes
/// from the driver's variables. If neither names a user, `otherwise` is used.
///
/// # Errors
/// No Worker can fetch the driver's jar, or the driver requests a negative number of addresses.
pub fn driver(
    mut driver: SparkDriver,
    wanted: Wanted,
    proven: Option<&Proven>,
    otherwise: &str,
) -> Result<ClientToMaster, UnfitDriver> {
    Jar::of(&driver.jar)?;
    let named = driver.command.environment.get("SPARK_USER").filter(|user| !user.is_empty());
    let named = proven.and_then(|proven| proven.user.as_ref()).or(named);
    let user = named.map_or(otherwise, String::as_str).to_owned();
    let proven_user = proven.and_then(|proven| proven.user.as_deref());
    name_proven_user(&mut driver.command.environment, proven_user);
    if let Some(proven) = proven {
        proven.hand_over(&mut driver.command.environment);
    }
    let Wanted { cores, memory, supervise, resources } = wanted;
    let amount = |(name, amount): (String, i64)| match u64::try_from(amount) {
        Ok(addresses) => Ok((name, Amount::Whole(addresses))),
        Err(_) => Err(UnfitDriver::Resources { name, amount }),
    };
    let resources: Result<ResourceAmounts, _> = resources.into_iter().map(amount).collect();
    let mut resources = resources?;
    resources.retain(|_, amount| !amount.is_none());
    let description = DriverDescription {
        user,
        command: driver.into_command(),
        cores: Cores(cores),
        memory: MiB(memory),
        supervise,
        resources,
    };
    Ok(ClientToMaster::RequestSubmitDriver(Box::new(description)))
}

/// Translates a submission that came by the classic gateway, from a client of one of these releases. The client sends
/// all of its environment variables; the driver gets only Spark's own variables.
///
/// # Errors
/// No Worker can start the driver.
pub fn submission(
    submission: DriverSubmission,
    releases: &[&str],
    proven: Option<&Proven>,
) -> Result<ClientToMaster, UnfitDriver> {
    let DriverSubmission { jar, memory, cores, supervise, command, resources } = submission;
    let mut releases = releases.to_vec();
    if releases.contains(&V4_3) {
        let is_of_4_3 = is_of_4_3(&command);
        releases.retain(|release| (*release == V4_3) == is_of_4_3);
    }
    let is_wrapped =
        command.main_class == WRAPPER && command.arguments.starts_with(&[WORKER_URL.into(), USER_JAR.into()]);
    let mut arguments = command.arguments.into_iter().skip(2);
    let main_class = arguments.next().filter(|_| is_wrapped).ok_or(UnfitDriver::Command)?;
    let mut environment = command.environment;
    environment.retain(|name, _| name.starts_with("SPARK_") && is_passed_on(name));
    let command = JavaCommand {
        main_class,
        arguments: arguments.collect(),
        environment,
        releases: releases.into_iter().map(str::to_owned).collect(),
        ..command
    };
    let wanted = Wanted { cores: cores.into(), memory: memory.into(), supervise, resources };
    driver(SparkDriver { jar, command }, wanted, proven, "spark-submit")
}

/// The first release whose client sends only Spark's own variables.
const V4_3: &str = "4.3";

/// Whether a client of 4.3 or later made this command. Such a command has only Spark's own variables, or the setting
/// that makes the client send all variables.
///
/// Source: Spark's DriverEnvironment, 4.3.0.
fn is_of_4_3(command: &JavaCommand) -> bool {
    let is_told = |option: &String| option.starts_with("-Dspark.standalone.submit.filterEnvironment=");
    let is_filtered = command.environment.keys().all(|name| name.starts_with("SPARK_"));
    is_filtered || command.java_options.iter().any(is_told)
}

/// The classic gateway's answer to a submission.
#[must_use]
pub fn to_submitter(answer: &SubmitDriverAnswer) -> ToClient {
    let (driver, message) = submitted(answer);
    ToClient::SubmitDriverResponse { driver, message }
}

/// The classic gateway's refusal of a cluster driver, with this text.
#[must_use]
pub fn refusal(why: String) -> ToClient {
    ToClient::SubmitDriverResponse { driver: None, message: why }
}

/// The text for a cluster driver that the Master refuses for this reason.
fn words_of_refusal(why: &dyn fmt::Display) -> String {
    format!("the Master refuses the driver: {why}")
}

/// The classic gateway's answer to the request to end this cluster driver.
#[must_use]
pub fn to_killer(id: &str, answer: &KillDriverAnswer) -> ToClient {
    let (success, message) = killed(id, answer);
    ToClient::KillDriverResponse { driver: id.to_owned(), success, message }
}

/// The classic gateway's answer to the request to end a cluster driver of another user, with the reason.
#[must_use]
pub fn to_forbidden_killer(id: &str, why: &str) -> ToClient {
    ToClient::KillDriverResponse { driver: id.to_owned(), success: false, message: why.to_owned() }
}

/// The classic gateway's answer to the question for a cluster driver's state.
#[must_use]
pub fn to_watcher(view: Option<&DriverView>) -> ToClient {
    let status = |view: &DriverView| DriverStatus {
        state: state(&view.state),
        worker: view.worker.as_ref().map(|place| place.worker.to_string()),
        address: view.worker.as_ref().map(|place| Address { host: place.host.clone(), port: place.port }),
        exception: exception(&view.state),
    };
    ToClient::DriverStatusResponse(view.map(status))
}

fn state(state: &DriverState) -> messages::DriverState {
    match state {
        DriverState::Submitted => messages::DriverState::Submitted,
        DriverState::Running => messages::DriverState::Running,
        DriverState::Finished => messages::DriverState::Finished,
        DriverState::Relaunching { .. } => messages::DriverState::Relaunching,
        DriverState::Unknown => messages::DriverState::Unknown,
        DriverState::Killed(_) => messages::DriverState::Killed,
        DriverState::Failed(_) => messages::DriverState::Failed,
        DriverState::Error(_) => messages::DriverState::Error,
    }
}

/// The id of a submitted cluster driver, if it was accepted, and the Master's explanation.
pub(crate) fn submitted(answer: &SubmitDriverAnswer) -> (Option<String>, String) {
    match answer {
        SubmitDriverAnswer::Submitted { driver } => {
            (Some(driver.to_string()), format!("Driver successfully submitted as {driver}"))
        }
        SubmitDriverAnswer::Refused(refusal) => (None, words_of_refusal(refusal)),
    }
}

/// Whether a cluster driver will end, and the Master's explanation.
pub(crate) fn killed(id: &str, answer: &KillDriverAnswer) -> (bool, String) {
    match answer {
        KillDriverAnswer::Asked { .. } | KillDriverAnswer::Killed { .. } => {
            (true, format!("Kill request for {id} submitted"))
        }
        KillDriverAnswer::Over { .. } | KillDriverAnswer::Unknown => {
            (false, format!("Driver {id} has already finished or does not exist"))
        }
    }
}

/// Why a cluster driver could not be started, or used more than its Worker allows; `None` in other states, for which
/// Spark's Master has no text.
pub(crate) fn exception(state: &DriverState) -> Option<String> {
    match state {
        DriverState::Error(DriverError::NotStarted(failure)) => Some(failure.to_string()),
        DriverState::Error(DriverError::Lost(LossReason::OverLimit { why })) => Some(why.clone()),
        DriverState::Error(DriverError::Lost(_) | DriverError::WorkerStopped)
        | DriverState::Submitted
        | DriverState::Running
        | DriverState::Finished
        | DriverState::Relaunching { .. }
        | DriverState::Unknown
        | DriverState::Killed(_)
        | DriverState::Failed(_) => None,
    }
}
