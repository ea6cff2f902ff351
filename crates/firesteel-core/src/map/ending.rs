//! How a map run ends.

use crate::driver;
use crate::end_request::EndRequest;

/// How a run ended. The first reason counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every item is over, well or not, and everything is printed.
    Completed,
    /// The items ended early; those before are over and printed.
    BadInput {
        /// What was wrong with the input.
        error: String,
    },
    /// Nobody reads the output any more.
    ReaderGone,
    /// Outputs could not be kept or printed.
    OutputLost {
        /// The error, in words.
        error: String,
    },
    /// The items that are not done could not be written down.
    RecordLost {
        /// The error, in words.
        error: String,
    },
    /// The driver ended before its application.
    DriverLost,
    /// A person asked for the end.
    Asked(EndRequest),
    /// A person asked again, and nothing was waited for.
    Abandoned(EndRequest),
    /// The application is over, and this run did not end it.
    Over(driver::Ending),
}

crate::kinds!("map ending", Ending: Completed BadInput ReaderGone OutputLost RecordLost DriverLost Asked Abandoned Over);
