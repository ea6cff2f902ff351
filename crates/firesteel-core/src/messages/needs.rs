//! The custom resources that each executor of an application needs, as a Master tells clients.

use firesteel_placement::ResourceAmounts;
use serde::{Deserialize, Serialize};

use crate::ids::AppId;

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
