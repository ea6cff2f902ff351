//! An application as its driver describes it, and the parts that it is put together from.

use firesteel_placement::{Cores, ExecutorLimit, Policy};
use serde::{Deserialize, Serialize};

use super::{ApplicationFiles, Relaunch, ResourceProfile, TaskDirectory};
use crate::ids::ExecutorId;
use crate::process::Command;

/// An application as its driver describes it. [`new`](Self::new) makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

impl ApplicationDescription {
    /// The description with these parts. It is the only place that names all fields.
    #[must_use]
    pub fn new(submitter: Submitter, executors: WantedExecutors, placing: Placing, work: Work) -> Self {
        let Submitter { name, user } = submitter;
        let WantedExecutors { profile, max_cores, limit, relaunch, first } = executors;
        let Placing { policy, queue, priority, gang } = placing;
        let Work { command, directory, files } = work;
        Self {
            name,
            user,
            max_cores,
            command,
            directory,
            profile,
            initial_limit: limit,
            relaunch,
            policy,
            files,
            queue,
            priority,
            gang,
            first_executor: first,
        }
    }
}

/// Who submits an application, and under which name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submitter {
    /// The application's name, for people.
    pub name: String,
    /// The user.
    pub user: String,
}

impl Submitter {
    /// The submitter with these names.
    #[must_use]
    pub fn new(name: impl Into<String>, user: impl Into<String>) -> Self {
        Self { name: name.into(), user: user.into() }
    }
}

/// What an application's executors take, and how many it wants. By default as many as there is room for, one on each
/// Worker, all of which are replaced when they end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedExecutors {
    /// What an executor of the default profile takes.
    pub profile: ResourceProfile,
    /// Cores in all. `None`: the Master's default.
    pub max_cores: Option<Cores>,
    /// How many executors of the default profile there are to be at first.
    pub limit: ExecutorLimit,
    /// Which executors are replaced when they end.
    pub relaunch: Relaunch,
    /// The lowest number that the driver has not seen an executor have.
    pub first: ExecutorId,
}

/// How an application is placed among others. By default in the Master's order, by its policy, one executor at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placing {
    /// By which rule Workers are chosen. `None`: by the Master's.
    pub policy: Option<Policy>,
    /// The queue. `None`: the one called `default`, or else the first.
    pub queue: Option<String>,
    /// Its priority in its queue; the highest comes first.
    pub priority: i32,
    /// How many executors it must be given at once before it begins. 0 and 1: one by one.
    pub gang: u64,
}

/// What an application's executors run, where, and with which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The command of every executor.
    pub command: Command,
    /// The directory in which it runs.
    pub directory: TaskDirectory,
    /// The files that executors find there. `None`: none.
    pub files: Option<ApplicationFiles>,
}

impl Work {
    /// The command in each executor's own directory, without files.
    #[must_use]
    pub fn of(command: Command) -> Self {
        Self { command, directory: TaskDirectory::Executor, files: None }
    }
}

/// Why an application cannot begin with as many executors at once as it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum UnsoundGang {
    /// Its executors have no number of cores.
    #[error("{executors} executors at once must have a number of cores each")]
    NoCores {
        /// How many executors are to come at once.
        executors: u64,
    },
    /// They need more cores than the application may have.
    #[error(
        "{executors} executors of {cores} cores at once are {needed} cores, and the application may have {max}"
    )]
    TooManyCores {
        /// How many executors are to come at once.
        executors: u64,
        /// The cores of each.
        cores: Cores,
        /// The cores of all.
        needed: Cores,
        /// Cores that the application may have.
        max: Cores,
    },
}
