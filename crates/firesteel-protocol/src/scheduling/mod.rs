//! In which order applications are served, as far as a Master's settings decide it and its status tells it.

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
    /// They may use what is not reserved.
    #[default]
    On,
    /// They wait, so that the order is strict.
    Off,
}

/// In which order the applications of a queue with the same priority are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, crate::Display)]
pub enum ServingOrder {
    /// In the order of registration.
    #[default]
    #[display("registration")]
    Registration,
    /// Those with less work before those with more, gangs before others, and those that have waited long before both.
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

/// Which executors of its own priority are ended for a gang that waits, and when. Only applications behind the gang that are no
/// gangs lose any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangPreemption {
    /// How long the gang has waited.
    pub patience: Duration,
    /// How long before the gang registered the executors may have been launched.
    pub reach: Duration,
}

/// The settings of a Master's scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingSettings {
    /// The rule by which Workers are chosen for applications that name no policy, as it is written in
    /// `firesteel.placement.policy`. Later versions may have rules that this one does not know.
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
    /// The settings `firesteel.master.preemption.gangPatience` and `firesteel.master.preemption.gangReach`. `None`: no executor
    /// of its own priority is ended for a gang.
    pub gang_preemption: Option<GangPreemption>,
}

/// Spark's defaults, and for what Spark does not have those of Firesteel.
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
