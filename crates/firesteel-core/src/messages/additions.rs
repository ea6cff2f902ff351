//! Which version of the protocol added which messages, and what messages share.
//!
//! A later version adds messages: variants at the end of the enum of a pair. Nothing inside an older message changes.

use bytes::Bytes;

use super::{
    ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, DriverToWorker, ExecutorLaunch,
    ExecutorToDriver, MasterToClient, MasterToDriver, MasterToWorker, WorkerToClient, WorkerToDriver,
    WorkerToMaster,
};
use crate::version::Version;
use crate::wire::Message;

impl Message for DriverToExecutor {}
impl Message for DriverToMaster {}
impl Message for DriverToWorker {}
impl Message for ExecutorToDriver {}
impl Message for MasterToDriver {}
impl Message for WorkerToDriver {}

impl Message for WorkerToMaster {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::WorkerReported(_) | Self::ExecutorUsed { .. } | Self::DriverUsed { .. }))
    }
}

impl Message for MasterToWorker {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::MasterWebAddress { .. }))
    }

    fn shared_end(&self) -> Option<Bytes> {
        let Self::LaunchExecutor(ExecutorLaunch { work, .. }) = self else { return None };
        Some(work.encoded())
    }
}

impl Message for ClientToMaster {
    fn since(&self) -> Version {
        since_7(matches!(
            self,
            Self::RequestWorkerReports { .. }
                | Self::RequestHistory { .. }
                | Self::RequestKillAllDrivers { .. }
                | Self::RequestClearCompletedDriversAndApps { .. }
                | Self::RequestApplicationNeeds { .. }
        ))
    }
}

impl Message for MasterToClient {
    fn since(&self) -> Version {
        since_7(matches!(
            self,
            Self::WorkerReportsResponse(_)
                | Self::HistoryResponse(_)
                | Self::KillAllDriversResponse { .. }
                | Self::ClearCompletedResponse
                | Self::ApplicationNeedsResponse(_)
        ))
    }
}

impl Message for ClientToWorker {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::RequestWorkerReport | Self::RequestDriverLog(_)))
    }
}

impl Message for WorkerToClient {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::WorkerReportResponse(_)))
    }
}

/// Version 7 if that one added it, and otherwise the oldest one.
fn since_7(added: bool) -> Version {
    if added { Version(7) } else { Version::OLDEST }
}
