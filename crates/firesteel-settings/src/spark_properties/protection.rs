//! The properties of Spark that ask for protection which Firesteel does not have. Nothing starts with these properties,
//! because their user depends on the protection.

use crate::key::{Reader, matched};
use crate::{Properties, keys};

/// The cluster manager that gives an application its executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterManager {
    Standalone,
    /// A standalone cluster whose parts prove secrets to each other.
    Secured,
    /// A Hadoop YARN cluster, which has access lists of its own.
    Yarn,
}

impl ClusterManager {
    /// The cluster manager for a program (`reader`) with these properties. A daemon is part of a standalone cluster.
    #[must_use]
    pub fn of(properties: &Properties, reader: Reader) -> Self {
        match reader {
            Reader::Application if properties.get(keys::MASTER) == Some("yarn") => Self::Yarn,
            Reader::Application | Reader::Master | Reader::Worker => Self::standalone(properties),
        }
    }

    /// The standalone cluster of a program with these properties.
    #[must_use]
    pub fn standalone(properties: &Properties) -> Self {
        match properties.get(keys::CREDENTIALS_FILE) {
            Some(_) => Self::Secured,
            None => Self::Standalone,
        }
    }
}

/// The programs that do not start if the property is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusing {
    /// Daemons, and commands that start applications.
    All,
    /// The same, unless they have credentials, which give the requested protection.
    WithoutCredentials,
    /// Commands that start Firesteel's applications, unless they have credentials. Daemons give what is asked for.
    ApplicationsWithoutCredentials,
    /// The same as [`Self::WithoutCredentials`], except applications on YARN, which has access lists of its own.
    WithoutCredentialsOrYarn,
    /// Commands that start Firesteel's applications. Spark's own applications provide the requested protection.
    Applications,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub refusing: Refusing,
    pub why: &'static str,
}

const fn row(name: &'static str, refusing: Refusing, why: &'static str) -> Row {
    Row { name, refusing, why }
}

/// The values, in lower case, that ask for no protection.
pub const HARMLESS: [&str; 2] = ["false", ""];

const NO_CREDENTIALS: &str = "only with firesteel.credentials.file do peers prove a secret and encrypt: make one with firesteel secret new";
const NO_SECRET_FILE: &str =
    "secrets are read from firesteel.credentials.file, and from spark.authenticate.secret";
const NO_SASL_ENCRYPTION: &str = "Firesteel does not have the old ciphers of SASL: remove the setting, and set spark.network.crypto.enabled=true";
const NO_TLS: &str = "Firesteel has TLS for its pages, by spark.ssl.standalone.enabled, and for Spark's applications, by \
                      spark.ssl.rpc.enabled: remove the setting; firesteel.credentials.file encrypts Firesteel's own connections";
const NO_NAMES: &str =
    "only with firesteel.credentials.file do users prove their names: make one with firesteel secret new";
const NO_FILE_ENCRYPTION: &str =
    "Firesteel's own applications do not encrypt what they write to disks: remove the setting";

