//! Messages of status clients, with the read-only views that fill tables and JSON.

use std::fmt;
use std::time::Duration;

use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use serde::{Deserialize, Serialize};

use super::{
    ApplicationAnswer, DecommissionAnswer, DriverDescription, DriverLogRequest, DriverView, ExecutorReport,
    ExecutorState, HistoryPage, HistoryPlace, KillAnswer, KillDriverAnswer, LogPiece, LogRequest, Outcome,
    RefusedLog, ReservedRoom, StatePage, StatePlace, SubmitDriverAnswer, Submitter, TimedReport,
    WorkerDescription, WorkerRemark, WorkerReport,
};
use crate::ids::{AppId, DriverId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use crate::label::Label;
use crate::scheduling::SchedulingSettings;
use crate::time::Timestamp;
use crate::wire::Message;

/// A message from a status client to a Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientToMaster {
    /// Asks for a page of everything that a status page shows.
    RequestMasterState {
        /// The place where the page begins.
        from: StatePlace,
    },
    /// Asks for one application, live or ended, with its executors.
    RequestApplication {
        /// The application's id or its name. A name means the only live application that has it, or else the
        /// latest ended one.
        app: String,
        /// Executors with smaller numbers are left out. An answer holds as many executors as fit a page, and
        /// says which number to request next.
        executors_from: ExecutorId,
    },
    /// Asks the Master to end an application.
    KillApplication {
        /// The application's id or its name. A name means the only live application that has it, or else the
        /// latest ended one.
        app: String,
        /// The user who asks for it: `ann@host`.
        by: String,
    },
    /// Asks whether the Master works, with everything behind it that it has been told before. Source: Spark's message
    /// of this name.
    RequestReadyz,
    /// Asks the Master to give Workers no more executors. They end when their executors have ended.
    DecommissionWorkers {
        /// A Worker's id, or a host: all Workers there.
        which: String,
        /// The time after which they end what still runs, in milliseconds.
        within_millis: Option<u64>,
    },
    /// Submits a cluster driver. Source: this message and the two after it have the names of Spark's.
    RequestSubmitDriver(Box<DriverDescription>),
    /// Asks the Master to end a cluster driver.
    RequestKillDriver {
        /// The cluster driver's id. If it was relaunched, its successor is ended.
        driver: DriverId,
        /// The user who asks for it: `ann@host`.
        by: String,
    },
    /// Asks for one cluster driver, live or ended.
    RequestDriverStatus {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// Asks for a page of what has ended.
    RequestHistory {
        /// The place where the page begins.
        from: HistoryPlace,
    },
    /// Asks the Master to end all cluster drivers. Source: this message and the next one have the names of Spark's.
    RequestKillAllDrivers {
        /// The user who asks for it: `ann@host`.
        by: String,
    },
    /// Asks the Master to forget the cluster drivers and applications that have ended.
    RequestClearCompletedDriversAndApps {
        /// The user who asks for it: `ann@host`.
        by: String,
    },
}

impl ClientToMaster {
    /// Whether it orders nothing.
    #[must_use]
    pub fn only_asks(&self) -> bool {
        match self {
            Self::RequestMasterState { .. }
            | Self::RequestApplication { .. }
            | Self::RequestReadyz
            | Self::RequestDriverStatus { .. }
            | Self::RequestHistory { .. } => true,
            Self::KillApplication { .. }
            | Self::DecommissionWorkers { .. }
            | Self::RequestSubmitDriver(_)
            | Self::RequestKillDriver { .. }
            | Self::RequestKillAllDrivers { .. }
            | Self::RequestClearCompletedDriversAndApps { .. } => false,
        }
    }
}

/// A message from a Master to a status client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MasterToClient {
    /// A page of the Master's state when it handled the request.
    MasterStateResponse(StatePage),
    /// The application when the Master handled the request.
    ApplicationResponse(ApplicationAnswer),
    /// The outcome of a request to end an application.
    KillApplicationResponse(KillAnswer),
    /// The Master works.
    ReadyzResponse,
    /// The outcome of a request to decommission Workers.
    DecommissionWorkersResponse(DecommissionAnswer),
    /// The outcome of a submission.
    SubmitDriverResponse(SubmitDriverAnswer),
    /// The outcome of a request to end a cluster driver.
    KillDriverResponse(KillDriverAnswer),
    /// The cluster driver when the Master handled the request, if the Master knows it.
    DriverStatusResponse(Option<Box<DriverView>>),
    /// A page of what has ended.
    HistoryResponse(HistoryPage),
    /// The Master ends all cluster drivers: this number of them.
    KillAllDriversResponse {
        /// The number of cluster drivers that lived.
        drivers: u64,
    },
    /// The Master has forgotten the cluster drivers and applications that had ended.
    ClearCompletedResponse,
}

