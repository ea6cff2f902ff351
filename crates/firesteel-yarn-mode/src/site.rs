//! A YARN cluster, as its users' configuration describes it.

use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_yarn::YarnClient;
use firesteel_yarn::ipc::{CallError, IpcError, Retry};

use super::addresses::{self, AddressError, Desk};
use super::hadoop_conf::{HadoopConf, HadoopConfError};
use firesteel_settings::Properties;
use firesteel_settings::description;
use firesteel_settings::variables::Environment;

/// A cluster that can be spoken with.
#[derive(Clone, Debug)]
pub struct Site {
    /// Hadoop's configuration.
    pub conf: HadoopConf,
    /// As whom.
    pub user: String,
    /// Where users ask: one ResourceManager, or all that may be in charge.
    pub resource_managers: Vec<Address>,
}

/// A cluster that cannot be spoken with.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// Its configuration cannot be read.
    #[error(transparent)]
    Conf(#[from] HadoopConfError),
    /// Its ResourceManagers are nowhere.
    #[error(transparent)]
    Addresses(#[from] AddressError),
    /// It wants a proof of who somebody is that Firesteel cannot give.
    #[error(
        "this cluster asks for Kerberos (hadoop.security.authentication is {method:?} in {origin}), which Firesteel does \
         not speak: use a cluster where it is simple"
    )]
    Kerberos {
        /// What it wants.
        method: String,
        /// Where that stands.
        origin: String,
    },
    /// It wants calls to be signed or encrypted.
    #[error(
        "this cluster signs or encrypts its calls (hadoop.rpc.protection is {protection:?} in {origin}), which Firesteel \
         does not do: use one where it is authentication"
    )]
    Protection {
        /// What it wants.
        protection: String,
        /// Where that stands.
        origin: String,
    },
}

/// A question that was not answered, or not as was hoped.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// Nobody answered.
    #[error("no ResourceManager answered at {names} (from {origin}): {error}; check that it runs there")]
    Unreachable {
        /// The ResourceManagers.
        names: String,
        /// What went wrong with the last of them.
        error: IpcError,
        /// Where their addresses stand.
        origin: String,
    },
    /// The ResourceManager objects.
    #[error("the ResourceManager at {names} refused: {error}")]
    Objection {
        /// The ResourceManagers.
        names: String,
        /// Its words.
        error: IpcError,
    },
}

/// How long a ResourceManager is tried that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Seconds: somebody waits for an answer.
    Short,
    /// `yarn.resourcemanager.connect.max-wait.ms`, a quarter of an hour unless it is set: an application is under way.
    Long,
}

impl Site {
    /// The cluster that the environment and the properties name.
    ///
    /// # Errors
    /// They name none, or one that Firesteel cannot speak with.
    pub fn of(environment: &Environment, properties: &Properties) -> Result<Self, SiteError> {
        let conf = HadoopConf::load(environment, properties)?;
        refuse_protection(&conf)?;
        let user = environment.get("HADOOP_USER_NAME").map_or_else(description::user, str::to_owned);
        let resource_managers = addresses::resource_managers(&conf, Desk::Clients)?;
        Ok(Self { conf, user, resource_managers })
    }

    /// Where ApplicationMasters ask.
    ///
    /// # Errors
    /// The configuration does not say.
    pub fn schedulers(&self) -> Result<Vec<Address>, SiteError> {
        Ok(addresses::resource_managers(&self.conf, Desk::Scheduler)?)
    }

    /// A conversation with whichever ResourceManager is in charge.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn client(&self, patience: Patience) -> Result<YarnClient, SiteError> {
        let addresses = self.resource_managers.iter().map(ToString::to_string).collect();
        Ok(YarnClient::new(addresses, &self.user, self.retry(patience)?))
    }

    /// How often a ResourceManager is tried again.
    fn retry(&self, patience: Patience) -> Result<Retry, SiteError> {
        let first = Duration::from_millis(200);
        Ok(match patience {
            // All standbys have their turn at least once.
            Patience::Short => {
                Retry { first, longest: Duration::from_secs(1), within: Duration::from_secs(3) }
            }
            Patience::Long => {
                let most = self.conf.count("yarn.resourcemanager.connect.max-wait.ms")?;
                Retry {
                    first,
                    within: most.map_or(Retry::default().within, Duration::from_millis),
                    ..Retry::default()
                }
            }
        })
    }

    /// What to say of a call that failed.
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

    /// The ResourceManagers, for people: `rm-1:8032, rm-2:8032`.
    #[must_use]
    pub fn names(&self) -> String {
        self.resource_managers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Where the configuration says where they are, for people.
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

/// Source: Hadoop 3.4.1; both are in `core-site.xml`.
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
            "this cluster asks for Kerberos (hadoop.security.authentication is \"kerberos\" in \
             spark.hadoop.hadoop.security.authentication), which Firesteel does not speak: use a cluster where it is \
             simple"
        );
        let private = said("spark.hadoop.hadoop.rpc.protection=privacy");
        assert!(private.contains("encrypts its calls (hadoop.rpc.protection is \"privacy\""), "{private}");
        for fine in ["hadoop.rpc.protection=privacy,authentication", "hadoop.security.authentication=Simple"]
        {
            assert!(site(&[host, &format!("spark.hadoop.{fine}")]).is_ok(), "{fine}");
        }
    }
}
