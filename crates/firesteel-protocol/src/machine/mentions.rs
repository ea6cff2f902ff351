//! The ids that a log note mentions, as fields for programs.

use crate::ids::{AppId, DriverId, ExecutorId, ExecutorKey, PeerId, WorkerId};

/// The ids that a log note mentions. Its text contains them, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mentions<'a> {
    pub app: Option<&'a AppId>,
    pub executor: Option<ExecutorId>,
    pub worker: Option<&'a WorkerId>,
    pub driver: Option<&'a DriverId>,
    pub peer: Option<PeerId>,
}

impl<'a> Mentions<'a> {
    /// A note that names no id.
    pub const NONE: Self = Self { app: None, executor: None, worker: None, driver: None, peer: None };

    #[must_use]
    pub fn app(app: &'a AppId) -> Self {
        Self { app: Some(app), ..Self::NONE }
    }

    #[must_use]
    pub fn executor(key: &'a ExecutorKey) -> Self {
        Self { app: Some(&key.app), executor: Some(key.executor), ..Self::NONE }
    }

    #[must_use]
    pub fn worker(worker: &'a WorkerId) -> Self {
        Self { worker: Some(worker), ..Self::NONE }
    }

    #[must_use]
    pub fn driver(driver: &'a DriverId) -> Self {
        Self { driver: Some(driver), ..Self::NONE }
    }

    #[must_use]
    pub fn peer(peer: PeerId) -> Self {
        Self { peer: Some(peer), ..Self::NONE }
    }

    #[must_use]
    pub fn on(self, worker: &'a WorkerId) -> Self {
        Self { worker: Some(worker), ..self }
    }
}
