//! The settings that the ApplicationMaster reads at its start, each with its default.

use std::time::Duration;

use firesteel_placement::Cores;
use firesteel_protocol::ids::AppId;

use crate::allocator;

#[derive(Clone, Debug)]
pub struct Config {
    pub app: AppId,
    /// The URL where drivers find it, `spark://host:port`.
    pub url: String,
    pub mode: Mode,
    /// The number of this attempt at the application, counted from 1.
    pub attempt: u32,
    pub most_attempts: u32,
    /// How long to wait for the driver. Spark's default is 100 s.
    pub wait_time: Duration,
    /// Whether the application has failed if the driver does not return, in client mode.
    pub silence: Silence,
    /// The longest message to the manager at the end, in bytes. Spark's is 1 MiB.
    pub longest_message: usize,
    /// The number of executors if the driver names none. Spark's default is 2.
    pub executors: u64,
    /// The cores of a task. They determine the number of tasks that an executor runs at once.
    pub task_cores: Cores,
    /// The settings of its allocator. Targets come from the driver; the initial one is ignored.
    pub allocator: allocator::Config,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("mode")]
pub enum Mode {
    Client,
    /// In the same process as the ApplicationMaster.
    Unmanaged,
    /// In a program that the ApplicationMaster starts.
    Cluster,
}

/// Whether an application has failed if its driver vanishes without a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    /// The application has succeeded. Spark's default.
    #[default]
    Success,
    Failure,
}
