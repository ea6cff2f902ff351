//! The properties of Spark that ask for protection which Firesteel does not have. Nothing starts with these properties,
//! because their user depends on the protection.

use crate::key::{Reader, matched};
use crate::{Properties, keys};

/// The cluster manager that gives an application its executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterManager {
    Standalone,
    /// A Hadoop YARN cluster, which has access lists of its own.
    Yarn,
}

impl ClusterManager {
    /// The cluster manager for a program (`reader`) with these properties. A daemon is part of a standalone cluster.
    #[must_use]
    pub fn of(properties: &Properties, reader: Reader) -> Self {
        match reader {
            Reader::Application if properties.get(keys::MASTER) == Some("yarn") => Self::Yarn,
            Reader::Application | Reader::Master | Reader::Worker => Self::Standalone,
        }
    }
}

/// The programs that do not start if the property is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusing {
    /// Daemons, and commands that start applications.
    All,
    /// All except applications on YARN.
    OutsideYarn,
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

const OPEN: &str = "Firesteel has no authentication or encryption yet: remove the setting, and use Firesteel only on a \
                    trusted network";
const NO_LISTS: &str = "Firesteel has no access control yet, only YARN has: anyone who reaches the Master's port may see \
                        and end every application; remove the setting, and use Firesteel only on a trusted network";
const NO_FILE_ENCRYPTION: &str =
    "Firesteel's own applications do not encrypt what they write to disks: remove the setting";

pub const TABLE: &[Row] = &[
    row("spark.authenticate", Refusing::All, OPEN),
    row("spark.authenticate.secret", Refusing::All, OPEN),
    row("spark.authenticate.secret.*", Refusing::All, OPEN),
    row("spark.authenticate.enableSaslEncryption", Refusing::All, OPEN),
    row("spark.network.sasl.serverAlwaysEncrypt", Refusing::All, OPEN),
    row("spark.network.crypto.enabled", Refusing::All, OPEN),
    row("spark.ssl.enabled", Refusing::All, OPEN),
    row("spark.ssl.NAME.enabled", Refusing::All, OPEN),
    row("spark.acls.enable", Refusing::OutsideYarn, NO_LISTS),
    row("spark.ui.acls.enable", Refusing::OutsideYarn, NO_LISTS),
    row(keys::ADMIN_ACLS, Refusing::OutsideYarn, NO_LISTS),
    row(keys::ADMIN_ACLS_GROUPS, Refusing::OutsideYarn, NO_LISTS),
    row(keys::VIEW_ACLS, Refusing::OutsideYarn, NO_LISTS),
    row(keys::VIEW_ACLS_GROUPS, Refusing::OutsideYarn, NO_LISTS),
    row(keys::MODIFY_ACLS, Refusing::OutsideYarn, NO_LISTS),
    row(keys::MODIFY_ACLS_GROUPS, Refusing::OutsideYarn, NO_LISTS),
    row("spark.io.encryption.enabled", Refusing::Applications, NO_FILE_ENCRYPTION),
];

/// The reason why this program (`reader`) does not start with the property. `None`: the program starts.
#[must_use]
pub fn refusal(name: &str, value: &str, reader: Reader, manager: ClusterManager) -> Option<&'static str> {
    if HARMLESS.contains(&value.trim().to_ascii_lowercase().as_str()) {
        return None;
    }
    let row = TABLE.iter().find(|row| matched(row.name, name).is_some())?;
    let refuses = match (row.refusing, reader, manager) {
        (Refusing::All, ..) | (Refusing::OutsideYarn, _, ClusterManager::Standalone) => true,
        (Refusing::Applications, Reader::Application, _) => true,
        (Refusing::OutsideYarn, _, ClusterManager::Yarn)
        | (Refusing::Applications, Reader::Master | Reader::Worker, _) => false,
    };
    refuses.then_some(row.why)
}

/// Whether YARN itself gives applications the protection that this property asks for.
#[must_use]
pub fn is_left_to_yarn(name: &str) -> bool {
    TABLE.iter().any(|row| row.refusing == Refusing::OutsideYarn && matched(row.name, name).is_some())
}

#[cfg(test)]
mod tests {
    use super::ClusterManager::{Standalone, Yarn};
    use super::Reader::{Application, Master, Worker};
    use super::*;

    /// The programs that refuse a property with this value.
    fn refusing(name: &str, value: &str) -> Vec<(Reader, ClusterManager)> {
        let all =
            [(Master, Standalone), (Worker, Standalone), (Application, Standalone), (Application, Yarn)];
        all.into_iter()
            .filter(|(reader, manager)| refusal(name, value, *reader, *manager).is_some())
            .collect()
    }

    #[test]
    fn what_asks_for_protection_is_refused_by_all_who_cannot_give_it() {
        let outside_yarn = vec![(Master, Standalone), (Worker, Standalone), (Application, Standalone)];
        let all: Vec<_> = outside_yarn.iter().copied().chain([(Application, Yarn)]).collect();
        for (name, value, expected) in [
            ("spark.authenticate", "true", all.clone()),
            ("spark.authenticate", "TRUE", all.clone()),
            ("spark.authenticate.secret", "hush", all.clone()),
            ("spark.authenticate.secret.file", "/etc/secret", all.clone()),
            ("spark.authenticate.secret.driver.file", "/etc/secret", all.clone()),
            ("spark.authenticate.secret.executor.file", "/etc/secret", all.clone()),
            ("spark.authenticate.enableSaslEncryption", "true", all.clone()),
            ("spark.network.sasl.serverAlwaysEncrypt", "true", all.clone()),
            ("spark.network.crypto.enabled", "true", all.clone()),
            ("spark.ssl.enabled", "true", all.clone()),
            ("spark.ssl.rpc.enabled", "true", all.clone()),
            ("spark.ssl.ui.enabled", "true", all.clone()),
            ("spark.ssl.standalone.enabled", "true", all.clone()),
            ("spark.ssl.historyServer.enabled", "true", all.clone()),
            ("spark.ssl.fs.enabled", "true", all),
            ("spark.acls.enable", "true", outside_yarn.clone()),
            ("spark.ui.acls.enable", "true", outside_yarn.clone()),
            ("spark.admin.acls", "root", outside_yarn.clone()),
            ("spark.admin.acls.groups", "wheel", outside_yarn.clone()),
            ("spark.ui.view.acls", "*", outside_yarn.clone()),
            ("spark.ui.view.acls.groups", "staff", outside_yarn.clone()),
            ("spark.modify.acls", "ann", outside_yarn.clone()),
            ("spark.modify.acls.groups", "staff", outside_yarn),
            ("spark.io.encryption.enabled", "true", vec![(Application, Standalone), (Application, Yarn)]),
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
    }
}