/// A message from a status client to a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientToWorker {
    /// Asks for everything that a status page shows.
    RequestWorkerState,
    /// Asks for a piece of an executor's log.
    RequestLog(LogRequest),
    /// Asks for what the Worker reports of itself.
    RequestWorkerReport,
    /// Asks for a piece of a cluster driver's log.
    RequestDriverLog(DriverLogRequest),
}

/// A message from a Worker to a status client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToClient {
    /// The Worker's state when it handled the request.
    WorkerStateResponse(WorkerViewOfItself),
    /// The piece of a log that was asked for.
    LogResponse(LogPiece),
    /// The Worker does not send the piece.
    RequestLogFailed(RefusedLog),
    /// What the Worker reports of itself.
    WorkerReportResponse(Box<WorkerReport>),
}

/// A copy of a Master's tables. It is not sent at once, but in pages: see [`StatePage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterView {
    /// The Master's URL, `spark://host:port`.
    pub url: String,
    /// The Master's time when it made the first page.
    pub began: Timestamp,
    /// The Master's time when it made the last page. Each row is of a moment between these two.
    pub now: Timestamp,
    /// The URL at which the Master serves HTTP, if it does.
    pub web_address: Option<String>,
    /// The settings of its scheduler.
    pub scheduling: SchedulingSettings,
    /// The room that is reserved, in the order of serving.
    pub reserved: Vec<ReservedRoom>,
    /// How far it is behind with the messages of Workers and drivers, in milliseconds: how long they waited lately.
    pub lag_millis: u64,
    /// Living Workers by id, then dead ones that are still remembered.
    pub workers: Vec<WorkerView>,
    /// Live applications in the order of their registration.
    pub applications: Vec<ApplicationView>,
    /// Ended applications, the latest last.
    pub completed: Vec<ApplicationView>,
    /// The cluster drivers in the order of their submission, ended ones too.
    pub drivers: Vec<DriverView>,
    /// The number of executors that the reader did not ask for.
    pub unread_executors: u64,
}

impl MasterView {
    /// The state of a Master that has nothing, and has this URL.
    #[must_use]
    pub fn empty(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            web_address: None,
            began: Timestamp::default(),
            now: Timestamp::default(),
            scheduling: SchedulingSettings::default(),
            reserved: Vec::new(),
            lag_millis: 0,
            workers: Vec::new(),
            applications: Vec::new(),
            completed: Vec::new(),
            drivers: Vec::new(),
            unread_executors: 0,
        }
    }
}

/// A Worker as its Master sees it.
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
    /// The number of cores that its executors and cluster drivers hold.
    pub cores_used: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The amount of memory that its executors and cluster drivers hold.
    pub memory_used: MiB,
    /// The addresses of its custom resources.
    pub resources: Resources,
    /// The addresses that its executors hold.
    pub resources_used: Resources,
    /// The time of its last heartbeat.
    pub last_heartbeat: Timestamp,
    /// The number of live applications for which it is excluded, since their executors ended there too early.
    pub excluded_for: u64,
    /// The end of its exclusion for all applications, if it is excluded.
    pub excluded_until: Option<Timestamp>,
    /// Why it is given nothing new for now, if something is wrong with it.
    pub impairment: Option<Impairment>,
    /// What the Worker runs only, if it does not run executors of all applications.
    pub label: Option<Label>,
    /// How it is, if that is out of the ordinary.
    pub remark: Option<WorkerRemark>,
    /// What it reported of itself last, if it is alive and has.
    pub report: Option<Box<TimedReport>>,
}

