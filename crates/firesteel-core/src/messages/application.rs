//! One application in detail, for status clients: what it asked, what it has, and why it has no more.

use std::fmt;

use firesteel_placement::advice::Advice;
use firesteel_placement::outlook::Outlook;
use firesteel_placement::words::counted;
use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, MiB, Policy, ResourceAmounts, Shortfall};
use serde::{Deserialize, Serialize};

use super::{ApplicationState, ApplicationView};
use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::time::Timestamp;

/// The answer to a question about one application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplicationAnswer {
    /// The application.
    Known(Box<ApplicationDetail>),
    /// No application has this id or name.
    Unknown,
    /// Several live applications have this name.
    Ambiguous {
        /// Their ids; of very many the first.
        apps: Vec<AppId>,
    },
}

/// What became of the wish to end an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillAnswer {
    /// It is ended.
    Killed {
        /// The application's id.
        app: AppId,
        /// How many executors it had.
        executors: u64,
        /// How many cores they had together.
        cores: Cores,
    },
    /// It was over already.
    Over {
        /// The application's id.
        app: AppId,
        /// How it ended.
        state: ApplicationState,
        /// When.
        ended: Timestamp,
    },
    /// No application has this id or name.
    Unknown,
    /// Several live applications have this name; none is ended.
    Ambiguous {
        /// Their ids; of very many the first.
        apps: Vec<AppId>,
    },
}

/// One application, live or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationDetail {
    /// The Master's time.
    pub now: Timestamp,
    /// The Master, `spark://host:port`.
    pub master: String,
    /// The application, with its executors, live and ended, from the number that was asked for.
    pub application: ApplicationView,
    /// Where to ask on, if there are more executors than fit one answer.
    pub next_executor: Option<ExecutorId>,
    /// How it stands in the cluster, if it is live.
    pub standing: Option<SchedulingStatus>,
}

/// How a live application stands in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingStatus {
    /// Its own policy. `None`: the Master's.
    pub policy: Option<Policy>,
    /// Its resource profiles, by number.
    pub profiles: Vec<ProfileView>,
    /// Cores of its maximum that executors had which have ended and are not replaced.
    pub cores_spent: Cores,
    /// Executors that failed in a row.
    pub failures: u32,
    /// No executor is launched before then, because of those failures.
    pub relaunch_at: Option<Timestamp>,
    /// How many live applications are served before it and are allowed more than they hold: in its queue those of
    /// higher priority, and of its own those that registered before it.
    pub ahead: u64,
    /// What it waits for beside room.
    pub hindrance: Option<Hindrance>,
    /// The cluster that it is in.
    pub cluster: ClusterView,
    /// Other applications that hold cores, most first, at most [`MOST_HOLDERS`].
    pub holders: Vec<Holder>,
    /// Other applications that hold cores and are not among these.
    pub more_holders: u64,
}

/// What an application waits for beside room for one more executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hindrance {
    /// It begins with several executors at once.
    Gang {
        /// The number of executors.
        executors: u64,
        /// For how many there is room that it may have.
        room: u64,
        /// Where room is kept for it, if it is: for how many executors on each of these Workers, of very many the
        /// first.
        kept: Vec<(WorkerId, u64)>,
    },
    /// It begins with several executors at once, and even with nothing on them the Workers have room for fewer.
    NeverFits {
        /// The number of executors.
        executors: u64,
        /// For how many the Workers have room in all.
        room: u64,
    },
    /// What is free is kept for an application that begins with several executors at once and comes first.
    Reserved {
        /// The application's id.
        app: AppId,
        /// The name, as given.
        name: String,
        /// Whether it could have what is not kept.
        backfill: bool,
    },
}

/// How many Workers on which room is kept are named.
pub const MOST_KEPT: usize = 20;

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gang { executors, room, kept } => {
                write!(f, "it begins with {executors} executors at once, and there is room for {room}")?;
                let workers = kept.len();
                match workers {
                    0 => Ok(()),
                    workers => write!(f, "; room is kept for it on {}", counted(workers as u64, "Worker")),
                }
            }
            Self::NeverFits { executors, room } => write!(
                f,
                "it begins with {executors} executors at once, and all Workers together have room for {room}: it can \
                 never begin on this cluster"
            ),
            Self::Reserved { app, name, backfill: true } => {
                write!(
                    f,
                    "what is free is kept for {app} ({name}), which comes first and begins with several at once"
                )
            }
            Self::Reserved { app, name, backfill: false } => write!(
                f,
                "{app} ({name}) comes first and waits to begin with several at once; without backfill nobody behind \
                 it is served"
            ),
        }
    }
}

/// How many applications that hold cores are named.
pub const MOST_HOLDERS: usize = 10;

/// All living Workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    /// The number of Workers.
    pub workers: u64,
    /// The number of cores.
    pub cores: Cores,
    /// The cores that no executor has.
    pub cores_free: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The memory that no executor has.
    pub memory_free: MiB,
}

/// An application that holds cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The application's id.
    pub app: AppId,
    /// The name, as given.
    pub name: String,
    /// The number of cores.
    pub cores: Cores,
    /// The number of executors.
    pub executors: u64,
}

/// What the executors of one profile need, how many there are, and why there are no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileView {
    /// The profile's number.
    pub id: ProfileId,
    /// Cores of an executor.
    pub size: ExecutorSize,
    /// Memory of an executor.
    pub memory: MiB,
    /// Addresses of each custom resource of an executor.
    pub resources: ResourceAmounts,
    /// How many executors there may be.
    pub limit: ExecutorLimit,
    /// How many there are.
    pub held: u64,
    /// Whether the application's own bounds allow one more.
    pub may_have_more: bool,
    /// Workers that are large enough for an executor, with nothing else on them.
    pub large_enough: u64,
    /// Workers that have room for one more executor now.
    pub with_room: u64,
    /// Why there are fewer than asked, if there are.
    pub shortfall: Option<Shortfall>,
    /// What would have to change for the next executor. Of very many profiles only the first are looked at.
    pub outlook: Option<Outlook>,
    /// What would bring more at once. Of very many profiles only the first are given advice.
    pub advice: Vec<Advice>,
}
