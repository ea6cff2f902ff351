//! How clients read logs of executors and cluster drivers from Workers.
//!
//! A log is everything that an executor or a cluster driver wrote to one of its outputs, in any number of files.
//! Positions are counted in bytes from the first byte ever written, so they do not change when files are rolled,
//! compressed or removed.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{ClientToWorker, Stream};
use crate::ids::{DriverId, ExecutorKey};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRange {
    pub author: LogAuthor,
    pub stream: Stream,
    pub from: LogStart,
}

/// Who writes a log. Written as `executor 3 of app-1`, or as the id of a cluster driver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, crate::Display)]
pub enum LogAuthor {
    #[display("executor {} of {}", _0.executor, _0.app)]
    Executor(ExecutorKey),
    Driver(DriverId),
}

impl LogAuthor {
    /// The id that names a directory in the work directory: the application's, or the cluster driver's.
    #[must_use]
    pub fn directory_id(&self) -> &str {
        match self {
            Self::Executor(executor) => executor.app.as_str(),
            Self::Driver(driver) => driver.as_str(),
        }
    }
}

impl LogRange {
    /// The request to send to the Worker.
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

/// A position in a log to begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStart {
    /// This byte, or the first one that is still kept.
    Offset(u64),
    /// This number of bytes before the end, or the first byte that is kept.
    LastBytes(u64),
    /// This number of lines before the end, or the first byte that is kept. Text after the last line break counts as a
    /// line.
    LastLines(u64),
}

/// A piece of a log. A client that wants more sends another request, from the piece's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPiece {
    /// The position of the piece's first byte.
    pub start: u64,
    /// The piece, at most [`crate::wire::MAX_LOG_PIECE`] bytes. Empty only at the log's end.
    pub bytes: Bytes,
    /// The position of the log's end when it was read.
    pub length: u64,
    /// Whether the log is complete: the executor or cluster driver had ended before the log was read.
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
    /// There is no such log: its author never ran here, or its directory was removed.
    #[display("it never ran there, or {directory} was removed")]
    NoLog { directory: String },
    #[display("{error}")]
    Unreadable {
        /// The operating system's error message, with the path.
        error: String,
    },
}
