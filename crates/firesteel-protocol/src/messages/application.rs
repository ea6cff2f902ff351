//! One application in detail, for status clients: what it asks for, what it has, and why it has no more.

use std::fmt;

use firesteel_placement::advanced::words::counted;
use firesteel_placement::explain::advice::Advice;
use firesteel_placement::explain::outlook::Outlook;
use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, MiB, Policy, ResourceAmounts, Shortfall};
use serde::{Deserialize, Serialize};

use super::{ApplicationState, ApplicationView, Impairment, Outcome};
use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::time::Timestamp;

/// The Master's answer to a request about one application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplicationAnswer {
    /// The application that has this id or name.
    Known(Box<ApplicationDetail>),
    /// No application has this id or name.
    Unknown,
    /// Several live applications have this name.
    Ambiguous {
        /// The ids of these applications, or the first of them if there are very many.
        apps: Vec<AppId>,
    },
}

/// The Master's answer to a request to end an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillAnswer {
    /// The application was ended.
    Killed {
        /// The application's id.
        app: AppId,
        /// The number of executors that it had.
        executors: u64,
        /// The number of cores that its executors had together.
        cores: Cores,
    },
    /// The application had ended before.
    Over {
        /// The application's id.
        app: AppId,
        /// How it ended.
        state: ApplicationState,
        /// What became of its work, if its driver said so.
        outcome: Option<Outcome>,
        /// The time when it ended.
        ended: Timestamp,
    },
    /// No application has this id or name.
    Unknown,
    /// Several live applications have this name. None was ended.
    Ambiguous {
        /// The ids of these applications, or the first of them if there are very many.
        apps: Vec<AppId>,
    },
}

/// The details of one application, live or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationDetail {
    /// The Master's time.
    pub now: Timestamp,
    /// The Master's URL, `spark://host:port`.
    pub master: String,
    /// The application with its live and ended executors, from the requested number on.
    pub application: ApplicationView,
    /// The number to request next, if there are more executors than fit one page.
    pub next_executor: Option<ExecutorId>,
    /// How the scheduler sees the application, if it is live. Only the first page has it.
    pub scheduling: Option<SchedulingStatus>,
}

/// How the scheduler sees a live application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingStatus {
    /// The application's own policy. `None`: the Master's.
    pub policy: Option<Policy>,
    /// The application's resource profiles, by number.
    pub profiles: Vec<ProfileView>,
    /// Cores that count against its maximum although their executors ended, since those are not replaced.
    pub cores_spent: Cores,
    /// The number of executors that failed in a row.
    pub failures: u32,
    /// No executor is launched before this time, because of those failures.
    pub relaunch_at: Option<Timestamp>,
    /// The Workers that are excluded for it, those that stay excluded longest first, at most [`MOST_EXCLUDED`].
    pub excluded: Vec<ExcludedWorker>,
    /// The number of excluded Workers that are not listed.
    pub more_excluded: u64,
    /// The Workers that are given nothing new because something is wrong with them, by id, at most [`MOST_EXCLUDED`].
    pub impaired: Vec<ImpairedWorker>,
    /// The number of live applications that are served before it and may have more than they hold: those of
    /// higher priority in its queue, and those of its priority that registered before it.
    pub ahead: u64,
    /// What it waits for besides room.
    pub hindrance: Option<Hindrance>,
    /// The sizes of the whole cluster.
    pub cluster: ClusterView,
    /// The other applications that hold the most cores, at most [`MOST_HOLDERS`].
    pub holders: Vec<Holder>,
    /// The number of other applications that hold cores and are not listed.
    pub more_holders: u64,
    /// The Workers that are late, those with the most executors of the application first, at most [`MOST_EXCLUDED`].
    pub late: Vec<LateWorker>,
    /// When it is expected to start, if room is reserved for it and enough of what runs says how long it runs.
    pub expected_start: Option<Timestamp>,
}

/// A Worker that has missed two heartbeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateWorker {
    /// The Worker's id.
    pub worker: WorkerId,
    /// The number of the application's executors there.
    pub executors: u64,
}

/// A Worker that is given nothing new because something is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpairedWorker {
    /// The Worker's id.
    pub worker: WorkerId,
    /// What is wrong.
    pub impairment: Impairment,
}

