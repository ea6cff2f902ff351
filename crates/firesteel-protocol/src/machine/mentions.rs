//! The ids that a log note mentions, as fields for programs.

use crate::ids::{AppId, DriverId, ExecutorId, ExecutorKey, PeerId, WorkerId};

/// The ids that a log note mentions. The note's text contains them, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mentions<'a> {
    pub app: Option<&'a AppId>,
    pub executor: Option<ExecutorId>,
    pub worker: Option<&'a WorkerId>,
    pub driver: Option<&'a DriverId>,
    pub peer: Option<PeerId>,
}

impl<'a> Mentions<'a> {
    /// The mentions of a note that names no id.
    pub const NONE: Self = Self { app: None, executor: None, worker: None, driver: None, peer: None };

    /// Adds the other ids to these mentions.
    #[must_use]
    pub fn and(self, others: impl Into<Self>) -> Self {
        let others = others.into();
        Self {
            app: others.app.or(self.app),
            executor: others.executor.or(self.executor),
            worker: others.worker.or(self.worker),
            driver: others.driver.or(self.driver),
            peer: others.peer.or(self.peer),
        }
    }
}

impl<'a> From<&'a AppId> for Mentions<'a> {
    fn from(app: &'a AppId) -> Self {
        Self { app: Some(app), ..Self::NONE }
    }
}

impl<'a> From<&'a ExecutorKey> for Mentions<'a> {
    fn from(key: &'a ExecutorKey) -> Self {
        Self { app: Some(&key.app), executor: Some(key.executor), ..Self::NONE }
    }
}

impl From<&ExecutorId> for Mentions<'_> {
    fn from(executor: &ExecutorId) -> Self {
        Self { executor: Some(*executor), ..Self::NONE }
    }
}

impl<'a> From<&'a WorkerId> for Mentions<'a> {
    fn from(worker: &'a WorkerId) -> Self {
        Self { worker: Some(worker), ..Self::NONE }
    }
}

impl<'a> From<&'a DriverId> for Mentions<'a> {
    fn from(driver: &'a DriverId) -> Self {
        Self { driver: Some(driver), ..Self::NONE }
    }
}

impl From<&PeerId> for Mentions<'_> {
    fn from(peer: &PeerId) -> Self {
        Self { peer: Some(*peer), ..Self::NONE }
    }
}
