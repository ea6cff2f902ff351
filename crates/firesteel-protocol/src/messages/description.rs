//! The description of an application by its driver, and its parts.

use bytes::Bytes;
use firesteel_placement::{Cores, ExecutorLimit, Policy};
use serde::{Deserialize, Serialize};

use super::{ApplicationFiles, Relaunch, ResourceProfile, StateMark, TaskDirectory};
use crate::ids::ExecutorId;
use crate::process::executor_command::ExecutorCommand;
use crate::secret::Secret;

/// The maximum length of the URL of a driver's pages, in bytes.
const LONGEST_URL: usize = 1024;

/// An application as its driver describes it. [`new`](Self::new) makes a description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApplicationDescription {
    /// The application's name, for people. Several applications may have the same name.
    pub name: String,
    pub user: String,
    /// `spark.cores.max`: the maximum number of the application's cores. `None`: the Master's default.
    pub max_cores: Option<Cores>,
    pub command: ExecutorCommand,
    pub directory: TaskDirectory,
    /// The default resource profile: what one executor needs.
    pub profile: ResourceProfile,
    /// The initial number of executors wanted of the default profile.
    pub initial_limit: ExecutorLimit,
    pub relaunch: Relaunch,
    /// The policy that chooses Workers. `None`: the Master's policy.
    pub policy: Option<Policy>,
    /// The files that are put into the executors' directories, if there are any.
    pub files: Option<ApplicationFiles>,
    /// The name of the application's queue at the Master. `None`: the queue called `default`, or else the first queue.
    pub queue: Option<String>,
    /// The application's priority in its queue. Higher priorities are served first.
    pub priority: i32,
    /// The number of executors that the application needs at once to start; at most the number it asks for. Later
    /// executors come one by one. 0 and 1: all executors come one by one.
    pub gang: u64,
    /// One more than the highest executor number that the driver has seen. For a restarted ApplicationMaster, executor
    /// numbers continue from this one. A Master that gives the application a new id starts at 0 again.
    pub first_executor: ExecutorId,
    /// A random token that the driver drew at its start. A returning driver must show the same token.
    pub token: Secret,
    /// Data that a restarted Master needs to call the driver, in the driver's own protocol. Empty: the driver
    /// reconnects by itself.
    pub callback: Bytes,
    /// For each of the latest states of Masters, the latest moment that the driver has been told of. A driver of an
    /// earlier release has none.
    #[serde(default)]
    pub seen: Vec<StateMark>,
    /// The URL of the driver's own pages. `None`: it has none, or is of an earlier release.
    #[serde(default)]
    pub web_address: Option<String>,
}

impl ApplicationDescription {
    /// Makes a description from these parts. Only this function lists all fields.
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
            token: Secret::default(),
            callback: Bytes::new(),
            seen: Vec::new(),
            web_address: None,
        }
    }

    /// The URL of the driver's pages, if others may be led there: a short one, by HTTP or HTTPS.
    #[must_use]
    pub fn pages(&self) -> Option<&str> {
        let is_sound = |url: &&str| {
            url.len() <= LONGEST_URL && (url.starts_with("http://") || url.starts_with("https://"))
        };
        self.web_address.as_deref().filter(is_sound)
    }
}

/// The user who submits an application, and the application's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submitter {
    pub name: String,
    pub user: String,
}

impl Submitter {
    #[must_use]
    pub fn new(name: impl Into<String>, user: impl Into<String>) -> Self {
        Self { name: name.into(), user: user.into() }
    }
}

/// What an application's executors need, and how many it wants. The default is one executor on each Worker with free
/// resources. Each executor is replaced when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedExecutors {
    pub profile: ResourceProfile,
    pub max_cores: Option<Cores>,
    pub limit: ExecutorLimit,
    pub relaunch: Relaunch,
    /// The lowest executor number that the driver has not seen.
    pub first: ExecutorId,
}

/// How the Master schedules an application. By default, the Master's policy and queue apply, and executors come one by
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placing {
    pub policy: Option<Policy>,
    pub queue: Option<String>,
    pub priority: i32,
    /// The number of executors that the application needs at once to start. 0 and 1: executors come one by one.
    pub gang: u64,
}

/// The command of an application's executors, with its directory and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub command: ExecutorCommand,
    pub directory: TaskDirectory,
    /// The files that are put into the executors' directories, if there are any.
    pub files: Option<ApplicationFiles>,
}

impl Work {
    /// A command that runs in each executor's own directory, without files.
    #[must_use]
    pub fn of(command: impl Into<ExecutorCommand>) -> Self {
        Self { command: command.into(), directory: TaskDirectory::Executor, files: None }
    }
}

/// Why an application cannot start with the number of executors that it asks for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum UnsoundGang {
    /// The application's executors have no fixed number of cores.
    #[error("to start {executors} executors at once, set the cores of each executor")]
    NoCores { executors: u64 },
    /// The executors need more cores than the application may have.
    #[error(
        "{executors} executors of {cores} cores at once are {needed} cores, and the application may have {max}"
    )]
    TooManyCores { executors: u64, cores: Cores, needed: Cores, max: Cores },
}
