//! The messages by which a Worker registers, and a Master orders executors and cluster drivers.

use bytes::Bytes;
use firesteel_placement::{Cores, MiB, Resources};
use serde::{Deserialize, Serialize};

use super::{
    ApplicationFiles, DriverLaunch, DriverReport, ExecutorState, Shared, StateId, StateMark, TaskDirectory,
    Used, WorkerReport,
};
use crate::address::Address;
use crate::ids::{AppId, DriverId, ExecutorKey, ProfileId, WorkerId};
use crate::process::executor_command::ExecutorCommand;
use crate::process::{ExitStatus, short_if_any};
use crate::scheduling::label::Label;
use crate::secret::Secret;
use crate::wire::Message;

/// The maximum number of cores of a Worker. It bounds the number of effects of one event, even if a Worker reports more
/// cores.
pub const MOST_CORES: Cores = Cores(65_536);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum WorkerToMaster {
    /// The first message on every connection: the Worker, its size, and its executors. Spark sends the executors in a
    /// second message (`WorkerLatestState`). Here one message contains both, so that nothing can happen between them.
    RegisterWorker {
        worker: Box<WorkerDescription>,
        /// The executors on the Worker: the running ones, and the ended ones that the Master has not confirmed.
        executors: Vec<ExecutorReport>,
        drivers: Vec<DriverReport>,
    },
    /// Shows the Master that the Worker is alive.
    Heartbeat {
        worker: WorkerId,
        /// The latest order to launch an executor that came on this connection since the previous heartbeat. The
        /// heartbeat confirms this order and all earlier ones.
        last_order: Option<ExecutorKey>,
    },
    /// The Worker will end, now or when its executors have ended, so the Master gives it nothing more. Has no effect if
    /// the Master does not know the Worker. Source: the message's name is Spark's. In Spark, the executors stay for a
    /// while to hand over their data.
    WorkerDecommissioning { worker: WorkerId },
    /// An executor's state has changed. The Worker repeats an end on the next connection until
    /// [`MasterToWorker::ExecutorEndNoted`] confirms it.
    ExecutorStateChanged(ExecutorReport),
    /// Whether the Worker can start executors and cluster drivers. For this, it must be able to write in its work
    /// directory and to start processes, and its disk must have free space. The Worker sends this when the answer
    /// changes, and after a registration if it cannot.
    StartsChecked {
        worker: WorkerId,
        /// Why the Worker cannot start anything, in words for people: `cannot write in /work: No space left on device`.
        #[serde(deserialize_with = "short_if_any")]
        error: Option<String>,
    },
    /// The running executors of a Worker that listed none when it registered. The Master ends the executors that it
    /// does not know. Source: the message's name and meaning are Spark's. Spark's Workers send it after each
    /// registration.
    WorkerLatestState { worker: WorkerId, executors: Vec<ExecutorReport> },
    /// A cluster driver's state has changed. The Worker repeats an end on the next connection until
    /// [`MasterToWorker::DriverEndNoted`] confirms it. Source: the message's name is Spark's. Spark loses an end that
    /// is reported while no Master can be reached.
    DriverStateChanged(DriverReport),
    /// The Worker's report about itself. It replaces the previous report.
    WorkerReported(Box<WorkerReport>),
    /// A supervised cluster driver has failed and is started again. The Worker also sends this after each registration,
    /// and when the driver runs again.
    ///
    DriverRestarted {
        driver: DriverId,
        /// The number of the driver's starts after the first one.
        restarts: u32,
        last: ExitStatus,
        /// How long the Worker waits before the next start. `None`: the driver runs, or is being started.
        pause_millis: Option<u64>,
    },
}

impl WorkerToMaster {
    #[must_use]
    pub fn register(worker: WorkerDescription, executors: Vec<ExecutorReport>) -> Self {
        Self::RegisterWorker { worker: Box::new(worker), executors, drivers: Vec::new() }
    }
}

