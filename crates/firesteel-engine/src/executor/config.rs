//! An executor's settings.

use std::time::Duration;

use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::secret::Secret;

/// An executor's settings, all from its command line but the secret, which is in its environment.
#[derive(Clone, Debug)]
pub struct Config {
    /// The application's id.
    pub app: AppId,
    /// The executor's number.
    pub executor: ExecutorId,
    /// Its resource profile there.
    pub profile: ProfileId,
    /// The Worker that started it.
    pub worker: WorkerId,
    /// The Worker's host.
    pub host: String,
    /// The number of cores.
    pub cores: Cores,
    /// The addresses of its custom resources.
    pub resources: Resources,
    /// The application's secret, which proves to the driver that a Worker started the executor.
    pub secret: Secret,
    /// How long a task may take to end before it is killed.
    pub kill_grace: Duration,
}
