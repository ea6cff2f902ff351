//! Executors' logs: which files they are kept in, how they get there, and pieces of them for those who ask.
//!
//! Without rolling an executor writes its files itself. With it, it writes into pipes, and an [appender] copies
//! what comes into files that are rolled; the [reader] makes one log of them again.

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
