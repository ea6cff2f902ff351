//! Cluster drivers: programs that were submitted to run on a Worker, as clients, Master and Workers tell of them.

use std::fmt;

use firesteel_placement::advanced::words::{are, counted, duration, none_or};
use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use serde::{Deserialize, Serialize};

use super::{LossReason, Used};
use crate::ids::{DriverId, WorkerId};
use crate::process::{Command, ExitStatus, StartFailure};
use crate::time::Timestamp;

/// A cluster driver as it was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverDescription {
    /// The user who submitted it: `ann@host`.
    pub user: String,
    /// The program, its arguments, and the variables that are added to the Worker's environment.
    pub command: Command,
    /// The number of cores that it takes of its Worker.
    pub cores: Cores,
    /// The amount of memory that it takes of its Worker.
    pub memory: MiB,
    /// Whether it is started again when it fails or its Worker is lost.
    pub supervise: bool,
    /// The number of addresses that it needs of each custom resource, or the part of one address.
    pub resources: ResourceAmounts,
}

/// A cluster driver to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverLaunch {
    /// The cluster driver's id.
    pub driver: DriverId,
    /// What it runs.
    pub description: DriverDescription,
    /// The addresses of custom resources that it was given.
    pub resources: Resources,
}

/// The states of a cluster driver.
///
/// ```text
///             placed              exit code 0
///  SUBMITTED --------> RUNNING ----------------> FINISHED
///   |   ^               | | |
///   |   | its Worker    | | | another end, not supervised: FAILED; asked to end: KILLED
///   |   | gave it back  | | | it could not be started: ERROR
///   |   +---------------+ | +----------------------------------> FAILED, KILLED, ERROR
///   |                     | its Worker is lost
///   | asked to end        +---> RELAUNCHING (supervised: another one takes its place), or ERROR
///   +---> KILLED
/// ```
///
/// Source: Spark Master and Worker, 4.0.1. Spark never uses UNKNOWN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverState {
    /// It waits for a Worker. From a Worker: it did not run there, and is to be placed elsewhere.
    Submitted,
    /// It was given to a Worker. From a Worker: it runs there, or is about to be started again.
    Running,
    /// Its process ended with exit code 0.
    Finished,
    /// Its Worker was lost, and another cluster driver was submitted in its place.
    Relaunching {
        /// The other one's id.
        successor: DriverId,
    },
    /// Its Worker has not returned since the Master was restarted.
    Unknown,
    /// It was ended on request. Has the exit status if its process had started and that is known.
    Killed(Option<ExitStatus>),
    /// Its process ended with another status.
    Failed(ExitStatus),
    /// It could not be started, or its Worker was lost.
    Error(DriverError),
}

/// Why a cluster driver is in state ERROR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverError {
    /// Its process could not be started.
    NotStarted(StartFailure),
    /// Its Worker is lost, so how it ended is unknown.
    WorkerLost(LossReason),
    /// Its Worker was stopped, and ended it.
    WorkerStopped,
}

impl DriverState {
    /// Whether the cluster driver has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Submitted | Self::Running | Self::Unknown => false,
            Self::Finished
            | Self::Relaunching { .. }
            | Self::Killed(_)
            | Self::Failed(_)
            | Self::Error(_) => true,
        }
    }

    /// Whether the cluster driver holds cores and memory of its Worker.
    #[must_use]
    pub fn holds_cores(&self) -> bool {
        match self {
            Self::Running | Self::Unknown => true,
            Self::Submitted
            | Self::Finished
            | Self::Relaunching { .. }
            | Self::Killed(_)
            | Self::Failed(_)
            | Self::Error(_) => false,
        }
    }

    /// How its process ended, if that is known.
    #[must_use]
    pub fn exit_status(&self) -> Option<ExitStatus> {
        match self {
            Self::Finished => Some(ExitStatus::SUCCESS),
            Self::Failed(status) => Some(*status),
            Self::Killed(status) => *status,
            Self::Submitted | Self::Running | Self::Relaunching { .. } | Self::Unknown | Self::Error(_) => {
                None
            }
        }
    }

    /// The state's name in Spark, as tables show it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Submitted => "SUBMITTED",
            Self::Running => "RUNNING",
            Self::Finished => "FINISHED",
            Self::Relaunching { .. } => "RELAUNCHING",
            Self::Unknown => "UNKNOWN",
            Self::Killed(_) => "KILLED",
            Self::Failed(_) => "FAILED",
            Self::Error(_) => "ERROR",
        }
    }
}

