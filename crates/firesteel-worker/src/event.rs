//! The events that a Worker is told.

use bytes::Bytes;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, FetchId, PeerId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{ClientToWorker, DiskSpace, MasterToWorker};
use firesteel_protocol::process::{ExitStatus, NotStarted};
use firesteel_protocol::time::Timestamp;

/// An event for a Worker.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker event")]
pub enum Event {
    /// The daemon is ready. Comes once, first.
    Start,
    /// A requested connection is open.
    Connected {
        /// Its number from now on.
        peer: PeerId,
        /// The address of the Master.
        master: Address,
        /// What it says of itself.
        leadership: Leadership,
    },
    /// A requested connection could not be opened.
    ConnectFailed {
        /// The address of the Master.
        master: Address,
        /// The error.
        error: ConnectError,
    },
    /// A message arrived on a connection.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        #[kind(label)]
        message: Inbound,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// An application's files were fetched.
    FilesFetched {
        /// The application's id.
        app: AppId,
        /// The number of the fetch.
        fetch: FetchId,
    },
    /// An application's files could not be fetched. Nothing of them is left.
    FilesFailed {
        /// The application's id.
        app: AppId,
        /// The number of the fetch.
        fetch: FetchId,
        /// Which file, from where, and why.
        error: String,
    },
    /// An executor's process runs.
    RunnerStarted {
        /// The executor's id.
        executor: ExecutorKey,
        /// The id of the process, which leads its own process group.
        pid: u32,
    },
    /// An executor's process could not be started.
    RunnerFailed {
        /// The executor's id.
        executor: ExecutorKey,
        /// Why the start failed, and whose fault that is.
        why: NotStarted,
    },
    /// An executor's process is about to be reported as ended, and this is the processor time of all of its life.
    ExecutorMeasured {
        /// The executor's id.
        executor: ExecutorKey,
        /// The processor time, user and system, in milliseconds.
        cpu_millis: u64,
    },
    /// An executor's process ended, and nothing that it started is left.
    RunnerExited {
        /// The executor's id.
        executor: ExecutorKey,
        /// How the process ended.
        status: ExitStatus,
    },
    /// A cluster driver's process runs.
    DriverStarted {
        /// The cluster driver's id.
        driver: DriverId,
        /// The id of the process, which leads its own process group.
        pid: u32,
    },
    /// A cluster driver's process could not be started.
    DriverFailed {
        /// The cluster driver's id.
        driver: DriverId,
        /// Why the start failed, and whose fault that is.
        why: NotStarted,
    },
    /// A cluster driver's process is about to be reported as ended, and this is the processor time of all of its life.
    DriverMeasured {
        /// The cluster driver's id.
        driver: DriverId,
        /// The processor time, user and system, in milliseconds.
        cpu_millis: u64,
    },
    /// A cluster driver's process ended, and nothing that it started is left.
    DriverExited {
        /// The cluster driver's id.
        driver: DriverId,
        /// How the process ended.
        status: ExitStatus,
    },
    /// It was tried whether anything can be started.
    StartTried(StartTried),
    /// What is used was measured.
    Measured(Measurement),
    /// The search for stale directories is over.
    StaleFound {
        /// The applications with stale directories.
        apps: Vec<AppId>,
    },
    /// An executor has ended, and its directory was measured.
    DirectoryLeft {
        /// The executor's id.
        executor: ExecutorKey,
        /// The length of all files in the directory.
        bytes: u64,
    },
    /// The directories that executors of earlier Workers left were found. Comes at most once.
    EarlierFound {
        /// The directories, in any order.
        directories: Vec<EarlierDirectory>,
    },
    /// A piece of a log was read, or could not be.
    LogRead {
        /// The connection's number.
        peer: PeerId,
        /// The piece, or why there is none.
        outcome: LogRead,
    },
    /// The daemon is asked to end (SIGTERM, ctrl-c). When asked again, it ends at once.
    Shutdown,
    /// The next deadline has passed.
    Deadline,
}

/// What was measured at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// The machine, if it could be measured.
    pub machine: Option<MachineMeasurement>,
    /// The executors whose processes were found.
    pub executors: Vec<(ExecutorKey, ProcessMeasurement)>,
    /// The cluster drivers whose processes were found.
    pub drivers: Vec<(DriverId, ProcessMeasurement)>,
}

/// What was measured of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineMeasurement {
    /// The number of its processors.
    pub cores: u64,
    /// Their time that was used since some moment in the past, in milliseconds.
    pub busy_millis: u64,
    /// The amount of its memory, in bytes.
    pub memory: u64,
    /// The part of it that programs can still have, in bytes.
    pub memory_available: u64,
}

/// What was measured of a process and of all that it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMeasurement {
    /// Their processor time since their start, in milliseconds.
    pub cpu_millis: u64,
    /// Their memory in RAM, in bytes.
    pub memory: u64,
}

/// The result of reading a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRead {
    /// A piece of the log was read.
    Piece {
        /// The position of its first byte in the log.
        start: u64,
        /// At most [`firesteel_protocol::wire::MAX_LOG_PIECE`] bytes. Empty only at the log's end.
        bytes: Bytes,
        /// The position of the log's end when it was read.
        length: u64,
    },
    /// The directory or the file does not exist.
    Missing {
        /// The executor's directory.
        directory: String,
    },
    /// The log could not be read.
    Failed {
        /// The operating system's words, with the path.
        error: String,
    },
}

/// A message to the Worker. The roles in the hello decide which kind a connection may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// A message from a Master.
    Master(MasterToWorker),
    /// A message from a status client.
    Client(ClientToWorker),
}

impl Inbound {
    fn label(&self) -> Label {
        match self {
            Self::Master(message) => message.label().from("Master"),
            Self::Client(message) => message.label().from("Client"),
        }
    }
}

/// The directory of an executor that ended before this Worker started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierDirectory {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The time of the last write in it.
    pub last_written: Timestamp,
    /// The length of all files in it.
    pub bytes: u64,
}

/// Whether anything can be started, as the shell found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartTried {
    /// Why nothing can be written in the work directory, in words for people: `cannot write in /work: No space left`.
    pub directory: Option<String>,
    /// Why no process can be started, if that was tried.
    pub process: Option<String>,
    /// The space on the work directory's disk, if it could be measured.
    pub space: Option<DiskSpace>,
}
