//! Findings: all settings that a user has made, and their effects. `firesteel config check` prints them.

mod environment;
pub mod property_effect;

use std::path::Path;

use serde::Serialize;

use super::application::cluster_driver::DriverSettings;
use super::application::listen::Listen;
use super::application::yarn::YarnSettings;
use super::daemon::allowed_peers::AllowedPeers;
use super::daemon::app_resources::AppResources;
use super::daemon::http::HttpSettings;
use super::daemon::master;
use super::daemon::pages::PageSettings;
use super::key::Reader;
use super::origin::Origin;
use super::properties::Property;
use super::secrets::shown;
use super::sources::Loaded;
use super::spark_properties::protection::ClusterManager;
use super::{ApplicationSettings, Properties, SettingError, WorkerSettings};
use property_effect::PropertyEffect;

pub use environment::of_variables;

/// One setting or file that was found, and its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of a property, a variable or a file.
    pub name: String,
    /// The value, with secrets replaced. A finding about a file has no value.
    pub value: Option<String>,
    /// The place where the property is set. `None` for a file, and for a variable that no script sets.
    pub origin: Option<Origin>,
    #[serde(rename = "effect")]
    pub outcome: Outcome,
    /// The reason for the effect, or the purpose of the setting.
    #[serde(rename = "reason")]
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Read,
    /// The setting is read, but another setting takes precedence.
    Overridden,
    /// The setting has no effect, because it concerns something that this program does not do.
    Ignored,
    /// The setting requests something that Firesteel does not support.
    NotHonoured,
    /// The setting requests protection that Firesteel does not have. No command or daemon starts with this setting.
    Refused,
    /// The value cannot be used. Commands that read the setting do not start.
    BadValue,
}

impl Outcome {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Overridden => "overridden",
            Self::Ignored => "ignored",
            Self::NotHonoured => "no effect",
            Self::Refused => "refused",
            Self::BadValue => "bad value",
        }
    }

    /// Whether the effect is that a command or a daemon does not start.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        match self {
            Self::Refused | Self::BadValue => true,
            Self::Read | Self::Overridden | Self::Ignored | Self::NotHonoured => false,
        }
    }
}

/// The programs whose settings are reported: Master, Worker or application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingReaders {
    One(Reader),
    /// All programs. A property counts as read if any of them reads it.
    All,
}

impl FindingReaders {
    #[must_use]
    pub fn readers(self) -> Vec<Reader> {
        match self {
            Self::One(reader) => vec![reader],
            Self::All => Reader::ALL.to_vec(),
        }
    }
}

#[must_use]
pub fn of_properties(loaded: &Loaded, reader: Reader, audience: FindingReaders) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manager = ClusterManager::of(&loaded.properties, reader);
    let of_property =
        |key: &str, property: &Property| of_property(key, property, (reader, manager), audience);
    for (key, property) in loaded.properties.each() {
        findings.push(of_property(key, property));
        for overridden in loaded.properties.overridden(key) {
            findings.push(Finding {
                outcome: Outcome::Overridden,
                why: format!("overridden by {}", property.origin),
                ..of_property(key, overridden)
            });
        }
    }
    for (name, origin) in &loaded.unknown {
        findings.push(Finding {
            name: name.clone(),
            value: None,
            origin: Some(origin.clone()),
            outcome: Outcome::Ignored,
            why: why_unknown(name, origin).to_owned(),
        });
    }
    findings
}

/// The reason why a name is not a known property.
#[must_use]
pub fn why_unknown(name: &str, origin: &Origin) -> &'static str {
    match origin {
        Origin::JavaOption(_) if name.starts_with('-') => "an option for a JVM",
        Origin::File { .. } if name.starts_with('\u{feff}') => {
            "the file begins with a byte order mark, which becomes part of the key: save the file without it"
        }
        Origin::Flag(_)
        | Origin::Conf
        | Origin::Variable(_)
        | Origin::JavaOption(_)
        | Origin::File { .. }
        | Origin::Script(_)
        | Origin::Derived(_) => "only names that begin with spark. or firesteel. are read",
    }
}

