//! The address at which a driver listens for its executors: `spark.driver.host`, `spark.driver.bindAddress` and
//! `spark.driver.port`.

use firesteel_protocol::address::Address;
use firesteel_protocol::host;

use crate::{Properties, SettingError, keys};

/// The address at which a driver listens for its executors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address to bind: `spark.driver.bindAddress` and `spark.driver.port`. Port 0 means any free port.
    pub bind: Address,
    /// The host that executors connect to: `spark.driver.host`. `None`: the host of `bind`, or this machine's name if
    /// `bind` stands for all of its addresses.
    pub advertised: Option<String>,
}

impl Listen {
    /// Reads the properties. If they name no host, the host is `default_host()`, an address of this machine that the
    /// Masters can reach.
    ///
    /// # Errors
    /// The port is not a number from 0 to 65535.
    pub fn of(properties: &Properties, default_host: impl FnOnce() -> String) -> Result<Self, SettingError> {
        let port = |text: &str| text.parse::<u16>().ok();
        let port = properties.read(keys::DRIVER_PORT, "a port from 0 to 65535", port)?.unwrap_or(0);
        let host = |key| properties.get(key).map(host::plain_or_as_given);
        let advertised = host(keys::DRIVER_HOST);
        let host = host(keys::DRIVER_BIND_ADDRESS).or_else(|| advertised.clone());
        let host = host.unwrap_or_else(default_host);
        Ok(Self { bind: Address::new(host, port), advertised })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(pairs: &[&str]) -> Result<Listen, SettingError> {
        Listen::of(&Properties::parse(pairs.iter().copied())?, || "127.0.0.1".to_owned())
    }

    #[test]
    fn a_driver_listens_where_it_is_told_or_at_the_default_host() {
        let at = |host: &str, port, advertised: Option<&str>| {
            Ok(Listen { bind: Address::new(host, port), advertised: advertised.map(str::to_owned) })
        };
        assert_eq!(listen(&[]), at("127.0.0.1", 0, None));
        assert_eq!(listen(&["spark.driver.port=7100"]), at("127.0.0.1", 7100, None));
        assert_eq!(listen(&["spark.driver.host=me"]), at("me", 0, Some("me")));
        let both = ["spark.driver.host=me", "spark.driver.bindAddress=0.0.0.0"];
        assert_eq!(listen(&both), at("0.0.0.0", 0, Some("me")));
        let six = ["spark.driver.host=[FD00:0:0::2]", "spark.driver.bindAddress=::"];
        assert_eq!(listen(&six), at("::", 0, Some("fd00::2")));
        assert!(listen(&["spark.driver.port=70000"]).is_err());
    }
}
