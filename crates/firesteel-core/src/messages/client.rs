//! Status clients, and the views that they are given: read-only copies for tables and JSON.

use firesteel_placement::{Cores, MiB, Policy, Resources, Strategy, WorkerOrder};
use serde::{Deserialize, Serialize};

use super::{ApplicationAnswer, ExecutorReport, ExecutorState, KillAnswer, LogPiece, LogRequest, RefusedLog};
use crate::ids::{AppId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use crate::master::{Backfill, Preemption, Queues};
use crate::time::Timestamp;

/// What a status client asks a Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientToMaster {
    /// Everything that a status page shows.
    RequestMasterState,
    /// One application, live or ended, with its executors.
    RequestApplication {
        /// Its id, or its name: that of the one live application that has it, or of the latest that ended.
        app: String,
        /// Executors with smaller numbers are left out: an answer has no more of them than fit a frame, and says
        /// where to ask on.
        executors_from: ExecutorId,
    },
    /// Ends an application.
    KillApplication {
        /// Its id, or its name: that of the one live application that has it, or of the latest that ended.
        app: String,
        /// Who wants it, for people: `ann@host`.
        by: String,
    },
}

/// What a Master answers a status client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MasterToClient {
    /// The state when the request was handled.
    MasterStateResponse(MasterView),
    /// The application when the request was handled.
    ApplicationResponse(ApplicationAnswer),
    /// What became of the wish to end it.
    KillApplicationResponse(KillAnswer),
}

/// What a status client asks a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientToWorker {
    /// Everything that a status page shows.
    RequestWorkerState,
    /// A piece of an executor's log.
    RequestLog(LogRequest),
}

/// What a Worker answers a status client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToClient {
    /// The state when the request was handled.
    WorkerStateResponse(WorkerViewOfItself),
    /// A piece of a log.
    LogResponse(LogPiece),
    /// There is no such piece.
    RequestLogFailed(RefusedLog),
}

/// A Master's tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MasterView {
    /// `spark://host:port`.
    pub url: String,
    /// The Master's time.
    pub now: Timestamp,
    /// How it decides.
    pub deciding: Deciding,
    /// Living Workers by id, then the dead ones that are still remembered.
    pub workers: Vec<WorkerView>,
    /// Live applications in the order in which they registered.
    pub applications: Vec<ApplicationView>,
    /// Ended applications, the latest last.
    pub completed: Vec<ApplicationView>,
    /// What did not fit the answer.
    pub left_out: LeftOut,
}

/// The settings by which a Master decides who gets what, where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciding {
    /// `firesteel.placement.policy`.
    pub policy: Policy,
    /// `spark.deploy.spreadOutApps`.
    pub strategy: Strategy,
    /// `spark.deploy.workerSelectionPolicy`.
    pub worker_order: WorkerOrder,
    /// `spark.deploy.defaultCores`.
    pub default_cores: Cores,
    /// `firesteel.master.queues`.
    pub queues: Queues,
    /// `firesteel.master.backfill`.
    pub backfill: Backfill,
    /// `firesteel.master.preemption`.
    pub preemption: Preemption,
}

/// How many rows did not fit an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The number of Workers.
    pub workers: u64,
    /// Live applications.
    pub applications: u64,
    /// Executors of the live applications that are shown.
    pub executors: u64,
    /// Ended applications.
    pub completed: u64,
}

/// A Worker, as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// The Worker's id.
    pub id: WorkerId,
    /// The host's name.
    pub host: String,
    /// The port's number.
    pub port: u16,
    /// The Worker's state.
    pub state: WorkerState,
    /// The number of cores.
    pub cores: Cores,
    /// Cores of its executors.
    pub cores_used: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// Memory of its executors.
    pub memory_used: MiB,
    /// The addresses of its custom resources.
    pub resources: Resources,
    /// Addresses of its executors.
    pub resources_used: Resources,
    /// When it was last heard from.
    pub last_heartbeat: Timestamp,
}

/// Where a Worker stands at its Master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkerState {
    /// Registered and heard from.
    Alive,
    /// About to end: it is given no more executors.
    Decommissioned,
    /// Gone; remembered for a while.
    Dead,
}

/// An application, as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationView {
    /// The application's id.
    pub id: AppId,
    /// The name, as given.
    pub name: String,
    /// The user who submitted it.
    pub user: String,
    /// The application's state.
    pub state: ApplicationState,
    /// Why it ended, in words, if it ended otherwise than well.
    pub end: Option<String>,
    /// When it was registered.
    pub submitted: Timestamp,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
    /// Its queue, if the Master has queues.
    pub queue: Option<String>,
    /// Its priority in its queue.
    pub priority: i32,
    /// How many executors it is given at once when it begins; 0 and 1: one by one.
    pub gang: u64,
    /// Cores that it may have; `None` if without limit.
    pub max_cores: Option<Cores>,
    /// Cores that it has.
    pub cores_granted: Cores,
    /// Memory of one executor of the default profile.
    pub memory_per_executor: MiB,
    /// How many of its executors have not ended.
    pub executors_live: u64,
    /// How many have.
    pub executors_ended: u64,
    /// How many of those are remembered no longer.
    pub executors_forgotten: u64,
    /// Its executors, by number. In a Master's state only those that have not ended; of one application by
    /// itself all that are remembered.
    pub executors: Vec<ExecutorView>,
}

/// Where an application stands. Source: Spark Master, 4.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ApplicationState {
    /// It never had an executor.
    Waiting,
    /// It was given an executor.
    Running,
    /// It said that it is done.
    Finished,
    /// It ended otherwise.
    Failed,
    /// Somebody else ended it.
    Killed,
}

/// An executor, as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorView {
    /// The executor's number.
    pub id: ExecutorId,
    /// The Worker's id.
    pub worker: WorkerId,
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of its custom resources.
    pub resources: Resources,
    /// The executor's state.
    pub state: ExecutorState,
    /// Its Worker's host.
    pub host: String,
    /// The port that its Worker listens on.
    pub port: u16,
    /// Its directory on its Worker, where its output is.
    pub directory: String,
    /// When its Worker was told to start it.
    pub launched: Timestamp,
    /// When its process was reported to run, if it ever was.
    pub started: Option<Timestamp>,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
}

/// A Worker's own tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerViewOfItself {
    /// The Worker's id.
    pub id: WorkerId,
    /// The Master it is registered with.
    pub master_url: Option<String>,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// Executors that have not ended, by application and number.
    pub executors: Vec<RunningExecutor>,
    /// The latest that ended, as many as it remembers, the last of them last.
    pub ended: Vec<ExecutorReport>,
}

/// An executor, as its Worker sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningExecutor {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The executor's state.
    pub state: ExecutorState,
    /// Its process, once it is one.
    pub pid: Option<u32>,
}
