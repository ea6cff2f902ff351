//! A driver's settings, with Spark's defaults.

use std::time::Duration;

use firesteel_placement::advanced::locality::Topology;
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{ApplicationDescription, HeartbeatRules};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::time::millis;

use super::tasks::exit_codes::ExitCodes;

#[derive(Clone, Debug)]
pub struct Config {
    /// The Masters to try, in this order.
    pub masters: Vec<Address>,
    pub description: ApplicationDescription,
    /// The secret that executors of the application know from the environment of their command.
    pub secret: Secret,
    /// `spark.task.maxFailures`: the number of failed attempts after which a task has failed. Spark's default
    /// is 4.
    pub max_task_failures: u32,
    /// `firesteel.task.fatalExitCodes`: the exit codes after which a task is not retried.
    pub fatal_exit_codes: ExitCodes,
    /// How the number of executors is decided.
    pub allocation: Allocation,
    /// The number of bytes of output that an attempt may send before the driver's owner has written them.
    pub output_credit: u64,
    /// How long the driver looks for its first Master. Spark's default is 60 s.
    pub registration_timeout: Duration,
    /// How long the driver waits for an executor before it reports why none comes. Spark's default is 15 s.
    pub starvation_timeout: Duration,
    /// `spark.standalone.executorRemoveDelayOnDisconnection`: how long the driver waits, after an executor's connection
    /// has ended, for the Master to report the executor's end. Spark's default is 5 s.
    pub loss_delay: Duration,
    /// `firesteel.executor.awayTimeout`: how long the driver waits for an executor to return after its connection
    /// ended. Zero: the end of the connection is the end of the executor.
    pub away_timeout: Duration,
    /// `firesteel.driver.executorTimeout`: an executor whose process runs must register within this time. Otherwise the
    /// driver requests another executor.
    pub executor_timeout: Duration,
    /// How a driver and its executors notice that the other side is silent.
    pub heartbeats: Heartbeats,
    /// The rack of each host.
    pub topology: Topology,
    /// How long cores are kept free for tasks that prefer to run nearby.
    pub locality_wait: LocalityWait,
    /// When executors and hosts are excluded.
    pub exclusion: ExclusionPolicy,
    /// The seed of the generator for jitter.
    pub seed: u64,
}

impl Config {
    /// The part of these settings that an executor needs.
    pub(super) fn rules(&self) -> HeartbeatRules {
        let Heartbeats { interval, max_failures, .. } = self.heartbeats;
        HeartbeatRules {
            interval_millis: millis(interval),
            patience_millis: millis(interval.saturating_mul(max_failures)),
            away_millis: millis(self.away_timeout),
        }
    }
}

/// How a driver and its executors notice that the other side is silent. Both send heartbeats. Every other message also
/// counts as a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeats {
    /// `spark.executor.heartbeatInterval`: the interval between two heartbeats, both from an executor to its driver and
    /// from the driver to the executor.
    pub interval: Duration,
    /// `spark.network.timeout`: an executor that sends nothing for this long is lost. Longer than the interval.
    pub timeout: Duration,
    /// `spark.executor.heartbeat.maxFailures`: an executor that receives nothing for this many intervals ends itself.
    pub max_failures: u32,
}

/// Spark's defaults: 10 s, 120 s, and 60 intervals.
impl Default for Heartbeats {
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), timeout: Duration::from_secs(120), max_failures: 60 }
    }
}

/// How long a task with preferred hosts waits before it may run farther from these hosts. Spark's default is 3 s for
/// each level (`spark.locality.wait`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalityWait {
    /// `spark.locality.wait.node`: how long a task waits for a preferred host.
    pub node: Duration,
    /// `spark.locality.wait.rack`: how long a task waits for the rack of a preferred host, after its wait for the host
    /// is over.
    pub rack: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The application sets the number itself.
    Fixed,
    /// The number follows the tasks.
    Dynamic(DynamicAllocation),
}

/// How the number of executors follows the tasks: `spark.dynamicAllocation.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicAllocation {
    /// The smallest number of executors wanted per profile.
    pub min: u64,
    /// The largest number of executors wanted per profile; at least `min`.
    pub max: u64,
    /// The number of executors of the default profile that is wanted at the start; between `min` and `max`.
    pub initial: u64,
    /// How long tasks wait before more executors are requested.
    pub backlog_timeout: Duration,
    /// The interval at which more executors are requested while tasks still wait. More than zero.
    pub sustained_timeout: Duration,
    /// How long an executor may be idle before the driver ends it.
    pub idle_timeout: Duration,
    /// The fraction of the executors that the tasks could keep busy and that is requested.
    pub ratio: Ratio,
}

impl DynamicAllocation {
    /// The number, limited to the range from `min` to `max`.
    #[must_use]
    pub fn clamp(&self, executors: u64) -> u64 {
        executors.min(self.max).max(self.min)
    }
}

/// A part of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(pub u32);

impl Ratio {
    /// The whole: 1,000,000 millionths.
    pub const ONE: Self = Self(1_000_000);

    /// This part of `count`, in millionths.
    pub(super) fn of(self, count: u64) -> u128 {
        u128::from(count) * u128::from(self.0)
    }
}

/// When executors and hosts are excluded, because tasks that fail there succeed elsewhere.
///
/// Source: Spark's driver, 4.0.1 (`spark.excludeOnFailure.*`). The defaults are Spark's, except that Spark excludes
/// nothing unless exclusion is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExclusionPolicy {
    /// `spark.excludeOnFailure.enabled`: the rule by which something is excluded.
    pub exclusion: Exclusion,
    /// `spark.excludeOnFailure.timeout`: with Spark's rule, how long an exclusion lasts, and how long a failed task
    /// counts.
    pub timeout: Duration,
    /// `spark.excludeOnFailure.application.maxFailedTasksPerExecutor`: with Spark's rule, an executor is excluded after
    /// this many tasks failed on it and succeeded elsewhere.
    pub max_failed_tasks_per_executor: u32,
    /// `spark.excludeOnFailure.application.maxFailedExecutorsPerNode`: with Spark's rule, this number of excluded
    /// executors, or of failed starts in a row, excludes their host.
    pub max_failed_executors_per_host: u32,
    /// `spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor`: a task that failed this many times on an executor runs
    /// on another executor, if there is one.
    pub max_task_attempts_per_executor: u32,
    /// `spark.excludeOnFailure.task.maxTaskAttemptsPerNode`: a task that failed this many times on a host runs on
    /// another host, if there is one.
    pub max_task_attempts_per_host: u32,
}

/// The rule by which executors and hosts are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// Firesteel's rule: an executor or host that is worse than the others is excluded for minutes.
    ByComparison,
    /// Spark's rule: an executor or host that reaches a limit of the policy is excluded.
    ByLimits,
    Off,
}

impl Default for ExclusionPolicy {
    fn default() -> Self {
        Self {
            exclusion: Exclusion::ByComparison,
            timeout: Duration::from_secs(3600),
            max_failed_tasks_per_executor: 2,
            max_failed_executors_per_host: 2,
            max_task_attempts_per_executor: 1,
            max_task_attempts_per_host: 2,
        }
    }
}
