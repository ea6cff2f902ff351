//! Worker and Master.

use std::fmt;

use firesteel_placement::{Cores, MiB, Resources};
use serde::{Deserialize, Serialize};

use super::{ApplicationFiles, ExecutorState, TaskDirectory};
use crate::address::Address;
use crate::ids::{AppId, ExecutorKey, ProfileId, WorkerId};
use crate::process::Command;

/// What a Worker may have at most. It bounds what one event can lead to, whatever a Worker says of itself: an
/// executor of one core on each of its cores.
pub const MOST_CORES: Cores = Cores(65_536);

/// What a Worker tells its Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerToMaster {
    /// First on every connection: who the Worker is, what it has, and what it runs. Spark sends the last part
    /// afterwards (`WorkerLatestState`); in one message there is no moment in between to go wrong.
    RegisterWorker {
        /// The Worker's id, address and size.
        worker: WorkerDescription,
        /// Every executor that runs here, and every one that ended without the Master having confirmed it.
        executors: Vec<ExecutorReport>,
    },
    /// Still here.
    Heartbeat {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// The Worker is about to end, and its executors with it: it is to be given no more. Nothing follows for a Worker
    /// that is not known. Source: the message's name is Spark's, where executors go on for a while to hand over their
    /// data.
    WorkerDecommissioning {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// An executor changed its state. An end is repeated on the next connection until it is confirmed by
    /// [`MasterToWorker::ExecutorEndNoted`].
    ExecutorStateChanged(ExecutorReport),
}

/// Who a Worker is and what it has to offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerDescription {
    /// Its id, made at its start.
    pub id: WorkerId,
    /// The host that others reach it by.
    pub host: String,
    /// The port that it listens on.
    pub port: u16,
    /// Cores in all, at least 1.
    pub cores: Cores,
    /// Memory in all, at least 1 MiB.
    pub memory: MiB,
    /// Addresses of its custom resources by name, all of them.
    pub resources: Resources,
    /// The directory that its executors have theirs in, absolute: an executor's is
    /// `<work_dir>/<application>/<executor>`. For people only; nobody else opens it.
    pub work_dir: String,
}

impl WorkerDescription {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::new(self.host.clone(), self.port)
    }
}

/// One executor's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorReport {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The executor's state.
    pub state: ExecutorState,
}

/// What a Master tells a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MasterToWorker {
    /// The Worker may be given executors from now on.
    RegisteredWorker {
        /// The Master, `spark://host:port`.
        master_url: String,
        /// Milliseconds between heartbeats that the Master expects: a quarter of its time-out.
        heartbeat_millis: u64,
        /// The Master had this Worker already, on another connection which this one replaces.
        duplicate: bool,
    },
    /// The Master does not take the Worker. The Worker ends.
    RegisterWorkerFailed(RefusedRegistration),
    /// The Master does not know the sender: register (again).
    ReconnectWorker,
    /// Start an executor.
    LaunchExecutor(ExecutorLaunch),
    /// End an executor.
    KillExecutor {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// An application ended: nothing of it needs to be kept.
    ApplicationFinished {
        /// The application's id.
        app: AppId,
    },
    /// The end of an executor was noted and need not be repeated.
    ExecutorEndNoted {
        /// The executor's id.
        executor: ExecutorKey,
    },
}

/// An executor to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorLaunch {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// The application's name, for people.
    pub app_name: String,
    /// What to run, placeholders and all.
    pub command: Command,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses that are its own, by resource.
    pub resources: Resources,
    /// The files that must be there before it starts. `None`: none.
    pub files: Option<ApplicationFiles>,
}

/// Why a Worker is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedRegistration {
    /// The id cannot be used.
    UnsoundId,
    /// Another Worker with this host and port is alive.
    SameAddress {
        /// `host:port`.
        address: String,
        /// The Worker that has it.
        other: WorkerId,
    },
    /// No cores or no memory, or more than can be counted.
    UnsoundSize {
        /// The cores offered.
        cores: Cores,
        /// The memory offered.
        memory: MiB,
    },
}

impl fmt::Display for RefusedRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsoundId => f.write_str("the Worker's id has characters that an id may not have"),
            Self::SameAddress { address, other } => {
                write!(f, "{address} is the address of another Worker that is alive, {other}")
            }
            Self::UnsoundSize { cores, memory } => {
                write!(f, "a Worker has 1 to 65,536 cores and at least 1 MiB, not {cores} cores and {memory}")
            }
        }
    }
}
