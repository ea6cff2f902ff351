//! The exit code of a session, by its ending.

use firesteel_engine::session::Ending;

use crate::end_reason::EndReason;
use firesteel_host::exit_code;

/// The exit code of the command.
#[must_use]
pub fn exit_code(ending: &Ending) -> u8 {
    match ending {
        Ending::Left(code) => *code,
        Ending::Asked(request) | Ending::Abandoned(request) => request.exit_code(),
        Ending::Over(ending) => {
            EndReason::of_driver(ending.clone()).map_or(exit_code::FAILURE, |over| over.exit_code())
        }
        Ending::DriverLost => exit_code::FAILURE,
        Ending::ReaderGone => exit_code::READER_GONE,
    }
}
