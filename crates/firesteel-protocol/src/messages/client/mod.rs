//! Messages of status clients, with the read-only views that fill tables and JSON.
//!
//! - `worker`, `application`: rows of a Master's view.
//! - `own_view`: a Worker's view of itself.

mod application;
mod own_view;
mod worker;

use serde::{Deserialize, Serialize};

use super::{
    ApplicationAnswer, DecommissionAnswer, DriverDescription, DriverLogRequest, DriverView, HistoryPage,
    HistoryPlace, KillAnswer, KillDriverAnswer, LogPiece, LogRequest, RefusedLog, ReservedRoom, StatePage,
    StatePlace, SubmitDriverAnswer, WorkerReport,
};
use crate::ids::{DriverId, ExecutorId};
use crate::scheduling::SchedulingSettings;
use crate::time::Timestamp;
use crate::wire::Message;

pub use application::{ApplicationState, ApplicationView, ExecutorView};
pub use own_view::{RunningDriver, RunningExecutor, WorkerViewOfItself};
pub use worker::{Impairment, WorkerState, WorkerView};

/// A message from a status client to a Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
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

impl Message for ClientToMaster {}
impl Message for MasterToClient {}
impl Message for ClientToWorker {}
impl Message for WorkerToClient {}