pub const TABLE: &[Row] = &[
    row(keys::AUTHENTICATE, Refusing::WithoutCredentials, NO_CREDENTIALS),
    row(keys::AUTHENTICATE_SECRET, Refusing::WithoutCredentials, NO_CREDENTIALS),
    row("spark.authenticate.secret.*", Refusing::All, NO_SECRET_FILE),
    row("spark.authenticate.enableSaslEncryption", Refusing::All, NO_SASL_ENCRYPTION),
    row("spark.network.sasl.serverAlwaysEncrypt", Refusing::All, NO_SASL_ENCRYPTION),
    row(keys::CRYPTO, Refusing::WithoutCredentials, NO_CREDENTIALS),
    row("spark.ssl.enabled", Refusing::All, NO_TLS),
    row(keys::RPC_TLS, Refusing::ApplicationsWithoutCredentials, NO_CREDENTIALS),
    row("spark.ssl.NAME.enabled", Refusing::All, NO_TLS),
    row("spark.acls.enable", Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row("spark.ui.acls.enable", Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row(keys::ADMIN_ACLS, Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row(keys::ADMIN_ACLS_GROUPS, Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row(keys::VIEW_ACLS, Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row(keys::VIEW_ACLS_GROUPS, Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row(keys::MODIFY_ACLS, Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row(keys::MODIFY_ACLS_GROUPS, Refusing::WithoutCredentialsOrYarn, NO_NAMES),
    row("spark.io.encryption.enabled", Refusing::Applications, NO_FILE_ENCRYPTION),
];

/// The reason why this program (`reader`) does not start with the property. `None`: the program starts.
#[must_use]
pub fn refusal(name: &str, value: &str, reader: Reader, manager: ClusterManager) -> Option<&'static str> {
    // Daemons give what this one asks for.
    if name == keys::TLS || HARMLESS.contains(&value.trim().to_ascii_lowercase().as_str()) {
        return None;
    }
    let row = TABLE.iter().find(|row| matched(row.name, name).is_some())?;
    let refuses = match (row.refusing, reader, manager) {
        (Refusing::All, ..) => true,
        (Refusing::WithoutCredentials, _, manager) => manager != ClusterManager::Secured,
        (Refusing::ApplicationsWithoutCredentials, reader, manager) => {
            reader == Reader::Application && manager != ClusterManager::Secured
        }
        (Refusing::WithoutCredentialsOrYarn, _, manager) => manager == ClusterManager::Standalone,
        (Refusing::Applications, reader, _) => reader == Reader::Application,
    };
    refuses.then_some(row.why)
}

/// Whether YARN itself gives applications the protection that this property asks for.
#[must_use]
pub fn is_left_to_yarn(name: &str) -> bool {
    let is_left = |row: &Row| row.refusing == Refusing::WithoutCredentialsOrYarn;
    TABLE.iter().any(|row| is_left(row) && matched(row.name, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::ClusterManager::{Secured, Standalone, Yarn};
    use super::Reader::{Application, Master, Worker};
    use super::*;

    /// The programs that refuse a property with this value.
    fn refusing(name: &str, value: &str) -> Vec<(Reader, ClusterManager)> {
        let all = [
            (Master, Standalone),
            (Worker, Standalone),
            (Application, Standalone),
            (Master, Secured),
            (Application, Secured),
            (Application, Yarn),
        ];
        all.into_iter()
            .filter(|(reader, manager)| refusal(name, value, *reader, *manager).is_some())
            .collect()
    }

    #[test]
    fn what_asks_for_protection_is_refused_by_all_who_cannot_give_it() {
        let without = vec![(Master, Standalone), (Worker, Standalone), (Application, Standalone)];
        let secured = [(Master, Secured), (Application, Secured)];
        let (unproven, yarn) = (without.clone(), [(Application, Yarn)]);
        let without: Vec<_> = without.into_iter().chain(yarn).collect();
        let all: Vec<_> = unproven.iter().copied().chain(secured).chain(yarn).collect();
        for (name, value, expected) in [
            ("spark.authenticate", "true", without.clone()),
            ("spark.authenticate", "TRUE", without.clone()),
            ("spark.authenticate.secret", "hush", without.clone()),
            ("spark.authenticate.secret.file", "/etc/secret", all.clone()),
            ("spark.authenticate.secret.driver.file", "/etc/secret", all.clone()),
            ("spark.authenticate.secret.executor.file", "/etc/secret", all.clone()),
            ("spark.authenticate.enableSaslEncryption", "true", all.clone()),
            ("spark.network.sasl.serverAlwaysEncrypt", "true", all.clone()),
            ("spark.network.crypto.enabled", "true", without),
            ("spark.ssl.enabled", "true", all.clone()),
            ("spark.ssl.rpc.enabled", "true", vec![(Application, Standalone), (Application, Yarn)]),
            ("spark.ssl.ui.enabled", "true", all.clone()),
            ("spark.ssl.standalone.enabled", "true", Vec::new()),
            ("spark.ssl.historyServer.enabled", "true", all.clone()),
            ("spark.ssl.fs.enabled", "true", all),
            ("spark.acls.enable", "true", unproven.clone()),
            ("spark.ui.acls.enable", "true", unproven.clone()),
            ("spark.admin.acls", "root", unproven.clone()),
            ("spark.admin.acls.groups", "wheel", unproven.clone()),
            ("spark.ui.view.acls", "*", unproven.clone()),
            ("spark.ui.view.acls.groups", "staff", unproven.clone()),
            ("spark.modify.acls", "ann", unproven.clone()),
            ("spark.modify.acls.groups", "staff", unproven),
            (
                "spark.io.encryption.enabled",
                "true",
                vec![(Application, Standalone), (Application, Secured), (Application, Yarn)],
            ),
        ] {
            assert_eq!(refusing(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn what_asks_for_nothing_is_no_reason_not_to_start() {
        for row in TABLE {
            let name = row.name.replace("NAME", "ui").replace('*', "file");
            for value in ["false", "False", " false ", "", " "] {
                assert_eq!(refusing(&name, value), [], "{name}={value}");
            }
        }
        // These only configure protection that another property switches on.
        for name in [
            "spark.authenticate.secretBitLength",
            "spark.ssl.keyStore",
            "spark.ssl.enabledAlgorithms",
            "spark.ssl.ui.enabledAlgorithms",
            "spark.network.crypto.cipher",
            "spark.network.crypto.saslFallback",
            "spark.io.encryption.keySizeBits",
        ] {
            assert_eq!(refusing(name, "true"), [], "{name}");
        }
    }

    #[test]
    fn only_an_application_whose_master_is_yarn_is_on_yarn() {
        let of = |pair: &str, reader| {
            ClusterManager::of(&Properties::parse([pair]).expect("it is a pair"), reader)
        };
        assert_eq!(of("spark.master=yarn", Application), Yarn);
        assert_eq!(of("spark.master=yarn", Master), Standalone);
        assert_eq!(of("spark.master=spark://a:1", Application), Standalone);
        assert_eq!(of("spark.cores.max=1", Application), Standalone);
        assert_eq!(of("firesteel.credentials.file=x", Worker), Secured);
    }
}
