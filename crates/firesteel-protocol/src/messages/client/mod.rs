//! Messages of status clients, with the read-only views that fill tables and JSON.
//!
//! - `worker`, `application`: rows of a Master's view.
//! - `own_view`: a Worker's view of itself.
//! - `requester`: who asks for a change.
//! - `joining`: machines without a secret, and the administrators who admit them.

mod application;
mod joining;
mod own_view;
mod requester;
mod worker;

use serde::{Deserialize, Serialize};

use super::{
    ApplicationAnswer, DecommissionAnswer, DriverDescription, DriverLogRequest, DriverView, HistoryCursor,
    HistoryPage, KillAnswer, KillDriverAnswer, LogPiece, LogRange, LogRequest, RefusedLog, ReservedRoom,
    StateCursor, StatePage, SubmitDriverAnswer, WorkerReport,
};
use crate::ids::{DriverId, ExecutorId};
use crate::process::name_proven_user;
use crate::scheduling::SchedulingSettings;
use crate::time::Timestamp;
use crate::version::Version;
use crate::wire::Message;

pub use application::{ApplicationState, ApplicationView, ExecutorView};
pub use joining::{JoiningToMaster, LONGEST_HOST, MasterToJoining, WaitingMachine, number};
pub use own_view::{RunningDriver, RunningExecutor, WorkerViewOfItself};
pub use requester::{Requester, Rights};
pub use worker::{Impairment, WorkerState, WorkerView};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum ClientToMaster {
    /// Asks for one page of the Master's state, as status pages show it.
    RequestMasterState {
        from: StateCursor,
    },
    RequestApplication {
        /// The application's id or name. A name means the only live application with this name. If none is live, it
        /// means the latest ended one.
        app: String,
        /// Leaves out executors with smaller numbers. An answer contains as many executors as fit on a page, and the
        /// number to request next.
        executors_from: ExecutorId,
    },
    KillApplication {
        /// The application's id or name. A name means the only live application with this name. If none is live, it
        /// means the latest ended one.
        app: String,
        by: Requester,
    },
    /// Asks whether the Master works. The Master answers after it has handled all earlier messages and their changes
    /// are durable. Source: Spark's message of this name.
    RequestReadyz,
    /// Asks the Master to give Workers no more executors. These Workers end when their executors have ended.
    DecommissionWorkers {
        which: String,
        /// The time after which a Worker ends all executors and drivers that still run, in milliseconds.
        within_millis: Option<u64>,
        #[serde(default)]
        by: Requester,
    },
    /// Submits a cluster driver. Source: Spark has this message and the next two, with the same names.
    RequestSubmitDriver(Box<DriverDescription>),
    RequestKillDriver {
        /// The cluster driver's id. If it was relaunched, its successor is ended instead.
        driver: DriverId,
        by: Requester,
    },
    RequestDriverStatus {
        driver: DriverId,
    },
    RequestHistory {
        from: HistoryCursor,
    },
    /// Asks the Master to end all cluster drivers. Source: Spark has this message and the next one, with the same
    /// names.
    RequestKillAllDrivers {
        by: Requester,
    },
    /// Asks the Master to forget the cluster drivers and applications that have ended.
    RequestClearCompletedDriversAndApps {
        by: Requester,
    },
    /// Asks for a piece of a log, which the Master reads from the Worker that has it.
    RequestLog {
        range: LogRange,
        by: Requester,
    },
}

impl ClientToMaster {
    /// Gives the requester these rights, and the name of the user whom the connection's secret proves. What he submits
    /// belongs to this user.
    pub fn prove(&mut self, user: Option<&str>, rights: Rights) {
        match self {
            Self::KillApplication { by, .. }
            | Self::DecommissionWorkers { by, .. }
            | Self::RequestKillDriver { by, .. }
            | Self::RequestKillAllDrivers { by }
            | Self::RequestClearCompletedDriversAndApps { by }
            | Self::RequestLog { by, .. } => by.prove(user, rights),
            Self::RequestSubmitDriver(description) => {
                name_proven_user(&mut description.command.environment, user);
                if let Some(user) = user {
                    requester::rename(&mut description.user, user);
                }
            }
            Self::RequestMasterState { .. }
            | Self::RequestApplication { .. }
            | Self::RequestReadyz
            | Self::RequestDriverStatus { .. }
            | Self::RequestHistory { .. } => {}
        }
    }

