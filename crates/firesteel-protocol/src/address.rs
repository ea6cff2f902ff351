//! Addresses that daemons listen on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::host;

/// A host and a port: `10.0.0.7:7077`, `node-7:7077`, `[::1]:7077`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// A name or an IP address, in its [plain](host::plain) form.
    pub host: String,
    pub port: u16,
}

impl Address {
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// The URL `spark://host:port`, by which Masters and Workers are known.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{SCHEME}{self}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", host::in_url(&self.host), self.port)
    }
}

/// Why an address or a list of Masters is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The scheme is missing or is not `spark`.
    #[error("{url:?} does not begin with spark://: write spark://HOST:PORT[,HOST:PORT..]")]
    Scheme { url: String },
    /// The host is missing or has characters that a host cannot have.
    #[error("{address:?} has no usable host: write host:port")]
    Host { address: String },
    /// The port is missing or is not between 1 and 65535.
    #[error("{address:?} has no usable port: write host:port, with a port from 1 to 65535")]
    Port { address: String },
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let address = text.to_owned();
        let Some((given, port)) = text.rsplit_once(':') else {
            return Err(AddressError::Port { address });
        };
        // Without brackets, an IPv6 address does not show where the port begins.
        let is_clear = given.starts_with('[') || !given.contains(':');
        let Some(host) = host::plain(given).filter(|_| is_clear) else {
            return Err(AddressError::Host { address });
        };
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self::new(host, port)),
            _ => Err(AddressError::Port { address }),
        }
    }
}

const SCHEME: &str = "spark://";

/// Parses a list of Masters, `spark://host:port[,host:port...]`: at least one, in the order given. Only the first
/// Master has the scheme. A trailing slash, as copied URLs have it, is ignored. (Spark refuses it.)
///
/// # Errors
/// The first thing that is wrong with the list.
pub fn parse_masters(url: &str) -> Result<Vec<Address>, AddressError> {
    let list = url.strip_prefix(SCHEME).ok_or_else(|| AddressError::Scheme { url: url.to_owned() })?;
    list.strip_suffix('/').unwrap_or(list).split(',').map(str::parse).collect()
}

/// Parses a list of hosts, separated by commas, into plain hosts: `a, [::1]` becomes `a` and `::1`. Empty entries are
/// left out.
#[must_use]
pub fn hosts(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|host| !host.is_empty()).map(host::plain_or_as_given).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn master_urls_name_one_or_more_masters() {
        assert_eq!(parse_masters("spark://a:7077"), Ok(vec![Address::new("a", 7077)]));
        let three = parse_masters("spark://10.0.0.1:1,b-2.c:65535,[::1]:7077").expect("three good addresses");
        assert_eq!(three[2], Address::new("::1", 7077));
        assert_eq!(parse_masters("spark://[FD00:0:0::2]:7077"), Ok(vec![Address::new("fd00::2", 7077)]));
        assert_eq!(hosts(" a, [FD00:0::2],,B_1"), ["a", "fd00::2", "B_1"]);
        assert_eq!(parse_masters("spark://a:1,b:2/"), parse_masters("spark://a:1,b:2"));
        assert_eq!(three[2].url(), "spark://[::1]:7077");
    }

    #[test]
    fn malformed_master_urls_say_what_is_wrong() {
        for (url, words) in [
            ("http://a:1", "does not begin with spark://"),
            ("a:1", "does not begin with spark://"),
            ("spark://", "no usable port"),
            ("spark://a", "no usable port"),
            ("spark://a:", "no usable port"),
            ("spark://a:0", "no usable port"),
            ("spark://a:65536", "no usable port"),
            ("spark://a:7077/x", "no usable port"),
            ("spark://a:7077//", "no usable port"),
            ("spark://:7077", "no usable host"),
            ("spark://a b:7077", "no usable host"),
            ("spark://[a]:7077", "no usable host"),
            ("spark://[fe80::1%]:7077", "no usable host"),
            ("spark://::1:7077", "no usable host"),
            ("spark://a:1,", "no usable port"),
            ("spark://a:1,spark://b:2", "no usable host"),
        ] {
            let error = parse_masters(url).expect_err(url).to_string();
            assert!(error.contains(words), "{url}: {error}");
        }
    }
}
