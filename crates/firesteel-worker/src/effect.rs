//! The effects of a Worker, which its daemon performs.

use std::collections::BTreeSet;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, FetchId, PeerId, ProfileId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{
    ApplicationFiles, LogRange, TaskDirectory, WorkerToClient, WorkerToMaster,
};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use firesteel_protocol::process::{Command, Signal};
use firesteel_protocol::time::Timestamp;

use super::Note;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker effect")]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect {
        master: Address,
    },
    /// Send a message. Does nothing if the connection has ended.
    Send {
        peer: PeerId,
        message: Outbound,
    },
    /// Close a connection. Leads to `Disconnected`.
    Close {
        peer: PeerId,
    },
    /// Fetch an application's files. Leads to `FilesFetched` or `FilesFailed`. After `FilesFailed`, no files are left
    /// on this machine.
    FetchFiles {
        fetch: FetchId,
        app: AppId,
        files: ApplicationFiles,
    },
    /// Remove the fetched files of an application, or stop fetching them. Leads to no event.
    RemoveFiles {
        app: AppId,
    },
    /// Start an executor. Leads to `RunnerStarted` or `RunnerFailed`, and at its end to `RunnerExited`.
    StartExecutor(ExecutorPlan),
    /// Signal an executor's process group. Does nothing if the executor has ended.
    SignalExecutor {
        executor: ExecutorKey,
        signal: Signal,
    },
    /// Start a cluster driver. Leads to `DriverStarted` or `DriverFailed`, and at its end to `DriverExited`.
    StartDriver(DriverPlan),
    SignalDriver {
        driver: DriverId,
        signal: Signal,
    },
    /// An application has ended, and none of its executors is left on this Worker. The directories stay so that people
    /// can read them: see [`Effect::RemoveDirectory`].
    CleanApplication {
        app: AppId,
    },
    /// Try to write in the work directory, and make the directory again if it is missing. Leads to `StartTried`.
    TryToStart {
        /// Whether to also try to start a process, which ends at once.
        process: bool,
    },
    /// Measure the usage of the machine and of these processes with their descendants. Leads to `Measured`.
    Measure {
        executors: Vec<(ExecutorKey, u32)>,
        /// The cluster drivers, and the ids of their processes.
        drivers: Vec<(DriverId, u32)>,
        /// Whether to also measure their files.
        disk: bool,
    },
    /// Find directories of applications and cluster drivers that are no longer written to. Leads to `StaleFound`.
    FindStale {
        /// The live applications on this Worker, whose directories are skipped.
        keep: BTreeSet<AppId>,
        /// A directory is stale if nothing in it was written since this time.
        unwritten_since: Timestamp,
    },
    /// Remove an application's directory with all its contents. An executor that is started later gets a new directory.
    RemoveDirectory {
        app: AppId,
    },
    /// Remove the directories of ended executors with all their contents. Then remove the directories of their
    /// applications that have become empty.
    RemoveExecutorDirectories {
        /// The executors, at least one.
        executors: Vec<ExecutorKey>,
    },
    /// Read a piece of a log. Leads to `LogRead`.
    ReadLog {
        peer: PeerId,
        /// The piece that the client asks for. Its author's id is valid as the name of a directory.
        range: LogRange,
    },
    /// End the daemon, for this reason.
    Exit(Exit),
    /// Write a line to the log.
    Note(Note),
}

impl From<Note> for Effect {
    fn from(note: Note) -> Self {
        Self::Note(note)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    Master(WorkerToMaster),
    Client(WorkerToClient),
}

/// An executor's process to start. The executor gets the directory `<work directory>/<application>/<executor>`, and
/// leads its own process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorPlan {
    pub executor: ExecutorKey,
    pub profile: ProfileId,
    pub app_name: String,
    /// The command to run. In a program, all placeholders are filled in, except the path of the Worker's own binary,
    /// which only the daemon knows. The daemon also decides how to start a Java class.
    pub command: ExecutorCommand,
    /// The directory in which the executor starts.
    pub directory: TaskDirectory,
    pub cores: Cores,
    pub memory: MiB,
    /// The addresses of custom resources that the executor holds, under the names that the application asked for.
    pub resources: Resources,
    /// The same addresses under the Worker's own names, with their kinds.
    pub on_worker: Resources,
    /// The names of the application's files, which have been fetched.
    pub files: Vec<String>,
}

/// A cluster driver's process to start. The driver gets the directory `<work directory>/<id>`, and leads its own
/// process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverPlan {
    pub driver: DriverId,
    pub command: Command,
    pub cores: Cores,
    pub memory: MiB,
    /// The addresses of custom resources that the driver holds.
    pub resources: Resources,
    pub on_worker: Resources,
    /// The Masters of the cluster: `spark://host:port[,host:port..]`.
    pub master_url: String,
    /// Whether this is the driver's first start on this Worker. Later starts append to the same logs.
    pub is_first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker exit")]
pub enum Exit {
    /// The daemon was asked to end.
    Shutdown,
    /// No Master registered the Worker in the number of attempts that the settings allow.
    NoMaster {
        attempts: u32,
        /// The last error of each Master, in the order of the settings.
        errors: Vec<(Address, ConnectError)>,
    },
    Refused(firesteel_protocol::messages::RefusedRegistration),
}

pub(super) fn send(peer: PeerId, message: WorkerToMaster) -> Effect {
    Effect::Send { peer, message: Outbound::Master(message) }
}
