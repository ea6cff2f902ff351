//! A Master's settings.

use std::time::Duration;

use firesteel_placement::{Cores, Policy, Strategy, WorkerOrder};
use serde::{Deserialize, Serialize};

use super::Queues;

/// A Master's settings. `Default` has Spark's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The Master's own URL, `spark://host:port`.
    pub url: String,
    /// `spark.worker.timeout`: a Worker that was not heard from for so long is lost. Workers are told to send
    /// a heartbeat in a quarter of it.
    pub worker_timeout: Duration,
    /// `spark.deploy.spreadOutApps`.
    pub strategy: Strategy,
    /// `spark.deploy.workerSelectionPolicy`.
    pub worker_order: WorkerOrder,
    /// `firesteel.placement.policy`: for applications that name none.
    pub policy: Policy,
    /// `spark.deploy.defaultCores`: cores of an application that names no maximum.
    pub default_cores: Cores,
    /// `spark.deploy.maxExecutorRetries`: an application ends when so many executors failed in a row.
    pub retries: Retries,
    /// `firesteel.executor.provenAfter`: an executor that ran so long is proven, and with it the count of
    /// failures starts anew. In Spark an executor is proven as soon as its process has started, so that one
    /// which crashes at once is relaunched for ever; zero gives that.
    pub proven_after: Duration,
    /// The number in the first application's id. Ids carry the second and a number; a Master that is started
    /// again within a second must begin elsewhere than the one before it.
    pub first_application: u64,
    /// `spark.deploy.retainedApplications`: how many ended applications are remembered.
    pub retained_applications: usize,
    /// `firesteel.master.queues`: the queues that share the cluster by their weights.
    pub queues: Queues,
    /// `firesteel.master.backfill`: who is served behind a reservation.
    pub backfill: Backfill,
    /// `firesteel.master.preemption` and `firesteel.master.preemption.interval`: whether executors of lower priority are
    /// ended for others.
    pub preemption: Preemption,
    /// `spark.dead.worker.persistence`: a lost Worker is remembered for one time-out more than this many.
    pub dead_worker_persistence: u32,
}

/// Who is served behind a gang that has a reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backfill {
    /// All, from what is not reserved.
    #[default]
    On,
    /// Nobody, so that the order is strict.
    Off,
}

/// Whether executors are ended so that applications of higher priority have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preemption {
    /// Never.
    #[default]
    Off,
    /// So many for one application within any such time.
    AtMost {
        /// How many executors.
        executors: u32,
        /// Within how long. Not zero.
        every: Duration,
    },
}

/// When an application is given up because its executors fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// After so many failures in a row.
    AtMost(u32),
    /// Never.
    Unlimited,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            url: "spark://localhost:7077".to_owned(),
            worker_timeout: Duration::from_secs(60),
            strategy: Strategy::SpreadOut,
            worker_order: WorkerOrder::CoresFreeDesc,
            policy: Policy::Spark,
            default_cores: Cores::UNLIMITED,
            retries: Retries::AtMost(10),
            proven_after: Duration::from_secs(5),
            first_application: 0,
            retained_applications: 200,
            queues: Queues::default(),
            backfill: Backfill::On,
            preemption: Preemption::Off,
            dead_worker_persistence: 15,
        }
    }
}
