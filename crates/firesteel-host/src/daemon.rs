//! What all daemons have in common besides their loop.

use std::io::{self, Write};

use firesteel_core::address::Address;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;

use crate::signals::EndRequests;

/// How a daemon says that it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// Only in its log.
    InLog,
    /// By one line of JSON on standard output too, for programs that wait for it: `{"url":"spark://.."}`.
    OnStdout,
}

/// How long a daemon lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until it is asked to end.
    UntilAsked,
    /// Until its standard input ends, or it is asked to end. Whoever holds the other end of that pipe cannot
    /// leave it behind, however he dies.
    UntilStdinCloses,
}

impl Life {
    /// Catches what ends it.
    ///
    /// # Errors
    /// The system does not let signals be caught.
    pub fn end_requests(self) -> io::Result<EndRequests> {
        let requests = EndRequests::install()?;
        Ok(match self {
            Self::UntilAsked => requests,
            Self::UntilStdinCloses => requests.and_end_of_stdin(),
        })
    }
}

/// The line of [`Announcement::OnStdout`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Ready {
    /// Where the daemon listens, `spark://host:port`.
    pub url: String,
}

impl Announcement {
    /// Says that the daemon is ready and listens at `address`. Nobody may be left to hear it.
    pub fn ready(self, address: &Address) {
        match self {
            Self::InLog => {}
            Self::OnStdout => {
                let line = serde_json::to_string(&Ready { url: address.url() });
                let line = line.expect("a string can be written as JSON");
                let mut stdout = io::stdout().lock();
                let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
            }
        }
    }
}

/// Where others reach a daemon that was told to listen at `host` and has got `port`. A host that stands for all
/// addresses of this machine is replaced by the machine's name.
#[must_use]
pub fn reachable(host: &str, port: u16) -> Address {
    let is_all = host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_unspecified());
    let name = is_all.then(nix::unistd::gethostname).and_then(Result::ok);
    let name = name.and_then(|name| name.into_string().ok()).filter(|name| !name.is_empty());
    Address::new(name.unwrap_or_else(|| host.to_owned()), port)
}

/// Allows this process as many open files as the system lets it have: a connection is one.
pub fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard.min(1 << 20), hard));
    if let Err(error) = raised {
        tracing::debug!("cannot raise the limit of open files: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_listens_everywhere_is_reached_by_its_machines_name() {
        assert_eq!(reachable("127.0.0.1", 7077), Address::new("127.0.0.1", 7077));
        assert_eq!(reachable("node-7", 7077), Address::new("node-7", 7077));
        for all in ["0.0.0.0", "::"] {
            let address = reachable(all, 1);
            assert!(address.host != all && !address.host.is_empty(), "{address}");
        }
    }
}
