//! What an ApplicationMaster is told at its start.

use std::time::Duration;

use firesteel_placement::Cores;

use crate::allocator;
use crate::ids::AppId;

/// The settings of an ApplicationMaster.
#[derive(Clone, Debug)]
pub struct Config {
    /// The application's id.
    pub app: AppId,
    /// Where drivers find it, `spark://host:port`.
    pub url: String,
    /// Where the driver is.
    pub mode: Mode,
    /// Which attempt at the application this is, counted from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub most_attempts: u32,
    /// How long the driver is waited for. Spark: 100 s.
    pub wait_time: Duration,
    /// What it means when the driver does not come back, in client mode.
    pub silence: Silence,
    /// The longest message that the manager is told at the end, in bytes. Spark: 1 MiB.
    pub longest_message: usize,
    /// Executors where the driver does not say how many. Spark: 2.
    pub executors: u64,
    /// Cores of a task, for how many tasks an executor runs at once.
    pub task_cores: Cores,
    /// How containers are asked for. Its targets come from the driver: an initial one counts for nothing.
    pub allocator: allocator::Config,
}

/// Where the driver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Where the application was submitted.
    Client,
    /// In the same process.
    Unmanaged,
    /// In a program that the ApplicationMaster starts.
    Cluster,
}

/// What it means when a driver has vanished that did not say that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    /// That all is well. Spark's default.
    #[default]
    Success,
    /// That the application has failed.
    Failure,
}
