//! How clients read executors' logs from Workers.
//!
//! A log is everything that an executor wrote to one of its outputs, however many files it is kept in.
//! Positions are counted in bytes from the first byte ever written, so they do not change when files are
//! rolled, compressed or removed.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Stream;
use crate::ids::ExecutorKey;

/// The part of a log that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRequest {
    /// The executor's id.
    pub executor: ExecutorKey,
    /// The output: standard output or standard error.
    pub stream: Stream,
    /// The position to begin at.
    pub from: LogStart,
}

/// A position in a log to begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogStart {
    /// That byte, or the first one that is still kept.
    Offset(u64),
    /// That number of bytes before the end, or the first byte that is kept.
    LastBytes(u64),
    /// That number of lines before the end, or the first byte that is kept. Text after the last line break
    /// counts as a line.
    LastLines(u64),
}

/// A piece of a log. A client that wants more asks again, from the piece's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPiece {
    /// The position of the piece's first byte.
    pub start: u64,
    /// The piece, at most [`crate::wire::MAX_LOG_PIECE`] bytes. Empty only at the log's end.
    pub bytes: Bytes,
    /// The position of the log's end when it was read.
    pub length: u64,
    /// Whether nothing more will be written: the executor had ended before the log was read.
    pub is_over: bool,
}

/// Why a Worker does not send a piece of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusedLog {
    /// The application's id cannot be the name of a directory.
    UnsoundId,
    /// The Worker has not answered the client's previous request yet.
    OneAtATime,
    /// There is no such log: the executor never ran here, or its directory was removed.
    NoLog {
        /// The directory where it would be.
        directory: String,
    },
    /// The log cannot be read.
    Unreadable {
        /// The operating system's error message, with the path.
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

crate::kinds!("RefusedLog", RefusedLog: UnsoundId OneAtATime NoLog Unreadable);
