//! Messages between driver and Master.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use firesteel_placement::advanced::resources::overlapping;
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Shortfall};
use serde::{Deserialize, Serialize};

use super::{ApplicationDescription, ExecutorState, LossReason, Outcome, UnsoundGang};
use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::wire::Message;

/// A message from a driver to the Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverToMaster {
    /// Registers an application. A repetition on the same connection is answered with the same id.
    RegisterApplication(Box<ApplicationDescription>),
    /// The application is done. If the connection ends without this message, the application has failed.
    UnregisterApplication {
        /// The application's id.
        app: AppId,
        /// What became of its work. `None`: the driver does not say.
        outcome: Option<Outcome>,
    },
    /// Sets the number of executors that the application wants, by resource profile. Profiles that are not
    /// named keep their target. A lower target ends no executor.
    RequestExecutors {
        /// The application's id.
        app: AppId,
        /// The new number of executors, by profile.
        targets: Vec<ExecutorTarget>,
    },
    /// Ends executors. The target stays, so they are replaced unless it was lowered before.
    KillExecutors {
        /// The application's id.
        app: AppId,
        /// The numbers of those executors.
        executors: Vec<ExecutorId>,
    },
    /// Names the hosts on which executors are wanted, and those on which none are. Replaces the previous
    /// message; sent at most once a second.
    PreferHosts {
        /// The application's id.
        app: AppId,
        /// The hosts that it prefers and avoids.
        wishes: Box<HostWishes>,
    },
    /// Asks why the application has fewer executors than it asked for.
    RequestShortfall {
        /// The application's id.
        app: AppId,
    },
    /// Registers an application that a Master had registered before: the first message on a new connection. A Master that
    /// still has it answers with the same id, and repeats what the driver may have missed: `ExecutorAdded` and
    /// `ExecutorUpdated` for each live executor, and `ExecutorUpdated` for each executor named here that has ended. Others
    /// register it as a new one, or say how it ended.
    ResumeApplication(Resumption),
}

impl DriverToMaster {
    /// The application that the message registers, for the first time or again.
    #[must_use]
    pub fn application(&self) -> Option<&ApplicationDescription> {
        match self {
            Self::RegisterApplication(description) => Some(description),
            Self::ResumeApplication(resumption) => Some(&resumption.description),
            Self::UnregisterApplication { .. }
            | Self::RequestExecutors { .. }
            | Self::KillExecutors { .. }
            | Self::PreferHosts { .. }
            | Self::RequestShortfall { .. } => None,
        }
    }

    /// The same, to be changed.
    pub fn application_mut(&mut self) -> Option<&mut ApplicationDescription> {
        match self {
            Self::RegisterApplication(description) => Some(description),
            Self::ResumeApplication(resumption) => Some(&mut resumption.description),
            Self::UnregisterApplication { .. }
            | Self::RequestExecutors { .. }
            | Self::KillExecutors { .. }
            | Self::PreferHosts { .. }
            | Self::RequestShortfall { .. } => None,
        }
    }
}

/// An application that a driver brings back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    /// The id that it had.
    pub app: AppId,
    /// The executors that the driver takes for living.
    pub executors: Vec<ExecutorId>,
    /// The application, with its token, for a Master that does not know it.
    pub description: Box<ApplicationDescription>,
}

/// Which of an application's executors are replaced when they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relaunch {
    /// All executors: the application holds as many as it wants while it lives. It is ended after too many
    /// failures in a row, so that an application whose executors cannot run does not stay.
    ///
    /// Source: Spark Master, 4.0.1, which has no other rule.
    #[default]
    WhenEnded,
    /// Only executors that did not end by themselves: their Worker was lost, or it ended them when it was
    /// shut down. The end of an executor that exited or could not be started is final: the application wants
    /// one executor less from then on, whatever the exit status.
    WhenLost,
}

impl Relaunch {
    /// Whether an executor's end is final: it is not replaced, and the application wants one less.
    #[must_use]
    pub fn is_final(self, end: &ExecutorState) -> bool {
        match (self, end) {
            (
                Self::WhenLost,
                ExecutorState::Exited(_)
                | ExecutorState::Failed(_)
                | ExecutorState::Lost(LossReason::OverMemory { .. }),
            ) => true,
            (
                Self::WhenEnded | Self::WhenLost,
                ExecutorState::Launching
                | ExecutorState::Running
                | ExecutorState::Killed(_)
                | ExecutorState::Failed(_)
                | ExecutorState::Lost(_)
                | ExecutorState::Exited(_),
            ) => false,
        }
    }
}

/// The limit after the final end of one executor, with `held` executors left. The application's maximum of
/// cores falls by that executor's cores. Without limit and maximum, no executor is added to those that are
/// left.
#[must_use]
pub fn limit_after_final_end(limit: ExecutorLimit, max_cores: Cores, held: u64) -> ExecutorLimit {
    match limit {
        ExecutorLimit::AtMost(limit) => ExecutorLimit::AtMost(limit.saturating_sub(1)),
        ExecutorLimit::Unlimited if max_cores >= Cores::UNLIMITED => ExecutorLimit::AtMost(held),
        ExecutorLimit::Unlimited => ExecutorLimit::Unlimited,
    }
}

