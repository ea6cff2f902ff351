//! Evidence against a Worker from several applications.

use std::collections::BTreeSet;

use firesteel_protocol::ids::AppId;
use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The number of applications that must have failed on a Worker although they have proven executors on others.
const ENOUGH: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GlobalExclusion {
    /// The applications that failed on the Worker and had proven executors on others, at most [`ENOUGH`]. Some may have
    /// ended.
    by: BTreeSet<AppId>,
    pub(crate) last_failure: Timestamp,
    /// The number of times in a row that the Worker was excluded.
    pub(crate) times: u32,
    pub(crate) until: Option<Timestamp>,
}

impl GlobalExclusion {
    /// Adds an application that failed on the Worker and has proven executors on others.
    pub(crate) fn add(&mut self, app: &AppId) {
        if self.by.len() < ENOUGH {
            self.by.insert(app.clone());
        }
    }

    /// Whether enough applications failed on the Worker.
    pub(crate) fn is_enough(&self) -> bool {
        self.by.len() >= ENOUGH
    }

    /// Records that an executor that started at this time is proven on the Worker.
    pub(crate) fn lift(&mut self, started: Timestamp) {
        if self.until.is_none() && started >= self.last_failure {
            *self = Self::default();
        }
    }
}
