//! The settings of the external shuffle service, which a Worker runs for Spark's executors.

use crate::secrets::is_secret;
use crate::{Properties, SettingError, keys};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShuffleServiceSettings {
    /// The port from `spark.shuffle.service.port`.
    pub port: u16,
    /// The other properties `spark.shuffle.*`, which Spark's service reads itself. None of them is a secret.
    pub properties: Vec<(String, String)>,
}

/// Reads the settings. `None` if the service is switched off.
///
/// # Errors
///
/// The error for the first value that cannot be used.
pub(super) fn of(properties: &Properties) -> Result<Option<ShuffleServiceSettings>, SettingError> {
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    let port = properties.read(keys::SHUFFLE_SERVICE_PORT, "a port from 1 to 65535", port)?.unwrap_or(7337);
    // The service reads this property, too.
    properties.boolean(keys::SHUFFLE_SERVICE_DB)?;
    let is_read_here = |name: &str| [keys::SHUFFLE_SERVICE, keys::SHUFFLE_SERVICE_PORT].contains(&name);
    let passed = properties
        .iter()
        .filter(|(name, _)| name.starts_with("spark.shuffle.") && !is_read_here(name) && !is_secret(name));
    let passed = passed.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let is_wanted = properties.boolean(keys::SHUFFLE_SERVICE)?.unwrap_or(false);
    Ok(is_wanted.then_some(ShuffleServiceSettings { port, properties: passed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[&str]) -> Result<Option<ShuffleServiceSettings>, SettingError> {
        of(&Properties::parse(pairs.iter().copied()).expect("they are pairs"))
    }

    #[test]
    fn the_service_runs_only_where_it_is_asked_for() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["spark.shuffle.service.enabled=false"]), Ok(None));
        let default = ShuffleServiceSettings { port: 7337, properties: Vec::new() };
        assert_eq!(read(&["spark.shuffle.service.enabled=true"]), Ok(Some(default)));
    }

    #[test]
    fn other_properties_of_shuffles_are_passed_on_and_secrets_are_not() {
        let pairs = [
            "spark.shuffle.service.enabled=true",
            "spark.shuffle.service.port=7447",
            "spark.shuffle.service.db.enabled=false",
            "spark.shuffle.io.serverThreads=4",
            "spark.shuffle.plugin.token=hush",
            "spark.network.timeout=1s",
        ];
        let passed = [("spark.shuffle.io.serverThreads", "4"), ("spark.shuffle.service.db.enabled", "false")];
        let properties = passed.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(read(&pairs), Ok(Some(ShuffleServiceSettings { port: 7447, properties })));
    }

    #[test]
    fn a_port_must_be_known_to_applications() {
        for port in ["0", "65536", "x", "-1"] {
            let error = read(&[&format!("spark.shuffle.service.port={port}")]).expect_err(port).to_string();
            assert!(error.contains("write a port from 1 to 65535"), "{error}");
        }
    }
}
