//! Which version of the protocol added which messages, and what messages share.
//!
//! A later version adds messages: variants at the end of the enum of a pair. Nothing inside an older message changes.
//!
//! Version 7 also gives parts of addresses and kinds of custom resources. They are in older messages, as values that version
//! 6 reads in its own way:
//!
//! - A kind is in the name of a resource, `gpu:A100`. A peer of version 6 takes it for a resource of that name, so an
//!   application gets the addresses of a kind only if it names the kind. Drivers and Workers are told of addresses under the
//!   name by which they were asked for.
//! - A part of an address is in the address, `0@0.25`. A Worker of version 6 takes it for an address of that name, and
//!   passes it on as it is: executors of version 7 read it right.
//! - An amount that is not whole is a number beyond 2^63. A Master of version 6 finds no Worker that has this number of addresses:
//!   the application waits, and is told so. A client of version 6 shows the number.
//!
//! A Worker of version 6 is not told of a cluster driver that has custom resources. Its order is repeated in vain until the
//! Worker is upgraded, which counts as the loss of the Worker.

use bytes::Bytes;
use firesteel_placement::Shortfall;
use firesteel_placement::shortfall::Reason;

use super::{
    ApplicationAnswer, ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, DriverToWorker,
    ExecutorLaunch, ExecutorToDriver, MasterToClient, MasterToDriver, MasterToWorker, WorkerToClient,
    WorkerToDriver, WorkerToMaster,
};
use crate::version::Version;
use crate::wire::Message;

impl Message for DriverToExecutor {}
impl Message for DriverToMaster {}
impl Message for DriverToWorker {}
impl Message for WorkerToDriver {}

impl Message for ExecutorToDriver {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::TaskGivenBack { .. }))
    }
}

impl Message for MasterToDriver {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::Shortfalls(all) if all.iter().any(|(_, shortfall)| is_new(shortfall))))
    }

    /// Drivers of version 6 are told the reason that comes closest of those that they know.
    fn to_version(self, version: Version) -> Self {
        match self {
            Self::Shortfalls(all) if version < Version(7) => {
                let known = |(profile, shortfall)| Some((profile, known_to_6(shortfall)?));
                Self::Shortfalls(all.into_iter().filter_map(known).collect())
            }
            other => other,
        }
    }
}

/// Whether version 6 does not know the reason.
fn is_new(shortfall: &Shortfall) -> bool {
    matches!(
        shortfall.reason,
        Reason::Impaired { .. } | Reason::Held { .. } | Reason::Paused { .. } | Reason::Avoided { .. }
    )
}

/// The shortfall with a reason that version 6 knows. None if it knows none that comes close.
fn known_to_6(shortfall: Shortfall) -> Option<Shortfall> {
    let reason = match shortfall.reason {
        Reason::Impaired { workers, .. } | Reason::Avoided { workers } => Reason::Excluded { workers },
        Reason::Held { workers, .. } => Reason::Busy { workers },
        Reason::Paused { .. } => return None,
        known => known,
    };
    Some(Shortfall { reason, ..shortfall })
}

impl Message for WorkerToMaster {
    fn since(&self) -> Version {
        since_7(matches!(
            self,
            Self::WorkerReported(_)
                | Self::ExecutorUsed { .. }
                | Self::DriverUsed { .. }
                | Self::DriverRestarted { .. }
        ))
    }
}

impl Message for MasterToWorker {
    fn since(&self) -> Version {
        since_7(matches!(self, Self::MasterWebAddress { .. } | Self::LaunchDriverWithResources { .. }))
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
                | Self::RequestPlacementRule
                | Self::RequestSubmitDriverWithResources { .. }
                | Self::RequestDriverResources { .. }
                | Self::RequestReservations
                | Self::RequestSchedulingSettings
                | Self::RequestRunTimes { .. }
        ))
    }
}

impl Message for MasterToClient {
    fn since(&self) -> Version {
        if let Self::ApplicationResponse(ApplicationAnswer::Known(detail)) = self {
            let profiles = detail.scheduling.iter().flat_map(|scheduling| &scheduling.profiles);
            return since_7(profiles.filter_map(|profile| profile.shortfall.as_ref()).any(is_new));
        }
        since_7(matches!(
            self,
            Self::WorkerReportsResponse(_)
                | Self::HistoryResponse(_)
                | Self::KillAllDriversResponse { .. }
                | Self::ClearCompletedResponse
                | Self::ApplicationNeedsResponse(_)
                | Self::PlacementRuleResponse { .. }
                | Self::DriverResourcesResponse(_)
                | Self::DriverResourcesRefused { .. }
                | Self::ReservationsResponse(_)
                | Self::SchedulingSettingsResponse(_)
                | Self::RunTimesResponse(_)
        ))
    }

    /// Clients of version 6 are told the reasons that drivers of that version are told.
    fn to_version(mut self, version: Version) -> Self {
        if let Self::ApplicationResponse(ApplicationAnswer::Known(detail)) = &mut self
            && version < Version(7)
        {
            for profile in detail.scheduling.iter_mut().flat_map(|scheduling| &mut scheduling.profiles) {
                profile.shortfall = profile.shortfall.take().and_then(known_to_6);
            }
        }
        self
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

#[cfg(test)]
mod tests {
    use firesteel_placement::shortfall::{Amounts, CoreHolder, Missing};

    use super::*;
    use crate::ids::ProfileId;

    #[test]
    fn drivers_of_version_6_are_told_each_new_reason_as_one_that_they_know() {
        let message = |reason| {
            let shortfall = Shortfall { missing: Missing::First, asked: Amounts::default(), reason };
            MasterToDriver::Shortfalls(vec![(ProfileId::DEFAULT, shortfall)])
        };
        let (workers, why) = (2, "does not answer".to_owned());
        let holder = CoreHolder::default();
        for (new, known) in [
            (Reason::Impaired { workers, why }, Reason::Excluded { workers }),
            (Reason::Held { workers: Vec::new(), holder, others: 1 }, Reason::Busy { workers: Vec::new() }),
            (Reason::Avoided { workers }, Reason::Excluded { workers }),
            (Reason::NoWorkers, Reason::NoWorkers),
        ] {
            let (new, known) = (message(new), message(known));
            assert_eq!(new.clone().to_version(Version(7)), new);
            assert_eq!((new.to_version(Version(6)), known.since()), (known.clone(), Version(6)));
        }
        let paused = message(Reason::Paused { failures: 2, millis: 100 });
        assert_eq!(paused.to_version(Version(6)), MasterToDriver::Shortfalls(Vec::new()));
    }
}