/// What one executor of a profile needs. Custom resources are never inherited from the default profile.
///
/// Source: Spark Master, 4.0.1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceProfile {
    /// The cores of one executor. `None`: as in the default profile. `None` in the default profile: one
    /// executor on each Worker, with as many cores as it can get.
    pub cores: Option<Cores>,
    /// The memory of one executor. `None`: as in the default profile. `None` in the default profile: 1 GiB.
    pub memory: Option<MiB>,
    /// The amount needed of each custom resource.
    pub resources: ResourceAmounts,
}

impl ResourceProfile {
    /// The maximum of cores and of MiB, so that sums cannot overflow.
    pub const MOST: i64 = i32::MAX as i64;
    /// The maximum number of custom resources of one executor. Every explanation lists them.
    pub const MOST_RESOURCES: usize = 16;
    /// The longest name of a custom resource, in bytes.
    pub const LONGEST_NAME: usize = 100;

    /// Checks that an executor can have this profile.
    ///
    /// # Errors
    /// It has less than one core or negative memory, or more of one than [`MOST`](Self::MOST); more custom
    /// resources than [`MOST_RESOURCES`](Self::MOST_RESOURCES); one whose name is longer than
    /// [`LONGEST_NAME`](Self::LONGEST_NAME); or a resource both with a kind and without.
    pub fn check(&self) -> Result<(), UnsoundProfile> {
        if let Some(cores) = self.cores.filter(|cores| !(1..=Self::MOST).contains(&cores.0)) {
            return Err(UnsoundProfile::Cores(cores));
        }
        if let Some(memory) = self.memory.filter(|memory| !(0..=Self::MOST).contains(&memory.0)) {
            return Err(UnsoundProfile::Memory(memory));
        }
        Self::check_resources(&self.resources)
    }

    /// Checks that an executor or a cluster driver can have these custom resources.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn check_resources(resources: &ResourceAmounts) -> Result<(), UnsoundProfile> {
        if resources.len() > Self::MOST_RESOURCES {
            return Err(UnsoundProfile::Resources(resources.len()));
        }
        if let Some(name) = resources.keys().find(|name| name.len() > Self::LONGEST_NAME) {
            return Err(UnsoundProfile::Name(name.len()));
        }
        if overlapping(resources.keys()).is_some() {
            return Err(UnsoundProfile::Overlapping);
        }
        Ok(())
    }
}

/// Why a resource profile is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundProfile {
    /// The number of cores is out of range.
    #[error("an executor cannot have {0} cores")]
    Cores(Cores),
    /// The amount of memory is out of range.
    #[error("an executor cannot have {0} of memory")]
    Memory(MiB),
    /// There are more custom resources than allowed.
    #[error("nobody can have {0} custom resources: at most {most}", most = ResourceProfile::MOST_RESOURCES)]
    Resources(usize),
    /// The name of a custom resource has that many bytes, which is too long.
    #[error("the name of a custom resource cannot have {0} bytes: at most {most}", most = ResourceProfile::LONGEST_NAME)]
    Name(usize),
    /// It asks for a resource both with a kind and without, as for `gpu` and `gpu:A100`.
    #[error("nobody can ask for a resource both with a kind and without, as for gpu and gpu:A100")]
    Overlapping,
}

/// The hosts where an application's waiting tasks prefer to run. Hosts are named as Workers name themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostWishes {
    /// The number of waiting tasks that prefer some host. A task that prefers three hosts counts once here,
    /// and for each of the three below.
    pub tasks: u64,
    /// The number of waiting tasks that prefer each host; at most [`MOST_PREFERRED`] hosts.
    pub preferred: BTreeMap<String, u64>,
    /// The racks of the preferred hosts and of other hosts in those racks, by host; at most [`MOST_ROWS`].
    pub racks: BTreeMap<String, String>,
    /// Hosts where no executor is to be launched, since executors fail there that do not elsewhere.
    pub avoided: BTreeSet<String>,
}

/// The maximum number of preferred hosts, and of avoided ones.
pub const MOST_PREFERRED: usize = 1024;
/// The maximum number of hosts whose racks are told.
pub const MOST_ROWS: usize = 16_384;

/// The maximum number of an application's resource profiles that are wanted or have executors. The Master looks at each
/// in every pass, and forgets the others.
pub const MOST_PROFILES: usize = 64;

/// The number of executors that are wanted of one profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorTarget {
    /// The profile's number. What its executors need is fixed when the Master first hears of the number, until the profile
    /// is not wanted and has no executors.
    pub id: ProfileId,
    /// What an executor of the profile needs.
    pub profile: ResourceProfile,
    /// The number of executors wanted, including those that it has.
    pub total: u64,
}

