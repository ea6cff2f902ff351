//! A YARN cluster, as the configuration of its users describes it.

use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_yarn::YarnClient;
use firesteel_yarn::ipc::{CallError, IpcError, Retry};

use super::addresses::{self, AddressError, RmService};
use super::hadoop_conf::{HadoopConf, HadoopConfError};
use firesteel_settings::Properties;
use firesteel_settings::description;
use firesteel_settings::variables::Environment;

/// A YARN cluster that Firesteel can use.
#[derive(Clone, Debug)]
pub struct Site {
    pub conf: HadoopConf,
    pub user: String,
    /// The addresses at which clients reach the ResourceManager. With high availability there are several, and one is
    /// active.
    pub resource_managers: Vec<Address>,
}

/// Why a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error(transparent)]
    Conf(#[from] HadoopConfError),
    /// The addresses of the cluster's ResourceManagers cannot be determined.
    #[error(transparent)]
    Addresses(#[from] AddressError),
    /// The cluster requires an authentication that Firesteel does not support.
    #[error(
        "this cluster requires Kerberos (hadoop.security.authentication is {method:?} in {origin}), which Firesteel does \
         not support: use a cluster where hadoop.security.authentication is simple"
    )]
    Kerberos {
        method: String,
        /// The place where the authentication method is set.
        origin: String,
    },
    /// The cluster requires calls to be signed or encrypted.
    #[error(
        "this cluster signs or encrypts its calls (hadoop.rpc.protection is {protection:?} in {origin}), which Firesteel \
         does not support: use a cluster with hadoop.rpc.protection=authentication"
    )]
    Protection { protection: String, origin: String },
}

/// Why a request to the ResourceManager failed.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Site(#[from] SiteError),
    #[error("no ResourceManager answered at {names} (from {origin}): {error}; check that it runs there")]
    Unreachable { names: String, error: IpcError, origin: String },
    #[error("the ResourceManager at {names} refused: {error}")]
    Objection { names: String, error: IpcError },
}

/// How long to retry a ResourceManager that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryLimit {
    /// Some seconds, because a user waits for the answer.
    Short,
    /// The time in `yarn.resourcemanager.connect.max-wait.ms`, by default a quarter of an hour, because an
    /// application is running.
    Long,
}

impl Site {
    /// Finds the cluster that the environment and the properties describe.
    ///
    /// # Errors
    /// They describe no cluster, or a cluster that Firesteel does not support.
    pub fn of(environment: &Environment, properties: &Properties) -> Result<Self, SiteError> {
        let conf = HadoopConf::load(environment, properties)?;
        refuse_protection(&conf)?;
        let user = environment.get("HADOOP_USER_NAME").map_or_else(description::user, str::to_owned);
        let resource_managers = addresses::resource_managers(&conf, RmService::Clients)?;
        Ok(Self { conf, user, resource_managers })
    }

    /// The addresses for ApplicationMasters.
    ///
    /// # Errors
    /// The configuration does not name them.
    pub fn schedulers(&self) -> Result<Vec<Address>, SiteError> {
        Ok(addresses::resource_managers(&self.conf, RmService::Scheduler)?)
    }

