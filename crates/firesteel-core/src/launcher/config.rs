//! A launcher's settings.

use std::time::Duration;

use crate::address::Address;
use crate::messages::{ApplicationDescription, Relaunch};

/// A launcher's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    /// The application. Which of its executors are replaced follows from `until`.
    pub description: ApplicationDescription,
    /// When it is over.
    pub until: Until,
    /// How long to wait for a first Master before giving up.
    pub registration_timeout: Duration,
    /// How long to wait for executors before saying why there are fewer than asked.
    pub starvation_timeout: Duration,
    /// Seeds the generator of the jitter.
    pub seed: u64,
}

/// When a launched application is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When the first of its executors ended by itself.
    Any,
    /// When all executors that were asked for have ended by themselves.
    All,
    /// Not by its executors: one that ended is replaced.
    Never,
}

impl Until {
    /// Which executors the Master replaces meanwhile.
    #[must_use]
    pub fn relaunch(self) -> Relaunch {
        match self {
            Self::Any | Self::All => Relaunch::WhenLost,
            Self::Never => Relaunch::WhenEnded,
        }
    }
}
