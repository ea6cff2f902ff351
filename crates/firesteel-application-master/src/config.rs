//! The settings of an ApplicationMaster.

use std::time::Duration;

use firesteel_placement::Cores;
use firesteel_protocol::ids::AppId;

use crate::allocator;

/// The settings of an ApplicationMaster.
#[derive(Clone, Debug)]
pub struct Config {
    /// The application's id.
    pub app: AppId,
    /// The URL where drivers find it, `spark://host:port`.
    pub url: String,
    /// Where the driver runs.
    pub mode: Mode,
    /// Which attempt at the application this is, counted from 1.
    pub attempt: u32,
    /// The maximum number of attempts.
    pub most_attempts: u32,
    /// How long the driver is awaited. Spark's default is 100 s.
    pub wait_time: Duration,
    /// What it means if the driver does not come back, in client mode.
    pub silence: Silence,
    /// The longest message to the manager at the end, in bytes. Spark's is 1 MiB.
    pub longest_message: usize,
    /// The number of executors if the driver names none. Spark's default is 2.
    pub executors: u64,
    /// The cores of a task, from which the number of tasks that an executor runs at once follows.
    pub task_cores: Cores,
    /// How containers are asked for. Targets come from the driver; the initial one is ignored.
    pub allocator: allocator::Config,
}

/// Where the driver runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("mode")]
pub enum Mode {
    /// On the machine where the application was submitted.
    Client,
    /// In the same process as the ApplicationMaster.
    Unmanaged,
    /// In a program that the ApplicationMaster starts.
    Cluster,
}

/// What it means if the driver vanishes without saying that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    /// The application has succeeded. Spark's default.
    #[default]
    Success,
    /// The application has failed.
    Failure,
}