fn of_property(
    key: &str,
    property: &Property,
    (reader, manager): (Reader, ClusterManager),
    audience: FindingReaders,
) -> Finding {
    let Property { value, origin } = property;
    let effect = PropertyEffect::of(key, value, reader, manager);
    let (outcome, why) = match (effect, audience) {
        (PropertyEffect::Read(row) | PropertyEffect::Others(row), FindingReaders::All) => {
            (Outcome::Read, PropertyEffect::Others(row).to_string())
        }
        (PropertyEffect::Read(_), FindingReaders::One(_)) => (Outcome::Read, effect.to_string()),
        (PropertyEffect::Others(_), FindingReaders::One(_)) | (PropertyEffect::NotOurs(_), _) => {
            (Outcome::Ignored, effect.to_string())
        }
        (PropertyEffect::Harmless, _) => (Outcome::Read, effect.to_string()),
        (PropertyEffect::NoEffect(_) | PropertyEffect::Misspelt(_) | PropertyEffect::Unknown, _) => {
            (Outcome::NotHonoured, effect.to_string())
        }
        (PropertyEffect::Refused(_), _) => (Outcome::Refused, effect.to_string()),
    };
    let bad = (outcome == Outcome::Read).then(|| bad_value(key, property, &audience.readers())).flatten();
    let (outcome, why) = bad.map_or((outcome, why), |expected| (Outcome::BadValue, expected));
    let value = Some(shown(key, value));
    Finding { name: key.to_owned(), value, origin: Some(origin.clone()), outcome, why }
}

/// The expected form, if one of these programs (`readers`) cannot use the value. Each property is checked by itself.
fn bad_value(key: &str, property: &Property, readers: &[Reader]) -> Option<String> {
    let mut alone = Properties::default();
    alone.set(key, property.value.as_str(), property.origin.clone());
    match read(&alone, readers) {
        Err(SettingError::Value { expected, .. }) => Some(format!("write {expected}")),
        Err(SettingError::File { path, error, .. }) => Some(format!("{path}: {error}")),
        Err(SettingError::Expression { error, .. }) => Some(error.to_string()),
        Err(
            error @ (SettingError::NoPair { .. }
            | SettingError::NoTokenKey
            | SettingError::Unprotected { .. }
            | SettingError::Contradiction { .. }
            | SettingError::TooFewAddresses { .. }),
        ) => Some(error.to_string()),
        // A missing setting may be set elsewhere.
        Err(
            SettingError::NoAddresses { .. }
            | SettingError::NoPemFile { .. }
            | SettingError::TimeoutTooShort { .. }
            | SettingError::NoneEnded { .. },
        )
        | Ok(()) => None,
    }
}

fn read(properties: &Properties, readers: &[Reader]) -> Result<(), SettingError> {
    for reader in readers {
        match reader {
            Reader::Master => {
                master::config(properties, String::new())?;
                master::encrypted_spark(properties)?;
                master::is_insecure(properties)?;
                HttpSettings::of_master(properties, false)?;
                HttpSettings::of_rest(properties)?;
                PageSettings::of_master(properties)?;
                AllowedPeers::of(properties)?;
                AppResources::of(properties)?;
            }
            Reader::Worker => {
                WorkerSettings::of(properties)?;
                HttpSettings::of_worker(properties, false)?;
            }
            Reader::Application => {
                let application = ApplicationSettings::of(properties)?;
                DriverSettings::of(properties)?;
                // Amounts outside of YARN may be invalid for YARN, which has no parts and kinds.
                if application.executor_resources.is_empty() {
                    YarnSettings::of(properties, &application)?;
                }
            }
        }
    }
    Listen::of(properties, String::new)?;
    Ok(())
}

/// Returns the error if each property is valid alone, but the properties contradict each other, so that this program
/// (`reader`: Master, Worker or application) refuses to start.
#[must_use]
pub fn contradiction(properties: &Properties, reader: Reader) -> Option<SettingError> {
    read(properties, &[reader]).err().filter(|error| match error {
        SettingError::Contradiction { .. }
        | SettingError::TimeoutTooShort { .. }
        | SettingError::NoneEnded { .. }
        | SettingError::NoPemFile { .. }
        | SettingError::NoTokenKey
        | SettingError::NoAddresses { .. }
        | SettingError::TooFewAddresses { .. }
        | SettingError::Unprotected { .. } => true,
        SettingError::NoPair { .. }
        | SettingError::Value { .. }
        | SettingError::Expression { .. }
        | SettingError::File { .. } => false,
    })
}