    /// Who asks for a change of what is there, or for a log. `None`: everybody may ask, or it submits something of its
    /// own.
    #[must_use]
    pub fn requester(&self) -> Option<&Requester> {
        match self {
            Self::KillApplication { by, .. }
            | Self::DecommissionWorkers { by, .. }
            | Self::RequestKillDriver { by, .. }
            | Self::RequestKillAllDrivers { by }
            | Self::RequestClearCompletedDriversAndApps { by }
            | Self::RequestLog { by, .. } => Some(by),
            Self::RequestMasterState { .. }
            | Self::RequestApplication { .. }
            | Self::RequestReadyz
            | Self::RequestSubmitDriver(_)
            | Self::RequestDriverStatus { .. }
            | Self::RequestHistory { .. } => None,
        }
    }

    /// Whether the message is only a question, which changes nothing.
    #[must_use]
    pub fn only_asks(&self) -> bool {
        match self {
            Self::RequestMasterState { .. }
            | Self::RequestApplication { .. }
            | Self::RequestReadyz
            | Self::RequestDriverStatus { .. }
            | Self::RequestHistory { .. }
            | Self::RequestLog { .. } => true,
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
        /// The number of cluster drivers that were live when the Master handled the request.
        drivers: u64,
    },
    /// The Master has forgotten the cluster drivers and applications that had ended.
    ClearCompletedResponse,
    /// The requester may not change or read this, for this reason. Nothing was changed.
    RequestForbidden {
        why: String,
    },
    LogResponse(LogPiece),
    /// The log cannot be read, for this reason.
    RequestLogFailed {
        why: String,
    },
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
    /// The Worker's state, as of the time when the Worker handled the request.
    WorkerStateResponse(WorkerViewOfItself),
    LogResponse(LogPiece),
    /// The Worker refuses to send the piece of the log.
    RequestLogFailed(RefusedLog),
    WorkerReportResponse(Box<WorkerReport>),
}

/// A copy of a Master's tables. The Master sends it in pages: see [`StatePage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MasterView {
    /// The Master's URL, `spark://host:port`.
    pub url: String,
    /// The Master's time when it made the first page.
    pub began: Timestamp,
    /// The Master's time when it made the last page. Each row shows the state at some moment between `began` and `now`.
    pub now: Timestamp,
    /// The URL at which the Master serves HTTP. `None`: it does not serve HTTP.
    pub web_address: Option<String>,
    pub scheduling: SchedulingSettings,
    /// The reserved resources, in the order in which the applications are served.
    pub reserved: Vec<ReservedRoom>,
    /// How long messages of Workers and drivers waited lately before the Master handled them, in milliseconds.
    pub lag_millis: u64,
    /// Living Workers by id, then dead Workers that the Master still remembers.
    pub workers: Vec<WorkerView>,
    /// Live applications in the order of registration.
    pub applications: Vec<ApplicationView>,
    /// Ended applications, the latest at the end.
    pub completed: Vec<ApplicationView>,
    /// Cluster drivers, live and ended, in the order of submission.
    pub drivers: Vec<DriverView>,
    /// The number of executors that the client did not ask for.
    pub unread_executors: u64,
    /// Whether other machines can connect to the Master without a secret.
    pub is_exposed: bool,
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
            is_exposed: false,
        }
    }
}

impl Message for ClientToMaster {
    fn since(&self) -> Version {
        match self {
            Self::RequestLog { .. } => Version(9),
            _ => Version::OLDEST,
        }
    }
}
impl Message for MasterToClient {
    fn since(&self) -> Version {
        match self {
            Self::LogResponse(_) | Self::RequestLogFailed { .. } => Version(9),
            _ => Version::OLDEST,
        }
    }
}
impl Message for ClientToWorker {}
impl Message for WorkerToClient {}
