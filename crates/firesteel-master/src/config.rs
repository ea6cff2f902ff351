//! The settings that the Master reads at its start, each with its default.

use std::time::Duration;

use firesteel_placement::Rule;
use firesteel_placement::{Cores, Policy, Strategy, WorkerOrder};
use firesteel_protocol::messages::PageSize;
use firesteel_protocol::scheduling::queues::Queues;
use firesteel_protocol::scheduling::{
    Backfill, GangPreemption, Preemption, SchedulingSettings, ServingOrder,
};

use super::limits::Limits;

/// A Master's settings. `Default` has Spark's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub url: String,
    /// The URL at which the Master serves HTTP, if it does. Set by its shell, not by the user.
    pub web_address: Option<String>,
    /// Where its state is kept, in words for people. Set by its shell, not by the user.
    pub state_place: String,
    /// What a new Master does with executors of applications that its state never had.
    pub foreign: UnknownExecutors,
    /// `spark.worker.timeout`: a Worker that sends no heartbeat for this long is lost. Workers must send one every
    /// quarter of this time.
    pub worker_timeout: Duration,
    /// The setting `spark.deploy.spreadOutApps`.
    pub strategy: Strategy,
    /// The setting `spark.deploy.workerSelectionPolicy`.
    pub worker_order: WorkerOrder,
    /// `firesteel.placement.policy`: the rule for applications that name no policy.
    pub rule: Rule,
    /// `spark.deploy.defaultCores`: the maximum of cores of an application that names none.
    pub default_cores: Cores,
    /// `spark.deploy.maxExecutorRetries`: the number of failed executors in a row that ends an application.
    pub retries: Retries,
    /// `firesteel.executor.provenAfter`: an executor that runs this long is proven, and resets the count of failures.
    /// In Spark an executor is proven as soon as its process has started, so an executor that crashes at once is
    /// relaunched for ever. Zero has the same effect here.
    pub proven_after: Duration,
    /// `firesteel.master.exclusion.delay` and `firesteel.master.exclusion.maxDelay`: how long a Worker is excluded for
    /// an application whose executor ended there before it was proven.
    pub exclusion: Exclusion,
    /// The number in the ids of the first application and of the first cluster driver. Ids consist of the second and a
    /// number. So a Master that restarts within a second must begin with another number.
    pub first_application: u64,
    /// `spark.deploy.retainedApplications`: the number of ended applications that are remembered.
    pub retained_applications: usize,
    /// `spark.deploy.spreadOutDrivers`: whether cluster drivers are spread over the Workers.
    pub driver_strategy: Strategy,
    /// `spark.deploy.maxDrivers`: the maximum number of cluster drivers that run at the same time.
    pub max_drivers: usize,
    /// `spark.deploy.retainedDrivers`: the number of ended cluster drivers that are remembered.
    pub retained_drivers: usize,
    /// `firesteel.master.queues`: the queues that share the cluster, with their weights.
    pub queues: Queues,
    /// `firesteel.master.backfill`: whether applications behind a reservation are served.
    pub backfill: Backfill,
    /// `firesteel.master.reservations`: the maximum number of waiting gangs that room is reserved for.
    pub reservations: usize,
    /// `firesteel.master.order`: the order of applications with the same queue and priority.
    pub order: ServingOrder,
    /// `firesteel.master.preemption` and `firesteel.master.preemption.interval`: whether executors of lower
    /// priority are ended to make room.
    pub preemption: Preemption,
    /// `firesteel.master.preemption.gangPatience` and `firesteel.master.preemption.gangReach`: when a waiting gang may
    /// end executors of its own priority, and which. `None`: never.
    pub gang_preemption: Option<GangPreemption>,
    /// `spark.dead.worker.persistence`: a lost Worker is remembered for this number of timeouts, plus one.
    pub dead_worker_persistence: u32,
    pub history: HistoryLimits,
    /// `spark.deploy.recoveryMode`: whether decisions are recorded, so that a Master can be recovered.
    pub durability: Durability,
    /// `spark.deploy.recoveryTimeout`: how long a Master that was recovered waits for its Workers and applications to
    /// return.
    pub recovery_timeout: Duration,
    /// The size of one answer to a status client. Not a setting: it limits how long an answer keeps the Master busy.
    pub page: PageSize,
    /// What Workers and applications may claim at most when they register.
    pub limits: Limits,
    /// `firesteel.master.resourceShares`: whether several executors may share an address.
    pub resource_shares: ResourceShares,
}

/// Whether executors may have parts of addresses of custom resources, so that several of them share one. Spark's Master
/// gives whole addresses only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResourceShares {
    /// An application that asks for a part of an address is refused.
    #[default]
    Refused,
    /// Executors get the parts that they ask for.
    Allowed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownExecutors {
    /// While its state is new, the Master leaves them alone for `recovery_timeout`.
    #[default]
    Held,
    /// The Master ends them at once, because the person who started it said so.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// `firesteel.master.history.maxAge`: entries that ended longer ago are dropped.
    pub age: Duration,
    /// `firesteel.master.history.maxSize`: the total length of all rows as they are written down, in bytes.
    pub bytes: u64,
}

impl Default for HistoryLimits {
    /// 30 days and 4 MiB.
    fn default() -> Self {
        Self { age: Duration::from_secs(30 * 86_400), bytes: 4 << 20 }
    }
}

/// Whether a Master records its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It records nothing, and forgets everything when it ends.
    Volatile,
    /// It records its decisions with [`Effect::Persist`](super::Effect::Persist).
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
    /// Workers are not excluded, as in Spark.
    Off,
    /// The time doubles with each such end in a row.
    For {
        /// The time after the first such end.
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

    /// The exclusion that applies. There is none if every executor is proven as soon as it has started, as in Spark.
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
            state_place: "memory".to_owned(),
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
            page: PageSize::default(),
            limits: Limits::default(),
            resource_shares: ResourceShares::Refused,
        }
    }
}
