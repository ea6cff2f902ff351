//! The recorded consequences of an application's failures.

use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::exclusions::FailureHistory;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationHealth {
    pub(crate) in_a_row: u32,
    /// No executor is launched before this time.
    pub(crate) hold_until: Option<Timestamp>,
    /// Executors that started by this time are proven, if they still run.
    pub(crate) proven_until: Option<Timestamp>,
    /// The failure histories by the Workers' numbers.
    pub(crate) failure_history: Vec<(u64, FailureHistory)>,
}
