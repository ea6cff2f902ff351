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
    /// The application's description.
    pub description: ApplicationDescription,
    /// `spark.task.maxFailures`: a task that failed so often is given up. Spark's default is 4.
    pub max_task_failures: u32,
    /// Who decides how many executors there are.
    pub allocation: Allocation,
    /// Bytes of output that an attempt may have under way.
    pub output_credit: u64,
    /// How long to wait for a first Master before giving up. Spark's is 60 s.
    pub registration_timeout: Duration,
    /// How long to wait for an executor before saying why none comes. Spark's is 15 s.
    pub starvation_timeout: Duration,
    /// `spark.standalone.executorRemoveDelayOnDisconnection`: how long to wait for the Master's word on an
    /// executor whose connection ended. Spark's default is 5 s.
    pub loss_delay: Duration,
    /// `firesteel.driver.executorTimeout`: how long to wait for an executor whose process runs to register before
    /// another one is asked for in its place.
    pub executor_timeout: Duration,
    /// Which host is in which rack.
    pub topology: Topology,
    /// How long cores are kept free for tasks that would like to be near.
    pub locality_wait: LocalityWait,
    /// When an executor or a host gets no more tasks.
    pub exclusion: ExclusionPolicy,
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

/// Who decides how many executors there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Whoever owns the application.
    Fixed,
    /// What there is to do.
    Dynamic(DynamicAllocation),
}

/// How the number of executors follows what there is to do: `spark.dynamicAllocation.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicAllocation {
    /// Never fewer than these are wanted of a profile.
    pub min: u64,
    /// Never more than these are wanted of a profile, and at least `min`.
    pub max: u64,
    /// So many are wanted of the default profile at the start: from `min` to `max`.
    pub initial: u64,
    /// Tasks wait so long before executors are asked for.
    pub backlog_timeout: Duration,
    /// While tasks still wait, more are asked for each time that so much has passed. More than zero.
    pub sustained_timeout: Duration,
    /// An executor that has nothing to do for so long is ended.
    pub idle_timeout: Duration,
    /// How much of what the tasks could keep busy is asked for.
    pub ratio: Ratio,
}

impl DynamicAllocation {
    /// The number, or the bound that it is beyond.
    #[must_use]
    pub fn clamp(&self, executors: u64) -> u64 {
        executors.min(self.max).max(self.min)
    }
}

/// A part of a whole, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(pub u32);

impl Ratio {
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// So much of it, in millionths.
    pub(super) fn of(self, count: u64) -> u128 {
        u128::from(count) * u128::from(self.0)
    }
}

/// When an executor or a host gets no more tasks, because what fails there succeeds elsewhere.
///
/// Source: Spark's driver, 4.0.1 (`spark.excludeOnFailure.*`, with its defaults but one: there nobody is excluded
/// unless asked).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExclusionPolicy {
    /// `spark.excludeOnFailure.enabled`: whether any is excluded at all.
    pub exclusion: Exclusion,
    /// `spark.excludeOnFailure.timeout`: how long an exclusion lasts, and a failure counts.
    pub timeout: Duration,
    /// `spark.excludeOnFailure.application.maxFailedTasksPerExecutor`: so many tasks that failed on an executor and
    /// succeeded elsewhere exclude it.
    pub max_failed_tasks_per_executor: u32,
    /// `spark.excludeOnFailure.application.maxFailedExecutorsPerNode`: so many excluded executors exclude their
    /// host, and so do as many in a row that never came to register.
    pub max_failed_executors_per_host: u32,
    /// `spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor`: a task that failed so often on an executor does not
    /// run there again while there is another one.
    pub max_task_attempts_per_executor: u32,
    /// `spark.excludeOnFailure.task.maxTaskAttemptsPerNode`: the same for a host.
    pub max_task_attempts_per_host: u32,
}

/// Whether executors and hosts are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// When it is their turn.
    On,
    /// Never.
    Off,
}

impl Default for ExclusionPolicy {
    fn default() -> Self {
        Self {
            exclusion: Exclusion::On,
            timeout: Duration::from_secs(3600),
            max_failed_tasks_per_executor: 2,
            max_failed_executors_per_host: 2,
            max_task_attempts_per_executor: 1,
            max_task_attempts_per_host: 2,
        }
    }
}
