//! Arguments that several commands have.

use std::net::Ipv6Addr;

use clap::Args;
use firesteel::daemon::{Announcement, Life};
use firesteel::settings::{Properties, Reader, reference};
use firesteel_core::address::Address;

use super::exit::{Exit, Failure};

/// `--conf`.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Conf {
    /// A property, as spark-submit takes it; may be given several times
    #[arg(long = "conf", value_name = "KEY=VALUE")]
    pairs: Vec<String>,
}

impl Conf {
    /// The properties. What is not a pair is wrong usage.
    pub(super) fn properties(&self) -> Result<Properties, Failure> {
        Properties::parse(self.pairs.iter().map(String::as_str)).map_err(|error| Failure::setting(&error))
    }
}

/// Flags for programs that start daemons and must not leave them behind.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Held {
    /// Print one line of JSON when ready
    #[arg(long, hide = true)]
    announce: bool,
    /// End when standard input ends
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

impl Held {
    pub(super) fn announcement(self) -> Announcement {
        if self.announce { Announcement::OnStdout } else { Announcement::InLog }
    }

    pub(super) fn life(self) -> Life {
        if self.until_stdin_closes { Life::UntilStdinCloses } else { Life::UntilAsked }
    }
}

/// Where a daemon listens, out of `--host` and `--port`. A value that came out of the environment and is a URL is
/// left aside: Kubernetes sets `SPARK_MASTER_PORT=tcp://10.0.0.1:7077` for a service called spark-master.
pub(super) fn address(
    host: &str,
    port: &str,
    port_flag: &str,
    default_port: u16,
) -> Result<Address, Failure> {
    let port = if port.starts_with("tcp://") {
        tracing::warn!("the port {port:?} is a URL that something else has set, and has no effect");
        default_port
    } else {
        port.parse().map_err(|_| {
            let words = format!(
                "{port_flag} cannot be {port:?}: write a port from 1 to 65535, or 0 for any free one"
            );
            Failure::of(Exit::Usage, words)
        })?
    };
    // The host is held against the same rules as in a URL; only an IPv6 address has colons.
    let is_ipv6 = host.parse::<Ipv6Addr>().is_ok();
    let url_host = if is_ipv6 { format!("[{host}]:1") } else { format!("{host}:1") };
    match url_host.parse::<Address>() {
        Ok(address) => Ok(Address::new(address.host, port)),
        Err(_) => {
            let words = format!("--host cannot be {host:?}: write a name or an IP address, without a port");
            Err(Failure::of(Exit::Usage, words))
        }
    }
}

/// What stands below the options of a command that reads properties.
pub(super) fn help(words: &str, reader: Reader) -> String {
    format!("{words}\n\n{}", reference::help(reader))
}
