//! A driver's settings.

use std::time::Duration;

use firesteel_placement::locality::Topology;

use crate::address::Address;
use crate::messages::ApplicationDescription;

/// A driver's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    /// The application.
    pub description: ApplicationDescription,
    /// `spark.task.maxFailures`: a task that failed so often is given up. Spark's default is 4.
    pub max_task_failures: u32,
    /// Bytes of output that an attempt may have under way.
    pub output_credit: u64,
    /// How long to wait for a first Master before giving up. Spark's is 60 s.
    pub registration_timeout: Duration,
    /// How long to wait for an executor before saying why none comes. Spark's is 15 s.
    pub starvation_timeout: Duration,
    /// `spark.standalone.executorRemoveDelayOnDisconnection`: how long to wait for the Master's word on an
    /// executor whose connection ended. Spark's default is 5 s.
    pub loss_delay: Duration,
    /// Which host is in which rack.
    pub topology: Topology,
    /// How long cores are kept free for tasks that would like to be near.
    pub locality_wait: LocalityWait,
    /// Seeds the generator of the jitter.
    pub seed: u64,
}

/// How long a task with preferred hosts waits before it runs farther from them than it could. Spark's default is
/// 3 s each (`spark.locality.wait`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalityWait {
    /// `spark.locality.wait.node`: for a preferred host.
    pub node: Duration,
    /// `spark.locality.wait.rack`: for the rack of one, after that.
    pub rack: Duration,
}
