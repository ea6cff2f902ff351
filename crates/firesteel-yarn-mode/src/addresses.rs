//! The addresses of ResourceManagers, from Hadoop's configuration.

use firesteel_protocol::address::Address;
use firesteel_protocol::host::plain_or_as_given;

use super::hadoop_conf::{HadoopConf, HadoopConfError};

/// A service of a ResourceManager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmService {
    Clients,
    /// The service for ApplicationMasters.
    Scheduler,
    /// The web pages of the ResourceManager.
    WebApp,
}

impl RmService {
    /// The property and the default port of the service. Source: Hadoop 3.4.1, `yarn-default.xml`.
    fn key_and_port(self) -> (&'static str, u16) {
        match self {
            Self::Clients => ("yarn.resourcemanager.address", 8032),
            Self::Scheduler => ("yarn.resourcemanager.scheduler.address", 8030),
            Self::WebApp => ("yarn.resourcemanager.webapp.address", 8088),
        }
    }
}

const HOSTNAME: &str = "yarn.resourcemanager.hostname";
const RM_IDS: &str = "yarn.resourcemanager.ha.rm-ids";

/// Why the addresses of ResourceManagers cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Conf(#[from] HadoopConfError),
    /// The configuration gives no address for a ResourceManager in high availability.
    #[error("{RM_IDS} has {id:?}, but neither {HOSTNAME}.{id} nor {key}.{id} is set: set one of them")]
    Nowhere { id: String, key: &'static str },
    /// High availability is on, but the ResourceManagers have no ids.
    #[error("yarn.resourcemanager.ha.enabled is true, but {RM_IDS} is empty: list the ResourceManagers")]
    NoIds,
}

/// The addresses of this service on each ResourceManager, in the order of the configuration: one address, or several
/// addresses of which one belongs to the active ResourceManager.
///
/// # Errors
/// The configuration gives no address.
pub fn resource_managers(conf: &HadoopConf, service: RmService) -> Result<Vec<Address>, AddressError> {
    let (key, port) = service.key_and_port();
    let at = |name: &str| {
        conf.read(name, "a host, or HOST:PORT", |text| host_and_port(text, port)).map_err(AddressError::from)
    };
    let only_host = |name: &str| {
        let host =
            conf.read(name, "a host", |text| host_and_port(text, port).filter(|found| found.port == port))?;
        Ok::<_, AddressError>(host)
    };
    if !conf.is_true("yarn.resourcemanager.ha.enabled")? {
        let found = match at(key)? {
            Some(address) => Some(address),
            None => only_host(HOSTNAME)?,
        };
        // A ResourceManager without a host is on this machine, as in Hadoop.
        return Ok(vec![found.unwrap_or_else(|| Address::new("127.0.0.1", port))]);
    }
    let ids = conf.list(RM_IDS)?;
    if ids.is_empty() {
        return Err(AddressError::NoIds);
    }
    let one = |id: String| match at(&format!("{key}.{id}"))? {
        Some(address) => Ok(address),
        None => only_host(&format!("{HOSTNAME}.{id}"))?.ok_or(AddressError::Nowhere { id, key }),
    };
    ids.into_iter().map(one).collect()
}

/// Reads `host` or `host:port`. An address that means all interfaces is read as this machine.
fn host_and_port(text: &str, port: u16) -> Option<Address> {
    let (host, port) = match text.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, digits)) => (host, digits.parse().ok().filter(|port| *port > 0)?),
        None => (text, port),
    };
    let host = if host == "0.0.0.0" { "127.0.0.1" } else { host };
    let is_host = !host.is_empty() && !host.contains([' ', '/', '$', ',']);
    is_host.then(|| Address::new(plain_or_as_given(host), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_is_in_brackets_with_or_without_a_port() {
        assert_eq!(host_and_port("[FD00:0:0::2]:8032", 1), Some(Address::new("fd00::2", 8032)));
        assert_eq!(host_and_port("[::1]", 8032), Some(Address::new("::1", 8032)));
    }

    fn found(pairs: &[(&str, &str)], service: RmService) -> Result<Vec<String>, String> {
        let conf = HadoopConf::of(pairs.iter().copied());
        let addresses = resource_managers(&conf, service).map_err(|error| error.to_string())?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_host_has_all_desks_at_their_usual_ports() {
        let conf = [("yarn.resourcemanager.hostname", "rm")];
        for (service, address) in [
            (RmService::Clients, "rm:8032"),
            (RmService::Scheduler, "rm:8030"),
            (RmService::WebApp, "rm:8088"),
        ] {
            assert_eq!(found(&conf, service), Ok(vec![address.to_owned()]));
        }
        assert_eq!(found(&[], RmService::Clients), Ok(vec!["127.0.0.1:8032".to_owned()]));
        let own = [("yarn.resourcemanager.hostname", "rm"), ("yarn.resourcemanager.address", "other:1")];
        assert_eq!(found(&own, RmService::Clients), Ok(vec!["other:1".to_owned()]));
        assert_eq!(found(&own, RmService::Scheduler), Ok(vec!["rm:8030".to_owned()]));
        let everywhere = [
            ("yarn.resourcemanager.address", "${yarn.resourcemanager.hostname}:9"),
            ("yarn.resourcemanager.hostname", "0.0.0.0"),
        ];
        assert_eq!(found(&everywhere, RmService::Clients), Ok(vec!["127.0.0.1:9".to_owned()]));
    }

    #[test]
    fn standbys_are_listed_in_their_order() {
        let standbys = [
            ("yarn.resourcemanager.ha.enabled", "true"),
            ("yarn.resourcemanager.ha.rm-ids", "rm2, rm1"),
            ("yarn.resourcemanager.hostname.rm1", "a"),
            ("yarn.resourcemanager.address.rm2", "b:1"),
            ("yarn.resourcemanager.hostname", "not this one"),
        ];
        assert_eq!(found(&standbys, RmService::Clients), Ok(vec!["b:1".to_owned(), "a:8032".to_owned()]));
        assert_eq!(
            found(&standbys, RmService::Scheduler),
            Err("yarn.resourcemanager.ha.rm-ids has \"rm2\", but neither yarn.resourcemanager.hostname.rm2 nor \
                 yarn.resourcemanager.scheduler.address.rm2 is set: set one of them"
                .to_owned())
        );
        let nobody = [("yarn.resourcemanager.ha.enabled", "true")];
        assert_eq!(
            found(&nobody, RmService::Clients),
            Err("yarn.resourcemanager.ha.enabled is true, but yarn.resourcemanager.ha.rm-ids is empty: list the ResourceManagers"
                .to_owned())
        );
    }

    #[test]
    fn what_is_no_address_is_told_with_its_place() {
        for bad in ["a:b:x", ":8032", "rm:0", "rm:70000", "a b", "http://rm:8032", "${nobody}:1"] {
            let error = found(&[("yarn.resourcemanager.address", bad)], RmService::Clients).expect_err(bad);
            let words = "yarn.resourcemanager.address cannot be ";
            assert!(error.starts_with(words) && error.ends_with(": write a host, or HOST:PORT"), "{error}");
        }
    }
}
