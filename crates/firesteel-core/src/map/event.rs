//! What happens to a map run.

use bytes::Bytes;

use crate::driver::{Ending, Note, TaskOutcome, TaskRequest};
use crate::end_request::EndRequest;
use crate::ids::{AttemptId, TaskId};
use crate::messages::Stream;

/// What happens to a map run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The input is open and the driver runs. Comes once, first.
    Start,
    /// An item was read, after `ReadItem`.
    InputItem(Item),
    /// The input has no more items.
    InputEnded,
    /// The input ends early. Items before that are still run.
    InputFailed {
        /// What is wrong with it, for people.
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
    /// The driver makes another attempt: this one's output is worth nothing.
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
    /// The driver remarks something.
    NoteReceived(Note),
    /// The application is over. The driver goes on until it has said so to everybody.
    ApplicationEnded(Ending),
    /// The driver has ended. A driver that ends before its application has failed.
    DriverEnded,
    /// A person asks for the end.
    EndRequested(EndRequest),
    /// Nobody reads the output any more.
    ReaderClosed,
    /// Outputs cannot be kept or printed any more.
    OutputLost {
        /// Why, for people.
        error: String,
    },
    /// The outputs of these tasks were printed.
    Printed {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// Everything that there was to print is printed, after `CloseOutput`.
    OutputClosed,
    /// The record of items that are not done cannot be written any more. The run goes on without it.
    RecordLost {
        /// Why, for people.
        error: String,
    },
    /// Items that are not done were written down for another run, after `LeaveRest`.
    RestLeft {
        /// The number of items that were written; `None` if nobody wants them.
        items: Option<u64>,
    },
    /// The time of the next deadline has come.
    Deadline,
}

/// An item as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number in the input, counted from 1.
    pub number: u64,
    /// How it is shown to people: short, and on one line.
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

crate::kinds!("map event", Event: Start InputItem InputEnded InputFailed OutputReceived OutputDiscarded TaskEnded
    NoteReceived ApplicationEnded DriverEnded EndRequested ReaderClosed OutputLost Printed OutputClosed RecordLost RestLeft
    Deadline);
