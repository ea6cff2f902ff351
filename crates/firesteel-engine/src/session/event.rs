//! What happens to a session.

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::process::end_request::EndRequest;

use super::{MapEnd, Shortfalls};
use crate::driver::{Ending, Note, TaskOutcome, View};

/// What happens to a session. Errors are words for people.
///
/// A session asks for one thing at a time, and its shell answers with one event. A later question takes the place of
/// one that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session event")]
pub enum Event {
    /// A line was read, after `WantLine`.
    LineRead(String),
    /// The person at the prompt pressed ctrl-c, after `WantLine`: what was typed is discarded.
    LineDiscarded,
    /// There are no more lines, after `WantLine`.
    LinesEnded,
    /// Lines cannot be read any more, after `WantLine`.
    LinesFailed(String),
    /// The driver remarks something.
    NoteReceived(Note),
    /// The driver makes another attempt at a task: the output until now is discarded.
    OutputDiscarded(TaskId),
    /// A task is over for good. The tasks of a map run are not reported.
    TaskEnded(TaskId, TaskOutcome),
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
    Replayed(Piece, Option<Loss>),
    /// The items of a map run can be read, after `OpenItems`. The run hears what the driver remarks from now on.
    ItemsOpened,
    /// The items of a map run cannot be read, after `OpenItems`.
    ItemsFailed(String),
    /// The map run cannot begin, after `StartMap`.
    MapFailed(String),
    /// The map run is over, after `StartMap`.
    MapEnded(MapEnd),
    /// A file of commands was read, after `ReadFile`.
    FileRead(String),
    /// A file of commands cannot be read, after `ReadFile`.
    FileFailed(String),
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

/// Why a record is incomplete, as a clause about the output.
pub type Loss = String;

/// What was printed of a record.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session piece")]
pub enum Piece {
    /// Some bytes, and there may be more.
    Printed,
    /// Nothing: there is no more, for now.
    Nothing,
    /// Nothing: the record cannot be read, for this reason.
    Failed(String),
}
