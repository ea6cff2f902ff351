//! Checks at a daemon's start: which machines can connect to it without a secret, and whether it runs as root.

use std::fmt;
use std::net::IpAddr;

use firesteel_host::net::Keyring;
use firesteel_protocol::Timestamp;
use firesteel_settings::keys;

/// A port that strangers can use if there is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Master,
    /// The port at which a Master accepts submissions by REST.
    Rest,
    Worker,
}

/// A daemon would serve everybody, and the settings do not say that it may.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{exposure}, or {}=true if that is meant", keys::INSECURE)]
pub struct Exposed {
    exposure: Exposure,
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
                 of its own, or set firesteel.worker.runAs",
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
                    "other machines can connect to {address}, and need no secret: anyone who does can {can}; set \
                     firesteel.credentials.file (firesteel secret --help)"
                )
            }
        }
    }
}

fn is_for_other_machines(address: IpAddr) -> bool {
    !address.to_canonical().is_loopback()
}

/// The reasons to warn. `ports` has the addresses of the daemon's ports, beginning with its main port.
fn exposures(is_root: bool, is_secured: bool, ports: &[(Port, IpAddr)]) -> Vec<Exposure> {
    let root = ports.first().filter(|_| is_root).map(|(port, _)| Exposure::Root(*port));
    let mut all: Vec<Exposure> = root.into_iter().collect();
    for (port, address) in ports {
        let is_told = all.iter().any(|told| matches!(told, Exposure::Address(_, other) if other == address));
        if !is_secured && is_for_other_machines(*address) && !is_told {
            all.push(Exposure::Address(*port, *address));
        }
    }
    all
}

/// Warns if a daemon runs as root and needs not (`is_root`), or if it may serve peers that show no secret. `ports` has
/// the addresses of the daemon's ports, beginning with its main port. Returns until when other machines can connect
/// without a secret.
///
/// # Errors
/// They can, and it may not listen there.
pub(crate) fn check(
    ports: &[(Port, IpAddr)],
    is_root: bool,
    keyring: Option<&Keyring>,
    is_insecure: bool,
) -> Result<Timestamp, Exposed> {
    let mut exposed_until = Timestamp::default();
    for exposure in exposures(is_root, keyring.is_some(), ports) {
        if matches!(exposure, Exposure::Address(..)) {
            if !is_insecure {
                return Err(Exposed { exposure });
            }
            exposed_until = Timestamp::MAX;
        }
        tracing::warn!("{exposure}");
    }
    if let Some(transition) = keyring.and_then(Keyring::transition) {
        let (until, key) = (transition.until(), keys::CREDENTIALS_OPTIONAL_UNTIL);
        tracing::warn!("until {until} everybody who can connect needs no secret ({key})");
        if ports.iter().any(|(_, address)| is_for_other_machines(*address)) {
            exposed_until = until;
        }
    }
    Ok(exposed_until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(is_root: bool, ports: &[(Port, &str)]) -> Vec<String> {
        words_of(is_root, false, ports)
    }

    fn words_of(is_root: bool, is_secured: bool, ports: &[(Port, &str)]) -> Vec<String> {
        let ports: Vec<_> =
            ports.iter().map(|(port, ip)| (*port, ip.parse().expect("it is an address"))).collect();
        exposures(is_root, is_secured, &ports).iter().map(Exposure::to_string).collect()
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
                let start = format!("other machines can connect to {open}, and need no secret: ");
                assert_eq!(words_of(false, true, &[(port, open)]), [""; 0], "{open}");
                assert!(said[0].starts_with(&start) && said[0].contains(can) && said.len() == 1, "{said:?}");
            }
        }
        let root = words(true, &[(Port::Worker, "127.0.0.1")]);
        assert!(root[0].starts_with("this Worker runs as root, and so does every program"), "{root:?}");
        assert_eq!(words(true, &[(Port::Master, "10.0.0.7"), (Port::Rest, "10.0.0.7")]).len(), 2);
        assert_eq!(words(false, &[(Port::Master, "127.0.0.1"), (Port::Rest, "10.0.0.7")]).len(), 1);
    }
}
