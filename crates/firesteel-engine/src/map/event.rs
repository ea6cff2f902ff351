//! The events of a map run.

use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::messages::Stream;
use firesteel_protocol::process::end_request::EndRequest;

use crate::driver::{Ending, Note, TaskOutcome, TaskRequest};

/// An input of a map run from the program around it.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map event")]
pub enum Event {
    /// The input is open and the driver runs. The first event, once.
    Start,
    /// An item was read, after `ReadItem`.
    InputItem(Item),
    /// The input has no more items.
    InputEnded,
    /// The input failed. The items read before still run.
    InputFailed {
        error: String,
        /// Whether the failure concerns an item that was taken from the input.
        item: Unusable,
    },
    /// The driver received a piece of an attempt's output.
    OutputReceived {
        attempt: AttemptId,
        stream: Stream,
        bytes: Bytes,
    },
    /// The driver starts another attempt. The output of this attempt is discarded.
    OutputDiscarded {
        attempt: AttemptId,
    },
    TaskEnded {
        task: TaskId,
        outcome: TaskOutcome,
    },
    NoteReceived(Note),
    /// The application has ended. The driver keeps running until its peers have received the end.
    ApplicationEnded(Ending),
    /// The driver has ended. If the application has not ended before, the driver has failed.
    DriverEnded,
    /// The user requests the end of the run.
    EndRequested(EndRequest),
    /// The program that reads standard output has closed it.
    ReaderClosed,
    /// Outputs cannot be stored or printed any more.
    OutputLost {
        error: String,
    },
    /// The outputs of these tasks were printed.
    Printed {
        tasks: Vec<TaskId>,
    },
    /// All output is printed, after `CloseOutput`.
    OutputClosed,
    /// The run record cannot be written any more. The run continues without it.
    RecordLost {
        error: String,
    },
    /// The remaining items were written, after `LeaveRest`.
    RestLeft {
        /// The number of written items. `None` if the run has no record.
        items: Option<u64>,
    },
    /// The time of the next deadline has come.
    Deadline,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's number in the input, counted from 1.
    pub number: u64,
    /// The item as text for the user, shortened to one line.
    pub words: String,
    /// The number of bytes of input that the item's task holds in memory.
    pub bytes: usize,
    pub request: TaskRequest,
}

/// Whether an item was taken from an input that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No item was taken: the input cannot be read.
    None,
    /// One item was taken, but it cannot become a task.
    Taken,
}
