//! Requests to end a process: signals, and the end of standard input.

use std::time::Duration;

/// A signal that comes again within this time counts as the same request: `timeout` sends a signal first to its child
/// and then to the whole group.
const ECHO: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::Display)]
pub enum EndRequest {
    #[display("SIGTERM")]
    Terminate,
    /// SIGINT: ctrl-c.
    #[display("SIGINT")]
    Interrupt,
    /// SIGHUP: the terminal was closed.
    #[display("SIGHUP")]
    HangUp,
    /// Standard input has ended: the process at the other end of it no longer exists.
    #[display("standard input is at its end")]
    StdinClosed,
}

impl EndRequest {
    /// Whether `other`, which comes this long `after` this request, is the same request seen twice.
    #[must_use]
    pub fn is_echoed_by(self, other: Self, after: Duration) -> bool {
        self == other && after < ECHO
    }

    /// The exit code of a command that ended because of this request: the same as if the signal had ended it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt | Self::StdinClosed => 130,
            Self::Terminate => 143,
        }
    }
}
