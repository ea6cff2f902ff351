//! How an application stands: what its failures led to, as that is written down.

use firesteel_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::exclusions::Blame;

/// What an application's failures led to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationStanding {
    pub(crate) in_a_row: u32,
    /// No executor is launched before this time.
    pub(crate) hold_until: Option<Timestamp>,
    /// Executors that started until then are proven, if they still run.
    pub(crate) proven_until: Option<Timestamp>,
    /// What it remembers of Workers, by their numbers.
    pub(crate) blame: Vec<(u64, Blame)>,
}