/// Written as `FAILED (exit code 1)`.
impl fmt::Display for DriverState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Submitted | Self::Running | Self::Finished | Self::Unknown | Self::Killed(None) => Ok(()),
            Self::Relaunching { successor } => write!(f, " (as {successor})"),
            Self::Killed(Some(status)) | Self::Failed(status) => write!(f, " ({status})"),
            Self::Error(error) => write!(f, " ({error})"),
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(failure) => failure.fmt(f),
            Self::WorkerLost(reason) => reason.fmt(f),
            Self::WorkerStopped => f.write_str("the Worker was stopped"),
        }
    }
}

/// The state of one cluster driver, as its Worker reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverReport {
    /// The cluster driver's id.
    pub driver: DriverId,
    /// Its state.
    pub state: DriverState,
    /// What its last process used, if it has ended and that was measured.
    pub used: Option<Used>,
}

impl DriverReport {
    /// The report of this state, without what was used.
    #[must_use]
    pub fn new(driver: DriverId, state: DriverState) -> Self {
        Self { driver, state, used: None }
    }
}

/// A cluster driver as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverView {
    /// The cluster driver's id.
    pub id: DriverId,
    /// The user who submitted it.
    pub user: String,
    /// Its program with the arguments, quoted as for a shell.
    pub command: String,
    /// The number of its cores.
    pub cores: Cores,
    /// The amount of its memory.
    pub memory: MiB,
    /// Whether it is started again when it fails or its Worker is lost.
    pub supervise: bool,
    /// Its state.
    pub state: DriverState,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// When it was given to its Worker, if it was.
    pub launched: Option<Timestamp>,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
    /// Its Worker, or the last one that it had.
    pub worker: Option<DriverPlace>,
    /// The name under which it was submitted, if it was given one.
    pub name: Option<String>,
    /// What it needs of custom resources.
    pub needs: ResourceAmounts,
    /// The addresses that it has, or had when it ended. None while it waits for a Worker.
    pub has: Resources,
    /// How often it was started again on its last Worker, if it was or will be.
    pub restarts: Option<DriverRestarts>,
    /// Why it waits for a Worker, while it does.
    pub wait: Option<DriverWait>,
}

/// Where a cluster driver runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverPlace {
    /// The Worker's id.
    pub worker: WorkerId,
    /// The Worker's host.
    pub host: String,
    /// The port that the Worker listens on.
    pub port: u16,
    /// The directory on the Worker with its output.
    pub directory: String,
}

/// The variable with the name of a cluster driver, in its environment.
pub const DRIVER_NAME: &str = "FIRESTEEL_DRIVER_NAME";

/// How often a supervised cluster driver was started again on its Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverRestarts {
    /// The number of starts after the first one.
    pub restarts: u32,
    /// How its process ended last.
    pub last: ExitStatus,
    /// When it is started again, while it pauses.
    pub until: Option<Timestamp>,
}

/// Why a cluster driver waits for a Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverWait {
    /// There is no Worker that takes cluster drivers.
    NoWorker,
    /// It would not fit any Worker, even if that were empty. The most cores and memory of any.
    TooLarge {
        /// The most cores of a Worker.
        cores: Cores,
        /// The most memory of a Worker.
        memory: MiB,
    },
    /// Workers are large enough, and none has room now, or may be given anything.
    NoRoom {
        /// The number of Workers that are large enough.
        workers: u64,
    },
    /// As many run as may (`spark.deploy.maxDrivers`).
    Limit {
        /// That number.
        most: u64,
    },
}

