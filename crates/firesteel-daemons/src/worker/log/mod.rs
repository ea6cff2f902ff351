//! Executors' logs: which files they are kept in, how they get there, and pieces of them for those who ask.
//!
//! Without rolling an executor writes its files itself. With it, it writes into pipes, and an [appender] copies
//! what comes into files that are rolled; the [reader] makes one log of them again.
//!
//! # What executors write
//!
//! An executor has its directory `<work directory>/<application>/<executor>`, and writes `stdout` and `stderr` there
//! itself. Where logs are rolled it writes into two pipes, and a task of its Worker for each copies what comes into files
//! that are rolled, compressed and, past their number, removed. Its end is told when both pipes are empty. A disk that
//! takes nothing more costs output, never the executor or the Worker.
//!
//! `firesteel logs` asks the Master where the executor is, and that Worker for one piece after the other. A position is
//! counted in bytes since the log's first, whatever became of the files. The Worker's machine decides whether there is an
//! answer and whether more can come, as of before the reading; a thread that may block reads.
//!
//! Every half hour the Worker has its shell look for directories of applications in which nothing was written for a week,
//! and has those removed whose application has no executor there by then: the shell takes them out of the way before it
//! does anything that was decided later, so a new executor never starts in a directory that is being removed.

pub mod appender;
pub mod books;
pub mod names;
pub mod reader;
pub mod roller;
pub mod segments;
mod tail;

pub use appender::Appender;
pub use books::Books;
pub use reader::LogReader;
pub use roller::Roller;
