//! The messages by which a driver registers an application, asks for executors, and receives news about them.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::resources::overlapping;
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Shortfall};
use serde::{Deserialize, Serialize};

use super::{ApplicationDescription, ExecutorState, LossReason, Outcome, StateMark, UnsoundGang};
use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::process::name_proven_user;
use crate::wire::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum DriverToMaster {
    /// Registers an application. If the driver repeats it on the same connection, the Master answers with the same id.
    RegisterApplication(Box<ApplicationDescription>),
    /// The application is done. If the connection ends without this message, the application has failed.
    UnregisterApplication {
        app: AppId,
        /// The result of the application's work. `None`: the driver does not report one.
        outcome: Option<Outcome>,
    },
    /// Sets the number of executors that the application wants, by resource profile. Profiles that are not named keep
    /// their target. A lower target ends no executor.
    RequestExecutors {
        app: AppId,
        /// The new number of executors, by profile.
        targets: Vec<ExecutorTarget>,
    },
    /// Ends executors. The target does not change: the Master replaces the executors, unless the driver lowered the
    /// target before.
    KillExecutors { app: AppId, executors: Vec<ExecutorId> },
    /// Names the hosts on which the application wants executors, and the hosts on which it wants none. Replaces the
    /// previous message. The driver sends it at most once a second.
    PreferHosts { app: AppId, preferences: Box<HostPreferences> },
    /// Asks why the application has fewer executors than it asked for.
    RequestShortfall { app: AppId },
    /// Registers an application that a Master had registered before: the first message on a new connection. If the
    /// Master still has the application, it answers with the same id. It then repeats what the driver may have missed:
    /// `ExecutorAdded` and `ExecutorUpdated` for each live executor, and `ExecutorUpdated` for each executor named here
    /// that has ended. Any other Master registers the application as a new one, or reports how it ended.
    ResumeApplication(Resumption),
}

impl DriverToMaster {
    /// Gives the application to the user whom the connection's secret proves, in the place of the one that the driver
    /// says, and names him to the executors.
    pub fn prove(&mut self, user: Option<&str>) {
        let (Self::RegisterApplication(description)
        | Self::ResumeApplication(Resumption { description, .. })) = self
        else {
            return;
        };
        name_proven_user(description.command.environment_mut(), user);
        if let Some(user) = user {
            user.clone_into(&mut description.user);
        }
    }
}

impl DriverToMaster {
    /// The application that this message registers, for the first time or again. `None` for other messages.
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

/// An application whose driver registers it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    pub app: AppId,
    /// The executors that the driver believes to be live.
    pub executors: Vec<ExecutorId>,
    /// The application, with its token. A Master that does not know the application registers it from this.
    pub description: Box<ApplicationDescription>,
}

/// Which of an application's executors are replaced when they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relaunch {
    /// All executors are replaced, so the application keeps the number that it wants. The Master ends the application
    /// after too many failures in a row. So an application whose executors cannot run does not stay.
    ///
    /// Source: Spark Master, 4.0.1, which has no other rule.
    #[default]
    WhenEnded,
    /// Only executors that did not end by themselves are replaced: their Worker was lost, or was shut down and ended
    /// them. If an executor exited or could not be started, its end is final, whatever the exit status. The application
    /// then wants one executor less.
    WhenLost,
}

