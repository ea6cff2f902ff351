//! A launcher's settings.

use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{ApplicationDescription, Relaunch};

#[derive(Clone, Debug)]
pub struct Config {
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    /// The application's description. The field `until` decides which of the executors are replaced.
    pub description: ApplicationDescription,
    /// The condition for the end of the application.
    pub until: Until,
    /// How long the launcher looks for its first Master.
    pub registration_timeout: Duration,
    /// How long the launcher waits for executors before it reports why some are missing.
    pub starvation_timeout: Duration,
    /// The seed of the generator for jitter.
    pub seed: u64,
}

/// The condition for the end of a launched application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The first executor has ended by itself.
    Any,
    /// All requested executors have ended by themselves.
    All,
    /// Only the user ends the application. The Master replaces an executor that ends.
    Never,
}

impl Until {
    /// Which executors the Master replaces before the application ends.
    #[must_use]
    pub fn relaunch(self) -> Relaunch {
        match self {
            Self::Any | Self::All => Relaunch::WhenLost,
            Self::Never => Relaunch::WhenEnded,
        }
    }
}
