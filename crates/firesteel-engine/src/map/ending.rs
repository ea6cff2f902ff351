//! How a map run ends.

use firesteel_protocol::process::end_request::EndRequest;

use crate::driver;

/// How a run ended. The first reason counts.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map ending")]
pub enum Ending {
    /// Every item has ended, successfully or not, and everything is printed.
    Completed,
    /// The input failed; the items read before have ended and are printed.
    BadInput {
        error: String,
    },
    /// The reader of standard output has closed it.
    ReaderGone,
    /// Outputs could not be kept or printed.
    OutputLost {
        error: String,
    },
    RecordLost {
        error: String,
    },
    /// The driver ended before its application.
    DriverLost,
    Asked(EndRequest),
    /// The user asked again, and the run stopped without waiting.
    Abandoned(EndRequest),
    /// The application ended, but not because of this run.
    Over(driver::Ending),
}