/// A message from the Master to a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MasterToDriver {
    /// The application is registered.
    RegisteredApplication {
        /// The application's id.
        app: AppId,
        /// The Master's URL, `spark://host:port`.
        master_url: String,
        /// The maximum number of cores: what the application asked for, or the Master's default.
        /// [`Cores::UNLIMITED`]: no maximum.
        max_cores: Cores,
        /// Executors with lower numbers are gone: they belonged to an earlier attempt at the application. 0
        /// from a Master.
        first_executor: ExecutorId,
    },
    /// An executor was assigned to the application.
    ExecutorAdded {
        /// The executor's number.
        executor: ExecutorId,
        /// The number of its resource profile.
        profile: ProfileId,
        /// The Worker that will run it.
        worker: WorkerId,
        /// The host's name.
        host: String,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
        /// The port that the Worker listens on; in YARN mode that of the NodeManager.
        port: u16,
    },
    /// An executor's state changed.
    ExecutorUpdated {
        /// The executor's number.
        executor: ExecutorId,
        /// The executor's state.
        state: ExecutorState,
        /// The host that was lost, if the executor was lost with its Worker.
        lost_host: Option<String>,
    },
    /// The executor will be ended soon, not by a fault of its own: it should get no more tasks, and what still runs there
    /// has not failed. Its end is told later.
    ///
    /// Source: Spark Master, 4.0.1, which tells the state DECOMMISSIONED.
    ExecutorLeaving {
        /// The executor's number.
        executor: ExecutorId,
        /// The host, if its Worker leaves with all that ran there.
        host: Option<String>,
    },
    /// A Worker is lost. Every driver hears of it, whether or not it had executors there.
    WorkerRemoved {
        /// The Worker's id.
        worker: WorkerId,
        /// The host's name.
        host: String,
        /// Why it is lost.
        reason: LossReason,
    },
    /// The Master ended the application.
    ApplicationRemoved(ApplicationEnd),
    /// The application has ended, and none of its executors is left: each was reported by its Worker
    /// (`ExecutorUpdated` came for it), or is lost with it.
    ExecutorsGone {
        /// The application's id.
        app: AppId,
    },
    /// The answer to `RequestExecutors`: whether the Master did it.
    ExecutorsRequested {
        /// Whether the application is the driver's own and the targets are valid.
        accepted: bool,
    },
    /// The answer to `KillExecutors`: whether the Master did it.
    ExecutorsKilled {
        /// Whether the application is the driver's own.
        accepted: bool,
    },
    /// The answer to `RequestShortfall`: the profiles that have fewer executors than asked for, and why.
    Shortfalls(Vec<(ProfileId, Shortfall)>),
}

/// Why an application ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplicationEnd {
    /// The driver said that the application is done.
    Finished {
        /// What became of its work, if the driver said so.
        outcome: Option<Outcome>,
    },
    /// The driver's connection ended without a message. Spark calls this finished.
    DriverLost,
    /// Too many executors failed in a row.
    ExecutorsFailed {
        /// The number of failures in a row.
        failures: u32,
        /// How the last executor ended.
        last: ExecutorState,
    },
    /// Another user or program than its driver ended it.
    Killed {
        /// The user who ended it: `ann@host`.
        by: String,
    },
    /// Its own manager gave it up.
    GivenUp {
        /// The reason, in words for people.
        reason: String,
    },
    /// The Master refuses the application's description.
    Refused {
        /// What is wrong with the description.
        reason: String,
    },
    /// The description asks for more executors at once than it can be given.
    GangRefused(UnsoundGang),
    /// The Master was restarted, and the driver did not return in time.
    NotBack,
}

impl ApplicationEnd {
    /// Whether the application was never taken.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::GangRefused(_) => true,
            Self::Finished { .. }
            | Self::DriverLost
            | Self::NotBack
            | Self::ExecutorsFailed { .. }
            | Self::Killed { .. }
            | Self::GivenUp { .. } => false,
        }
    }
}

impl fmt::Display for ApplicationEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished { outcome: None } => f.write_str("finished"),
            Self::Finished { outcome: Some(outcome) } => write!(f, "finished; {outcome}"),
            Self::DriverLost => f.write_str("its driver's connection ended"),
            Self::NotBack => f.write_str(
                "its driver did not return after the Master was restarted: how its work ended is not known",
            ),
            Self::ExecutorsFailed { failures, last } => {
                write!(f, "{} failed in a row, the last with {last}", counted(*failures, "executor"))
            }
            Self::Killed { by } => write!(f, "it was killed by {by}"),
            Self::GivenUp { reason } => write!(f, "it was given up: {reason}"),
            Self::Refused { reason } => write!(f, "refused: {reason}"),
            Self::GangRefused(gang) => write!(f, "refused: {gang}"),
        }
    }
}

impl Message for DriverToMaster {}
impl Message for MasterToDriver {}

crate::kinds!("DriverToMaster", DriverToMaster: RegisterApplication UnregisterApplication RequestExecutors
    KillExecutors PreferHosts RequestShortfall ResumeApplication);
crate::kinds!("MasterToDriver", MasterToDriver: RegisteredApplication ExecutorAdded ExecutorUpdated
    ExecutorLeaving WorkerRemoved ApplicationRemoved ExecutorsGone ExecutorsRequested ExecutorsKilled Shortfalls);
crate::kinds!("ApplicationEnd", ApplicationEnd: Finished DriverLost ExecutorsFailed Killed GivenUp Refused GangRefused NotBack);
