//! The events of a map run.

use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::messages::Stream;
use firesteel_protocol::process::end_request::EndRequest;

use crate::driver::{Ending, Note, TaskOutcome, TaskRequest};

/// An event of a map run.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map event")]
pub enum Event {
    /// The input is open and the driver runs. This is the first event.
    Start,
    /// An item was read, after `ReadItem`.
    InputItem(Item),
    /// The input has no more items.
    InputEnded,
    /// The input failed. The items before that are still run.
    InputFailed {
        /// The error, in words.
        error: String,
        /// Whether an item was taken from the input and cannot be run.
        item: Unusable,
    },
    /// The driver got a piece of an attempt's output.
    OutputReceived {
        /// The attempt that wrote it.
        attempt: AttemptId,
        /// The stream that it was written to.
        stream: Stream,
        /// The bytes.
        bytes: Bytes,
    },
    /// The driver starts another attempt; the output of this one is to be discarded.
    OutputDiscarded {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A task is over for good.
    TaskEnded {
        /// Its number.
        task: TaskId,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// The driver made a remark.
    NoteReceived(Note),
    /// The application is over. The driver keeps running until its peers have been told.
    ApplicationEnded(Ending),
    /// The driver has ended. A driver that ends before its application has failed.
    DriverEnded,
    /// The user asks for the end.
    EndRequested(EndRequest),
    /// The reader of standard output has closed it.
    ReaderClosed,
    /// Outputs cannot be kept or printed any more.
    OutputLost {
        /// The error, in words.
        error: String,
    },
    /// The outputs of these tasks were printed.
    Printed {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// All output is printed, after `CloseOutput`.
    OutputClosed,
    /// The run record cannot be written any more. The run goes on without it.
    RecordLost {
        /// The error, in words.
        error: String,
    },
    /// The items that are left were written, after `LeaveRest`.
    RestLeft {
        /// The number of items that were written; `None` if the run has no record.
        items: Option<u64>,
    },
    /// The time of the next deadline has come.
    Deadline,
}

/// An item of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number in the input, counted from 1.
    pub number: u64,
    /// The item as the user sees it: short, and on one line.
    pub words: String,
    /// Bytes of input that its task holds in memory.
    pub bytes: usize,
    /// Its task.
    pub request: TaskRequest,
}

/// Whether an input ended early because of an item that was taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No item was taken: the input cannot be read.
    None,
    /// One item was taken, and cannot be run.
    Taken,
}