impl Relaunch {
    /// Whether an executor's end is final: the executor is not replaced, and the application wants one executor less.
    #[must_use]
    pub fn is_final(self, end: &ExecutorState) -> bool {
        match (self, end) {
            (
                Self::WhenLost,
                ExecutorState::Exited(_)
                | ExecutorState::Failed(_)
                | ExecutorState::Lost(LossReason::OverLimit { .. }),
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

/// The limit after the final end of one executor, when `held` executors are left. The application's maximum of cores
/// falls by the ended executor's cores. If the application has neither a limit nor a maximum, no executor is added any
/// more.
#[must_use]
pub fn limit_after_final_end(limit: ExecutorLimit, max_cores: Cores, held: u64) -> ExecutorLimit {
    match limit {
        ExecutorLimit::AtMost(limit) => ExecutorLimit::AtMost(limit.saturating_sub(1)),
        ExecutorLimit::Unlimited if max_cores >= Cores::UNLIMITED => ExecutorLimit::AtMost(held),
        ExecutorLimit::Unlimited => ExecutorLimit::Unlimited,
    }
}

/// The needs of one executor of a profile. A profile does not inherit custom resources from the default profile.
///
/// Source: Spark Master, 4.0.1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceProfile {
    /// The cores of one executor. `None`: as in the default profile. `None` in the default profile itself: one executor
    /// on each Worker, with as many cores as the Worker has free.
    pub cores: Option<Cores>,
    /// The memory of one executor. `None`: as in the default profile. `None` in the default profile itself: 1 GiB.
    pub memory: Option<MiB>,
    /// How much of each custom resource one executor needs.
    pub resources: ResourceAmounts,
}

impl ResourceProfile {
    /// The maximum of cores, and of memory in MiB. With it, sums cannot overflow.
    pub const MOST: i64 = i32::MAX as i64;
    /// The maximum number of custom resources of one executor. It is low because every explanation lists all of them.
    pub const MOST_RESOURCES: usize = 16;
    /// The longest name of a custom resource, in bytes.
    pub const LONGEST_NAME: usize = 100;

    /// Checks that an executor can have this profile.
    ///
    /// # Errors
    /// The profile has less than one core or negative memory, or more than [`MOST`](Self::MOST) of either; more custom
    /// resources than [`MOST_RESOURCES`](Self::MOST_RESOURCES); a name longer than
    /// [`LONGEST_NAME`](Self::LONGEST_NAME); or a resource both with a kind and without one.
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
    /// The same errors as [`check`](Self::check).
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundProfile {
    #[error("an executor cannot have {0} cores")]
    Cores(Cores),
    #[error("an executor cannot have {0} of memory")]
    Memory(MiB),
    /// There are more custom resources than allowed.
    #[error("a resource profile has {0} custom resources; at most {most} are allowed", most = ResourceProfile::MOST_RESOURCES)]
    Resources(usize),
    /// The name of a custom resource is too long: it has this many bytes.
    #[error("the name of a custom resource has {0} bytes; at most {most} are allowed", most = ResourceProfile::LONGEST_NAME)]
    Name(usize),
    /// The profile asks for the same resource with a kind and without one, such as `gpu` and `gpu:A100`.
    #[error(
        "a resource profile cannot ask for the same resource with and without a kind, such as gpu and gpu:A100"
    )]
    Overlapping,
}

/// The hosts where an application's waiting tasks prefer to run. Host names are the ones that Workers register with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPreferences {
    /// The number of waiting tasks with preferred hosts. A task that prefers three hosts counts once here. In
    /// `preferred`, it counts once for each of the three.
    pub tasks: u64,
    /// The number of waiting tasks that prefer each host; at most [`MOST_PREFERRED`] hosts.
    pub preferred: BTreeMap<String, u64>,
    /// The rack of each host: of the preferred hosts, and of other hosts in the same racks; at most [`MOST_ROWS`].
    pub racks: BTreeMap<String, String>,
    /// Hosts where no executor is to be launched, because executors fail there but not elsewhere.
    pub avoided: BTreeSet<String>,
}

/// The maximum number of preferred hosts, and also of avoided hosts.
pub const MOST_PREFERRED: usize = 1024;
/// The maximum number of hosts whose rack is given.
pub const MOST_ROWS: usize = 16_384;

/// The maximum number of an application's resource profiles that are wanted or have executors. In every pass, the
/// Master looks at all of them. It forgets all other profiles.
pub const MOST_PROFILES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorTarget {
    /// The profile's number. The needs of its executors are fixed when the Master first receives the number. They stay
    /// fixed until the profile is not wanted and has no executors.
    pub id: ProfileId,
    pub profile: ResourceProfile,
    /// The number of executors wanted, including the executors that the application already has.
    pub total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum MasterToDriver {
    RegisteredApplication {
        app: AppId,
        /// The Master's URL, `spark://host:port`.
        master_url: String,
        /// The maximum number of cores: as requested by the application, or the Master's default. [`Cores::UNLIMITED`]:
        /// no maximum.
        max_cores: Cores,
        /// Executors with lower numbers belonged to an earlier attempt at the application and no longer exist. A Master
        /// sends 0.
        first_executor: ExecutorId,
        /// How far the Master's state goes. `None`: the Master keeps no state, or is of an earlier release.
        #[serde(default)]
        mark: Option<StateMark>,
    },
    ExecutorAdded {
        executor: ExecutorId,
        profile: ProfileId,
        worker: WorkerId,
        host: String,
        cores: Cores,
        memory: MiB,
        /// The port that the Worker listens on. In YARN mode, the port of the NodeManager.
        port: u16,
    },
    ExecutorUpdated {
        executor: ExecutorId,
        state: ExecutorState,
        /// The lost host, if the executor's whole Worker was lost.
        lost_host: Option<String>,
    },
    /// The executor will be ended soon, through no fault of its own. The driver should give it no more tasks. Tasks
    /// that are lost with the executor do not count as failed. The executor's end is reported later.
    ///
    /// Source: Spark Master, 4.0.1, which sends the state DECOMMISSIONED.
    ExecutorLeaving {
        executor: ExecutorId,
        /// The host, if its whole Worker leaves.
        host: Option<String>,
    },
    /// A Worker is lost. The Master sends this to every driver, even to one without executors on that Worker.
    WorkerRemoved {
        worker: WorkerId,
        host: String,
        reason: LossReason,
    },
    ApplicationRemoved(ApplicationEnd),
    /// The application has ended, and none of its executors is left. An `ExecutorUpdated` has reported the end of each
    /// executor, unless it was lost with its Worker.
    ExecutorsGone {
        app: AppId,
    },
    /// The answer to `RequestExecutors`: whether the Master accepted the request.
    ExecutorsRequested {
        /// Whether the application belongs to this driver and the targets are valid.
        accepted: bool,
    },
    /// The answer to `KillExecutors`: whether the Master accepted the request.
    ExecutorsKilled {
        /// Whether the application belongs to this driver.
        accepted: bool,
    },
    /// The answer to `RequestShortfall`: the profiles that have fewer executors than the driver asked for, and why.
    Shortfalls(Vec<(ProfileId, Shortfall)>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum ApplicationEnd {
    /// The driver reported that the application is done.
    #[display("finished{}", outcome.as_ref().map(|it| format!("; {it}")).unwrap_or_default())]
    Finished { outcome: Option<Outcome> },
    /// The driver's connection ended before it reported that the application is done. Spark calls this finished.
    #[display("its driver's connection ended")]
    DriverLost,
    #[display("{} failed in a row, the last with {last}", counted(*failures, "executor"))]
    ExecutorsFailed { failures: u32, last: ExecutorState },
    /// A user or program other than the driver ended the application.
    #[display("it was killed by {by}")]
    Killed {
        /// The user who ended the application: `ann@host`.
        by: String,
    },
    /// The application's own ApplicationMaster gave up.
    #[display("it was given up: {reason}")]
    GivenUp { reason: String },
    #[display("refused: {reason}")]
    Refused { reason: String },
    /// The description asks for more executors at once than the limits allow.
    #[display("refused: {_0}")]
    GangRefused(UnsoundGang),
    /// The Master was restarted, and the driver did not return in time.
    #[display("its driver did not return after the Master was restarted: how its work ended is not known")]
    NotBack,
}

impl ApplicationEnd {
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

impl Message for DriverToMaster {}
impl Message for MasterToDriver {}
