//! The events of a session.

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::process::end_request::EndRequest;

use super::{MapEnd, Shortfalls};
use crate::driver::{Ending, Note, TaskOutcome, View};

/// An input of a session from the program around it. Errors are texts for a human reader.
///
/// A session makes one request at a time, and receives one event as the answer. A later request replaces a request that
/// was not answered.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session event")]
pub enum Event {
    /// A line was read, after `WantLine`.
    LineRead(String),
    /// The person at the prompt pressed ctrl-c, after `WantLine`. The typed text is discarded.
    LineDiscarded,
    /// There are no more lines, after `WantLine`.
    LinesEnded,
    /// Lines cannot be read any more, after `WantLine`.
    LinesFailed(String),
    /// The driver has written a note.
    NoteReceived(Note),
    /// The driver makes another attempt at a task. The output until now is discarded.
    OutputDiscarded(TaskId),
    /// A task has ended for good. The tasks of a map run are not reported.
    TaskEnded(TaskId, TaskOutcome),
    /// The application has ended. The driver continues until its peers have received the end.
    ApplicationEnded(Ending),
    /// The driver has ended. A driver that ends before its application has failed.
    DriverEnded,
    /// The driver's tables, after `Look`. All earlier reports of the driver come before this event.
    TablesSeen(View),
    /// The Master's answer, after `AskMaster`. `None` if no Master has the application. All earlier reports of the
    /// driver come before this event.
    MasterAnswered(Option<Shortfalls>),
    /// A piece of recorded output was printed, after `Replay`, or there was nothing to print.
    Replayed(Piece, Option<Loss>),
    /// The items of a map run can be read, after `OpenItems`. From now on, the map run receives the driver's notes.
    ItemsOpened,
    /// The items of a map run cannot be read, after `OpenItems`.
    ItemsFailed(String),
    /// The map run cannot begin, after `StartMap`.
    MapFailed(String),
    /// The map run has ended, after `StartMap`.
    MapEnded(MapEnd),
    /// A file of commands was read, after `ReadFile`.
    FileRead(String),
    /// A file of commands cannot be read, after `ReadFile`.
    FileFailed(String),
    /// Everything that came before `Settle` is printed.
    OutputSettled,
    /// The program that reads standard output has closed it. This event can come more than once.
    ReaderClosed,
    /// A person (ctrl-c), or the process that started the session (a signal), requests the end of the session. After a
    /// ctrl-c the session usually continues.
    EndRequested(EndRequest),
    /// The time of the next deadline has come.
    Deadline,
}

/// Why recorded output is incomplete. The text completes the sentence "the output of task 3 ..", for example `cannot be
/// kept in /tmp/x: No space left on device`.
pub type Loss = String;

/// The printed piece of recorded output.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session piece")]
pub enum Piece {
    /// Some bytes were printed, and more may follow.
    Printed,
    /// Nothing was printed: there is no more output for now.
    Nothing,
    /// Nothing was printed: the recorded output cannot be read, for this reason.
    Failed(String),
}
