//! Messages between Workers and the Master.

use bytes::Bytes;
use firesteel_placement::{Cores, MiB, Resources};
use serde::{Deserialize, Serialize};

use super::{
    ApplicationFiles, DriverLaunch, DriverReport, ExecutorState, Shared, TaskDirectory, Used, WorkerReport,
};
use crate::address::Address;
use crate::ids::{AppId, DriverId, ExecutorKey, ProfileId, WorkerId};
use crate::process::executor_command::ExecutorCommand;
use crate::process::{ExitStatus, short_if_any};
use crate::scheduling::label::Label;
use crate::secret::Secret;
use crate::wire::Message;

/// The maximum number of cores of a Worker. It bounds the number of effects of one event, whatever a Worker
/// says of itself.
pub const MOST_CORES: Cores = Cores(65_536);

/// A message from a Worker to the Master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum WorkerToMaster {
    /// The first message on every connection: the Worker, its size, and its executors. Spark sends the
    /// executors in a second message (`WorkerLatestState`); here nothing can happen between the two.
    RegisterWorker {
        /// The Worker's id, address and size.
        worker: Box<WorkerDescription>,
        /// The executors that run on the Worker, and those that ended without the Master having confirmed it.
        executors: Vec<ExecutorReport>,
        /// The cluster drivers that run on the Worker, and those that ended without the Master having confirmed it.
        drivers: Vec<DriverReport>,
    },
    /// Tells the Master that the Worker is alive.
    Heartbeat {
        /// The Worker's id.
        worker: WorkerId,
        /// The last order to launch an executor that has come on this connection since the previous heartbeat. It answers
        /// this order and all before it.
        last_order: Option<ExecutorKey>,
    },
    /// The Worker will end, now or when its executors have ended: the Master gives it no more. Has no effect if the
    /// Master does not know the Worker. Source: the message's name is Spark's; there executors stay for a
    /// while to hand over their data.
    WorkerDecommissioning {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// An executor's state changed. An end is repeated on the next connection until
    /// [`MasterToWorker::ExecutorEndNoted`] confirms it.
    ExecutorStateChanged(ExecutorReport),
    /// Whether the Worker can start executors and cluster drivers: whether it can write in its work directory, has room on its
    /// disk, and can start processes. Sent when that changes, and after a registration if it cannot.
    StartsChecked {
        /// The Worker's id.
        worker: WorkerId,
        /// Why it cannot, in words for people: `cannot write in /work: No space left on device`.
        #[serde(deserialize_with = "short_if_any")]
        error: Option<String>,
    },
    /// The executors that run on a Worker which listed none when it registered. Those that the Master does not know are
    /// ended. Source: the message's name and meaning are Spark's, whose Workers send it after each registration.
    WorkerLatestState {
        /// The Worker's id.
        worker: WorkerId,
        /// The executors that run on it.
        executors: Vec<ExecutorReport>,
    },
    /// A cluster driver's state changed. An end is repeated on the next connection until
    /// [`MasterToWorker::DriverEndNoted`] confirms it. Source: the message's name is Spark's, which loses ends that it
    /// reports while no Master can be reached.
    DriverStateChanged(DriverReport),
    /// Where the Worker serves HTTP, and what is used there. It replaces what was reported before.
    WorkerReported(Box<WorkerReport>),
    /// A supervised cluster driver has failed and is started again. Also sent after each registration, and when it runs again.
    ///
    DriverRestarted {
        /// The cluster driver's id.
        driver: DriverId,
        /// The number of its starts after the first one.
        restarts: u32,
        /// How its process ended last.
        last: ExitStatus,
        /// How long it pauses before the next start. `None`: it runs, or is being started.
        pause_millis: Option<u64>,
    },
}

impl WorkerToMaster {
    /// The registration of a Worker with its executors.
    #[must_use]
    pub fn register(worker: WorkerDescription, executors: Vec<ExecutorReport>) -> Self {
        Self::RegisterWorker { worker: Box::new(worker), executors, drivers: Vec::new() }
    }
}

/// The longest callback of a Worker that is no text to be limited, in bytes.
const MOST_CALLBACK: usize = 64 << 10;

/// The Worker's id, address and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerDescription {
    /// The Worker's id, made at its start.
    pub id: WorkerId,
    /// The host name by which others reach it.
    pub host: String,
    /// The port that it listens on.
    pub port: u16,
    /// The number of its cores, at least 1.
    pub cores: Cores,
    /// The amount of its memory, at least 1 MiB.
    pub memory: MiB,
    /// All addresses of its custom resources, by name.
    pub resources: Resources,
    /// The absolute path of the directory for executors: an executor's is
    /// `<work_dir>/<application>/<executor>`. It is shown to people; nothing else opens it.
    pub work_dir: String,
    /// What the Worker drew at its start and shows with each registration. While a Worker is connected, nobody
    /// else can register with its id, unless they show the same token.
    pub token: Secret,
    /// What the Worker runs only. `None`: executors of all applications.
    pub label: Option<Label>,
    /// What a Master that was restarted or takes over needs to call the Worker, in the Worker's own protocol. Empty: the Worker
    /// returns by itself.
    pub callback: Bytes,
}

/// What a Worker has for executors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Cores in all, at least 1.
    pub cores: Cores,
    /// Memory in all, at least 1 MiB.
    pub memory: MiB,
    /// Addresses of its custom resources by name, all of them.
    pub resources: Resources,
}

