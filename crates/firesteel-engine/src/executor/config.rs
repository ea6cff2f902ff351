//! An executor's settings.

use std::time::Duration;

use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::secret::Secret;

/// An executor's settings. All come from its command line, except the secret, which comes from its environment.
#[derive(Clone, Debug)]
pub struct Config {
    pub app: AppId,
    pub executor: ExecutorId,
    pub profile: ProfileId,
    pub worker: WorkerId,
    pub host: String,
    pub cores: Cores,
    pub resources: Resources,
    /// The application's secret, which proves to the driver that a Worker started the executor.
    pub secret: Secret,
    /// The grace period between SIGTERM and SIGKILL for a task.
    pub kill_grace: Duration,
}
