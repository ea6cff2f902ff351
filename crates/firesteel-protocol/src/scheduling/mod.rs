//! The Master's settings for the order in which it serves applications, as its status shows them.

pub mod label;
pub mod queues;
pub mod run_time;

use std::time::Duration;

use firesteel_placement::{Cores, Policy, Strategy, WorkerOrder};
use serde::{Deserialize, Serialize};

use crate::scheduling::queues::Queues;

/// Whether applications are served that come after a gang with a reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backfill {
    /// Applications that come after the gang may use resources that are not reserved.
    #[default]
    On,
    /// Applications that come after the gang wait, so that the order is strict.
    Off,
}

/// The order in which applications of a queue with the same priority are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum ServingOrder {
    #[default]
    #[display("registration")]
    Registration,
    /// Applications with less work come first. Gangs come before other applications. Applications that have waited long
    /// come before all of these.
    #[display("shortest")]
    Shortest,
}

/// Whether executors are ended to free resources for other applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preemption {
    /// No executor is ended for others.
    #[default]
    Off,
    /// For each application, at most this number of executors is ended within an interval.
    AtMost {
        /// The maximum number of executors within the interval.
        executors: u32,
        /// The length of the interval. Not zero.
        every: Duration,
    },
}

/// Which executors of the same priority are ended for a waiting gang, and when. Only applications that come after the
/// gang and are no gangs themselves lose executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangPreemption {
    /// How long the gang must have waited.
    pub patience: Duration,
    /// Executors that were launched at most this long before the gang registered may also be ended.
    pub reach: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingSettings {
    /// The rule that chooses Workers for applications without their own policy, as written in
    /// `firesteel.placement.policy`. A later version's Master may send a rule that this version does not know.
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
    /// The settings `firesteel.master.preemption.gangPatience` and `firesteel.master.preemption.gangReach`. `None`: no
    /// executors of the same priority are ended for a gang.
    pub gang_preemption: Option<GangPreemption>,
}

/// Spark's default values. Settings that Spark does not have get Firesteel's default values.
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
