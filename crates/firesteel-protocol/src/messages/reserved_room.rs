//! The room that a Master reserves for gangs: applications that start with several executors at once.

use serde::{Deserialize, Serialize};

use crate::ids::AppId;
use crate::time::Timestamp;

/// An application that room is reserved for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservedRoom {
    pub app: AppId,
    /// When it is expected to start, in the Master's time. By then, enough of the running executors should have ended.
    /// `None`: too few running applications have estimated run times.
    pub at: Option<Timestamp>,
    /// The number of executors that it needs at once.
    pub executors: u64,
    /// The number of Workers on which room is reserved.
    pub workers: u64,
}

impl ReservedRoom {
    /// When this application is expected to start. `None`: no room is reserved for it, or the time is not known.
    #[must_use]
    pub fn start_of(rooms: &[Self], app: &AppId) -> Option<Timestamp> {
        rooms.iter().find(|room| room.app == *app)?.at
    }
}
