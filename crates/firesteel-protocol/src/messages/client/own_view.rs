//! The view that a Worker gives of itself, for its own page and for `firesteel status`.

use firesteel_placement::{Cores, MiB};
use serde::{Deserialize, Serialize};

use crate::ids::{DriverId, ExecutorKey, WorkerId};
use crate::messages::{ExecutorReport, ExecutorState};

/// A copy of a Worker's own tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerViewOfItself {
    pub id: WorkerId,
    /// The URL of the Master that the Worker is registered with, if any.
    pub master_url: Option<String>,
    pub cores: Cores,
    pub memory: MiB,
    /// The executors that have not ended, by application and number.
    pub executors: Vec<RunningExecutor>,
    /// The executors that ended last, oldest first. Only those that the Worker still remembers.
    pub ended: Vec<ExecutorReport>,
    pub drivers: Vec<RunningDriver>,
}

impl WorkerViewOfItself {
    /// The number of cores that the Worker's executors and cluster drivers hold.
    #[must_use]
    pub fn cores_used(&self) -> Cores {
        let drivers = self.drivers.iter().map(|driver| driver.cores);
        self.executors.iter().map(|executor| executor.cores).chain(drivers).sum()
    }

    /// The memory that the Worker's executors and cluster drivers hold.
    #[must_use]
    pub fn memory_used(&self) -> MiB {
        let drivers = self.drivers.iter().map(|driver| driver.memory.0);
        MiB(self.executors.iter().map(|executor| executor.memory.0).chain(drivers).sum())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningExecutor {
    pub executor: ExecutorKey,
    pub cores: Cores,
    pub memory: MiB,
    pub state: ExecutorState,
    /// The id of the executor's process, once it has started.
    pub pid: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningDriver {
    pub driver: DriverId,
    pub cores: Cores,
    pub memory: MiB,
    pub starts: u32,
    /// The id of the cluster driver's process, while it runs.
    pub pid: Option<u32>,
}
