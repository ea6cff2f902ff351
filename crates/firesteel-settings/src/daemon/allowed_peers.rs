//! The hosts that a Master connects to although the peer that names them has connected from elsewhere.

use std::net::IpAddr;

use crate::keys;
use crate::properties::{Properties, SettingError};

/// Hosts, addresses and networks that the operator allows. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedPeers(Vec<AllowedPeer>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedPeer {
    All,
    Network { address: IpAddr, prefix: u32 },
    Name(String),
}

const EXPECTED: &str = "names of hosts, addresses or networks such as 10.0.0.0/8, separated by commas, or *";

impl AllowedPeers {
    /// The allowed peers of a Master.
    ///
    /// # Errors
    /// The value cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        let read = |text: &str| text.split(',').map(|part| peer(part.trim())).collect::<Option<Vec<_>>>();
        Ok(Self(properties.read(keys::ALLOWED_PEERS, EXPECTED, read)?.unwrap_or_default()))
    }

    /// Whether the operator allows connections to this address of this host.
    #[must_use]
    pub fn allow(&self, host: &str, address: IpAddr) -> bool {
        self.0.iter().any(|peer| match peer {
            AllowedPeer::All => true,
            AllowedPeer::Network { address: network, prefix } => is_within(address, *network, *prefix),
            AllowedPeer::Name(name) => name.eq_ignore_ascii_case(host.trim_end_matches('.')),
        })
    }
}

fn peer(text: &str) -> Option<AllowedPeer> {
    let is_name =
        |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
    if text == "*" {
        return Some(AllowedPeer::All);
    }
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse::<u32>().ok()?)),
        None => (text, None),
    };
    match (address.parse::<IpAddr>(), prefix) {
        (Ok(address), prefix) => {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let prefix = prefix.unwrap_or(most);
            (prefix <= most).then_some(AllowedPeer::Network { address, prefix })
        }
        (Err(_), Some(_)) => None,
        (Err(_), None) => (!text.is_empty() && is_name(text))
            .then(|| AllowedPeer::Name(text.trim_end_matches('.').to_owned())),
    }
}

/// Whether an address begins with the first bits of a network's address.
fn is_within(address: IpAddr, network: IpAddr, prefix: u32) -> bool {
    match (address.to_canonical(), network.to_canonical()) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.checked_shr(32 - prefix.min(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.checked_shr(128 - prefix.min(128)).unwrap_or(0) == 0
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(value: &str) -> Result<AllowedPeers, SettingError> {
        let pair = format!("firesteel.master.allowedPeers={value}");
        AllowedPeers::of(&Properties::parse([pair.as_str()]).expect("it is a pair"))
    }

    #[test]
    fn hosts_addresses_and_networks_are_allowed_and_nothing_else() {
        for (value, host, address, expected) in [
            ("*", "h", "10.0.0.7", true),
            ("10.0.0.0/8", "h", "10.1.2.3", true),
            ("10.0.0.0/8", "h", "11.0.0.1", false),
            ("10.0.0.7", "h", "10.0.0.7", true),
            ("10.0.0.7", "h", "10.0.0.8", false),
            ("0.0.0.0/0", "h", "192.168.0.1", true),
            ("0.0.0.0/0", "h", "fd00::1", false),
            ("fd00::/8", "h", "fd12::1", true),
            ("fd00::/8", "h", "fe80::1", false),
            ("::/0", "h", "fe80::1", true),
            ("10.0.0.0/8", "h", "::ffff:10.0.0.7", true),
            ("node-1.example.org, other", "NODE-1.example.org.", "10.0.0.7", true),
            ("node-1.example.org", "node-10.example.org", "10.0.0.7", false),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(
                allowed(value).map(|peers| peers.allow(host, address)),
                Ok(expected),
                "{value} {host}"
            );
        }
        let none = AllowedPeers::of(&Properties::default()).expect("nothing is set");
        assert!(!none.allow("localhost", [127, 0, 0, 1].into()));
    }

    #[test]
    fn values_that_name_no_host_are_refused() {
        for wrong in ["a,,b", "10.0.0.0/33", "::/129", "name/8", "a:80", "http://a", "10.0.0.0/"] {
            let error = allowed(wrong).expect_err(wrong).to_string();
            assert!(error.contains("10.0.0.0/8"), "{error}");
        }
    }
}
