//! How a map run ends.

use firesteel_protocol::process::end_request::EndRequest;

use crate::driver;

/// How a run ended. The first reason counts.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map ending")]
pub enum Ending {
    /// Every item is over, well or not, and everything is printed.
    Completed,
    /// The input failed; the items before that have ended and are printed.
    BadInput {
        /// What was wrong with the input.
        error: String,
    },
    /// The reader of standard output has closed it.
    ReaderGone,
    /// Outputs could not be kept or printed.
    OutputLost {
        /// The error, in words.
        error: String,
    },
    /// The run record could not be written.
    RecordLost {
        /// The error, in words.
        error: String,
    },
    /// The driver ended before its application.
    DriverLost,
    /// The user asked for the end.
    Asked(EndRequest),
    /// The user asked again, and the run stopped without waiting.
    Abandoned(EndRequest),
    /// The application is over, and this run did not end it.
    Over(driver::Ending),
}
