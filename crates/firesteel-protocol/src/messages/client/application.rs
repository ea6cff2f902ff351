//! An application and its executors, as status clients see them.

use std::time::Duration;

use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
use serde::{Deserialize, Serialize};

use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use crate::messages::{ExecutorState, Outcome, Submitter};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationView {
    pub id: AppId,
    pub name: String,
    pub user: String,
    pub state: ApplicationState,
    /// Why the application ended, in words. `None`: it is live, or its driver reported that it is done.
    pub end: Option<String>,
    /// The result of the application's work, if its driver reported one at the end.
    pub outcome: Option<Outcome>,
    /// When the application was registered.
    pub submitted: Timestamp,
    pub ended: Option<Timestamp>,
    pub queue: Option<String>,
    pub priority: i32,
    /// The number of executors that the application needs at once to start. 0 and 1: executors come one by one.
    pub gang: u64,
    /// The maximum number of the application's cores. `None`: no limit.
    pub max_cores: Option<Cores>,
    pub cores_granted: Cores,
    /// The memory of one executor of the default profile.
    pub memory_per_executor: MiB,
    /// How much of each custom resource one executor of the default profile needs. For an ended application: what its
    /// executors had.
    pub resources_per_executor: ResourceAmounts,
    /// The application's own estimate of its run time, from its start to its end.
    pub run_time: Option<Duration>,
    pub executors_live: u64,
    pub executors_ended: u64,
    /// The number of ended executors that the Master no longer remembers.
    pub executors_forgotten: u64,
    /// The application's executors by number. In a Master's state: only live executors. In an answer about one
    /// application: also all ended ones that the Master remembers.
    pub executors: Vec<ExecutorView>,
    /// When the connection of a live application's driver ended, if it has not returned since.
    #[serde(default)]
    pub away_since: Option<Timestamp>,
    /// The URL of the pages of a live application's driver.
    #[serde(default)]
    pub web_address: Option<String>,
}

impl ApplicationView {
    /// An application that has just registered, without executors and with defaults for everything else.
    #[must_use]
    pub fn registered(id: AppId, submitter: Submitter, submitted: Timestamp) -> Self {
        let Submitter { name, user } = submitter;
        Self {
            id,
            name,
            user,
            state: ApplicationState::Waiting,
            end: None,
            outcome: None,
            submitted,
            ended: None,
            queue: None,
            priority: 0,
            gang: 0,
            max_cores: None,
            cores_granted: Cores::ZERO,
            memory_per_executor: MiB::ZERO,
            resources_per_executor: ResourceAmounts::new(),
            run_time: None,
            executors_live: 0,
            executors_ended: 0,
            executors_forgotten: 0,
            executors: Vec::new(),
            away_since: None,
            web_address: None,
        }
    }

    /// The state for display: FAILED or KILLED if the driver reported such an outcome. The field `state` is FINISHED
    /// then, as in Spark.
    #[must_use]
    pub fn result(&self) -> ApplicationState {
        match (self.state, &self.outcome) {
            (ApplicationState::Finished, Some(Outcome::Failed(_))) => ApplicationState::Failed,
            (ApplicationState::Finished, Some(Outcome::Cancelled(_))) => ApplicationState::Killed,
            (state, _) => state,
        }
    }
}

/// The state of an application. Source: Spark Master, 4.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ApplicationState {
    /// The application has never had an executor.
    Waiting,
    /// The application was given an executor.
    Running,
    Finished,
    Failed,
    /// Another user or program ended it.
    Killed,
    /// The driver has not returned since the Master was restarted. For an ended application: the result of its work is
    /// unknown.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorView {
    pub id: ExecutorId,
    pub worker: WorkerId,
    /// The number of the executor's resource profile.
    pub profile: ProfileId,
    pub cores: Cores,
    pub memory: MiB,
    pub resources: Resources,
    pub state: ExecutorState,
    pub host: String,
    /// The port that the executor's Worker listens on.
    pub port: u16,
    /// The directory on the Worker that contains the executor's output.
    pub directory: String,
    /// When the Master ordered the Worker to start the executor.
    pub launched: Timestamp,
    /// When the Worker reported that the executor's process runs, if it did.
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
}
