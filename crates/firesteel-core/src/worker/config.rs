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
    /// Seeds the generator of the jitter.
    pub seed: u64,
}
