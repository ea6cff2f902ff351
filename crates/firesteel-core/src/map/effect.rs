//! What a map run has its shell do.

use bytes::Bytes;

use super::Remark;
use crate::driver::{TaskRequest, Until};
use crate::ids::{AttemptId, TaskId};
use crate::messages::{Outcome, Stream};

/// What a map run has its shell do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Read one more item and, if a record is kept, write it there first: `InputItem`, `InputEnded` or `InputFailed`
    /// comes back. Comes again only after that.
    ReadItem,
    /// Give a task to the driver.
    Submit {
        /// The task's number.
        task: TaskId,
        /// The task.
        request: TaskRequest,
    },
    /// Have the driver end the application, since all tasks are over. `ApplicationEnded` comes back, and then
    /// `DriverEnded`.
    FinishApplication {
        /// What became of the items, for the Master.
        outcome: Outcome,
    },
    /// Have the driver end the application and all its tasks. `ApplicationEnded` comes back, and then `DriverEnded`.
    CancelApplication {
        /// What became of the items, for the Master.
        outcome: Outcome,
        /// Whether the driver stays until the executors have ended.
        until: Until,
    },
    /// Have the driver end these tasks. `TaskEnded` comes back for each.
    CancelTasks {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// Keep a piece of an attempt's output for printing.
    Output {
        /// The attempt that wrote it.
        attempt: AttemptId,
        /// The stream that it was written to.
        stream: Stream,
        /// The bytes.
        bytes: Bytes,
    },
    /// Forget an attempt's output.
    DiscardOutput {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Print the output of a task when it is its turn. `Printed` comes back.
    Print {
        /// The task.
        task: TaskId,
        /// The attempt whose output counts; `None`: nothing is printed.
        attempt: Option<AttemptId>,
    },
    /// Nothing more comes to be printed. `OutputClosed` or `OutputLost` comes back.
    CloseOutput,
    /// Note in the record that an item is done: it succeeded, and its output was printed.
    MarkDone {
        /// The item's number in the input.
        number: u64,
    },
    /// Write down for another run every item that is not marked as done, and those that were never read; read no more.
    /// `RestLeft` or `RecordLost` comes back.
    LeaveRest,
    /// Tell the user.
    Remark(Remark),
    /// The run is over. Comes once, last.
    Finish,
}

crate::kinds!("map effect", Effect: ReadItem Submit FinishApplication CancelApplication CancelTasks Output DiscardOutput Print
    CloseOutput MarkDone LeaveRest Remark Finish);
