//! The settings of a daemon's HTTP port, which may be switched off.

use super::tls::TlsSettings;
use super::token_key::TokenKey;
use crate::keys;
use crate::properties::{Properties, SettingError};

/// The HTTP port of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    pub port: HttpPort,
    /// The number of further ports to try if the port is in use.
    pub retries: u16,
    /// `None`: HTTP is served in the clear.
    pub tls: Option<TlsSettings>,
    /// The key of the tokens that admit those who ask. `None`: there are no tokens.
    pub token_key: Option<TokenKey>,
}

/// The port for HTTP. Port 0 means any free port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpPort {
    Off,
    /// The default port. The daemon starts even if this port cannot be used.
    Default(u16),
    /// A port that somebody has set. The daemon does not start if this port cannot be used.
    Chosen(u16),
}

impl HttpSettings {
    pub const OFF: Self = Self { port: HttpPort::Off, retries: 0, tls: None, token_key: None };

    /// The settings of a Master. A Master that listens on any free port also serves HTTP on any free port, unless a
    /// port is set.
    ///
    /// # Errors
    /// A value cannot be used.
    pub fn of_master(properties: &Properties, is_any_port: bool) -> Result<Self, SettingError> {
        Self::of(properties, keys::MASTER_UI_PORT, if is_any_port { 0 } else { 8080 })
    }

    /// The settings of a Worker. A Worker that listens on any free port also serves HTTP on any free port, unless a
    /// port is set.
    ///
    /// # Errors
    /// A value cannot be used.
    pub fn of_worker(properties: &Properties, is_any_port: bool) -> Result<Self, SettingError> {
        Self::of(properties, keys::WORKER_UI_PORT, if is_any_port { 0 } else { 8081 })
    }

    /// The settings of a Master's REST port.
    ///
    /// # Errors
    /// A value cannot be used.
    pub fn of_rest(properties: &Properties) -> Result<Self, SettingError> {
        const EXPECTED: &str = "a port from 1 to 65535, or 0 for any free port";
        let port = properties.read(keys::REST_PORT, EXPECTED, |text| text.parse().ok())?.unwrap_or(6066);
        match properties.boolean(keys::REST_ENABLED)? {
            Some(true) => {
                let token_key = TokenKey::of(properties, keys::REST_FILTERS, REST)?;
                let (port, retries) = (HttpPort::Chosen(port), retries(properties)?);
                Ok(Self { port, retries, tls: None, token_key })
            }
            Some(false) | None => Ok(Self::OFF),
        }
    }

    fn of(properties: &Properties, key: &str, default: u16) -> Result<Self, SettingError> {
        const EXPECTED: &str = "a port from 1 to 65535, 0 for any free port, or none for no HTTP";
        let port = properties.read(key, EXPECTED, |text| match text {
            "none" => Some(HttpPort::Off),
            port => port.parse().ok().map(HttpPort::Chosen),
        })?;
        let token_key = match port {
            Some(HttpPort::Off) => None,
            Some(_) | None => TokenKey::of(properties, keys::UI_FILTERS, PAGES)?,
        };
        let (port, tls) = (port.unwrap_or(HttpPort::Default(default)), TlsSettings::of_pages(properties)?);
        Ok(Self { port, retries: retries(properties)?, tls, token_key })
    }
}

/// What filters of the REST port protect, and what to do without them.
const REST: (&str, &str) = ("the REST port", REST_INSTEAD);

const REST_INSTEAD: &str = "remove it and put a server with authentication in front of the port, or do not serve REST \
                            (spark.master.rest.enabled=false)";

/// What filters of the pages protect, and what to do without them.
const PAGES: (&str, &str) = ("the pages", PAGES_INSTEAD);

const PAGES_INSTEAD: &str = "remove it and put a server with authentication in front of the port, or serve no pages (--webui-port none)";

/// The number of further ports to try after the first one.
fn retries(properties: &Properties) -> Result<u16, SettingError> {
    let expected = "a whole number from 0 to 65535";
    let retries = properties.read(keys::PORT_MAX_RETRIES, expected, |text| text.parse().ok())?;
    Ok(retries.unwrap_or(16))
}

