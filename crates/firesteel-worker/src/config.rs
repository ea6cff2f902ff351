//! The settings that the Worker reads at its start, each with its default.

use std::time::Duration;

use firesteel_placement::MiB;
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{ExceededLimit, WorkerDescription};

use crate::ProcessMeasurement;

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
    /// How much executors and cluster drivers may use. They are held to it by the measurements.
    pub limits: Limits,
    /// The URL at which the Worker serves HTTP. `None`: it does not serve HTTP.
    pub web_address: Option<String>,
    /// `spark.worker.ui.retainedExecutors`: the number of ended executors that the Worker remembers, at least one.
    /// Spark's default is 1000.
    pub retained_executors: usize,
    /// The seed of the random generator for the pauses between attempts to register.
    pub seed: u64,
}

/// How much an executor or a cluster driver may use with all of its processes. By default there is no limit, as in
/// Spark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// `firesteel.worker.memoryOverheadFactor`: the memory beyond the granted one, as a fraction of it.
    pub memory_overhead: Option<f64>,
    /// `firesteel.worker.maxThreads`: the number of threads.
    pub threads: Option<u32>,
    /// `firesteel.worker.maxDiskSize`: the total length of the files in its directory, and of its part of the
    /// application's scratch directories.
    pub disk: Option<MiB>,
    /// `firesteel.worker.cpuQuota`: whether it uses no more processor time than the granted cores have. Only the kernel
    /// can see to that.
    pub is_held_to_cores: bool,
}

/// The least memory that an executor may use beyond the granted one. Spark on YARN, 4.0.1, adds as much.
const LEAST_OVERHEAD: MiB = MiB(384);

impl Limits {
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// How much memory a process may use that was granted this memory.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "memory is below 2^52 MiB"
    )]
    pub fn memory(&self, granted: MiB) -> Option<MiB> {
        let overhead = MiB((granted.0 as f64 * self.memory_overhead?) as i64).max(LEAST_OVERHEAD);
        Some(granted + overhead)
    }

    /// The limit that a process exceeds which was granted this memory.
    pub(crate) fn exceeded(&self, granted: MiB, measured: &ProcessMeasurement) -> Option<ExceededLimit> {
        let ProcessMeasurement { memory, threads, disk, cpu_millis: _ } = *measured;
        if let Some(allowed) = self.memory(granted).filter(|allowed| memory > bytes(*allowed)) {
            return Some(ExceededLimit::Memory { mib: short(allowed) });
        }
        if let Some(count) = self.threads.filter(|allowed| threads > u64::from(*allowed)) {
            return Some(ExceededLimit::Threads { count });
        }
        let allowed = self.disk.filter(|allowed| disk.is_some_and(|disk| disk > bytes(*allowed)))?;
        Some(ExceededLimit::Disk { mib: short(allowed) })
    }

    /// The limit for which the kernel killed a process that was granted this memory.
    pub(crate) fn exceeded_in_group(&self, granted: MiB) -> Option<ExceededLimit> {
        self.memory(granted).map(|allowed| ExceededLimit::MemoryOfGroup { mib: short(allowed) })
    }
}

/// An amount of memory or disk in bytes.
#[must_use]
pub fn bytes(size: MiB) -> u64 {
    u64::try_from(size.0).unwrap_or(0).saturating_mul(1 << 20)
}

fn short(size: MiB) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
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
