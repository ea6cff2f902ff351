//! Clients and Workers about executors' logs.
//!
//! A log is what an executor wrote to one of its outputs, from its first byte on, however many files it is kept
//! in. Positions in it are counted in bytes since then, so they stay what they are when files are rolled,
//! compressed or removed.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Stream;
use crate::ids::ExecutorKey;

/// Which part of which log a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRequest {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// Which of its outputs.
    pub stream: Stream,
    /// Where to begin.
    pub from: LogStart,
}

/// Where in a log to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStart {
    /// At that byte, or at the first that is still there.
    Offset(u64),
    /// So many bytes before its end, or at its first.
    LastBytes(u64),
    /// So many lines before its end, or at its first. What stands behind the last line's end is a line, too.
    LastLines(u64),
}

/// A piece of a log. A client that wants more asks again, from its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPiece {
    /// Where the piece begins.
    pub start: u64,
    /// The piece, at most [`crate::wire::MAX_LOG_PIECE`] bytes. Empty only at the log's end.
    pub bytes: Bytes,
    /// Where the log ended when it was read.
    pub length: u64,
    /// Nothing more will be written: the executor had ended before the log was read.
    pub is_over: bool,
}

/// Why a piece of a log is not to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedLog {
    /// The application's id cannot be that of a directory.
    UnsoundId,
    /// The client's question before this one has not been answered.
    OneAtATime,
    /// There is no such log: the executor never ran here, or its directory was removed.
    NoLog {
        /// Where it would be.
        directory: String,
    },
    /// The log cannot be read.
    Unreadable {
        /// The operating system's words, with the path.
        error: String,
    },
}

impl fmt::Display for RefusedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsoundId => f.write_str("the application's id has characters that an id may not have"),
            Self::OneAtATime => f.write_str("the question before was not answered yet"),
            Self::NoLog { directory } => {
                write!(f, "it never ran there, or {directory} was removed")
            }
            Self::Unreadable { error } => f.write_str(error),
        }
    }
}
