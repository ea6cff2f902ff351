//! How clients read logs of executors and cluster drivers from Workers.
//!
//! A log is everything that an executor or a cluster driver wrote to standard output, or to standard error, in any
//! number of files. Positions are counted in bytes from the first byte ever written. So they do not change when files
//! are rolled, compressed or removed.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{ClientToWorker, DriverLocation, ExecutorView, Stream};
use crate::ids::{AppId, DriverId, ExecutorKey, WorkerId};

/// The part of an executor's log that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRequest {
    pub executor: ExecutorKey,
    pub stream: Stream,
    pub from: LogStart,
}

/// The part of a cluster driver's log that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverLogRequest {
    pub driver: DriverId,
    pub stream: Stream,
    pub from: LogStart,
}

/// The part of a log of an executor or a cluster driver that a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRange {
    pub author: LogAuthor,
    pub stream: Stream,
    pub from: LogStart,
}

/// The writer of a log. Formatted as `executor 3 of app-1`, or as the id of a cluster driver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::Display)]
pub enum LogAuthor {
    #[display("executor {} of {}", _0.executor, _0.app)]
    Executor(ExecutorKey),
    Driver(DriverId),
}

impl LogAuthor {
    /// The id whose directory in the work directory contains the log: the application's, or the cluster driver's.
    #[must_use]
    pub fn directory_id(&self) -> &str {
        match self {
            Self::Executor(executor) => executor.app.as_str(),
            Self::Driver(driver) => driver.as_str(),
        }
    }
}

/// Where the logs of an executor or a cluster driver are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogAddress {
    pub author: LogAuthor,
    pub worker: WorkerId,
    pub host: String,
    /// The port that the Worker listens on.
    pub port: u16,
    /// The directory on the Worker's host that contains the log. Empty if the Worker does not report its directories.
    pub directory: String,
}

impl LogAddress {
    #[must_use]
    pub fn of_executor(app: &AppId, executor: &ExecutorView) -> Self {
        let ExecutorView { id, worker, host, port, directory, .. } = executor;
        let author = LogAuthor::Executor(ExecutorKey { app: app.clone(), executor: *id });
        let (worker, host, directory) = (worker.clone(), host.clone(), directory.clone());
        Self { author, worker, host, port: *port, directory }
    }

    /// The location of a cluster driver's logs, on its present or last Worker.
    #[must_use]
    pub fn of_driver(driver: &DriverId, place: &DriverLocation) -> Self {
        let DriverLocation { worker, host, port, directory } = place.clone();
        Self { author: LogAuthor::Driver(driver.clone()), worker, host, port, directory }
    }

    /// Whether the Worker is one of Spark's. Only those do not tell their directories.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.directory.is_empty()
    }
}

impl LogRange {
    /// The request for this log, to send to the Worker.
    #[must_use]
    pub fn question(self) -> ClientToWorker {
        let Self { author, stream, from } = self;
        match author {
            LogAuthor::Executor(executor) => {
                ClientToWorker::RequestLog(LogRequest { executor, stream, from })
            }
            LogAuthor::Driver(driver) => {
                ClientToWorker::RequestDriverLog(DriverLogRequest { driver, stream, from })
            }
        }
    }
}

impl From<LogRequest> for LogRange {
    fn from(LogRequest { executor, stream, from }: LogRequest) -> Self {
        Self { author: LogAuthor::Executor(executor), stream, from }
    }
}

impl From<DriverLogRequest> for LogRange {
    fn from(DriverLogRequest { driver, stream, from }: DriverLogRequest) -> Self {
        Self { author: LogAuthor::Driver(driver), stream, from }
    }
}

/// The position in a log from which to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStart {
    /// Starts at this byte, or at the first byte that is still kept.
    Offset(u64),
    /// Starts this number of bytes before the end, or at the first byte that is still kept.
    LastBytes(u64),
    /// Starts this number of lines before the end, or at the first byte that is still kept. Text after the last line
    /// break counts as a line.
    LastLines(u64),
}

/// A piece of a log. To read more, a client sends another request, which starts at the piece's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPiece {
    /// The position of the piece's first byte.
    pub start: u64,
    /// The bytes of the piece; at most [`crate::wire::MAX_LOG_PIECE`]. Empty only at the log's end.
    pub bytes: Bytes,
    /// The position of the log's end when the Worker read the log.
    pub length: u64,
    /// Whether the log is complete: the executor or cluster driver had ended before the Worker read the log.
    pub is_over: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind, crate::Display)]
pub enum RefusedLog {
    /// The id of the application or cluster driver cannot be the name of a directory.
    #[display("the id has characters that an id may not have")]
    UnsoundId,
    /// The Worker has not answered the client's previous request yet.
    #[display("the question before was not answered yet")]
    OneAtATime,
    /// The log does not exist: its executor or driver never ran on this Worker, or the directory was removed.
    #[display("it never ran there, or {directory} was removed")]
    NoLog { directory: String },
    #[display("{error}")]
    Unreadable {
        /// The operating system's error message, with the path.
        error: String,
    },
}