/// The maximum length, in bytes, up to which a callback is exempt from the limit on the lengths of texts.
const MOST_CALLBACK: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerDescription {
    pub id: WorkerId,
    /// The host name by which other machines reach the Worker.
    pub host: String,
    pub port: u16,
    /// The number of the Worker's cores, at least 1.
    pub cores: Cores,
    /// The amount of the Worker's memory, at least 1 MiB.
    pub memory: MiB,
    /// All addresses of the Worker's custom resources, by name.
    pub resources: Resources,
    /// The absolute path of the work directory. An executor's directory is `<work_dir>/<application>/<executor>`. The
    /// path is only used to show it to people.
    pub work_dir: String,
    /// A random token that the Worker drew at its start and sends with each registration. While the Worker is
    /// connected, another registration with the same id must show the same token.
    pub token: Secret,
    /// Restricts the Worker to applications with this label. `None`: it runs executors of all applications.
    pub label: Option<Label>,
    /// Data that a restarted or new Master needs to call the Worker, in the Worker's own protocol. Empty: the Worker
    /// reconnects by itself.
    pub callback: Bytes,
    /// For each of the latest states of Masters, the latest moment that the Worker has been told of. A Worker of an
    /// earlier release has none.
    #[serde(default)]
    pub seen: Vec<StateMark>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// The total number of cores, at least 1.
    pub cores: Cores,
    /// The total memory, at least 1 MiB.
    pub memory: MiB,
    pub resources: Resources,
}

impl WorkerDescription {
    /// Makes a description from these parts. Only this function lists all fields.
    #[must_use]
    pub fn new(id: WorkerId, address: Address, offered: Offered, work_dir: impl Into<String>) -> Self {
        let Address { host, port } = address;
        let Offered { cores, memory, resources } = offered;
        let (work_dir, token, label, callback) = (work_dir.into(), Secret::default(), None, Bytes::new());
        let seen = Vec::new();
        Self { id, host, port, cores, memory, resources, work_dir, token, label, callback, seen }
    }

