//! Driver and Master.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use firesteel_placement::{Cores, ExecutorLimit, MiB, Policy, ResourceAmounts, Shortfall};
use serde::{Deserialize, Serialize};

use super::{ApplicationFiles, ExecutorState, LossReason, TaskDirectory};
use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::process::Command;

/// What a driver asks of the Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DriverToMaster {
    /// Here is an application: please give it executors. Repeated on one connection it is answered with the
    /// same id.
    RegisterApplication(ApplicationDescription),
    /// The application is done. Without it, the end of the connection ends the application as failed.
    UnregisterApplication {
        /// The application's id.
        app: AppId,
    },
    /// Sets how many executors the application wants in all, by resource profile. Profiles not named keep
    /// their target; a lower target kills nothing.
    RequestExecutors {
        /// The application's id.
        app: AppId,
        /// The new number of executors, by profile.
        targets: Vec<ExecutorTarget>,
    },
    /// Ends executors. The target stays, so that they are replaced unless it was lowered before.
    KillExecutors {
        /// The application's id.
        app: AppId,
        /// Which of its executors.
        executors: Vec<ExecutorId>,
    },
    /// Says on which hosts executors would be welcome, and on which none. Replaces what was said before; repeated
    /// at most once a second.
    PreferHosts {
        /// The application's id.
        app: AppId,
        /// The hosts that it prefers and avoids.
        wishes: HostWishes,
    },
    /// Asks why the application has fewer executors than it asked for.
    RequestShortfall {
        /// The application's id.
        app: AppId,
    },
}

/// An application as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationDescription {
    /// A name for people; it need not be unique.
    pub name: String,
    /// The user who submitted it.
    pub user: String,
    /// `spark.cores.max`: cores in all. `None`: the Master's default.
    pub max_cores: Option<Cores>,
    /// What every executor runs.
    pub command: Command,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The default resource profile.
    pub profile: ResourceProfile,
    /// The default profile's executor target at the start.
    pub initial_limit: ExecutorLimit,
    /// Which of its executors are replaced when they end.
    pub relaunch: Relaunch,
    /// By which rule Workers are chosen for its executors. `None`: by the Master's.
    pub policy: Option<Policy>,
    /// The files that executors find in their directories. `None`: none.
    pub files: Option<ApplicationFiles>,
    /// The Master's queue that it is in. `None`: the one called `default`, or else the first.
    pub queue: Option<String>,
    /// Who comes first in its queue: the highest.
    pub priority: i32,
    /// How many executors it must be given at once before it begins, or none. 0 and 1: one by one. No more than it
    /// asks for altogether. Once it has begun, executors come one by one.
    pub gang: u64,
    /// One more than the highest number of an executor that the driver has seen. An ApplicationMaster that was started
    /// anew counts on from there; a Master, which gives a new application id then, begins with 0 again.
    pub first_executor: ExecutorId,
}

#[cfg(test)]
impl ApplicationDescription {
    /// One that says nothing but what its executors run, for tests.
    pub(crate) fn plain(name: &str, command: Command) -> Self {
        Self {
            name: name.to_owned(),
            user: "ann".to_owned(),
            max_cores: None,
            command,
            directory: TaskDirectory::Executor,
            profile: ResourceProfile::default(),
            initial_limit: ExecutorLimit::Unlimited,
            relaunch: Relaunch::WhenEnded,
            policy: None,
            files: None,
            queue: None,
            priority: 0,
            gang: 0,
            first_executor: ExecutorId(0),
        }
    }
}

/// Which executors of an application are replaced when they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relaunch {
    /// All: the application holds as many as it wants for as long as it lives. Ends in a row count, so that one
    /// whose executors cannot run is given up.
    ///
    /// Source: Spark Master, 4.0.1, which knows nothing else.
    #[default]
    WhenEnded,
    /// Only those that did not end by themselves: lost with their Worker, or ended by it when it was shut down. One
    /// that exited, or that could not be started, has had its turn, and the application wants one less from then
    /// on, well or badly as it ended.
    WhenLost,
}

impl Relaunch {
    /// Whether an executor that ended so has had its turn, and the application wants one less.
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

/// The limit after one executor has had its turn and `held` are left. The application's maximum of cores falls by
/// that one's cores; where there is neither limit nor maximum, those that are left are the last.
#[must_use]
pub fn limit_after_final_end(limit: ExecutorLimit, max_cores: Cores, held: u64) -> ExecutorLimit {
    match limit {
        ExecutorLimit::AtMost(limit) => ExecutorLimit::AtMost(limit.saturating_sub(1)),
        ExecutorLimit::Unlimited if max_cores >= Cores::UNLIMITED => ExecutorLimit::AtMost(held),
        ExecutorLimit::Unlimited => ExecutorLimit::Unlimited,
    }
}

/// What one executor of a profile needs. Custom resources are never inherited.
///
/// Source: Spark Master, 4.0.1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceProfile {
    /// Cores of an executor. `None`: as the default profile; in the default profile: one executor on each
    /// Worker, with as many cores as it can get.
    pub cores: Option<Cores>,
    /// Memory of an executor. `None`: as the default profile; in the default profile: 1 GiB.
    pub memory: Option<MiB>,
    /// Addresses needed of each custom resource.
    pub resources: ResourceAmounts,
}

impl ResourceProfile {
    /// Cores and MiB that may be asked for at most, so that sums cannot overflow.
    pub const MOST: i64 = i32::MAX as i64;
    /// So many custom resources an executor may have: each is told in every explanation.
    pub const MOST_RESOURCES: usize = 16;
    /// The longest name of one, in bytes.
    pub const LONGEST_NAME: usize = 100;