/// Why a living Worker is given nothing new until that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Impairment {
    /// Its heartbeats come, and it does not answer orders to launch executors.
    Deaf,
    /// It can start no executors, for this reason.
    CannotStart(String),
}

impl fmt::Display for Impairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deaf => f.write_str("does not answer"),
            Self::CannotStart(error) => write!(f, "cannot start executors: {error}"),
        }
    }
}

impl WorkerView {
    /// A living Worker without executors, which was heard at this time.
    #[must_use]
    pub fn unused(worker: &WorkerDescription, last_heartbeat: Timestamp) -> Self {
        Self {
            id: worker.id.clone(),
            host: worker.host.clone(),
            port: worker.port,
            state: WorkerState::Alive,
            cores: worker.cores,
            cores_used: Cores::ZERO,
            memory: worker.memory,
            memory_used: MiB(0),
            resources: worker.resources.clone(),
            resources_used: Resources::default(),
            last_heartbeat,
            excluded_for: 0,
            excluded_until: None,
            impairment: None,
            label: worker.label.clone(),
            remark: None,
            report: None,
        }
    }
}

/// The state of a Worker at its Master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WorkerState {
    /// The Worker is registered and sends heartbeats.
    Alive,
    /// The Worker is about to end, and is given no more executors.
    Decommissioned,
    /// The Worker is lost. It is remembered for a while.
    Dead,
    /// The Worker has not returned since the Master was restarted, or runs executors of another Master.
    Unknown,
    /// The Worker has left in order. It is remembered for a while.
    Left,
}

impl WorkerState {
    /// Whether the Worker is lost or has left.
    #[must_use]
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Dead | Self::Left)
    }
}

/// An application as its Master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationView {
    /// The application's id.
    pub id: AppId,
    /// The application's name.
    pub name: String,
    /// The user who submitted it.
    pub user: String,
    /// The application's state.
    pub state: ApplicationState,
    /// Why it ended, in words, unless its driver said that it is done.
    pub end: Option<String>,
    /// What became of its work, if its driver said so when the application ended.
    pub outcome: Option<Outcome>,
    /// When it was registered.
    pub submitted: Timestamp,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
    /// The name of its queue, if the Master has queues.
    pub queue: Option<String>,
    /// Its priority within its queue.
    pub priority: i32,
    /// The number of executors that it needs at once to start. 0 and 1: executors come one by one.
    pub gang: u64,
    /// The maximum number of its cores. `None`: no limit.
    pub max_cores: Option<Cores>,
    /// The number of cores that it holds.
    pub cores_granted: Cores,
    /// The memory of one executor of the default profile.
    pub memory_per_executor: MiB,
    /// The number of addresses that it needs of each custom resource: by the default profile, or what an executor had if the
    /// application has ended.
    pub resources_per_executor: ResourceAmounts,
    /// How long it says that it runs, from its start to its end.
    pub run_time: Option<Duration>,
    /// The number of its executors that have not ended.
    pub executors_live: u64,
    /// The number of its executors that have ended.
    pub executors_ended: u64,
    /// The number of ended executors that are no longer remembered.
    pub executors_forgotten: u64,
    /// Its executors by number: in a Master's state those that have not ended, in an answer about one
    /// application all that are remembered.
    pub executors: Vec<ExecutorView>,
}

impl ApplicationView {
    /// An application that registered at this time, and has neither executors nor wishes.
    #[must_use]
    pub fn registered(id: AppId, submitter: Submitter, submitted: Timestamp) -> Self {
        let Submitter { name, user } = submitter;
        Self {
            id,
            name,
            user,
            state: ApplicationState::Waiting,
            end: None,
            outcome: None,
            submitted,
            ended: None,
            queue: None,
            priority: 0,
            gang: 0,
            max_cores: None,
            cores_granted: Cores::ZERO,
            memory_per_executor: MiB::ZERO,
            resources_per_executor: ResourceAmounts::new(),
            run_time: None,
            executors_live: 0,
            executors_ended: 0,
            executors_forgotten: 0,
            executors: Vec::new(),
        }
    }

