//! The settings that the Master reads at its start, each with its default.

use std::time::Duration;

use firesteel_placement::Rule;
use firesteel_placement::{Cores, Policy, Strategy, WorkerOrder};
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::{PageSize, RunId};
use firesteel_protocol::scheduling::queues::Queues;
use firesteel_protocol::scheduling::{
    Backfill, GangPreemption, Preemption, SchedulingSettings, ServingOrder,
};

use super::limits::Limits;

/// A Master's settings. `Default` has Spark's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub url: String,
    /// The URL at which the Master serves HTTP, if it does. The daemon sets it, not the user.
    pub web_address: Option<String>,
    /// Until when other machines can connect to the Master without a secret. The daemon sets it, not the user.
    pub exposed_until: Timestamp,
    /// The place of the Master's state, in words for people. The daemon sets it, not the user.
    pub state_place: String,
    /// The number of this run of the Master, which the daemon draws at each start. A new state takes it as its
    /// identity. 0: the state has no identity, so nobody remembers how far it goes.
    pub run: RunId,
    /// Whether the end of the Master's state is missing, so that it counts as older than what peers have seen.
    pub is_cut: bool,
    /// What a new Master does with executors of applications that are not in its state.
    pub foreign: UnknownExecutors,
    /// `spark.worker.timeout`: a Worker that sends no heartbeat for this time is lost. Workers must send a heartbeat
    /// every quarter of this time.
    pub worker_timeout: Duration,
    /// The setting `spark.deploy.spreadOutApps`.
    pub strategy: Strategy,
    /// The setting `spark.deploy.workerSelectionPolicy`.
    pub worker_order: WorkerOrder,
    /// `firesteel.placement.policy`: the rule for applications that name no policy.
    pub rule: Rule,
    /// `spark.deploy.defaultCores`: the maximum of cores of an application that sets none.
    pub default_cores: Cores,
    /// `spark.deploy.maxExecutorRetries`: an application is ended after this number of failed executors in a row.
    pub retries: Retries,
    /// `firesteel.executor.provenAfter`: an executor that runs for this time is proven, and resets the count of
    /// failures. In Spark, an executor is proven as soon as its process has started. So Spark relaunches an executor
    /// that crashes at once for ever. Zero has the same effect in Firesteel.
    pub proven_after: Duration,
    /// `firesteel.master.exclusion.delay` and `firesteel.master.exclusion.maxDelay`: how long a Worker is excluded for
    /// an application after an executor ended there before it was proven.
    pub exclusion: Exclusion,
    /// The number in the ids of the first application and of the first cluster driver. An id contains the second of its
    /// creation and a number. So a Master that restarts within a second must begin with another number.
    pub first_application: u64,
    /// `spark.deploy.retainedApplications`: the number of ended applications that the Master remembers.
    pub retained_applications: usize,
    /// `spark.deploy.spreadOutDrivers`: whether cluster drivers are spread over the Workers.
    pub driver_strategy: Strategy,
    /// `spark.deploy.maxDrivers`: the maximum number of cluster drivers that run at the same time.
    pub max_drivers: usize,
    /// `spark.deploy.retainedDrivers`: the number of ended cluster drivers that the Master remembers.
    pub retained_drivers: usize,
    /// `firesteel.master.queues`: the queues that share the cluster, with their weights.
    pub queues: Queues,
    /// `firesteel.master.backfill`: whether applications that come after a reservation are served.
    pub backfill: Backfill,
    /// `firesteel.master.reservations`: the maximum number of waiting gangs for which resources are reserved.
    pub reservations: usize,
    /// `firesteel.master.order`: the order of applications with the same queue and the same priority.
    pub order: ServingOrder,
    /// `firesteel.master.preemption` and `firesteel.master.preemption.interval`: whether executors of lower priority
    /// are ended to free resources, and how many.
    pub preemption: Preemption,
    /// `firesteel.master.preemption.gangPatience` and `firesteel.master.preemption.gangReach`: when executors of the
    /// same priority may be ended for a waiting gang, and which ones. `None`: never.
    pub gang_preemption: Option<GangPreemption>,
    /// `spark.dead.worker.persistence`: the Master remembers a lost Worker for this number of timeouts, plus one.
    pub dead_worker_persistence: u32,
    pub history: HistoryLimits,
    /// `spark.deploy.recoveryMode`: whether the Master records its decisions, so that it can be recovered.
    pub durability: Durability,
    /// `spark.deploy.recoveryTimeout`: how long a recovered Master waits for its Workers and applications to return.
    pub recovery_timeout: Duration,
    /// `firesteel.master.awayTimeout`: how long a Worker or driver may be away after its connection ended without a
    /// goodbye. Zero is Spark's rule: it is lost at once.
    pub away_timeout: Duration,
    /// The size of one answer to a status client. This is not a setting. It limits how long an answer keeps the Master
    /// busy.
    pub page: PageSize,
    /// The maximum amounts that Workers and applications may register with.
    pub limits: Limits,
    /// `firesteel.master.resourceShares`: whether several executors may share an address.
    pub resource_shares: ResourceShares,
}