impl WorkerDescription {
    /// The description with these parts. It is the only place that names all fields.
    #[must_use]
    pub fn new(id: WorkerId, address: Address, offered: Offered, work_dir: impl Into<String>) -> Self {
        let Address { host, port } = address;
        let Offered { cores, memory, resources } = offered;
        let (work_dir, token, label, callback) = (work_dir.into(), Secret::default(), None, Bytes::new());
        Self { id, host, port, cores, memory, resources, work_dir, token, label, callback }
    }

    /// The same with this label.
    #[must_use]
    pub fn with_label(self, label: Option<Label>) -> Self {
        Self { label, ..self }
    }

    /// The same with this token.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        Self { token, ..self }
    }

    /// The address that the Worker listens on.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::new(self.host.clone(), self.port)
    }

    /// The length of its longest text, in bytes.
    #[must_use]
    pub fn longest_text(&self) -> usize {
        let Self { id: _, host, port: _, cores: _, memory: _, resources, work_dir, token, label, callback } =
            self;
        // Spark's Workers send a callback of about 2 KiB, whatever the limit of texts is.
        let callback = if callback.len() > MOST_CALLBACK { callback.len() } else { 0 };
        let label = label.as_ref().map_or(0, Label::length);
        let own = [host.len(), work_dir.len(), token.reveal().len(), label, callback];
        let of_resources = resources
            .iter()
            .map(|(name, addresses)| addresses.map(str::len).max().unwrap_or(0).max(name.len()));
        own.into_iter().chain(of_resources).max().unwrap_or(0)
    }
}

/// The state of one executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorReport {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The executor's state.
    pub state: ExecutorState,
    /// What it used until its end, if it has ended and that was measured.
    pub used: Option<Used>,
}

impl ExecutorReport {
    /// The report of this state, without what was used.
    #[must_use]
    pub fn new(executor: ExecutorKey, state: ExecutorState) -> Self {
        Self { executor, state, used: None }
    }
}

/// A message from the Master to a Worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum MasterToWorker {
    /// The Worker is registered, and may be given executors.
    RegisteredWorker {
        /// The Master, `spark://host:port`.
        master_url: String,
        /// The interval between heartbeats, in milliseconds: a quarter of the Master's timeout.
        heartbeat_millis: u64,
        /// Whether the Master knew this Worker already, on another connection that this one replaces.
        duplicate: bool,
        /// The URL at which the Master serves HTTP, if it does.
        #[serde(deserialize_with = "short_if_any")]
        web_address: Option<String>,
    },
    /// The Master refuses the Worker, which then ends.
    RegisterWorkerFailed(RefusedRegistration),
    /// The Master does not know the Worker, which then registers again.
    ReconnectWorker,
    /// Tells the Worker to start an executor.
    LaunchExecutor(ExecutorLaunch),
    /// Tells the Worker to end an executor.
    KillExecutor {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// An application ended: the Worker need not keep anything of it.
    ApplicationFinished {
        /// The application's id.
        app: AppId,
    },
    /// The Master knows that the executor ended: the Worker need not report it again.
    ExecutorEndNoted {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// Somebody asks the Worker to leave: it takes no more executors, and ends when those that it has have ended. Source: the
    /// message's name is Spark's; there the Worker stays until it is stopped.
    DecommissionWorker {
        /// The time after which it ends what still runs, in milliseconds.
        within_millis: Option<u64>,
    },
    /// Tells the Worker to start a cluster driver. Repeated until the Worker has reported on it.
    LaunchDriver(Box<DriverLaunch>),
    /// Tells the Worker to end a cluster driver.
    KillDriver {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// The Master knows that the cluster driver ended: the Worker need not report it again.
    DriverEndNoted {
        /// The cluster driver's id.
        driver: DriverId,
    },
}

/// An executor to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorLaunch {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of custom resources that it was given.
    pub resources: Resources,
    /// What it runs. Encoded orders share it, so only short fields may follow.
    pub work: Shared<ExecutorWork>,
}

/// What all executors of an application run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorWork {
    /// The application's name, for people.
    pub app_name: String,
    /// The command to run, with its placeholders.
    pub command: ExecutorCommand,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The files that must be in place before it starts, if it needs any.
    pub files: Option<ApplicationFiles>,
}

/// Why the Master refuses a Worker.
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
        /// The id of the Worker that has this address.
        other: WorkerId,
    },
    /// The Worker has no cores or no memory, or more than the limit.
    #[display("a Worker has 1 to 65,536 cores and at least 1 MiB, not {cores} cores and {memory}")]
    UnsoundSize {
        /// The number of cores that it offers.
        cores: Cores,
        /// The amount of memory that it offers.
        memory: MiB,
    },
    /// A Worker with this id is connected, and this one does not show its token.
    #[display("another Worker with this id is connected")]
    IdTaken,
    /// The Worker has more of something than the Master's settings allow.
    #[display("{found} {} are more than the Master takes: {} is {most}", what.words().0, what.words().1)]
    Exceeds {
        /// What there is too much of.
        what: Bounded,
        /// The amount that it has; for memory in MiB, for texts the bytes of the longest one.
        found: u64,
        /// The most that the Master takes.
        most: u64,
    },
}

/// What the Master's settings limit in the registration of a Worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bounded {
    /// The number of living Workers, with this one.
    Workers,
    /// The Worker's cores.
    Cores,
    /// The Worker's memory.
    Memory,
    /// The addresses of its custom resources.
    Addresses,
    /// The executors that it lists.
    Executors,
    /// Its texts: host, directory, names and addresses.
    Text,
}

impl Bounded {
    /// What is counted, and the setting with the most of it.
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
