//! What all daemons share besides the owner loop: readiness, lifetime, address and file limit.

use std::io::{self, Write};

use firesteel_protocol::address::Address;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Serialize;

use crate::plain;
use crate::service_manager;
use crate::signals::EndRequests;

/// How a daemon announces that it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    InLog,
    /// Also prints one line of JSON on standard output, for programs that wait until the daemon is ready:
    /// `{"url":"spark://..","http":"http://.."}`.
    OnStdout,
}

/// The event that ends a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The daemon runs until a signal asks it to end.
    UntilAsked,
    /// The daemon runs until its standard input ends or a signal asks it to end. So the daemon ends with the process
    /// that holds the other end of the pipe, even if that process crashes.
    UntilStdinCloses,
}

impl Lifetime {
    /// Catches the requests that end a daemon with this lifetime.
    ///
    /// # Errors
    /// The system does not allow signals to be caught, or cannot create a thread.
    pub fn end_requests(self) -> io::Result<EndRequests> {
        let requests = EndRequests::install()?;
        match self {
            Self::UntilAsked => Ok(requests),
            Self::UntilStdinCloses => requests.and_end_of_stdin(),
        }
    }
}

/// The line that [`Announcement::OnStdout`] prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Ready {
    pub url: String,
    /// The URL at which the daemon serves HTTP, `http://host:port/`. `None`: the daemon serves no HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
}

impl Announcement {
    /// Announces to the parent, the log and the service manager that the daemon is ready, listens at `address`, and
    /// serves HTTP at `http`. A closed standard output is no error.
    pub fn ready(self, address: &Address, http: Option<&str>) {
        service_manager::ready(&format!("listening on {}", address.url()));
        match self {
            Self::InLog => {}
            Self::OnStdout => {
                let line =
                    serde_json::to_string(&Ready { url: address.url(), http: http.map(str::to_owned) });
                let line = line.expect("a string can be written as JSON");
                let mut stdout = plain::json();
                let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
            }
        }
    }
}

/// The address at which others reach a daemon that listens at `host` and got `port`. If `host` stands for all addresses
/// of this machine, it is replaced by the machine's name.
#[must_use]
pub fn reachable(host: &str, port: u16) -> Address {
    let is_all = host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_unspecified());
    let name = is_all.then(nix::unistd::gethostname).and_then(Result::ok);
    let name = name.and_then(|name| name.into_string().ok()).filter(|name| !name.is_empty());
    Address::new(name.unwrap_or_else(|| host.to_owned()), port)
}

/// Raises this process's limit of open files to the hard limit. Each connection is an open file.
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
