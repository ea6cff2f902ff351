//! How a session ends.

use firesteel_protocol::process::end_request::EndRequest;

use crate::driver;

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("session ending")]
pub enum Ending {
    /// The user left, or the script ended, with this exit code.
    Left(u8),
    /// The user or the system asked for the end.
    Asked(EndRequest),
    /// The request to end was repeated, and nothing was waited for.
    Abandoned(EndRequest),
    /// The application ended, although the session did not end it.
    Over(driver::Ending),
    /// The driver ended before its application: a defect, of which it has told in the log.
    DriverLost,
    /// Nobody reads standard output any more.
    ReaderGone,
}
