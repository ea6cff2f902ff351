//! Where the output of a task goes.

use firesteel_protocol::ids::TaskId;

use super::wait::Wait;
use super::{Phase, Place, Session};

/// Where the output of a task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the terminal.
    Console,
    /// Into the record of the background task.
    Record,
    /// To the map run, with all other reports on the task.
    Map,
    /// Nowhere: the session is leaving.
    Nowhere,
}

impl Session {
    /// Where the output of this task goes, as things are.
    #[must_use]
    pub fn route(&self, task: TaskId) -> Route {
        match &self.phase {
            Phase::Leaving { .. } | Phase::Closing { .. } | Phase::Ended => Route::Nowhere,
            Phase::Busy(Wait::Map { first, .. }) if task >= *first => Route::Map,
            Phase::Connecting | Phase::Gathering { .. } | Phase::Prompting | Phase::Busy(_) => {
                match self.tasks.get(task).map(|row| row.place) {
                    Some(Place::Background) => Route::Record,
                    Some(Place::Foreground) | None => Route::Console,
                }
            }
        }
    }
}
