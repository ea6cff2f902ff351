//! The ids that a Master's notes name.

use firesteel_protocol::Mentions;

use crate::{Ignored, Note};

impl Note {
    /// The ids that the note names.
    #[must_use]
    pub fn mentions(&self) -> Mentions<'_> {
        match self {
            Self::WorkerRegistered { worker, .. }
            | Self::WorkerReconnected { worker }
            | Self::WorkerLeaving { worker }
            | Self::WorkerRefused { worker, .. }
            | Self::WorkerRemoved { worker, .. }
            | Self::WorkerImpaired { worker, .. }
            | Self::WorkerRecovered { worker }
            | Self::ForeignHeld { worker, .. }
            | Self::WorkerLeft { worker }
            | Self::WorkerLate { worker, .. }
            | Self::WorkerHeard { worker }
            | Self::WorkerDistrusted { worker, .. } => Mentions::worker(worker),
            Self::ApplicationReconnected { app }
            | Self::ApplicationRegistered { app, .. }
            | Self::ApplicationRemoved { app, .. }
            | Self::Reserved { app, .. }
            | Self::GangNeverFits { app, .. }
            | Self::ForeignDriverWaits { app, .. }
            | Self::RelaunchDelayed { app, .. } => Mentions::app(app),
            Self::WorkerExcluded { worker, app, .. } => Mentions::app(app).on(worker),
            Self::OrderRepeated { executor, worker }
            | Self::ExecutorLaunched { executor, worker, .. }
            | Self::EndedExecutorReturned { executor, worker, .. }
            | Self::UnknownExecutor { executor, worker } => Mentions::executor(executor).on(worker),
            Self::ExecutorPreempted { executor, .. } | Self::ExecutorEnded { executor, .. } => {
                Mentions::executor(executor)
            }
            Self::DriverSubmitted { driver, .. }
            | Self::DriverKillAsked { driver, .. }
            | Self::DriverEnded { driver, .. } => Mentions::driver(driver),
            Self::DriverLaunched { driver, worker, .. }
            | Self::DriverOrderRepeated { driver, worker }
            | Self::DriverReturned { driver, worker }
            | Self::UnknownDriver { driver, worker } => Mentions::driver(driver).on(worker),
            Self::Ignored { peer, reason } => Mentions { peer: Some(*peer), ..reason.mentions() },
            Self::Audited(audit) => audit.mentions(),
            Self::Recovered
            | Self::WorkersExcused { .. }
            | Self::Behind { .. }
            | Self::CaughtUp { .. }
            | Self::ApplicationRefused { .. }
            | Self::DriverRefused { .. }
            | Self::Inconsistent(_) => Mentions::NONE,
        }
    }
}

impl Ignored {
    fn mentions(&self) -> Mentions<'_> {
        match self {
            Self::OddState { executor, .. } | Self::UnknownExecutor { executor } => {
                Mentions::executor(executor)
            }
            Self::OddDriverState { driver, .. } | Self::UnknownDriver { driver } => Mentions::driver(driver),
            Self::NotRegistered | Self::NotItsOwn { .. } => Mentions::NONE,
        }
    }
}