    /// How it stands or ended, with what its driver said of its work: as in Spark it is FINISHED even if that failed.
    #[must_use]
    pub fn result(&self) -> ApplicationState {
        match (self.state, &self.outcome) {
            (ApplicationState::Finished, Some(Outcome::Failed(_))) => ApplicationState::Failed,
            (ApplicationState::Finished, Some(Outcome::Cancelled(_))) => ApplicationState::Killed,
            (state, _) => state,
        }
    }
}

/// The state of an application. Source: Spark Master, 4.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ApplicationState {
    /// The application has never had an executor.
    Waiting,
    /// The application was given an executor.
    Running,
    /// Its driver said that it is done.
    Finished,
    /// The application ended in another way.
    Failed,
    /// Another user or program ended it.
    Killed,
    /// Its driver has not returned since the Master was restarted. If it has ended: how its work ended is not known.
    Unknown,
}

/// An executor as its Master sees it.
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
    /// The host name of its Worker.
    pub host: String,
    /// The port that its Worker listens on.
    pub port: u16,
    /// The directory on its Worker with its output.
    pub directory: String,
    /// When the Worker was told to start it.
    pub launched: Timestamp,
    /// When its process was reported to run, if it was.
    pub started: Option<Timestamp>,
    /// When it ended, if it has.
    pub ended: Option<Timestamp>,
}

/// A copy of a Worker's own tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerViewOfItself {
    /// The Worker's id.
    pub id: WorkerId,
    /// The URL of the Master that it is registered with, if any.
    pub master_url: Option<String>,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The executors that have not ended, by application and number.
    pub executors: Vec<RunningExecutor>,
    /// The latest executors that ended, oldest first, as many as the Worker remembers.
    pub ended: Vec<ExecutorReport>,
    /// The cluster drivers that have not ended, by id.
    pub drivers: Vec<RunningDriver>,
}

impl WorkerViewOfItself {
    /// The number of cores that its executors and cluster drivers hold.
    #[must_use]
    pub fn cores_used(&self) -> Cores {
        let drivers = self.drivers.iter().map(|driver| driver.cores);
        self.executors.iter().map(|executor| executor.cores).chain(drivers).sum()
    }

    /// The amount of memory that they hold.
    #[must_use]
    pub fn memory_used(&self) -> MiB {
        let drivers = self.drivers.iter().map(|driver| driver.memory.0);
        MiB(self.executors.iter().map(|executor| executor.memory.0).chain(drivers).sum())
    }
}

/// An executor as its Worker sees it.
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
    /// The id of its process, once it has started.
    pub pid: Option<u32>,
}

/// A cluster driver as its Worker sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningDriver {
    /// The cluster driver's id.
    pub driver: DriverId,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// How often its process was started.
    pub starts: u32,
    /// The id of its process, while it runs.
    pub pid: Option<u32>,
}

impl Message for ClientToMaster {}
impl Message for MasterToClient {}
impl Message for ClientToWorker {}
impl Message for WorkerToClient {}

crate::kinds!("ClientToMaster", ClientToMaster: RequestMasterState RequestApplication KillApplication
    RequestReadyz DecommissionWorkers RequestSubmitDriver RequestKillDriver RequestDriverStatus
    RequestHistory RequestKillAllDrivers RequestClearCompletedDriversAndApps);
crate::kinds!("MasterToClient", MasterToClient: MasterStateResponse ApplicationResponse
    KillApplicationResponse ReadyzResponse DecommissionWorkersResponse SubmitDriverResponse KillDriverResponse
    DriverStatusResponse HistoryResponse KillAllDriversResponse ClearCompletedResponse);
crate::kinds!("ClientToWorker", ClientToWorker: RequestWorkerState RequestLog RequestWorkerReport RequestDriverLog);
crate::kinds!("WorkerToClient", WorkerToClient: WorkerStateResponse LogResponse RequestLogFailed
    WorkerReportResponse);