    #[must_use]
    pub fn with_label(self, label: Option<Label>) -> Self {
        Self { label, ..self }
    }

    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        Self { token, ..self }
    }

    #[must_use]
    pub fn address(&self) -> Address {
        Address::new(self.host.clone(), self.port)
    }

    /// The length of the description's longest text, in bytes.
    #[must_use]
    pub fn longest_text(&self) -> usize {
        let Self { host, resources, work_dir, token, label, callback, .. } = self;
        // Spark's Workers send a callback of about 2 KiB, which is allowed even if the limit on texts is lower.
        let callback = if callback.len() > MOST_CALLBACK { callback.len() } else { 0 };
        let label = label.as_ref().map_or(0, Label::length);
        let own = [host.len(), work_dir.len(), token.reveal().len(), label, callback];
        let of_resources = resources
            .iter()
            .map(|(name, addresses)| addresses.map(str::len).max().unwrap_or(0).max(name.len()));
        own.into_iter().chain(of_resources).max().unwrap_or(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorReport {
    pub executor: ExecutorKey,
    pub state: ExecutorState,
    /// What the executor used until its end, if it has ended and was measured.
    pub used: Option<Used>,
}

impl ExecutorReport {
    /// A report of this state, without usage.
    #[must_use]
    pub fn new(executor: ExecutorKey, state: ExecutorState) -> Self {
        Self { executor, state, used: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum MasterToWorker {
    RegisteredWorker {
        /// The Master's URL, `spark://host:port`.
        master_url: String,
        /// The interval between heartbeats, in milliseconds: a quarter of the Master's timeout.
        heartbeat_millis: u64,
        /// Whether the Master already knew this Worker on another connection. This connection replaces the other one.
        duplicate: bool,
        /// The URL at which the Master serves HTTP. `None`: it does not serve HTTP.
        #[serde(deserialize_with = "short_if_any")]
        web_address: Option<String>,
        /// How far the Master's state goes. `None`: the Master keeps no state, or is of an earlier release.
        #[serde(default)]
        mark: Option<StateMark>,
    },
    /// The Master refuses the Worker, which then ends.
    RegisterWorkerFailed(RefusedRegistration),
    /// The Master does not know the Worker, which then registers again.
    ReconnectWorker,
    LaunchExecutor(ExecutorLaunch),
    KillExecutor {
        executor: ExecutorKey,
    },
    /// An application ended: the Worker need not keep any of its data.
    ApplicationFinished {
        app: AppId,
    },
    /// The Master has recorded that the executor ended. The Worker need not report the end again.
    ExecutorEndNoted {
        executor: ExecutorKey,
    },
    /// Asks the Worker to leave: it takes no more executors, and ends after its present executors have ended. Source:
    /// the message's name is Spark's. In Spark, the Worker stays until it is stopped.
    DecommissionWorker {
        /// The time after which the Worker ends all executors and drivers that still run, in milliseconds.
        within_millis: Option<u64>,
    },
    /// Tells the Worker to start a cluster driver. The Master repeats this until the Worker has reported on the driver.
    LaunchDriver(Box<DriverLaunch>),
    KillDriver {
        driver: DriverId,
    },
    /// The Master has recorded that the cluster driver ended. The Worker need not report the end again.
    DriverEndNoted {
        driver: DriverId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorLaunch {
    pub executor: ExecutorKey,
    pub profile: ProfileId,
    pub cores: Cores,
    pub memory: MiB,
    pub resources: Resources,
    /// The work that the executor runs. Encoded orders share it, so only short fields may follow.
    pub work: Shared<ExecutorWork>,
    /// How far the Master's state goes with this launch.
    #[serde(default)]
    pub mark: Option<StateMark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorWork {
    pub app_name: String,
    /// The executor's command, with its placeholders.
    pub command: ExecutorCommand,
    pub directory: TaskDirectory,
    /// The files that must be in place before the executor starts, if it needs any.
    pub files: Option<ApplicationFiles>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum RefusedRegistration {
    /// The Worker's id cannot be the name of a directory.
    #[display("the Worker's id has characters that an id may not have")]
    UnsoundId,
    /// Another Worker with this host and port is alive.
    #[display("{address} is the address of another Worker that is alive, {other}")]
    SameAddress {
        /// The address, `host:port`.
        address: String,
        other: WorkerId,
    },
    /// The Worker has no cores or no memory, or more than the limit.
    #[display("a Worker has 1 to 65,536 cores and at least 1 MiB, not {cores} cores and {memory}")]
    UnsoundSize { cores: Cores, memory: MiB },
    /// A Worker with this id is connected, and the new one does not show the same token.
    #[display("another Worker with this id is connected")]
    IdTaken,
    /// The Worker has more of something than the Master's settings allow.
    #[display("{found} {} are more than the Master takes: {} is {most}", what.words().0, what.words().1)]
    Exceeds {
        /// What the Worker has too much of.
        what: Bounded,
        /// The amount in the registration. For memory: in MiB. For texts: the length of the longest one, in bytes.
        found: u64,
        /// The maximum that the Master accepts.
        most: u64,
    },
    /// The Worker has served a Master with another state, and this Master's state is not new. A release that does not
    /// know this refusal remembers no state, so it is never refused in this way.
    #[display(
        "the Worker serves a Master with state {theirs}, and this Master has state {ours}. Its executors keep running. If \
         this Master was started with the state of another cluster, start it with its own; to give the Worker to this \
         Master, restart the Worker"
    )]
    OtherState { theirs: StateId, ours: StateId },
}

/// The values in a Worker's registration that the Master's settings limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bounded {
    /// The number of living Workers, including this one.
    Workers,
    Cores,
    Memory,
    /// The number of addresses of the Worker's custom resources.
    Addresses,
    Executors,
    /// The Worker's texts: host, directory, names and addresses.
    Text,
}

impl Bounded {
    /// The limited value in words, and the name of the setting that limits it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Workers => ("Workers", "firesteel.master.maxWorkers"),
            Self::Cores => ("cores", "firesteel.master.maxWorkerCores"),
            Self::Memory => ("MiB of memory", "firesteel.master.maxWorkerMemory"),
            Self::Addresses => ("addresses of custom resources", "firesteel.master.maxWorkerAddresses"),
            Self::Executors => ("executors", "firesteel.master.maxWorkerExecutors"),
            Self::Text => ("bytes in one text", "firesteel.master.maxTextLength"),
        }
    }
}

impl Message for WorkerToMaster {}

impl Message for MasterToWorker {
    fn shared(&self) -> Option<Bytes> {
        let Self::LaunchExecutor(ExecutorLaunch { work, .. }) = self else { return None };
        Some(work.encoded())
    }
}
