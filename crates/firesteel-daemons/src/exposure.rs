//! Warnings at a daemon's start: which machines can connect to it, and whether it runs as root.

use std::fmt;
use std::net::IpAddr;

use nix::unistd::geteuid;

/// A port that strangers can use, since there is no authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Master,
    /// The port at which a Master accepts submissions by REST.
    Rest,
    Worker,
}

/// A reason to warn about how a daemon was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exposure {
    Root(Port),
    /// Other machines can connect to this address.
    Address(Port, IpAddr),
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(Port::Worker) => f.write_str(
                "this Worker runs as root, and so does every program that an application starts on it: start it as a user \
                 of its own",
            ),
            Self::Root(Port::Master | Port::Rest) => {
                f.write_str("this Master runs as root, and needs no right of root's: start it as a user of its own")
            }
            Self::Address(port, address) => {
                let can = match port {
                    Port::Master | Port::Rest => "run programs on the Workers",
                    Port::Worker => "read what executors write",
                };
                write!(
                    f,
                    "other machines can connect to {address}, and there is no authentication yet: anyone who does can {can}; \
                     use a network that you trust, or a firewall"
                )
            }
        }
    }
}

/// The reasons to warn. `ports` has the addresses of the daemon's ports, beginning with its main port.
fn exposures(is_root: bool, ports: &[(Port, IpAddr)]) -> Vec<Exposure> {
    let root = ports.first().filter(|_| is_root).map(|(port, _)| Exposure::Root(*port));
    let mut all: Vec<Exposure> = root.into_iter().collect();
    for (port, address) in ports {
        let is_told = all.iter().any(|told| matches!(told, Exposure::Address(_, other) if other == address));
        if !address.to_canonical().is_loopback() && !is_told {
            all.push(Exposure::Address(*port, *address));
        }
    }
    all
}

/// Warns if a daemon runs as root, or if other machines can connect to it. `ports` has the addresses of the daemon's
/// ports, beginning with its main port.
pub(crate) fn warn(ports: &[(Port, IpAddr)]) {
    for exposure in exposures(geteuid().is_root(), ports) {
        tracing::warn!("{exposure}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(is_root: bool, ports: &[(Port, &str)]) -> Vec<String> {
        let ports: Vec<_> =
            ports.iter().map(|(port, ip)| (*port, ip.parse().expect("it is an address"))).collect();
        exposures(is_root, &ports).iter().map(Exposure::to_string).collect()
    }

    #[test]
    fn a_daemon_says_that_it_runs_as_root_and_that_other_machines_can_connect_to_it() {
        for loopback in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(words(false, &[(Port::Master, loopback)]), [""; 0], "{loopback}");
        }
        for (port, can) in [
            (Port::Master, "can run programs on the Workers"),
            (Port::Worker, "can read what executors write"),
        ] {
            for open in ["0.0.0.0", "::", "10.0.0.7", "fe80::1", "::ffff:10.0.0.7"] {
                let said = words(false, &[(port, open)]);
                let start =
                    format!("other machines can connect to {open}, and there is no authentication yet: ");
                assert!(said[0].starts_with(&start) && said[0].contains(can) && said.len() == 1, "{said:?}");
            }
        }
        let root = words(true, &[(Port::Worker, "127.0.0.1")]);
        assert!(root[0].starts_with("this Worker runs as root, and so does every program"), "{root:?}");
        assert_eq!(words(true, &[(Port::Master, "10.0.0.7"), (Port::Rest, "10.0.0.7")]).len(), 2);
        assert_eq!(words(false, &[(Port::Master, "127.0.0.1"), (Port::Rest, "10.0.0.7")]).len(), 1);
    }
}
