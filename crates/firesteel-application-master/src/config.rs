//! The settings that the ApplicationMaster reads at its start, each with its default.

use std::time::Duration;

use firesteel_placement::Cores;
use firesteel_protocol::ids::AppId;

use crate::allocator;

#[derive(Clone, Debug)]
pub struct Config {
    pub app: AppId,
    /// The URL at which drivers reach the ApplicationMaster, `spark://host:port`.
    pub url: String,
    pub mode: Mode,
    /// The number of this attempt at the application, counted from 1.
    pub attempt: u32,
    pub most_attempts: u32,
    /// How long to wait for the driver. Spark's default is 100 s.
    pub wait_time: Duration,
    /// Whether the application counts as failed if the driver does not return, in client mode.
    pub silence: Silence,
    /// The maximum length of the final message to the manager, in bytes. In Spark, this is 1 MiB.
    pub longest_message: usize,
    /// The number of executors if the driver sets none. Spark's default is 2.
    pub executors: u64,
    /// The cores of a task. From them follows the number of tasks that an executor runs at once.
    pub task_cores: Cores,
    /// The settings of the allocator. The driver sets the targets, so the initial target is ignored.
    pub allocator: allocator::Config,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("mode")]
pub enum Mode {
    Client,
    /// The driver runs in the same process as the ApplicationMaster.
    Unmanaged,
    /// The driver runs in a program that the ApplicationMaster starts.
    Cluster,
}

/// Whether an application has failed if its driver disappears without a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    /// The application has succeeded. Spark's default.
    #[default]
    Success,
    Failure,
}
