//! An executor's settings.

use std::time::Duration;

use firesteel_placement::{Cores, Resources};

use crate::ids::{AppId, ExecutorId, ProfileId, WorkerId};

/// An executor's settings, all of them from its command line.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its application.
    pub app: AppId,
    /// Its number there.
    pub executor: ExecutorId,
    /// Its resource profile there.
    pub profile: ProfileId,
    /// The Worker that started it.
    pub worker: WorkerId,
    /// The Worker's host.
    pub host: String,
    /// Its cores.
    pub cores: Cores,
    /// The addresses of its custom resources.
    pub resources: Resources,
    /// How long a task may take to end when asked, before it is killed.
    pub kill_grace: Duration,
}
