//! What happens to a session.

use firesteel_protocol::ids::{AttemptId, TaskId};
use firesteel_protocol::process::end_request::EndRequest;

use super::{MapEnd, ParsedLine, Piece, Shortfalls};
use crate::driver::{Ending, Note, TaskOutcome, View};

/// What happens to a session.
///
/// A session asks for one thing at a time, and its shell answers with one event. A later question takes the place of
/// one that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session event")]
pub enum Event {
    /// A line was read and parsed, after `WantLine`.
    LineRead(ParsedLine),
    /// The person at the prompt pressed ctrl-c, after `WantLine`: what was typed is discarded.
    LineDiscarded,
    /// There are no more lines, after `WantLine`.
    LinesEnded,
    /// Lines cannot be read any more, after `WantLine`.
    LinesFailed {
        /// Why, for people.
        error: String,
    },
    /// The driver remarks something.
    NoteReceived(Note),
    /// The driver makes another attempt at a task: the output of this one is discarded.
    OutputDiscarded {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A task is over for good. The tasks of a map run are not reported.
    TaskEnded {
        /// The number of the task.
        task: TaskId,
        /// How it ended.
        outcome: TaskOutcome,
    },
    /// The application is over. The driver goes on until it has told everybody.
    ApplicationEnded(Ending),
    /// The driver has ended. A driver that ends before its application has failed.
    DriverEnded,
    /// The driver's tables, after `Look`. All that it reported before comes before.
    TablesSeen(View),
    /// What the Master says, after `AskMaster`: `None` if no Master has the application. All that the driver reported
    /// before comes before.
    MasterAnswered(Option<Shortfalls>),
    /// A piece of a record was printed, after `Replay`, or there was nothing to print.
    Replayed {
        /// What was printed.
        piece: Piece,
        /// Why the record is incomplete, for people, if it is.
        loss: Option<String>,
    },
    /// The items of a map run can be read, after `OpenItems`. The run hears what the driver remarks from now on.
    ItemsOpened,
    /// The items of a map run cannot be read, after `OpenItems`.
    ItemsFailed {
        /// Why, for people.
        error: String,
    },
    /// The map run cannot begin, after `StartMap`.
    MapFailed {
        /// Why, for people.
        error: String,
    },
    /// The map run is over, after `StartMap`.
    MapEnded(MapEnd),
    /// A file of commands was read and parsed, after `ReadFile`.
    FileRead(Vec<ParsedLine>),
    /// A file of commands cannot be read, after `ReadFile`.
    FileFailed {
        /// Why, for people.
        error: String,
    },
    /// Everything is printed that was to be printed before `Settle`.
    OutputSettled,
    /// Nobody reads standard output any more. May come again and again.
    ReaderClosed,
    /// A person (ctrl-c), or the process that started the session (a signal), asks for its end. After a ctrl-c the
    /// session usually goes on.
    EndRequested(EndRequest),
    /// The time of the next deadline has come.
    Deadline,
}
