//! What applications and cluster drivers need, as a Master tells clients: the custom resources of their executors, how long they run,
//! and the custom resources of cluster drivers.

use std::time::Duration;

use firesteel_placement::{ResourceAmounts, Resources};
use serde::{Deserialize, Serialize};

use super::{DriverRestarts, DriverWait};
use crate::ids::{AppId, DriverId};

/// Applications whose executors need custom resources, in the order of their registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationNeeds {
    /// The live ones, and those that have ended and are listed.
    pub needs: Vec<ApplicationNeed>,
    /// The number to ask from next, if there are more.
    pub next: Option<u64>,
}

/// What one executor of an application needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationNeed {
    /// The application's number in the order of registration.
    pub number: u64,
    /// The application's id.
    pub app: AppId,
    /// The number of addresses of each custom resource: by the default profile, or what an executor had if the application
    /// has ended.
    pub resources: ResourceAmounts,
}

/// Live applications that say how long they run, in the order of their registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationRunTimes {
    /// The run times by number of the application.
    pub times: Vec<ApplicationRunTime>,
    /// The number to ask from next, if there are more.
    pub next: Option<u64>,
}

/// How long an application says that it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationRunTime {
    /// The application's number in the order of registration.
    pub number: u64,
    /// The application's id.
    pub app: AppId,
    /// The time from its start to its end.
    pub run_time: Duration,
}

/// Cluster drivers that need custom resources, in the order of their submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverResources {
    /// Those that live, and those that have ended and are listed.
    pub drivers: Vec<DriverShare>,
    /// The number to ask from next, if there are more.
    pub next: Option<u64>,
}

/// What is to be said of one cluster driver that its row in the state does not have: its name, custom resources, restarts, and why
/// it waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverShare {
    /// The cluster driver's number in the order of submission.
    pub number: u64,
    /// The cluster driver's id.
    pub driver: DriverId,
    /// What it needs.
    pub needs: ResourceAmounts,
    /// The addresses that it has, or had when it ended. None while it waits for a Worker.
    pub has: Resources,
    /// The name under which it was submitted, if it was given one.
    pub name: Option<String>,
    /// How often it was started again, if it was or will be.
    pub restarts: Option<DriverRestarts>,
    /// Why it waits for a Worker, while it does.
    pub wait: Option<DriverWait>,
}

impl DriverShare {
    /// Whether there is nothing to say.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { number: _, driver: _, needs, has: _, name, restarts, wait } = self;
        needs.is_empty() && name.is_none() && restarts.is_none() && wait.is_none()
    }
}
