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
    /// An application's files could not be fetched. None of them is left on this machine.
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
    /// What is known of an executor's whole process tree after its end. This event comes just before the end of the
    /// process is reported.
    ExecutorMeasured {
        executor: ExecutorKey,
        last: LastMeasurement,
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
    /// The same of a cluster driver's whole process tree.
    DriverMeasured {
        driver: DriverId,
        last: LastMeasurement,
    },
    DriverExited {
        driver: DriverId,
        status: ExitStatus,
    },
    /// The daemon has checked whether processes can be started.
    StartTried(StartTried),
    Measured(Measurement),
    StaleFound {
        apps: Vec<AppId>,
    },
    /// An executor has ended, and the daemon has measured its directory.
    DirectoryLeft {
        executor: ExecutorKey,
        /// The length of all files in the directory.
        bytes: u64,
    },
    /// The daemon has found the directories of executors of earlier Workers. Comes at most once.
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
    /// The number of the machine's processors.
    pub cores: u64,
    /// The time that all the machine's processors were in use since some fixed moment, in milliseconds.
    pub busy_millis: u64,
    pub memory: u64,
    /// The memory that programs can still allocate, in bytes.
    pub memory_available: u64,
}

/// The measurements of a process and all its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMeasurement {
    /// Processor time that the process and its descendants have used since they started, in milliseconds.
    pub cpu_millis: u64,
    /// The memory in RAM of the process and its descendants, in bytes.
    pub memory: u64,
    /// The threads of the process and its descendants.
    pub threads: u64,
    /// The total length of its files, in bytes. `None`: that was not asked for.
    pub disk: Option<u64>,
}

/// What is known of a process and its descendants when they have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastMeasurement {
    /// The processor time, user and system, in milliseconds.
    pub cpu_millis: u64,
    /// Whether the kernel killed one of them, because all together needed more memory than their control group may
    /// have.
    pub is_out_of_memory: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRead {
    Piece {
        start: u64,
        /// The bytes of the log: at most [`firesteel_protocol::wire::MAX_LOG_PIECE`]. Empty only at the log's end.
        bytes: Bytes,
        /// The position of the log's end when the daemon read the log.
        length: u64,
    },
    /// The directory or the file does not exist.
    Missing { directory: String },
    Failed {
        /// The operating system's error message, with the path.
        error: String,
    },
}

/// A message to the Worker. The roles in the handshake decide which kind of message a connection may send.
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
    /// The time of the last write in the directory.
    pub last_written: Timestamp,
    /// The length of all files in the directory.
    pub bytes: u64,
}

/// The daemon's result of checking whether anything can be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartTried {
    /// Why nothing can be written in the work directory, in words for people: `cannot write in /work: No space left`.
    pub directory: Option<String>,
    /// Why no process can be started. `None` if one was started, or if the daemon did not try.
    pub process: Option<String>,
    /// The space on the work directory's disk, if it could be measured.
    pub space: Option<DiskSpace>,
}