/// The host that a Master's REST port listens on, if it differs from the host of the Master's main port.
#[must_use]
pub fn rest_host(properties: &Properties) -> Option<&str> {
    properties.get(keys::REST_HOST).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(pairs: &[&str], is_any_port: bool) -> Result<HttpSettings, SettingError> {
        let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
        HttpSettings::of_master(&properties, is_any_port)
    }

    #[test]
    fn the_ports_are_spark_s_unless_another_is_set() {
        let settings = |port| Ok(HttpSettings { port, retries: 16, tls: None, token_key: None });
        assert_eq!(master(&[], false), settings(HttpPort::Default(8080)));
        assert_eq!(master(&[], true), settings(HttpPort::Default(0)));
        assert_eq!(master(&["spark.master.ui.port=4040"], true), settings(HttpPort::Chosen(4040)));
        assert_eq!(master(&["spark.master.ui.port=none"], false), settings(HttpPort::Off));
        let properties = Properties::parse(["spark.port.maxRetries=2"]).expect("a pair");
        let worker = HttpSettings::of_worker(&properties, false);
        assert_eq!(
            worker,
            Ok(HttpSettings { port: HttpPort::Default(8081), retries: 2, tls: None, token_key: None })
        );
    }

    #[test]
    fn the_rest_port_is_served_where_it_is_enabled() {
        let rest = |pairs: &[&str]| {
            let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
            HttpSettings::of_rest(&properties)
        };
        assert_eq!(rest(&[]), Ok(HttpSettings::OFF));
        assert_eq!(rest(&["spark.master.rest.port=1"]), Ok(HttpSettings::OFF));
        let on = "spark.master.rest.enabled=true";
        let settings =
            |port| Ok(HttpSettings { port: HttpPort::Chosen(port), retries: 16, tls: None, token_key: None });
        assert_eq!(rest(&[on]), settings(6066));
        assert_eq!(rest(&[on, "spark.master.rest.port=0"]), settings(0));
        assert!(rest(&[on, "spark.master.rest.port=none"]).is_err());
    }

    #[test]
    fn nothing_is_served_without_the_filters_that_an_operator_relies_on() {
        let properties = |pairs: &[&str]| Properties::parse(pairs.iter().copied()).expect("they are pairs");
        let filters = "spark.ui.filters=org.example.Filter";
        let pages = properties(&[filters]);
        for settings in [HttpSettings::of_master(&pages, true), HttpSettings::of_worker(&pages, true)] {
            let error = settings.expect_err("the pages would be open").to_string();
            assert!(
                error.contains("spark.ui.filters") && error.contains("its filters are Java classes"),
                "{error}"
            );
            assert!(error.contains("--webui-port none"), "{error}");
        }
        let off = properties(&[filters, "spark.master.ui.port=none"]);
        assert_eq!(HttpSettings::of_master(&off, true).map(|settings| settings.port), Ok(HttpPort::Off));
        assert!(HttpSettings::of_master(&properties(&["spark.ui.filters="]), true).is_ok());
        let filters = "spark.master.rest.filters=x";
        let error = HttpSettings::of_rest(&properties(&["spark.master.rest.enabled=true", filters]));
        let error = error.expect_err("the port would be open").to_string();
        assert!(error.starts_with("spark.master.rest.filters"), "{error}");
        assert!(error.contains("spark.master.rest.enabled=false"), "{error}");
        assert_eq!(HttpSettings::of_rest(&properties(&[filters])), Ok(HttpSettings::OFF));
    }

    #[test]
    fn an_unusable_port_is_refused() {
        for pair in ["spark.master.ui.port=70000", "spark.master.ui.port=off", "spark.port.maxRetries=-1"] {
            let error = master(&[pair], false).expect_err(pair).to_string();
            assert!(error.starts_with(pair.split('=').next().unwrap_or_default()), "{error}");
        }
    }
}
