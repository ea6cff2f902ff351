//! Cluster drivers: programs that users submit to run on a Worker. Also the messages about them between clients, Master
//! and Workers.

use std::fmt;

use firesteel_placement::advanced::words::{are, counted, duration, none_or};
use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use serde::{Deserialize, Serialize};

use super::{LossReason, Used};
use crate::ids::{DriverId, WorkerId};
use crate::process::{Command, ExitStatus, StartFailure};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverDescription {
    /// The user who submitted the cluster driver: `ann@host`.
    pub user: String,
    /// The program, its arguments, and the variables that the Worker adds to its own environment.
    pub command: Command,
    pub cores: Cores,
    pub memory: MiB,
    /// Whether the cluster driver is started again when it fails or its Worker is lost.
    pub supervise: bool,
    /// How much of each custom resource the cluster driver needs: a number of addresses, or a fraction of one address.
    pub resources: ResourceAmounts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverLaunch {
    pub driver: DriverId,
    pub description: DriverDescription,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum DriverState {
    /// The cluster driver waits for a Worker. In a Worker's report: it did not run on this Worker, and must be placed
    /// elsewhere.
    Submitted,
    /// The cluster driver was given to a Worker. In a Worker's report: it runs there, or will be started again.
    Running,
    /// The driver's process ended with exit code 0.
    Finished,
    /// The cluster driver's Worker was lost, and another cluster driver was submitted in its place.
    Relaunching {
        /// The id of the cluster driver that replaces this one.
        successor: DriverId,
    },
    /// The cluster driver's Worker has not returned since the Master was restarted.
    Unknown,
    /// The cluster driver was ended on request. Contains the exit status if the process had started and the status is
    /// known.
    Killed(Option<ExitStatus>),
    Failed(ExitStatus),
    /// The cluster driver could not be started, or its Worker was lost.
    Error(DriverError),
}

/// Why a cluster driver is in state ERROR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum DriverError {
    NotStarted(StartFailure),
    /// The Worker is lost, so it is unknown how the cluster driver ended; or the driver used more than its Worker
    /// allows.
    Lost(LossReason),
    #[display("the Worker was stopped")]
    WorkerStopped,
}

impl DriverState {
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

    /// How the cluster driver's process ended, if that is known.
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

/// Formats a state as `FAILED (exit code 1)`.
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

/// The state of one cluster driver, as its Worker reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverReport {
    pub driver: DriverId,
    pub state: DriverState,
    /// What the driver's last process used, if it has ended and was measured.
    pub used: Option<Used>,
}

impl DriverReport {
    /// A report of this state, without usage.
    #[must_use]
    pub fn new(driver: DriverId, state: DriverState) -> Self {
        Self { driver, state, used: None }
    }
}

/// A cluster driver as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverView {
    pub id: DriverId,
    pub user: String,
    /// The driver's program with the arguments, quoted as for a shell.
    pub command: String,
    pub cores: Cores,
    pub memory: MiB,
    pub supervise: bool,
    pub state: DriverState,
    pub submitted: Timestamp,
    /// When the Master gave the cluster driver to its Worker, if it did.
    pub launched: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The driver's Worker, or the last one that it had.
    pub worker: Option<DriverLocation>,
    /// The name under which the driver was submitted, if it has one.
    pub name: Option<String>,
    pub needs: ResourceAmounts,
    /// The custom resources that the driver holds, or held when it ended. Empty while it waits for a Worker.
    pub has: Resources,
    /// How often the driver was started again on its last Worker. `None`: it was not, and will not be now.
    pub restarts: Option<DriverRestarts>,
    /// Why the driver waits for a Worker, while it waits.
    pub wait: Option<DriverWait>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverLocation {
    pub worker: WorkerId,
    pub host: String,
    pub port: u16,
    pub directory: String,
}

/// The environment variable with a cluster driver's name.
pub const DRIVER_NAME: &str = "FIRESTEEL_DRIVER_NAME";

/// How often a supervised cluster driver was started again on its Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverRestarts {
    /// The number of starts after the first one.
    pub restarts: u32,
    pub last: ExitStatus,
    /// When the cluster driver is started again, while it pauses.
    pub until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum DriverWait {
    /// No Worker accepts cluster drivers.
    #[display("no Worker is there that takes drivers")]
    NoWorker,
    /// The cluster driver is too large for every Worker, even for an empty one.
    #[display(
        "no Worker is large enough or has its resources: the largest have {} and {memory}",
        counted(cores.0, "core")
    )]
    TooLarge {
        /// The number of cores of the Worker that has the most.
        cores: Cores,
        /// The memory of the Worker that has the most.
        memory: MiB,
    },
    /// Some Workers are large enough, but none of them has enough free resources now, or none may get a driver.
    #[display("{} {} large enough, and none has room now", counted(*workers, "Worker"), are(*workers))]
    NoRoom {
        /// The number of Workers that are large enough.
        workers: u64,
    },
    /// The maximum number of cluster drivers runs already (`spark.deploy.maxDrivers`).
    #[display(
        "{} already run, the most that spark.deploy.maxDrivers allows",
        counted(*most, "driver")
    )]
    Limit {
        /// The value of `spark.deploy.maxDrivers`.
        most: u64,
    },
    /// The driver's user has so much that the limit for each user leaves too little.
    #[display("each user may have {limit} at most")]
    UserLimit {
        /// The limit, in words.
        limit: String,
    },
}

impl DriverRestarts {
    /// Describes the restarts in words, at this time of the Master: `2 restarts, last exit code 1, next start in 3.5
    /// s`.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> String {
        let Self { restarts, last, until } = self;
        let next = until.map(|until| format!(", next start in {}", duration(until.since(now))));
        format!("{}, last {last}{}", none_or(*restarts, "restart"), next.unwrap_or_default())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubmitDriverAnswer {
    Submitted { driver: DriverId },
    Refused(RefusedDriver),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum RefusedDriver {
    #[display("a driver needs a program")]
    NoProgram,
    /// The cluster driver asks for no cores or no memory, or for more than any Worker can have.
    #[display("a driver has 1 to 65,536 cores and at least 1 MiB, not {cores} cores and {memory}")]
    UnsoundSize { cores: Cores, memory: MiB },
    #[display("its command and variables take {length} bytes, and the Master takes at most {most}")]
    TooLong { length: u64, most: u64 },
    /// Too many cluster drivers wait for a Worker.
    #[display("{most} drivers wait for a Worker already, and the Master keeps no more")]
    TooManyWait { most: u64 },
    /// The Master of an application on YARN has no Workers.
    #[display("this Master has no Workers: it belongs to an application on YARN")]
    NoWorkers,
    /// Its custom resources are unsound, or it would exceed what the Master keeps.
    #[display("{why}")]
    Unsound { why: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillDriverAnswer {
    /// The Master orders the driver's Worker to end it.
    Asked {
        /// The id of the cluster driver that is ended. If the requested one was relaunched, this is its successor.
        driver: DriverId,
    },
    /// The cluster driver was still waiting for a Worker, and will not start.
    Killed {
        /// The id of the cluster driver, which will not start.
        driver: DriverId,
    },
    Over {
        driver: DriverId,
        state: DriverState,
    },
    /// No cluster driver has this id, or the Master no longer remembers it.
    Unknown,
}