/// What an application waits for besides room for one more executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hindrance {
    /// It starts with several executors at once.
    Gang {
        /// The number of executors that it starts with.
        executors: u64,
        /// The number of executors for which it has room.
        room: u64,
        /// The number of executors for which room is reserved, by Worker. Only the first Workers are listed
        /// if there are very many.
        kept: Vec<(WorkerId, u64)>,
    },
    /// It starts with several executors at once, and the Workers have room for fewer even when they are
    /// empty.
    NeverFits {
        /// The number of executors that it starts with.
        executors: u64,
        /// The number of executors for which all Workers together have room.
        room: u64,
    },
    /// The free room is reserved for an application that starts with several executors at once and comes
    /// first.
    Reserved {
        /// The application's id.
        app: AppId,
        /// The name of that application.
        name: String,
        /// Whether it may use what is not reserved.
        backfill: bool,
    },
}

/// A Worker that is excluded for an application, or for all: executors ended there before they were proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedWorker {
    /// The Worker's id.
    pub worker: WorkerId,
    /// How executors ended there.
    pub end: EarlyEnd,
    /// The number of times in a row that they did. Executors that were launched together count once.
    pub times: u32,
    /// The Worker is excluded until then.
    pub until: Timestamp,
    /// Whether it is excluded for all applications: executors of several fail there, and run elsewhere.
    pub for_all: bool,
}

/// How an executor ended before it was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EarlyEnd {
    /// It could not be started, or ended with a code other than 0 or a signal.
    Failed,
    /// It ended with exit code 0.
    Finished,
}

/// Written as in `executors fail` and `executors end at once`.
impl fmt::Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "fail",
            Self::Finished => "end at once",
        })
    }
}

/// The maximum number of Workers listed in [`SchedulingStatus::excluded`].
pub const MOST_EXCLUDED: usize = 20;

/// The maximum number of Workers listed in [`Hindrance::Gang`].
pub const MOST_KEPT: usize = 20;

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gang { executors, room, kept } => {
                let room = if *room == 0 { "none".to_owned() } else { room.to_string() };
                write!(f, "it needs {executors} executors at once, and there is room for {room}")?;
                let workers = kept.len();
                match workers {
                    0 => Ok(()),
                    workers => {
                        write!(f, "; room is reserved for it on {}", counted(workers as u64, "Worker"))
                    }
                }
            }
            Self::NeverFits { executors, room } => write!(
                f,
                "it needs {executors} executors at once, and all Workers together have room for {room}: it can \
                 never begin on this cluster"
            ),
            Self::Reserved { app, name, backfill: true } => {
                write!(f, "free capacity is reserved for the gang of {app} ({name}), which comes first")
            }
            Self::Reserved { app, name, backfill: false } => write!(
                f,
                "the gang of {app} ({name}) comes first and waits; without backfill no application behind it gets executors"
            ),
        }
    }
}

/// The maximum number of applications listed as holders of cores.
pub const MOST_HOLDERS: usize = 10;

/// The sizes of all Workers together that are alive: see [`ClusterTotals`](super::ClusterTotals).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    /// The number of Workers.
    pub workers: u64,
    /// The number of cores.
    pub cores: Cores,
    /// The number of free cores that can be given away now.
    pub cores_free: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The amount of free memory that can be given away now.
    pub memory_free: MiB,
}

/// An application that holds cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The application's id.
    pub app: AppId,
    /// The name of that application.
    pub name: String,
    /// The number of cores.
    pub cores: Cores,
    /// The number of executors.
    pub executors: u64,
}

/// The executors of one resource profile: what they need, how many there are, and why there are no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileView {
    /// The profile's number.
    pub id: ProfileId,
    /// The cores of one executor.
    pub size: ExecutorSize,
    /// The memory of one executor.
    pub memory: MiB,
    /// The number of addresses that one executor needs of each custom resource.
    pub resources: ResourceAmounts,
    /// The maximum number of executors.
    pub limit: ExecutorLimit,
    /// The number of executors that have not ended.
    pub held: u64,
    /// Whether the application's own limits allow one more executor.
    pub may_have_more: bool,
    /// The number of Workers that are large enough for one executor when they are empty.
    pub large_enough: u64,
    /// The number of Workers that have room for one more executor now.
    pub with_room: u64,
    /// Why there are fewer executors than asked for, if so.
    pub shortfall: Option<Shortfall>,
    /// What would have to change for the next executor to be launched. Only the first profiles have it.
    pub outlook: Option<Outlook>,
    /// Changes to the request that would bring more executors at once. Only the first profiles have it.
    pub advice: Vec<Advice>,
}

crate::kinds!("ApplicationAnswer", ApplicationAnswer: Known Unknown Ambiguous);
crate::kinds!("KillAnswer", KillAnswer: Killed Over Unknown Ambiguous);
