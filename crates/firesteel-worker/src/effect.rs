//! The effects of a Worker, which its shell performs.

use std::collections::BTreeSet;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, FetchId, PeerId, ProfileId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{
    ApplicationFiles, LogWish, TaskDirectory, WorkerToClient, WorkerToMaster,
};
use firesteel_protocol::process::executor_command::ExecutorCommand;
use firesteel_protocol::process::{Command, Signal};
use firesteel_protocol::time::Timestamp;

use super::Note;

/// An effect of a Worker, which its shell performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker effect")]
pub enum Effect {
    /// Connect to a Master. Leads to `Connected` or `ConnectFailed`.
    Connect {
        /// The Master's address.
        master: Address,
    },
    /// Send a message. If the connection has ended, nothing happens.
    Send {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Outbound,
    },
    /// Close a connection. Leads to `Disconnected`.
    Close {
        /// The connection's number.
        peer: PeerId,
    },
    /// Fetch an application's files. Leads to `FilesFetched`, or to `FilesFailed` with nothing left of them
    /// here.
    FetchFiles {
        /// The number of this fetch.
        fetch: FetchId,
        /// The application's id.
        app: AppId,
        /// The files, and the address to fetch them from.
        files: ApplicationFiles,
    },
    /// Remove the fetched files of an application, or stop fetching them. Leads to no event.
    RemoveFiles {
        /// The application's id.
        app: AppId,
    },
    /// Start an executor. Leads to `RunnerStarted` or `RunnerFailed`, and in the end to `RunnerExited`.
    StartExecutor(ExecutorPlan),
    /// Signal an executor's process group. If it has ended, nothing happens.
    SignalExecutor {
        /// The executor's id.
        executor: ExecutorKey,
        /// The signal to send.
        signal: Signal,
    },
    /// Start a cluster driver. Leads to `DriverStarted` or `DriverFailed`, and in the end to `DriverExited`.
    StartDriver(DriverPlan),
    /// Signal a cluster driver's process group. If it has ended, nothing happens.
    SignalDriver {
        /// The cluster driver's id.
        driver: DriverId,
        /// The signal to send.
        signal: Signal,
    },
    /// An application has ended, and none of its executors is left here. Their directories stay for people to
    /// read: see [`Effect::RemoveDirectory`].
    CleanApplication {
        /// The application's id.
        app: AppId,
    },
    /// Try to write in the work directory, and make it if it is gone. Leads to `StartTried`.
    TryToStart {
        /// Whether to start a process, too, which ends at once.
        process: bool,
    },
    /// Measure what the machine and these processes use, with all that they started. Leads to `Measured`.
    Measure {
        /// The executors, and the ids of their processes.
        executors: Vec<(ExecutorKey, u32)>,
        /// The cluster drivers, and the ids of their processes.
        drivers: Vec<(DriverId, u32)>,
    },
    /// Find directories of applications and cluster drivers in which nothing is written any more. Leads to `StaleFound`.
    FindStale {
        /// The applications to skip, since they live here.
        keep: BTreeSet<AppId>,
        /// A directory is stale if nothing in it was written since this time.
        unwritten_since: Timestamp,
    },
    /// Remove an application's directory with all its contents. An executor that is started later gets a new
    /// one.
    RemoveDirectory {
        /// The application's id.
        app: AppId,
    },
    /// Remove the directories of ended executors with all their contents, and those of their applications
    /// that are empty then.
    RemoveExecutorDirectories {
        /// The executors, at least one.
        executors: Vec<ExecutorKey>,
    },
    /// Read a piece of a log. Leads to `LogRead`.
    ReadLog {
        /// The connection's number.
        peer: PeerId,
        /// The piece that the client asks for. Its author's id can be the name of a directory.
        wish: LogWish,
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

/// A message from the Worker to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// A message to a Master.
    Master(WorkerToMaster),
    /// A message to a status client.
    Client(WorkerToClient),
}

/// An executor's process to start. It gets the directory `<work directory>/<application>/<executor>` and
/// leads its own process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorPlan {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The number of its resource profile.
    pub profile: ProfileId,
    /// The application's name.
    pub app_name: String,
    /// The command to run. In a program all placeholders are filled in but the Worker's own binary, which only the shell
    /// knows; what a Java class becomes, the shell knows.
    pub command: ExecutorCommand,
    /// The directory that it runs in.
    pub directory: TaskDirectory,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of custom resources that it was given, under the names by which they were asked for.
    pub resources: Resources,
    /// The same addresses under the names that the Worker has for them, with their kinds.
    pub on_worker: Resources,
    /// The names of the application's files, which have been fetched.
    pub files: Vec<String>,
}

/// A cluster driver's process to start. It gets the directory `<work directory>/<id>` and leads its own process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverPlan {
    /// The cluster driver's id.
    pub driver: DriverId,
    /// The command to run.
    pub command: Command,
    /// The number of cores.
    pub cores: Cores,
    /// The amount of memory.
    pub memory: MiB,
    /// The addresses of custom resources that it was given.
    pub resources: Resources,
    /// The same addresses under the names that the Worker has for them, with their kinds.
    pub on_worker: Resources,
    /// The Masters of the cluster: `spark://host:port[,host:port..]`.
    pub master_url: String,
    /// Whether it is its first start here. Its logs are appended to at every start.
    pub is_first: bool,
}

/// Why the daemon ends.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker exit")]
pub enum Exit {
    /// The daemon was asked to end.
    Shutdown,
    /// No Master registered it in the number of attempts that the settings allow.
    NoMaster {
        /// The number of attempts.
        attempts: u32,
        /// The last error of each Master, in the order of the settings.
        errors: Vec<(Address, ConnectError)>,
    },
    /// A Master refused it, for this reason.
    Refused(firesteel_protocol::messages::RefusedRegistration),
}

/// An effect that sends a message to a Master.
pub(super) fn send(peer: PeerId, message: WorkerToMaster) -> Effect {
    Effect::Send { peer, message: Outbound::Master(message) }
}
