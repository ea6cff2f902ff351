//! A Worker's settings.

use std::time::Duration;

use crate::address::Address;
use crate::messages::WorkerDescription;

/// A Worker's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who it is and what it offers.
    pub description: WorkerDescription,
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    /// `spark.worker.maxRegistrationRetries`: after so many failed rounds without ever having been registered,
    /// the Worker gives up. Spark's default is 16.
    pub max_registration_retries: u32,
    /// How long an executor may take to end when asked, before it is killed. Spark's is 10 s.
    pub kill_grace: Duration,
    /// `spark.worker.cleanup.*`: when directories of ended applications are removed; `None`: never.
    pub cleanup: Option<Cleanup>,
    /// `spark.worker.ui.retainedExecutors`: how many ended executors are remembered, at least one. Spark's default
    /// is 1000.
    pub retained_executors: usize,
    /// Seeds the generator of the jitter.
    pub seed: u64,
}

/// When directories of applications that have ended are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleanup {
    /// `spark.worker.cleanup.interval`: how often they are looked for. Spark's default is half an hour.
    pub interval: Duration,
    /// `spark.worker.cleanup.appDataTtl`: for how long after the last writing they are kept. Spark's default is
    /// seven days.
    pub keep: Duration,
}
