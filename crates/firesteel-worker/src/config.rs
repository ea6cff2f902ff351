//! The settings that the Worker reads at its start, each with its default.

use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::messages::WorkerDescription;

#[derive(Clone, Debug)]
pub struct Config {
    pub description: WorkerDescription,
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    /// `spark.worker.maxRegistrationRetries`: a Worker that was never registered ends after this number of failed
    /// rounds. Spark's default is 16.
    pub max_registration_retries: u32,
    /// How long an executor may take to end before it is killed. Spark's default is 10 s.
    pub kill_grace: Duration,
    /// `spark.worker.driverTerminateTimeout`: how long a cluster driver may take to end before it is killed. Spark's
    /// default is 10 s.
    pub driver_kill_grace: Duration,
    /// `spark.worker.cleanup.*`: when directories of ended applications and executors are removed. `None`:
    /// never.
    pub cleanup: Option<Cleanup>,
    /// The pause between two checks whether processes can be started. `None`: no checks.
    pub try_pause: Option<Duration>,
    /// `firesteel.worker.maxDiskUsage`: the maximum used space of the work directory's disk, in percent. Above it, the
    /// Worker starts nothing new.
    pub max_disk_percent: u64,
    /// The pause between two measurements of usage. `None`: no measurements.
    pub usage_pause: Option<Duration>,
    /// The URL at which the Worker serves HTTP. `None`: it does not serve HTTP.
    pub web_address: Option<String>,
    /// `spark.worker.ui.retainedExecutors`: the number of ended executors that the Worker remembers, at least one.
    /// Spark's default is 1000.
    pub retained_executors: usize,
    /// The seed of the random generator for the pauses between attempts to register.
    pub seed: u64,
}

/// When directories of ended applications and executors are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleanup {
    /// `spark.worker.cleanup.interval`: how often the Worker searches for old directories. Spark's default is half an
    /// hour.
    pub interval: Duration,
    /// `spark.worker.cleanup.appDataTtl`: how long a directory is kept after the last write to it. Spark's
    /// default is seven days.
    pub keep: Duration,
    /// `firesteel.worker.cleanup.maxExecutors`: the number of ended executors whose directories are kept, at
    /// least one.
    pub max_executors: usize,
    /// `firesteel.worker.cleanup.maxSize`: the maximum total length of all files in directories of ended executors, in
    /// bytes. The directory of the latest executor is kept even if it is longer.
    pub max_bytes: u64,
}
