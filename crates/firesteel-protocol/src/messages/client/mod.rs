//! Messages of status clients, with the read-only views that fill tables and JSON.
//!
//! - `worker`, `application`: rows of a Master's view.
//! - `own_view`: a Worker's view of itself.

mod application;
mod own_view;
mod worker;

use serde::{Deserialize, Serialize};

use super::{
    ApplicationAnswer, DecommissionAnswer, DriverDescription, DriverLogRequest, DriverView, HistoryCursor,
    HistoryPage, KillAnswer, KillDriverAnswer, LogPiece, LogRequest, RefusedLog, ReservedRoom, StateCursor,
    StatePage, SubmitDriverAnswer, WorkerReport,
};
use crate::ids::{DriverId, ExecutorId};
use crate::scheduling::SchedulingSettings;
use crate::time::Timestamp;
use crate::wire::Message;

pub use application::{ApplicationState, ApplicationView, ExecutorView};
pub use own_view::{RunningDriver, RunningExecutor, WorkerViewOfItself};
pub use worker::{Impairment, WorkerState, WorkerView};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum ClientToMaster {
    /// Asks for a page of everything that a status page shows.
    RequestMasterState {
        from: StateCursor,
    },
    RequestApplication {
        /// The application's id or its name. A name means the only live application that has it, or else the
        /// latest ended one.
        app: String,
        /// Executors with smaller numbers are left out. An answer holds as many executors as fit a page, and
        /// says which number to request next.
        executors_from: ExecutorId,
    },
    KillApplication {
        /// The application's id or its name. A name means the only live application that has it, or else the
        /// latest ended one.
        app: String,
        /// The user who asks for it: `ann@host`.
        by: String,
    },
    /// Asks whether the Master works. The answer comes after all earlier messages were handled and their changes are
    /// durable. Source: Spark's message of this name.
    RequestReadyz,
    /// Asks the Master to give Workers no more executors. These Workers end when their executors have ended.
    DecommissionWorkers {
        which: String,
        /// The time after which they end everything that still runs, in milliseconds.
        within_millis: Option<u64>,
    },
    /// Submits a cluster driver. Source: Spark, for the names of this message and the next two.
    RequestSubmitDriver(Box<DriverDescription>),
    RequestKillDriver {
        /// The cluster driver's id. If it was relaunched, its successor is ended.
        driver: DriverId,
        /// The user who asks for it: `ann@host`.
        by: String,
    },
    RequestDriverStatus {
        driver: DriverId,
    },
    RequestHistory {
        from: HistoryCursor,
    },
    /// Asks the Master to end all cluster drivers. Source: Spark, for the names of this message and the next one.
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
    /// Whether the message only asks and changes nothing.
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum MasterToClient {
    /// A page of the state, as of the time when the Master handled the request.
    MasterStateResponse(StatePage),
    /// The application, as of the time when the Master handled the request.
    ApplicationResponse(ApplicationAnswer),
    KillApplicationResponse(KillAnswer),
    ReadyzResponse,
    DecommissionWorkersResponse(DecommissionAnswer),
    SubmitDriverResponse(SubmitDriverAnswer),
    KillDriverResponse(KillDriverAnswer),
    /// The cluster driver, as of the time when the Master handled the request. `None`: the Master does not know it.
    DriverStatusResponse(Option<Box<DriverView>>),
    HistoryResponse(HistoryPage),
    KillAllDriversResponse {
        /// The number of cluster drivers that were live.
        drivers: u64,
    },
    /// The Master has forgotten the cluster drivers and applications that had ended.
    ClearCompletedResponse,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum ClientToWorker {
    RequestWorkerState,
    RequestLog(LogRequest),
    RequestWorkerReport,
    RequestDriverLog(DriverLogRequest),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum WorkerToClient {
    /// The Worker's state, as of the time when it handled the request.
    WorkerStateResponse(WorkerViewOfItself),
    LogResponse(LogPiece),
    /// The Worker does not send the piece.
    RequestLogFailed(RefusedLog),
    WorkerReportResponse(Box<WorkerReport>),
}

/// A copy of a Master's tables. It is not sent at once, but in pages: see [`StatePage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterView {
    /// The Master's URL, `spark://host:port`.
    pub url: String,
    /// The Master's time when it made the first page.
    pub began: Timestamp,
    /// The Master's time when it made the last page. Each row shows a moment between these two times.
    pub now: Timestamp,
    /// The URL at which the Master serves HTTP, if it does.
    pub web_address: Option<String>,
    pub scheduling: SchedulingSettings,
    /// The room that is reserved, in the order of serving.
    pub reserved: Vec<ReservedRoom>,
    /// How long messages of Workers and drivers waited lately before the Master handled them, in milliseconds.
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
    /// The state of a Master with this URL and without any rows.
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
