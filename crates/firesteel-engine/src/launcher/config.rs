//! A launcher's settings.

use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{ApplicationDescription, Relaunch};

/// A launcher's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    /// The application. `until` decides which of its executors are replaced.
    pub description: ApplicationDescription,
    /// When the application is over.
    pub until: Until,
    /// How long a first Master is looked for.
    pub registration_timeout: Duration,
    /// How long the launcher waits for executors before it says why there are fewer than asked for.
    pub starvation_timeout: Duration,
    /// The seed of the generator for jitter.
    pub seed: u64,
}

/// When a launched application is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When the first executor has ended by itself.
    Any,
    /// When all executors that were asked for have ended by themselves.
    All,
    /// Never by its executors: one that ends is replaced.
    Never,
}

impl Until {
    /// The executors that the Master replaces meanwhile.
    #[must_use]
    pub fn relaunch(self) -> Relaunch {
        match self {
            Self::Any | Self::All => Relaunch::WhenLost,
            Self::Never => Relaunch::WhenEnded,
        }
    }
}
