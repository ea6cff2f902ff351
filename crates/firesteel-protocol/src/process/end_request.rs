//! Requests that end a process: signals, and the end of standard input.

use std::time::Duration;

/// A signal that comes again this soon is the same one: `timeout` sends it to its child and then to the whole group.
const ECHO: Duration = Duration::from_millis(200);

/// A request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, crate::Display)]
pub enum EndRequest {
    /// SIGTERM.
    #[display("SIGTERM")]
    Terminate,
    /// SIGINT: ctrl-c.
    #[display("SIGINT")]
    Interrupt,
    /// SIGHUP: the terminal was closed.
    #[display("SIGHUP")]
    HangUp,
    /// Standard input has ended: the process that held its other end is gone.
    #[display("standard input is at its end")]
    StdinClosed,
}

impl EndRequest {
    /// Whether a request that comes `after` this one is the same request, heard twice.
    #[must_use]
    pub fn is_echoed_by(self, other: Self, after: Duration) -> bool {
        self == other && after < ECHO
    }

    /// The exit code of a command that ended because of it: as if the signal itself had ended it.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt | Self::StdinClosed => 130,
            Self::Terminate => 143,
        }
    }
}
