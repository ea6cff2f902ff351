//! The reasons for which an application ends without its driver, and the exit codes of its command.

use std::fmt;

use firesteel_engine::driver;
use firesteel_protocol::address::Address;
use firesteel_protocol::master_search::connect_error::{self, ConnectError};
use firesteel_protocol::messages::{ApplicationEnd, UnsoundGang};

use firesteel_host::exit_code;
use firesteel_host::signals::EndRequest;

/// Why an application ended, if its driver did not end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    Removed(ApplicationEnd),
    /// No Master accepted the application in time. Contains the last error of each Master that was tried.
    NoMaster(Vec<(Address, ConnectError)>),
}

impl EndReason {
    /// Why an application ended. `None` if its driver ended it.
    #[must_use]
    pub fn of_driver(ending: driver::Ending) -> Option<Self> {
        match ending {
            driver::Ending::Completed | driver::Ending::Cancelled => None,
            driver::Ending::Removed(end) => Some(Self::Removed(end)),
            driver::Ending::NoMaster { errors } => Some(Self::NoMaster(errors)),
        }
    }

    /// The exit code of the application's command. If a user killed the application, the exit code is the same as after
    /// a request to end to the command itself.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Removed(ApplicationEnd::Killed { .. }) => EndRequest::Terminate.exit_code(),
            Self::Removed(
                ApplicationEnd::Finished { .. }
                | ApplicationEnd::DriverLost
                | ApplicationEnd::NotBack
                | ApplicationEnd::ExecutorsFailed { .. }
                | ApplicationEnd::GivenUp { .. }
                | ApplicationEnd::Refused { .. }
                | ApplicationEnd::GangRefused(_),
            ) => exit_code::FAILURE,
            Self::NoMaster(errors) => exit_code::unanswered(connect_error::evidence(errors)),
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(ApplicationEnd::Killed { by }) => write!(f, "the application was killed by {by}"),
            Self::Removed(ApplicationEnd::GangRefused(gang)) => {
                write!(f, "the Master refused the application: {}", GangInWords(gang))
            }
            Self::Removed(ApplicationEnd::Refused { reason }) => {
                write!(f, "the Master refused the application: {reason}")
            }
            Self::Removed(end) => write!(f, "the Master ended the application: {end}"),
            Self::NoMaster(errors) => {
                write!(f, "no Master accepted the application: {}", connect_error::listed(errors))
            }
        }
    }
}

/// Displays why executors cannot start together, with the names of command-line options.
struct GangInWords<'a>(&'a UnsoundGang);

impl fmt::Display for GangInWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            UnsoundGang::NoCores { executors } => write!(
                f,
                "--gang {executors} needs executors of a fixed number of cores: set spark.executor.cores"
            ),
            UnsoundGang::TooManyCores { executors, cores, needed, max } => write!(
                f,
                "--gang {executors} with executors of {cores} cores needs {needed} cores, and the application's maximum is {max}"
            ),
        }
    }
}