/// The findings about other files that Spark users have in the same directory as `spark-defaults.conf`.
#[must_use]
pub fn of_files(directory: &Path) -> Vec<Finding> {
    BESIDE
        .iter()
        .map(|(name, _)| directory.join(name))
        .filter(|path| path.is_file())
        .filter_map(|path| of_file(&path))
        .collect()
}

/// The finding about a file that is not a properties file. `None` if the file may be a properties file.
#[must_use]
pub fn of_file(path: &Path) -> Option<Finding> {
    let name = path.file_name()?.to_str()?;
    let (_, why) = BESIDE.iter().find(|(other, _)| *other == name)?;
    let (name, why) = (path.display().to_string(), (*why).to_owned());
    Some(Finding { name, value: None, origin: None, outcome: Outcome::Ignored, why })
}

const BESIDE: [(&str, &str); 7] = [
    ("spark-env.sh", "a shell script: source it before starting a daemon; firesteel cluster does"),
    ("workers", "for firesteel cluster, which starts a Worker on each of these hosts"),
    ("slaves", "the old name of workers: rename it, for firesteel cluster"),
    ("log4j2.properties", "Firesteel has no JVM: RUST_LOG sets what is logged"),
    ("log4j.properties", "Firesteel has no JVM: RUST_LOG sets what is logged"),
    ("metrics.properties", "Firesteel has no metrics sinks"),
    ("fairscheduler.xml", "for the job scheduler inside a Spark application"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keys;

    fn loaded(pairs: &[&str]) -> Loaded {
        let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
        Loaded { properties, ..Loaded::default() }
    }

    fn outcomes(pairs: &[&str], reader: Reader, audience: FindingReaders) -> Vec<(String, Outcome)> {
        let findings = of_properties(&loaded(pairs), reader, audience);
        findings.into_iter().map(|finding| (finding.name, finding.outcome)).collect()
    }

    #[test]
    fn every_property_that_is_set_has_one_outcome() {
        let pairs = [
            "spark.worker.timeout=60",
            "spark.cores.max=lots",
            "spark.sql.ansi.enabled=true",
            "spark.authenticate=true",
            "spark.deploy.recoveryCompressionCodec=lz4",
            "spark.deploy.spreadOutDrivers=true",
            "spark.colour=red",
        ];
        let found = outcomes(&pairs, Reader::Master, FindingReaders::All);
        let expected = [
            ("spark.authenticate", Outcome::Refused),
            ("spark.colour", Outcome::NotHonoured),
            ("spark.cores.max", Outcome::BadValue),
            ("spark.deploy.recoveryCompressionCodec", Outcome::NotHonoured),
            ("spark.deploy.spreadOutDrivers", Outcome::Read),
            ("spark.sql.ansi.enabled", Outcome::Ignored),
            ("spark.worker.timeout", Outcome::Read),
        ];
        assert_eq!(found, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
    }

    /// The properties whose value may be any text.
    const TEXTS: [&str; 59] = [
        "spark.deploy.recoveryDirectory",
        "spark.master.rest.host",
        "spark.master.ui.title",
        "spark.shuffle.NAME",
        "spark.app.name",
        "spark.master",
        "firesteel.app.queue",
        "firesteel.worker.resource.NAME.kind",
        "spark.worker.resource.NAME.discoveryScript",
        "spark.worker.resourcesFile",
        "firesteel.worker.runAs",
        "firesteel.executor.resource.NAME.kind",
        "firesteel.executor.cuda",
        "spark.executorEnv.NAME",
        "spark.files",
        "spark.archives",
        "spark.driver.host",
        "spark.driver.bindAddress",
        "spark.hadoop.NAME",
        "spark.yarn.queue",
        "spark.yarn.applicationType",
        "spark.yarn.tags",
        "spark.yarn.am.nodeLabelExpression",
        "spark.yarn.appMasterEnv.NAME",
        "spark.yarn.resourceGpuDeviceName",
        "spark.yarn.resourceFpgaDeviceName",
        "spark.admin.acls",
        "spark.admin.acls.groups",
        "spark.ui.view.acls",
        "spark.ui.view.acls.groups",
        "spark.modify.acls",
        "spark.modify.acls.groups",
        "spark.yarn.executor.nodeLabelExpression",
        "spark.yarn.exclude.nodes",
        "spark.yarn.stagingDir",
        "firesteel.yarn.binary",
        "firesteel.credentials.file",
        "spark.authenticate.secret",
        "spark.ssl.standalone.certChain",
        "spark.ssl.standalone.privateKey",
        "spark.ssl.standalone.trustStore",
        "spark.ssl.rpc.certChain",
        "spark.ssl.rpc.privateKey",
        "spark.ssl.rpc.trustStore",
        "spark.ssl.rpc.keyStorePassword",
        "spark.ssl.rpc.keyPassword",
        "spark.ssl.rpc.trustStorePassword",
        "spark.ssl.rpc.privateKeyPassword",
        // Of all names of parameters only that of the key counts.
        "spark.org.apache.spark.ui.JWSFilter.param.NAME",
        // Read only where REST is served.
        "spark.master.rest.filters",
        // Refused without credentials, whatever they are.
        "spark.authenticate",
        "spark.network.crypto.enabled",
        "spark.yarn.dist.files",
        "spark.yarn.dist.archives",
        "spark.yarn.rolledLog.includePattern",
        "spark.yarn.rolledLog.excludePattern",
        // With wrong values of these, a Worker only does not roll logs.
        "spark.executor.logs.rolling.strategy",
        "spark.executor.logs.rolling.time.interval",
        "spark.executor.logs.rolling.maxSize",
    ];

    /// The properties that are read only on YARN in cluster mode. Wrong values are found only there.
    const UNCHECKED: [&str; 3] = [
        "spark.driver.memoryOverhead",
        "spark.driver.memoryOverheadFactor",
        "spark.driver.minMemoryOverhead",
    ];

    #[test]
    fn a_value_that_no_property_has_is_found_in_each_that_does_not_take_any_text() {
        let is_taken = |name: &&str| {
            let pair = format!("{name}=?");
            outcomes(&[&pair], Reader::Master, FindingReaders::All)[0].1 != Outcome::BadValue
        };
        let taken: BTreeSet<&str> = keys::all().map(|key| key.name).filter(is_taken).collect();
        assert_eq!(taken, TEXTS.into_iter().chain(UNCHECKED).collect());
    }

    #[test]
    fn what_yarn_does_not_have_is_no_wrong_value() {
        let outcome = |pair: &str| outcomes(&[pair], Reader::Application, FindingReaders::All)[0].1;
        assert_eq!(outcome("spark.executor.resource.gpu.amount=0.25"), Outcome::Read);
    }

    #[test]
    fn what_can_be_used_alone_but_not_together_is_found() {
        let found = |pairs: &[&str], reader| {
            contradiction(&loaded(pairs).properties, reader).map(|error| error.to_string())
        };
        let wrong = |pairs: &[&str]| found(pairs, Reader::Master);
        let patience = "firesteel.master.preemption.gangPatience=20s";
        assert_eq!(wrong(&["firesteel.master.preemption=1", patience]), None);
        assert!(
            wrong(&[patience]).is_some_and(|words| words.contains("firesteel.master.preemption is not set"))
        );
        let filters = "spark.master.rest.filters=org.apache.Filter";
        assert_eq!(wrong(&[filters]), None);
        let words = wrong(&["spark.master.rest.enabled=true", filters]).unwrap_or_default();
        assert!(words.contains("the REST port would be open"), "{words}");
        assert_eq!(found(&["spark.ui.filters=org.apache.Filter"], Reader::Application), None);
    }

    #[test]
    fn what_belongs_to_another_daemon_is_ignored_by_this_one() {
        let one = |reader| outcomes(&["spark.worker.timeout=60"], reader, FindingReaders::One(reader))[0].1;
        assert_eq!(one(Reader::Master), Outcome::Read);
        assert_eq!(one(Reader::Worker), Outcome::Ignored);
    }

    #[test]
    fn secrets_are_not_shown() {
        let findings = of_properties(
            &loaded(&[
                "spark.authenticate.secret=hush",
                "spark.executorEnv.API_TOKEN=hush",
                "spark.app.name=x",
            ]),
            Reader::Application,
            FindingReaders::All,
        );
        let values: Vec<_> = findings.iter().filter_map(|finding| finding.value.as_deref()).collect();
        assert_eq!(values, ["x", "*********(redacted)", "*********(redacted)"]);
    }
}
