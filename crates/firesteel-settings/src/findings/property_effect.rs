//! The effect of each property that is set.

use crate::key::{Key, Reader};
use crate::near::near;
use crate::origin::Origin;
use crate::properties::Property;
use crate::secrets::shown;
use crate::spark_properties::protection::{self, ClusterManager};
use crate::spark_properties::{self, Treatment};
use crate::{Properties, keys};

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum PropertyEffect {
    #[display("{}", _0.meaning())]
    Read(&'static Key),
    /// Only other programs read the property.
    #[display("read by {}", readers(_0))]
    Others(&'static Key),
    /// The property concerns something that Firesteel does not have, for this reason.
    NotOurs(&'static str),
    /// The property requests only what Firesteel does anyway.
    #[display("Firesteel always behaves like this")]
    Harmless,
    /// The property requests something that Firesteel does not do, for this reason.
    NoEffect(&'static str),
    /// The property requests protection that Firesteel does not have. No command or daemon starts with it.
    Refused(&'static str),
    /// Firesteel has no property of this name. This other property has a similar name.
    #[display("unknown property; did you mean {}?", _0.name)]
    Misspelt(&'static Key),
    #[display("unknown property; check its spelling")]
    Unknown,
}

/// A property that prevents commands and daemons from starting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}={shown} ({origin}) is not supported: {why}", shown = shown(key, value))]
pub struct Refusal {
    pub key: String,
    pub value: String,
    pub origin: Origin,
    pub why: &'static str,
}

impl PropertyEffect {
    /// The effect of the property on this program (`reader`). `manager` is the cluster manager that gives an
    /// application its executors.
    #[must_use]
    pub fn of(name: &str, value: &str, reader: Reader, manager: ClusterManager) -> Self {
        if let Some(why) = protection::refusal(name, value, reader, manager) {
            return Self::Refused(why);
        }
        if let Some(key) = keys::find(name) {
            return if key.readers.contains(&reader) { Self::Read(key) } else { Self::Others(key) };
        }
        let row = spark_properties::find(name);
        // Only the prefix of a family is known, so the property may be a misspelt one of Firesteel's.
        if row.is_none_or(|row| row.is_family())
            && let Some(meant) = near(name, keys::all().map(|key| key.name)).and_then(keys::find)
        {
            return Self::Misspelt(meant);
        }
        let Some(row) = row else { return Self::Unknown };
        if row.harmless.contains(&value.to_ascii_lowercase().as_str()) {
            return Self::Harmless;
        }
        match row.treatment {
            Treatment::NotOurs => Self::NotOurs(row.why),
            Treatment::SparkApplications if reader == Reader::Application => Self::NoEffect(row.why),
            Treatment::SparkApplications => Self::NotOurs(spark_properties::OF_APPLICATIONS),
            Treatment::NoEffect => Self::NoEffect(row.why),
        }
    }
}

fn readers(key: &Key) -> String {
    let readers: Vec<_> = key.readers.iter().map(|reader| reader.described()).collect();
    readers.join(" and ")
}

/// Checks that no property requests protection that Firesteel does not have.
///
/// # Errors
/// The first property that requests this.
pub fn refuse_danger(
    properties: &Properties,
    reader: Reader,
    manager: ClusterManager,
) -> Result<(), Refusal> {
    for (key, Property { value, origin }) in properties.each() {
        if let PropertyEffect::Refused(why) = PropertyEffect::of(key, value, reader, manager) {
            let (key, value, origin) = (key.to_owned(), value.clone(), origin.clone());
            return Err(Refusal { key, value, origin, why });
        }
    }
    Ok(())
}

/// Warns of every property that has no effect. Properties of other programs cause a warning only if they were set for
/// this command, because Spark may read the same file.
pub fn warn(properties: &Properties, reader: Reader, manager: ClusterManager) {
    for (key, Property { value, origin }) in properties.each() {
        let effect = PropertyEffect::of(key, value, reader, manager);
        let value = shown(key, value);
        match effect {
            PropertyEffect::Read(_)
            | PropertyEffect::Others(_)
            | PropertyEffect::Harmless
            | PropertyEffect::Refused(_) => {}
            PropertyEffect::NoEffect(_) | PropertyEffect::Misspelt(_) | PropertyEffect::Unknown => {
                tracing::warn!("{key}={value} ({origin}) has no effect: {effect}");
            }
            PropertyEffect::NotOurs(_) if origin.is_command_line() => {
                tracing::warn!("{key}={value} ({origin}) has no effect: {effect}");
            }
            PropertyEffect::NotOurs(_) => tracing::debug!("{key}={value} ({origin}) has no effect: {effect}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The effect of a property outside of YARN.
    fn effect(name: &str, value: &str, reader: Reader) -> PropertyEffect {
        PropertyEffect::of(name, value, reader, ClusterManager::Standalone)
    }

    /// The names of properties in Spark's standalone documentation and classes, with `*` for a family. Every name must
    /// have an effect.
    const LISTED: &str = "\
        spark.deploy.recoveryMode spark.deploy.recoveryDirectory spark.deploy.recoveryCompressionCodec \
        spark.deploy.recoveryMode.factory spark.deploy.recoverySerializationFilter spark.deploy.recoveryTimeout \
        spark.deploy.zookeeper.url spark.deploy.zookeeper.dir spark.deploy.retainedApplications \
        spark.deploy.retainedDrivers spark.dead.worker.persistence spark.deploy.maxExecutorRetries \
        spark.deploy.spreadOutApps spark.deploy.spreadOut spark.deploy.spreadOutDrivers \
        spark.deploy.workerSelectionPolicy spark.deploy.defaultCores spark.deploy.maxDrivers \
        spark.deploy.appNumberModulo spark.deploy.appIdPattern spark.deploy.driverIdPattern spark.worker.timeout \
        spark.master.rest.enabled spark.master.rest.port spark.master.rest.host spark.master.rest.maxThreads \
        spark.master.rest.virtualThread.enabled spark.master.rest.filters spark.master.rest.allowedAppResourcePatterns \
        spark.master.rest.maxRequestBodySize spark.master.ui.port spark.master.ui.title \
        spark.master.ui.historyServerUrl spark.master.ui.decommission.allow.mode spark.master.ui.visibleEnvVarPrefixes \
        spark.master.useAppNameAsAppId.enabled spark.master.useDriverIdAsAppName.enabled spark.ui.reverseProxy \
        spark.ui.reverseProxyUrl spark.ui.killEnabled spark.decommission.enabled spark.port.maxRetries \
        spark.worker.initialRegistrationRetries spark.worker.maxRegistrationRetries \
        spark.worker.preferConfiguredMasterAddress spark.worker.idPattern spark.worker.cleanup.enabled \
        spark.worker.cleanup.interval spark.worker.cleanup.appDataTtl spark.worker.driverTerminateTimeout \
        spark.worker.executorStateSync.maxAttempts spark.worker.decommission.signal spark.worker.resourcesFile \
        spark.worker.resource.gpu.amount spark.worker.resource.gpu.discoveryScript spark.worker.ui.port \
        spark.worker.ui.retainedExecutors spark.worker.ui.retainedDrivers \
        spark.worker.ui.compressedLogFileLengthCacheSize spark.executor.logs.rolling.strategy \
        spark.executor.logs.rolling.time.interval spark.executor.logs.rolling.maxSize \
        spark.executor.logs.rolling.maxRetainedFiles spark.executor.logs.rolling.enableCompression \
        spark.storage.cleanupFilesAfterExecutorExit spark.shuffle.service.enabled spark.shuffle.service.port \
        spark.shuffle.service.db.enabled spark.shuffle.service.db.backend spark.cores.max spark.executor.cores \
        spark.executor.memory spark.driver.memory spark.driver.cores spark.driver.supervise spark.executor.instances \
        spark.executor.memoryOverhead spark.dynamicAllocation.enabled spark.dynamicAllocation.minExecutors \
        spark.standalone.submit.waitAppCompletion spark.standalone.submit.filterEnvironment \
        spark.standalone.executorRemoveDelayOnDisconnection spark.scheduler.minRegisteredResourcesRatio \
        spark.scheduler.maxRegisteredResourcesWaitingTime spark.authenticate spark.authenticate.secret \
        spark.ssl.enabled spark.ssl.rpc.enabled spark.locality.wait spark.locality.wait.node \
        spark.excludeOnFailure.enabled spark.speculation spark.files spark.archives spark.task.resource.gpu.amount";

    #[test]
    fn every_property_of_spark_standalone_has_its_effect() {
        for name in LISTED.split_whitespace() {
            for reader in Reader::ALL {
                let found = effect(name, "x", reader);
                assert!(
                    !matches!(found, PropertyEffect::Unknown | PropertyEffect::Misspelt(_)),
                    "{name}: {found}"
                );
            }
        }
    }

    #[test]
    fn a_property_is_read_by_those_whom_it_is_for() {
        let of = |reader| effect("spark.cores.max", "4", reader);
        assert!(matches!(of(Reader::Application), PropertyEffect::Read(_)));
        assert_eq!(of(Reader::Worker).to_string(), "read by an application");
        let engine = effect("spark.sql.shuffle.partitions", "8", Reader::Master);
        assert!(matches!(engine, PropertyEffect::NotOurs(_)));
        assert_eq!(effect("spark.colour", "red", Reader::Master), PropertyEffect::Unknown);
        assert_eq!(effect("firesteel.colour", "red", Reader::Master), PropertyEffect::Unknown);
    }

    #[test]
    fn a_property_that_looks_like_one_of_ours_is_asked_about() {
        for (name, meant) in [
            ("spark.executor.memry", "spark.executor.memory"),
            ("spark.dynamicallocation.enabled", "spark.dynamicAllocation.enabled"),
            ("spark.core.max", "spark.cores.max"),
            ("firesteel.topology.tabel", "firesteel.topology.table"),
        ] {
            let words = format!("unknown property; did you mean {meant}?");
            assert_eq!(effect(name, "1", Reader::Application).to_string(), words, "{name}");
        }
        let ratio = effect("spark.scheduler.minRegisteredResourcesRatio", "1", Reader::Application);
        assert!(matches!(ratio, PropertyEffect::NoEffect(_)), "what Spark has is not misspelt");
    }

    #[test]
    fn a_daemon_says_nothing_of_what_sparks_applications_use() {
        for name in
            ["spark.speculation", "spark.network.maxRemoteBlockSizeFetchToMem", "spark.rpc.message.maxSize"]
        {
            let effect = |reader| effect(name, "x", reader);
            assert!(matches!(effect(Reader::Application), PropertyEffect::NoEffect(_)), "{name}");
            assert!(matches!(effect(Reader::Worker), PropertyEffect::NotOurs(_)), "{name}");
            assert!(matches!(effect(Reader::Master), PropertyEffect::NotOurs(_)), "{name}");
        }
    }

    #[test]
    fn what_asks_for_protection_is_refused_and_its_absence_is_not() {
        let refused = |pair: &str, reader| {
            let properties = Properties::parse([pair]).expect("it is a pair");
            refuse_danger(&properties, reader, ClusterManager::of(&properties, reader))
        };
        for key in [
            "spark.authenticate",
            "spark.ssl.ui.enabled",
            "spark.network.crypto.enabled",
            "spark.acls.enable",
        ] {
            for reader in Reader::ALL {
                let refusal = refused(&format!("{key}=true"), reader).expect_err(key).to_string();
                assert!(refusal.starts_with(&format!("{key}=true (--conf) is not supported: ")), "{refusal}");
                assert_eq!(refused(&format!("{key}=False"), reader), Ok(()));
                let harmless = effect(key, "False", reader);
                assert!(
                    matches!(
                        harmless,
                        PropertyEffect::Harmless | PropertyEffect::Read(_) | PropertyEffect::Others(_)
                    ),
                    "{harmless}"
                );
            }
        }
        let both =
            ["firesteel.credentials.file=x", "spark.authenticate=true", "spark.network.crypto.enabled=true"];
        let secured = Properties::parse(both).expect("they are pairs");
        for reader in Reader::ALL {
            assert_eq!(refuse_danger(&secured, reader, ClusterManager::of(&secured, reader)), Ok(()));
        }
        let hidden = refused("spark.authenticate.secret=hush", Reader::Master).expect_err("it is a secret");
        assert!(!hidden.to_string().contains("hush"), "{hidden}");
        let on_yarn =
            PropertyEffect::of("spark.modify.acls", "ann", Reader::Application, ClusterManager::Yarn);
        assert!(matches!(on_yarn, PropertyEffect::Read(_)));
        let codec = effect("spark.deploy.recoveryCompressionCodec", "lz4", Reader::Master);
        assert!(matches!(codec, PropertyEffect::NoEffect(_)));
        let killing = effect("spark.master.useAppNameAsAppId.enabled", "FALSE", Reader::Master);
        assert_eq!(killing, PropertyEffect::Harmless);
    }
}
