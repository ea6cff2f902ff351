//! One application in detail, for status clients: its requests, its executors, and why it does not have more executors.

use firesteel_placement::advanced::words::counted;
use firesteel_placement::explain::advice::Advice;
use firesteel_placement::explain::outlook::Outlook;
use firesteel_placement::{Cores, ExecutorLimit, ExecutorSize, MiB, Policy, ResourceAmounts, Shortfall};
use serde::{Deserialize, Serialize};

use super::{ApplicationState, ApplicationView, Impairment, Outcome};
use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::time::Timestamp;

/// The Master's answer to a request about one application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum ApplicationAnswer {
    Known(Box<ApplicationDetail>),
    Unknown,
    Ambiguous {
        /// The ids of these applications. If there are very many, only the first ones.
        apps: Vec<AppId>,
    },
}

/// The Master's answer to a request to end an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum KillAnswer {
    Killed {
        app: AppId,
        executors: u64,
        cores: Cores,
    },
    Over {
        app: AppId,
        state: ApplicationState,
        /// The result of the application's work, if its driver reported one.
        outcome: Option<Outcome>,
        ended: Timestamp,
    },
    Unknown,
    /// Several live applications have this name. None was ended.
    Ambiguous {
        /// The ids of these applications. If there are very many, only the first ones.
        apps: Vec<AppId>,
    },
}

/// The details of one application, live or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationDetail {
    pub now: Timestamp,
    /// The Master's URL, `spark://host:port`.
    pub master: String,
    /// The application with its live and ended executors. Executors with smaller numbers than the requested one are
    /// left out.
    pub application: ApplicationView,
    /// The number to request next, if there are more executors than fit one page.
    pub next_executor: Option<ExecutorId>,
    /// How the scheduler sees the application, if it is live. Only the first page has it.
    pub scheduling: Option<SchedulingStatus>,
}

/// How the scheduler sees a live application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingStatus {
    /// The application's own policy. `None`: the Master's policy applies.
    pub policy: Option<Policy>,
    pub profiles: Vec<ProfileView>,
    /// Cores of ended executors that are not replaced. They count towards the application's maximum.
    pub cores_spent: Cores,
    pub failures: u32,
    /// No executor is launched before this time, because executors failed.
    pub relaunch_at: Option<Timestamp>,
    /// The Workers excluded for the application, longest exclusion first, at most [`MOST_EXCLUDED`].
    pub excluded: Vec<ExcludedWorker>,
    /// The number of excluded Workers that are not listed.
    pub more_excluded: u64,
    /// The impaired Workers, which get no new executors, by id; at most [`MOST_EXCLUDED`].
    pub impaired: Vec<ImpairedWorker>,
    /// The number of live applications that are served before this one and may want more executors. They have a higher
    /// priority in its queue, or the same priority and an earlier registration.
    pub ahead: u64,
    /// What the application waits for besides free resources.
    pub blocker: Option<Blocker>,
    pub cluster: ClusterView,
    /// The other applications that hold the most cores, at most [`MOST_HOLDERS`].
    pub holders: Vec<Holder>,
    /// The number of other applications that hold cores and are not listed.
    pub more_holders: u64,
    /// The Workers that have missed heartbeats, at most [`MOST_EXCLUDED`]. Workers with more executors of the
    /// application come first.
    pub late: Vec<LateWorker>,
    /// The expected start. Known only if resources are reserved for the application and enough running applications
    /// have estimated run times.
    pub expected_start: Option<Timestamp>,
}

/// A Worker that has missed two heartbeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateWorker {
    pub worker: WorkerId,
    pub executors: u64,
}

/// A Worker that gets no new executors because something is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpairedWorker {
    pub worker: WorkerId,
    pub impairment: Impairment,
}

