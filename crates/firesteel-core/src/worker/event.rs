//! What happens to a Worker.

use bytes::Bytes;

use crate::address::Address;
use crate::ids::{AppId, ExecutorKey, FetchId, PeerId};
use crate::messages::{ClientToWorker, MasterToWorker};
use crate::process::{ExitStatus, StartFailure};

/// What happens to a Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The daemon is ready. Comes once, first.
    Start,
    /// A connection that was asked for is open.
    Connected {
        /// Its number from now on.
        peer: PeerId,
        /// The Master that was dialled.
        master: Address,
    },
    /// A connection that was asked for could not be opened.
    ConnectFailed {
        /// The Master that was dialled.
        master: Address,
        /// The error, in words for people.
        error: String,
    },
    /// A message came.
    Received {
        /// The connection's number.
        peer: PeerId,
        /// The message itself.
        message: Inbound,
    },
    /// A connection ended, however.
    Disconnected {
        /// The connection's number.
        peer: PeerId,
    },
    /// An application's files are there.
    FilesFetched {
        /// The application's id.
        app: AppId,
        /// The number of the fetch.
        fetch: FetchId,
    },
    /// An application's files cannot be had, and what had come of them is removed.
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
        /// The process, which leads a process group of its own.
        pid: u32,
    },
    /// An executor's process could not be started.
    RunnerFailed {
        /// The executor's id.
        executor: ExecutorKey,
        /// Why the start failed.
        failure: StartFailure,
    },
    /// An executor's process ended, and nothing that it started is left.
    RunnerExited {
        /// The executor's id.
        executor: ExecutorKey,
        /// How the process ended.
        status: ExitStatus,
    },
    /// Directories of applications were looked for.
    StaleFound {
        /// Those that are stale.
        apps: Vec<AppId>,
    },
    /// A piece of a log that was asked for was read, or was not.
    LogRead {
        /// The connection's number.
        peer: PeerId,
        /// What came of it.
        outcome: LogRead,
    },
    /// The daemon is asked to end (SIGTERM, ctrl-c). Asked again, it ends at once.
    Shutdown,
    /// The time of the next deadline has come.
    Deadline,
}

/// What came of reading a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRead {
    /// A piece of it.
    Piece {
        /// Where it begins, in bytes since the log's first.
        start: u64,
        /// At most [`crate::wire::MAX_LOG_PIECE`] bytes. Empty only at the log's end.
        bytes: Bytes,
        /// Where the log ended when it was read.
        length: u64,
    },
    /// There is no such directory or no such file in it.
    Missing {
        /// The executor's directory.
        directory: String,
    },
    /// It cannot be read.
    Failed {
        /// The operating system's words, with the path.
        error: String,
    },
}

/// A message to the Worker. Which kind a connection may send was settled by its hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// From a Master.
    Master(MasterToWorker),
    /// From a status client.
    Client(ClientToWorker),
}