    /// Whether an executor can be like this.
    ///
    /// # Errors
    /// It has less than a core or less than no memory, or more of one than [`MOST`](Self::MOST); it has more custom
    /// resources than [`MOST_RESOURCES`](Self::MOST_RESOURCES), or one with a name that is longer than
    /// [`LONGEST_NAME`](Self::LONGEST_NAME).
    pub fn check(&self) -> Result<(), UnsoundProfile> {
        if let Some(cores) = self.cores.filter(|cores| !(1..=Self::MOST).contains(&cores.0)) {
            return Err(UnsoundProfile::Cores(cores));
        }
        if let Some(memory) = self.memory.filter(|memory| !(0..=Self::MOST).contains(&memory.0)) {
            return Err(UnsoundProfile::Memory(memory));
        }
        if self.resources.len() > Self::MOST_RESOURCES {
            return Err(UnsoundProfile::Resources(self.resources.len()));
        }
        if let Some(name) = self.resources.keys().find(|name| name.len() > Self::LONGEST_NAME) {
            return Err(UnsoundProfile::Name(name.len()));
        }
        Ok(())
    }
}

/// What no executor can be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsoundProfile {
    /// It has so many cores.
    #[error("an executor cannot have {0} cores")]
    Cores(Cores),
    /// It has so much memory.
    #[error("an executor cannot have {0} of memory")]
    Memory(MiB),
    /// It has so many custom resources.
    #[error("an executor cannot have {0} custom resources: at most {most}", most = ResourceProfile::MOST_RESOURCES)]
    Resources(usize),
    /// One of its custom resources has a name of so many bytes.
    #[error("the name of a custom resource cannot have {0} bytes: at most {most}", most = ResourceProfile::LONGEST_NAME)]
    Name(usize),
}

/// Where an application's waiting tasks would like to run. Hosts are the Workers' own words for themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostWishes {
    /// How many waiting tasks prefer some host. One that prefers three counts on each of them below, and once here.
    pub tasks: u64,
    /// How many waiting tasks prefer each host; at most [`MOST_PREFERRED`].
    pub preferred: BTreeMap<String, u64>,
    /// Hosts that share a rack with one of those, with that rack, and those themselves; at most [`MOST_ROWS`].
    pub racks: BTreeMap<String, String>,
    /// Hosts where no executor is to be launched: executors that fail there do not elsewhere.
    pub avoided: BTreeSet<String>,
}

/// So many hosts are preferred, or avoided, at most.
pub const MOST_PREFERRED: usize = 1024;
/// So many hosts have racks at most.
pub const MOST_ROWS: usize = 16_384;

/// So many resource profiles an application may have: each is looked at in every pass of the Master.
pub const MOST_PROFILES: usize = 64;

/// How many executors of a profile are wanted in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorTarget {
    /// The profile's number. What it needs is fixed when the number is first seen.
    pub id: ProfileId,
    /// What an executor of the profile needs.
    pub profile: ResourceProfile,
    /// How many, absolute.
    pub total: u64,
}

/// What the Master tells a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MasterToDriver {
    /// The application is known from now on.
    RegisteredApplication {
        /// The application's id.
        app: AppId,
        /// The Master, `spark://host:port`.
        master_url: String,
        /// Cores that it may hold: what it asked for, or the Master's default. [`Cores::UNLIMITED`] if there is no
        /// maximum.
        max_cores: Cores,
        /// Executors with lower numbers are gone: an attempt at the application before this one had them. 0 from a Master.
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
    },
    /// An executor changed its state.
    ExecutorUpdated {
        /// The executor's number.
        executor: ExecutorId,
        /// The executor's state.
        state: ExecutorState,
        /// The host that was lost with it, if it was lost with its Worker.
        lost_host: Option<String>,
    },
    /// A Worker is gone, whether or not it ran executors of this application.
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
    /// The application has ended, by `UnregisterApplication` or by the Master, and every executor that it still had
    /// is gone too: its Worker said so (`ExecutorUpdated` came for it), or is lost itself.
    ExecutorsGone {
        /// The application's id.
        app: AppId,
    },
    /// The answer to `RequestExecutors`: whether the application is known.
    ExecutorsRequested {
        /// Whether it was done.
        accepted: bool,
    },
    /// The answer to `KillExecutors`: whether the application is known.
    ExecutorsKilled {
        /// Whether it was done.
        accepted: bool,
    },
    /// The answer to `RequestShortfall`: each profile that has fewer executors than asked, and why.
    Shortfalls(Vec<(ProfileId, Shortfall)>),
}

/// Why an application ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplicationEnd {
    /// Its driver said that it is done.
    Finished,
    /// Its driver's connection ended without a word. Spark calls this finished.
    DriverLost,
    /// Too many executors failed in a row.
    ExecutorsFailed {
        /// The number of failures.
        failures: u32,
        /// How the last one ended.
        last: ExecutorState,
    },
    /// Somebody who is not its driver ended it.
    Killed {
        /// Who, for people: `ann@host`.
        by: String,
    },
    /// It was given up: why, for people.
    GivenUp {
        /// The reason, in words for people.
        reason: String,
    },
    /// The description cannot be used.
    Refused {
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for ApplicationEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("finished"),
            Self::DriverLost => f.write_str("its driver's connection ended"),
            Self::ExecutorsFailed { failures, last } => {
                write!(f, "{failures} executors failed in a row, the last with {last}")
            }
            Self::Killed { by } => write!(f, "it was killed by {by}"),
            Self::GivenUp { reason } => write!(f, "it was given up: {reason}"),
            Self::Refused { reason } => write!(f, "refused: {reason}"),
        }
    }
}
