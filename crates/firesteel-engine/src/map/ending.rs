//! How a map run ends.

use firesteel_protocol::process::end_request::EndRequest;

use crate::driver;

/// How a run ended. If there were several reasons, the first one counts.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("map ending")]
pub enum Ending {
    /// Every item has ended, successfully or not, and all output is printed.
    Completed,
    /// The input failed. The items read before have ended, and their outputs are printed.
    BadInput {
        error: String,
    },
    /// The program that reads standard output has closed it.
    ReaderGone,
    /// Outputs could not be stored or printed.
    OutputLost {
        error: String,
    },
    RecordLost {
        error: String,
    },
    /// The driver ended before its application.
    DriverLost,
    Asked(EndRequest),
    /// The user requested the end a second time, and the run stopped without waiting.
    Abandoned(EndRequest),
    /// The application ended for a reason other than this run.
    Over(driver::Ending),
}