/// Whether executors may have fractions of addresses of custom resources, so that several executors share one. Spark's
/// Master gives only whole addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResourceShares {
    /// The Master refuses an application that asks for a fraction of an address.
    #[default]
    Refused,
    /// Executors get the fractions that they ask for.
    Allowed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownExecutors {
    /// The Master leaves the executors alone for `recovery_timeout` while its state is new.
    #[default]
    Held,
    /// The Master ends the executors at once, because the user who started it asked for this.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// `firesteel.master.history.maxAge`: entries that ended longer ago than this are dropped.
    pub age: Duration,
    /// `firesteel.master.history.maxSize`: the maximum total length of all rows in encoded form, in bytes.
    pub bytes: u64,
}

impl Default for HistoryLimits {
    /// 30 days and 4 MiB for the whole history.
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 86_400), bytes: 4 << 20 }
    }
}

/// Whether a Master records its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The Master records nothing, and forgets everything when it ends.
    Volatile,
    /// The Master records its decisions with [`Effect::Persist`](super::Effect::Persist).
    Durable,
}

/// When an application is ended because its executors fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// The application is ended after this number of failures in a row.
    AtMost(u32),
    Unlimited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// The Master excludes no Workers, as in Spark.
    Off,
    /// The Master excludes a Worker for a time that doubles with each early end in a row.
    For {
        /// The time after the first early end.
        first: Duration,
        longest: Duration,
    },
}

impl Config {
    pub(crate) fn scheduling(&self) -> SchedulingSettings {
        SchedulingSettings {
            rule: self.rule.to_string(),
            strategy: self.strategy,
            worker_order: self.worker_order,
            default_cores: self.default_cores,
            queues: self.queues.clone(),
            backfill: self.backfill,
            preemption: self.preemption,
            order: self.order,
            reservations: self.reservations as u64,
            gang_preemption: self.gang_preemption,
        }
    }

    /// The rule by which Workers are chosen for an application with this policy, or without one.
    pub(crate) fn rule_for(&self, policy: Option<Policy>) -> Rule {
        policy.map_or_else(|| self.rule.clone(), Rule::Policy)
    }

    /// The exclusion that applies. If every executor is proven as soon as it has started, as in Spark, there is none.
    pub(crate) fn effective_exclusion(&self) -> Exclusion {
        if self.proven_after.is_zero() { Exclusion::Off } else { self.exclusion }
    }
}

impl Default for Config {
    fn default() -> Self {
        let SchedulingSettings {
            rule: _,
            strategy,
            worker_order,
            default_cores,
            queues,
            backfill,
            preemption,
            order,
            reservations,
            gang_preemption,
        } = SchedulingSettings::default();
        Self {
            url: "spark://localhost:7077".to_owned(),
            web_address: None,
            exposed_until: Timestamp::default(),
            state_place: "memory".to_owned(),
            run: RunId::default(),
            is_cut: false,
            foreign: UnknownExecutors::Held,
            worker_timeout: Duration::from_secs(60),
            strategy,
            worker_order,
            rule: Policy::Spark.into(),
            default_cores,
            retries: Retries::AtMost(10),
            proven_after: Duration::from_secs(5),
            exclusion: Exclusion::For { first: Duration::from_secs(1), longest: Duration::from_secs(60) },
            first_application: 0,
            retained_applications: 200,
            driver_strategy: Strategy::SpreadOut,
            max_drivers: i32::MAX as usize,
            retained_drivers: 200,
            queues,
            backfill,
            reservations: reservations as usize,
            order,
            preemption,
            gang_preemption,
            dead_worker_persistence: 15,
            history: HistoryLimits::default(),
            durability: Durability::Volatile,
            recovery_timeout: Duration::from_secs(60),
            away_timeout: Duration::ZERO,
            page: PageSize::default(),
            limits: Limits::default(),
            resource_shares: ResourceShares::Refused,
        }
    }
}
