//! Evidence against a Worker from several applications.

use std::collections::BTreeSet;

use firesteel_protocol::ids::AppId;
use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The number of applications that must have failed on a Worker and have proven executors elsewhere.
const ENOUGH: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GlobalExclusion {
    /// The applications that failed there and had proven executors elsewhere, at most [`ENOUGH`]. Some may have ended.
    by: BTreeSet<AppId>,
    pub(crate) last_failure: Timestamp,
    /// The number of times in a row that the Worker was excluded.
    pub(crate) times: u32,
    pub(crate) until: Option<Timestamp>,
}

impl GlobalExclusion {
    /// Adds an application that failed there and has proven executors elsewhere.
    pub(crate) fn add(&mut self, app: &AppId) {
        if self.by.len() < ENOUGH {
            self.by.insert(app.clone());
        }
    }

    /// Whether enough applications failed there.
    pub(crate) fn is_enough(&self) -> bool {
        self.by.len() >= ENOUGH
    }

    /// Records that an executor that started at this time is proven there.
    pub(crate) fn lift(&mut self, started: Timestamp) {
        if self.until.is_none() && started >= self.last_failure {
            *self = Self::default();
        }
    }
}
