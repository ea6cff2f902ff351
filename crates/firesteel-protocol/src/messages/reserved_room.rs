//! The resources that a Master reserves for gangs: applications that start with several executors at once.

use serde::{Deserialize, Serialize};

use crate::ids::AppId;
use crate::time::Timestamp;

/// An application for which the Master reserves resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservedRoom {
    pub app: AppId,
    /// The application's expected start, in the Master's time. By then, enough of the running executors should have
    /// ended. `None`: too few running applications have estimated run times.
    pub at: Option<Timestamp>,
    /// The number of executors that the application needs at once.
    pub executors: u64,
    /// The number of Workers on which resources are reserved.
    pub workers: u64,
}

impl ReservedRoom {
    /// The expected start of this application. `None`: no resources are reserved for it, or the time is not known.
    #[must_use]
    pub fn start_of(rooms: &[Self], app: &AppId) -> Option<Timestamp> {
        rooms.iter().find(|room| room.app == *app)?.at
    }
}
