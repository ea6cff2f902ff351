//! The recorded consequences of an application's failures.

use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::exclusions::Blame;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationStanding {
    pub(crate) in_a_row: u32,
    /// No executor is launched before this time.
    pub(crate) hold_until: Option<Timestamp>,
    /// Executors that started by this time are proven, if they still run.
    pub(crate) proven_until: Option<Timestamp>,
    /// The failure histories of Workers, by their numbers.
    pub(crate) blame: Vec<(u64, Blame)>,
}
