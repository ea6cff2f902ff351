//! Executors' logs: their files, how output is written to them, and how pieces are read.
//!
//! - [`appender`]: copies an executor's output from a pipe into its log.
//! - [`roller`], [`names`], [`segments`]: write a log into a sequence of files, name the files, and list them.
//! - [`removed_bytes`]: how many bytes of each log were removed.
//! - [`reader`], `tail`: read a piece of a log, as if the log were one file, and find its last lines.
//!
//! # Writing
//!
//! An executor has the directory `<work directory>/<application>/<executor>`. Without rolling, the executor writes
//! `stdout` and `stderr` in this directory itself. With rolling, it writes into two pipes. For each pipe a task of the
//! Worker copies the output into files that are rolled and compressed; the oldest are removed when there are too many.
//! The executor's end is reported when both pipes are empty. A full disk loses output, but never ends the executor or
//! the Worker.
//!
//! # Reading
//!
//! `firesteel logs` asks the Master where the executor runs, and then asks the executor's Worker for one piece after
//! the other. A position counts bytes from the log's first byte, even if files were removed. Before the reading, the
//! Worker's state machine decides whether there is an answer, and whether more output can follow. A thread that may
//! block reads.
//!
//! # Removal
//!
//! Every half hour the Worker's state machine asks the daemon for directories of applications in which nothing was
//! written for a week. Of these, it has the daemon remove the directories of applications without executors on this
//! Worker. The daemon renames them before it performs any later decision. So a new executor never starts in a directory
//! that is being removed.

pub mod appender;
pub mod names;
pub mod reader;
pub mod removed_bytes;
pub mod roller;
pub mod segments;
mod tail;

pub use appender::Appender;
pub use reader::LogReader;
pub use removed_bytes::RemovedBytesTable;
pub use roller::Roller;
