//! The inputs of the Worker: messages, the starts and ends of processes, measurements and deadlines.

use bytes::Bytes;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, FetchId, PeerId};
use firesteel_protocol::machine::kind::{Kind, Label};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{ClientToWorker, DiskSpace, MasterToWorker};
use firesteel_protocol::process::{ExitStatus, NotStarted};
use firesteel_protocol::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker event")]
pub enum Event {
    /// The daemon is ready. Comes exactly once, as the first event.
    Start,
    Connected {
        peer: PeerId,
        master: Address,
        leadership: Leadership,
    },
    ConnectFailed {
        master: Address,
        error: ConnectError,
    },
    Received {
        peer: PeerId,
        #[kind(label)]
        message: Inbound,
    },
    /// A connection ended, for whatever reason.
    Disconnected {
        peer: PeerId,
    },
    FilesFetched {
        app: AppId,
        fetch: FetchId,
    },
    /// An application's files could not be fetched. None of them is left here.
    FilesFailed {
        app: AppId,
        fetch: FetchId,
        /// The file, its source and the reason, in words.
        error: String,
    },
    RunnerStarted {
        executor: ExecutorKey,
        /// The id of the process, which leads its own process group.
        pid: u32,
    },
    RunnerFailed {
        executor: ExecutorKey,
        /// Why the start failed, and what is at fault.
        why: NotStarted,
    },
    /// The processor time of an executor's whole process tree. Comes just before the process is reported as ended.
    ExecutorMeasured {
        executor: ExecutorKey,
        /// The processor time, user and system, in milliseconds.
        cpu_millis: u64,
    },
    /// An executor's process ended, and none of its descendants is left.
    RunnerExited {
        executor: ExecutorKey,
        status: ExitStatus,
    },
    DriverStarted {
        driver: DriverId,
        pid: u32,
    },
    DriverFailed {
        driver: DriverId,
        why: NotStarted,
    },
    /// The processor time of a cluster driver's whole process tree. Comes just before the process is reported as ended.
    DriverMeasured {
        driver: DriverId,
        cpu_millis: u64,
    },
    DriverExited {
        driver: DriverId,
        status: ExitStatus,
    },
    /// The shell has checked whether processes can be started.
    StartTried(StartTried),
    Measured(Measurement),
    StaleFound {
        apps: Vec<AppId>,
    },
    /// An executor has ended, and the shell has measured its directory.
    DirectoryLeft {
        executor: ExecutorKey,
        /// The length of all files in the directory.
        bytes: u64,
    },
    /// The shell has found the directories of executors of earlier Workers. Comes at most once.
    EarlierFound {
        directories: Vec<EarlierDirectory>,
    },
    LogRead {
        peer: PeerId,
        outcome: LogRead,
    },
    /// The daemon is asked to end (SIGTERM, ctrl-c). A second request ends it at once.
    Shutdown,
    /// The next deadline has passed.
    Deadline,
}

/// The measurements of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    pub machine: Option<MachineMeasurement>,
    pub executors: Vec<(ExecutorKey, ProcessMeasurement)>,
    pub drivers: Vec<(DriverId, ProcessMeasurement)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineMeasurement {
    /// The number of its processors.
    pub cores: u64,
    /// The used time of all its processors since some fixed moment, in milliseconds.
    pub busy_millis: u64,
    pub memory: u64,
    /// The memory that programs can still have, in bytes.
    pub memory_available: u64,
}

/// The measurements of a process and all its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMeasurement {
    /// Their processor time since their start, in milliseconds.
    pub cpu_millis: u64,
    /// Their memory in RAM, in bytes.
    pub memory: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRead {
    Piece {
        start: u64,
        /// At most [`firesteel_protocol::wire::MAX_LOG_PIECE`] bytes. Empty only at the log's end.
        bytes: Bytes,
        /// The position of the log's end when it was read.
        length: u64,
    },
    /// The directory or the file does not exist.
    Missing { directory: String },
    Failed {
        /// The operating system's words, with the path.
        error: String,
    },
}

/// A message to the Worker. The roles in the hello decide which kind a connection may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    Master(MasterToWorker),
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
    pub executor: ExecutorKey,
    /// The time of the last write in it.
    pub last_written: Timestamp,
    /// The length of all files in it.
    pub bytes: u64,
}

/// The shell's findings about whether anything can be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartTried {
    /// Why nothing can be written in the work directory, in words for people: `cannot write in /work: No space left`.
    pub directory: Option<String>,
    /// Why no process can be started, if the shell tried.
    pub process: Option<String>,
    /// The space on the work directory's disk, if it could be measured.
    pub space: Option<DiskSpace>,
}
