//! How far a Master's state goes: what Workers and drivers remember of it, so that an older copy is noticed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The identity of a Master's state. It is drawn when a new state begins, and every later image of the state has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateId(pub u64);

/// Formats the identity as 16 hexadecimal digits.
impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// One run of a Master: from a start or an election until its end. The Master draws it at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u64);

/// A moment in a Master's state. Workers and drivers remember the latest one that their Master has told them, and show
/// it when they register again. A Master whose state does not contain this moment has an older copy of the state, or
/// the state of another cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateMark {
    pub state: StateId,
    pub run: RunId,
    /// The time of the latest durable decision.
    pub at: Timestamp,
    pub given: GivenNumbers,
}

/// A peer remembers marks of this number of states. A Worker may have more than one state if its Master was started
/// with the wrong state for a while.
pub const MOST_STATES: usize = 4;

impl StateMark {
    /// Remembers what a Master has told, instead of the earlier mark of the same state. `None`: the Master keeps no
    /// state.
    pub fn remember(told: Option<Self>, seen: &mut Vec<Self>) {
        let Some(told) = told else { return };
        seen.retain(|mark| mark.state != told.state);
        seen.push(told);
        let surplus = seen.len().saturating_sub(MOST_STATES);
        seen.drain(..surplus);
    }
}

/// The numbers that a Master has given so far. Numbers may be left out, but are never given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenNumbers {
    /// The lowest number that is above those of all executors of any application.
    pub executors: u32,
    /// The number of the next application.
    pub applications: u64,
    /// The number of the next cluster driver.
    pub drivers: u64,
}

impl GivenNumbers {
    /// Whether none of these numbers is greater than the other one.
    #[must_use]
    pub fn is_within(self, other: Self) -> bool {
        self.executors <= other.executors
            && self.applications <= other.applications
            && self.drivers <= other.drivers
    }
}