/// Written as `no Worker is large enough: the largest have 4 cores and 8192 MiB`.
impl fmt::Display for DriverWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorker => f.write_str("no Worker is there that takes drivers"),
            Self::TooLarge { cores, memory } => write!(
                f,
                "no Worker is large enough or has its resources: the largest have {} and {memory}",
                counted(cores.0, "core")
            ),
            Self::NoRoom { workers } => {
                let workers_are = format!("{} {}", counted(*workers, "Worker"), are(*workers));
                write!(f, "{workers_are} large enough, and none has room now")
            }
            Self::Limit { most } => {
                write!(
                    f,
                    "{} already run, the most that spark.deploy.maxDrivers allows",
                    counted(*most, "driver")
                )
            }
        }
    }
}

impl DriverRestarts {
    /// In words, at this time of the Master: `2 restarts, last exit code 1, next start in 3.5 s`.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> String {
        let Self { restarts, last, until } = self;
        let next = until.map(|until| format!(", next start in {}", duration(until.since(now))));
        format!("{}, last {last}{}", none_or(*restarts, "restart"), next.unwrap_or_default())
    }
}

/// The answer to a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubmitDriverAnswer {
    /// It was submitted.
    Submitted {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// The Master refuses it.
    Refused(RefusedDriver),
}

/// Why the Master refuses a cluster driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedDriver {
    /// It has no program.
    NoProgram,
    /// It has no cores or no memory, or more than any Worker can have.
    UnsoundSize {
        /// The number of its cores.
        cores: Cores,
        /// The amount of its memory.
        memory: MiB,
    },
    /// Its description is too long.
    TooLong {
        /// The length in bytes.
        length: u64,
        /// The most that the Master takes.
        most: u64,
    },
    /// Too many cluster drivers wait for a Worker.
    TooManyWait {
        /// The most that may wait.
        most: u64,
    },
    /// The Master of an application on YARN has no Workers.
    NoWorkers,
    /// Nobody can have the custom resources that it needs.
    Resources {
        /// Why, in words for people.
        why: String,
    },
}

impl fmt::Display for RefusedDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorkers => {
                f.write_str("this Master has no Workers: it belongs to an application on YARN")
            }
            Self::Resources { why } => f.write_str(why),
            Self::NoProgram => f.write_str("a driver needs a program"),
            Self::UnsoundSize { cores, memory } => {
                write!(f, "a driver has 1 to 65,536 cores and at least 1 MiB, not {cores} cores and {memory}")
            }
            Self::TooLong { length, most } => write!(
                f,
                "its command and variables take {length} bytes, and the Master takes at most {most}"
            ),
            Self::TooManyWait { most } => {
                write!(f, "{most} drivers wait for a Worker already, and the Master keeps no more")
            }
        }
    }
}

/// The answer to a request to end a cluster driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillDriverAnswer {
    /// Its Worker is told to end it.
    Asked {
        /// The id of the cluster driver that is ended: the successor, if the one that was named was relaunched.
        driver: DriverId,
    },
    /// It waited for a Worker, and waits no longer.
    Killed {
        /// The id of the cluster driver that waited.
        driver: DriverId,
    },
    /// It had ended before.
    Over {
        /// The cluster driver's id.
        driver: DriverId,
        /// How it ended.
        state: DriverState,
    },
    /// No cluster driver has this id, or it is remembered no longer.
    Unknown,
}

crate::kinds!("DriverState", DriverState: Submitted Running Finished Relaunching Unknown Killed Failed Error);
crate::kinds!("RefusedDriver", RefusedDriver: NoProgram UnsoundSize TooLong TooManyWait NoWorkers Resources);
