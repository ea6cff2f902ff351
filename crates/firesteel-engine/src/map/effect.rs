//! The effects of a map run.

use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::messages::{Outcome, Stream};

use super::Remark;
use crate::driver::{TaskRequest, Until};

/// An action that the program around a map run performs.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map effect")]
pub enum Effect {
    /// Read one item. If there is a run record, first write the item to it. `InputItem`, `InputEnded` or `InputFailed`
    /// follows. The next `ReadItem` comes only after that event.
    ReadItem,
    Submit {
        task: TaskId,
        request: TaskRequest,
    },
    /// Tell the driver to end the application, because all tasks have ended. `ApplicationEnded` follows, and then
    /// `DriverEnded`.
    FinishApplication {
        /// The result of the items, for the Master.
        outcome: Outcome,
    },
    /// Tell the driver to end the application and all its tasks. `ApplicationEnded` follows, and then `DriverEnded`.
    CancelApplication {
        /// The result of the items, for the Master.
        outcome: Outcome,
        /// Whether the driver stays until the executors have ended.
        until: Until,
    },
    /// Tell the driver to end these tasks. `TaskEnded` follows for each.
    CancelTasks {
        tasks: Vec<TaskId>,
    },
    /// Keep a piece of an attempt's output for printing.
    Output {
        attempt: AttemptId,
        stream: Stream,
        bytes: Bytes,
    },
    DiscardOutput {
        attempt: AttemptId,
    },
    /// Print the output of a task when its turn comes. `Printed` follows.
    Print {
        task: TaskId,
        /// The attempt whose output counts. If `None`, nothing is printed.
        attempt: Option<AttemptId>,
    },
    /// Finish the output: no more output follows. `OutputClosed` or `OutputLost` follows when all output is printed.
    CloseOutput,
    /// Mark an item in the run record as done: it succeeded, and its output was printed.
    MarkDone {
        /// The item's number in the input.
        number: u64,
    },
    /// Write every item that is not marked as done to the file of remaining items, including items that were never
    /// read. Read no more items. `RestLeft` or `RecordLost` follows.
    LeaveRest,
    Remark(Remark),
    /// The run has ended. This is the last effect.
    Finish,
}
