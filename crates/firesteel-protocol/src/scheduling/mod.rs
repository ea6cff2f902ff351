//! The order in which applications are served: the Master's settings, as its status shows them.

pub mod label;
pub mod queues;
pub mod run_time;

use std::time::Duration;

use firesteel_placement::{Cores, Policy, Strategy, WorkerOrder};
use serde::{Deserialize, Serialize};

use crate::scheduling::queues::Queues;

/// Whether applications behind a gang with a reservation are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backfill {
    /// Applications behind the gang may use room that is not reserved.
    #[default]
    On,
    /// Applications behind the gang wait, so that the order is strict.
    Off,
}

/// The order in which applications of a queue with the same priority are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum ServingOrder {
    #[default]
    #[display("registration")]
    Registration,
    /// Applications with less work come first. Gangs come before other applications. An application that has waited
    /// long comes before both.
    #[display("shortest")]
    Shortest,
}

/// Whether executors are ended to make room for other applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preemption {
    /// No executor is ended for others.
    #[default]
    Off,
    /// A limited number of executors is ended for each application.
    AtMost {
        /// The maximum number of executors within the interval.
        executors: u32,
        /// The length of the interval. Not zero.
        every: Duration,
    },
}

/// Which executors of its own priority are ended for a waiting gang, and when. Only applications that come after the
/// gang and are no gangs themselves lose executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangPreemption {
    /// How long the gang must have waited.
    pub patience: Duration,
    /// Executors that were launched at most this long before the gang registered may be ended, too.
    pub reach: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingSettings {
    /// The rule that chooses Workers for applications without a policy, as written in `firesteel.placement.policy`.
    /// Later versions may have rules that this one does not know.
    pub rule: String,
    /// The setting `spark.deploy.spreadOutApps`.
    pub strategy: Strategy,
    /// The setting `spark.deploy.workerSelectionPolicy`.
    pub worker_order: WorkerOrder,
    /// The setting `spark.deploy.defaultCores`.
    pub default_cores: Cores,
    /// The setting `firesteel.master.queues`.
    pub queues: Queues,
    /// The setting `firesteel.master.backfill`.
    pub backfill: Backfill,
    /// The setting `firesteel.master.preemption`.
    pub preemption: Preemption,
    /// The setting `firesteel.master.order`.
    pub order: ServingOrder,
    /// The setting `firesteel.master.reservations`. Not zero.
    pub reservations: u64,
    /// The settings `firesteel.master.preemption.gangPatience` and `firesteel.master.preemption.gangReach`. `None`: a
    /// gang ends no executors of its own priority.
    pub gang_preemption: Option<GangPreemption>,
}

/// Spark's defaults, and Firesteel's for settings that Spark does not have.
impl Default for SchedulingSettings {
    fn default() -> Self {
        Self {
            rule: Policy::Spark.to_string(),
            strategy: Strategy::SpreadOut,
            worker_order: WorkerOrder::CoresFreeDesc,
            default_cores: Cores::UNLIMITED,
            queues: Queues::default(),
            backfill: Backfill::On,
            preemption: Preemption::Off,
            order: ServingOrder::Registration,
            reservations: 1,
            gang_preemption: None,
        }
    }
}