    /// A client of the active ResourceManager.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn client(&self, retry_limit: RetryLimit) -> Result<YarnClient, SiteError> {
        let addresses = self.resource_managers.iter().map(ToString::to_string).collect();
        Ok(YarnClient::new(addresses, &self.user, self.retry(retry_limit)?))
    }

    /// The retry policy for a ResourceManager.
    fn retry(&self, retry_limit: RetryLimit) -> Result<Retry, SiteError> {
        let first = Duration::from_millis(200);
        Ok(match retry_limit {
            // Each standby is tried at least once.
            RetryLimit::Short => {
                Retry { first, longest: Duration::from_secs(1), within: Duration::from_secs(3) }
            }
            RetryLimit::Long => {
                let most = self.conf.count("yarn.resourcemanager.connect.max-wait.ms")?;
                Retry {
                    first,
                    within: most.map_or(Retry::default().within, Duration::from_millis),
                    ..Retry::default()
                }
            }
        })
    }

    /// Turns a failed call into the error for the user.
    #[must_use]
    pub fn explained(&self, failure: CallError) -> AskError {
        let (names, error) = (self.names(), failure.error);
        match error {
            IpcError::Remote(_) | IpcError::Sasl(_) => AskError::Objection { names, error },
            IpcError::Unreachable { .. } | IpcError::TimedOut(_) | IpcError::Closed | IpcError::Broken(_) => {
                AskError::Unreachable { names, error, origin: self.origin() }
            }
        }
    }

    /// The addresses of the ResourceManagers as text for users: `rm-1:8032, rm-2:8032`.
    #[must_use]
    pub fn names(&self) -> String {
        self.resource_managers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The place where the configuration sets these addresses, as text for users.
    #[must_use]
    pub fn origin(&self) -> String {
        let names = [
            "yarn.resourcemanager.address",
            "yarn.resourcemanager.ha.rm-ids",
            "yarn.resourcemanager.hostname",
        ];
        let set = names.into_iter().find(|name| self.conf.names().any(|other| other == *name));
        match (set, self.conf.files().last()) {
            (Some(name), _) => self.conf.origin(name),
            (None, Some(path)) => {
                format!("{}, which does not set yarn.resourcemanager.hostname", path.display())
            }
            (None, None) => "Hadoop's defaults".to_owned(),
        }
    }
}

/// Refuses a cluster that requires protection which Firesteel does not support. Source: Hadoop 3.4.1; both properties
/// are in `core-site.xml`.
fn refuse_protection(conf: &HadoopConf) -> Result<(), SiteError> {
    let (authentication, protection) = ("hadoop.security.authentication", "hadoop.rpc.protection");
    if let Some(method) = conf.get(authentication)?.filter(|method| !method.eq_ignore_ascii_case("simple")) {
        return Err(SiteError::Kerberos { method, origin: conf.origin(authentication) });
    }
    let wanted = conf.list(protection)?;
    if !wanted.is_empty() && !wanted.iter().any(|it| it.eq_ignore_ascii_case("authentication")) {
        return Err(SiteError::Protection { protection: wanted.join(","), origin: conf.origin(protection) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(pairs: &[&str]) -> Result<Site, SiteError> {
        let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
        let environment = [("HADOOP_USER_NAME".to_owned(), "alice".to_owned())];
        Site::of(&Environment::from_iter(environment), &properties)
    }

    #[test]
    fn a_site_says_where_and_as_whom() {
        let found = site(&["spark.hadoop.yarn.resourcemanager.hostname=rm"]).expect("it is one");
        assert_eq!((found.user.as_str(), found.names().as_str()), ("alice", "rm:8032"));
        assert_eq!(found.schedulers().expect("it says"), [Address::new("rm", 8030)]);
        assert_eq!(found.origin(), "spark.hadoop.yarn.resourcemanager.hostname");
    }

    #[test]
    fn what_asks_for_kerberos_or_encryption_is_refused() {
        let host = "spark.hadoop.yarn.resourcemanager.hostname=rm";
        let said = |pair: &str| site(&[host, pair]).expect_err("it is refused").to_string();
        assert_eq!(
            said("spark.hadoop.hadoop.security.authentication=kerberos"),
            "this cluster requires Kerberos (hadoop.security.authentication is \"kerberos\" in \
             spark.hadoop.hadoop.security.authentication), which Firesteel does not support: use a cluster where \
             hadoop.security.authentication is simple"
        );
        let private = said("spark.hadoop.hadoop.rpc.protection=privacy");
        assert!(private.contains("encrypts its calls (hadoop.rpc.protection is \"privacy\""), "{private}");
        for fine in ["hadoop.rpc.protection=privacy,authentication", "hadoop.security.authentication=Simple"]
        {
            assert!(site(&[host, &format!("spark.hadoop.{fine}")]).is_ok(), "{fine}");
        }
    }
}
