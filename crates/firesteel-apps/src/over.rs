//! An application that is over though its driver did not end it: why, and the exit code of its command.

use std::fmt;

use firesteel_core::address::Address;
use firesteel_core::driver;
use firesteel_core::messages::ApplicationEnd;

use firesteel_host::exit_code;
use firesteel_host::signals::EndRequest;

/// Why it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// The Master ended it.
    Removed(ApplicationEnd),
    /// No Master took it in time: the last error of each that was dialled.
    NoMaster(Vec<(Address, String)>),
}

impl Over {
    /// Why a driver's application is over. `None`: its driver ended it.
    #[must_use]
    pub fn of_driver(outcome: driver::Outcome) -> Option<Self> {
        match outcome {
            driver::Outcome::Completed | driver::Outcome::Cancelled => None,
            driver::Outcome::Removed(end) => Some(Self::Removed(end)),
            driver::Outcome::NoMaster { errors } => Some(Self::NoMaster(errors)),
        }
    }

    /// The exit code of the command whose application it was. One that somebody killed ends as if the command itself
    /// had been told to.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Removed(ApplicationEnd::Killed { .. }) => EndRequest::Terminate.exit_code(),
            Self::Removed(
                ApplicationEnd::Finished
                | ApplicationEnd::DriverLost
                | ApplicationEnd::ExecutorsFailed { .. }
                | ApplicationEnd::GivenUp { .. }
                | ApplicationEnd::Refused { .. },
            ) => exit_code::FAILURE,
            Self::NoMaster(_) => exit_code::UNREACHABLE,
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(ApplicationEnd::Killed { by }) => write!(f, "the application was killed by {by}"),
            Self::Removed(end) => write!(f, "the Master ended the application: {end}"),
            Self::NoMaster(errors) => {
                let list: Vec<String> =
                    errors.iter().map(|(master, error)| format!("{}: {error}", master.url())).collect();
                write!(f, "no Master took the application: {}", list.join("; "))
            }
        }
    }
}