/// What an application waits for, besides free resources for one more executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum Blocker {
    /// The application starts with several executors at once.
    #[display(
        "it needs {executors} executors together, but there is room for {}{}",
        room_words(*room),
        reserved_on(kept.len())
    )]
    Gang {
        executors: u64,
        /// For how many of the application's executors there are free resources.
        room: u64,
        /// For how many executors resources are reserved on each Worker. If there are very many Workers, only the first
        /// are listed.
        kept: Vec<(WorkerId, u64)>,
    },
    /// The application starts with several executors at once, but not so many fit on the Workers, even if these were
    /// empty.
    #[display(
        "it needs {executors} executors together, but all Workers in sum have room for {room}: it can \
        never begin on this cluster"
    )]
    NeverFits {
        executors: u64,
        /// The number of executors that fit on all Workers together if these were empty.
        room: u64,
    },
    /// The free resources are reserved for another gang, which comes first.
    #[display("{}", reserved_for(app, name, *backfill))]
    Reserved {
        app: AppId,
        name: String,
        /// Whether applications behind the gang may use resources that are not reserved.
        backfill: bool,
    },
}

/// A Worker that is excluded for one application or for all, because executors ended there before they were proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedWorker {
    pub worker: WorkerId,
    pub end: EarlyEnd,
    /// The number of early ends in a row. Executors that were launched together count once.
    pub times: u32,
    pub until: Timestamp,
    /// Whether the Worker is excluded for all applications. This happens if executors of several applications fail
    /// there but run elsewhere.
    pub for_all: bool,
}

/// How an executor ended before it was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
#[serde(rename_all = "UPPERCASE")]
pub enum EarlyEnd {
    /// The executor could not be started, ended with an exit code other than 0, or was ended by a signal.
    #[display("fail")]
    Failed,
    /// The executor ended with exit code 0.
    #[display("end at once")]
    Finished,
}

/// The maximum number of Workers listed in [`SchedulingStatus::excluded`].
pub const MOST_EXCLUDED: usize = 20;

/// The maximum number of Workers listed in [`Blocker::Gang`].
pub const MOST_KEPT: usize = 20;

fn room_words(room: u64) -> String {
    if room == 0 { "none".to_owned() } else { room.to_string() }
}

fn reserved_on(workers: usize) -> String {
    match workers {
        0 => String::new(),
        workers => format!("; room is reserved for it on {}", counted(workers, "Worker")),
    }
}

fn reserved_for(app: &AppId, name: &str, backfill: bool) -> String {
    if backfill {
        format!("free capacity is reserved for the gang of {app} ({name}), which comes first")
    } else {
        format!(
            "the gang of {app} ({name}) comes first and waits; without backfill no application behind it gets executors"
        )
    }
}

/// The maximum number of applications listed as holders of cores.
pub const MOST_HOLDERS: usize = 10;

/// The total sizes of all living Workers: see [`ClusterTotals`](super::ClusterTotals).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterView {
    pub workers: u64,
    pub cores: Cores,
    /// The number of free cores that the Master can assign now.
    pub cores_free: Cores,
    pub memory: MiB,
    /// The amount of free memory that the Master can assign now.
    pub memory_free: MiB,
}

/// An application that holds cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub app: AppId,
    pub name: String,
    pub cores: Cores,
    pub executors: u64,
}

/// The executors of one resource profile: their needs, their number, and why there are not more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileView {
    pub id: ProfileId,
    pub size: ExecutorSize,
    pub memory: MiB,
    /// How much of each custom resource one executor needs.
    pub resources: ResourceAmounts,
    pub limit: ExecutorLimit,
    pub held: u64,
    /// Whether the application's own limits allow one more executor.
    pub may_have_more: bool,
    /// The number of Workers that could hold one executor if they were empty.
    pub large_enough: u64,
    /// The number of Workers that have enough free resources for one more executor now.
    pub with_room: u64,
    /// Why there are fewer executors than the application asked for, if this is the case.
    pub shortfall: Option<Shortfall>,
    /// The changes that would allow the next executor. Only the first profiles have it.
    pub outlook: Option<Outlook>,
    /// Changes to the request that would bring more executors at once. Only the first profiles have it.
    pub advice: Vec<Advice>,
}
