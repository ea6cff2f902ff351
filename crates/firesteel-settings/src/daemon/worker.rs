//! The settings of a Worker, from properties.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use firesteel_protocol::byte_text;
use firesteel_protocol::secret::Secret;
use firesteel_worker::{Cleanup, Limits};

use super::pages::{LogLinks, page_hosts};
use super::resources::WorkerResources;
use super::rolling::Rolling;
use super::rolling::{self, NotRolled};
use super::shuffle_service::{self, ShuffleServiceSettings};
use super::tls::{self, RpcTlsSettings};
use crate::key::Reader;
use crate::secrets::is_secret;
use crate::values::duration::Unit;
use crate::values::size;
use crate::{Origin, Properties, SettingError, keys};

/// What confined programs reach, beside the system and their own directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfinementSettings {
    pub readable: Vec<PathBuf>,
    /// Also readable.
    pub writable: Vec<PathBuf>,
    /// Files with secrets of the Worker, which they never reach.
    pub hidden: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WorkerSettings {
    pub max_registration_retries: u32,
    pub kill_grace: Duration,
    pub driver_kill_grace: Duration,
    pub control_groups: bool,
    /// Whether programs of executors may gain privileges, for example by sudo.
    pub may_gain_privileges: bool,
    /// The account of executors and cluster drivers. `None`: the Worker's own.
    pub run_as: Option<String>,
    /// What programs reach. `None`: they are not confined.
    pub confinement: Option<ConfinementSettings>,
    /// Whether the Worker may listen without credentials at addresses that other machines reach.
    pub is_insecure: bool,
    /// Whether connections of Spark's executors must be encrypted.
    pub encrypted_spark: bool,
    pub spark_tls: Option<RpcTlsSettings>,
    /// The variables with the passwords of the files of Spark's applications.
    pub spark_passwords: BTreeMap<String, Secret>,
    /// After how long directories of ended applications are removed, from `spark.worker.cleanup.*`. `None`: never.
    pub cleanup: Option<Cleanup>,
    pub max_disk_percent: u64,
    pub limits: Limits,
    pub resources: WorkerResources,
    pub retained_executors: usize,
    pub spark_homes: Vec<PathBuf>,
    pub local_directories: Vec<PathBuf>,
    pub shuffle_service: Option<ShuffleServiceSettings>,
    /// How executors' logs are rolled, from `spark.executor.logs.rolling.*`. `None`: logs are not rolled.
    pub rolling: Option<Rolling>,
    /// Why logs are not rolled although a strategy is set. The Worker logs this.
    pub not_rolled: Option<NotRolled>,
    /// The destination of the log links of Spark's executors, from `spark.ui.reverseProxy` and
    /// `spark.ui.reverseProxyUrl`.
    pub log_links: LogLinks,
    /// Further host names that requests for pages may use for the Worker.
    pub page_hosts: Vec<String>,
}

impl WorkerSettings {
    /// Reads the settings. Settings that are not set have Spark's default.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        let (rolling, not_rolled) = rolling::of(properties)?;
        Ok(Self {
            max_registration_retries: properties.count(keys::MAX_REGISTRATION_RETRIES)?.unwrap_or(16),
            kill_grace: properties
                .duration(keys::KILL_GRACE, Unit::Seconds)?
                .unwrap_or(Duration::from_secs(10)),
            driver_kill_grace: properties
                .duration(keys::DRIVER_KILL_GRACE, Unit::Seconds)?
                .unwrap_or(Duration::from_secs(10)),
            control_groups: properties.boolean(keys::CONTROL_GROUPS)?.unwrap_or(true),
            may_gain_privileges: properties.boolean(keys::GAIN_PRIVILEGES)?.unwrap_or(false),
            run_as: properties.get(keys::RUN_AS).filter(|name| !name.is_empty()).map(str::to_owned),
            confinement: confinement(properties)?,
            is_insecure: properties.boolean(keys::INSECURE)?.unwrap_or(false),
            encrypted_spark: super::master::encrypted_spark(properties)?,
            spark_tls: RpcTlsSettings::of(properties, Reader::Worker)?,
            spark_passwords: tls::password_variables(properties),
            cleanup: cleanup(properties)?,
            max_disk_percent: properties
                .read(keys::MAX_DISK_USAGE, "a whole number from 1 to 100", percent)?
                .unwrap_or(95),
            limits: limits(properties)?,
            resources: WorkerResources::of(properties)?,
            retained_executors: properties
                .count(keys::RETAINED_EXECUTORS)?
                .map_or(1_000, |count| count as usize),
            spark_homes: paths(properties, keys::SPARK_HOMES)?,
            local_directories: paths(properties, keys::LOCAL_DIRECTORIES)?,
            shuffle_service: shuffle_service::of(properties)?,
            rolling,
            not_rolled,
            log_links: LogLinks::of(properties)?,
            page_hosts: page_hosts(properties, keys::WORKER_UI_ALLOWED_HOSTS)?,
        })
    }
}

fn limits(properties: &Properties) -> Result<Limits, SettingError> {
    Ok(Limits {
        memory_overhead: properties.factor(keys::WORKER_OVERHEAD_FACTOR)?,
        threads: properties.positive(keys::MAX_THREADS)?,
        disk: properties.memory(keys::MAX_DISK_SIZE)?,
        is_held_to_cores: properties.boolean(keys::CPU_QUOTA)?.unwrap_or(false),
    })
}

fn percent(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|percent| (1..=100).contains(percent))
}

/// Absolute paths, separated by commas. Their order is kept.
fn paths(properties: &Properties, key: &str) -> Result<Vec<PathBuf>, SettingError> {
    let read = |text: &str| {
        let paths = text.split(',').map(str::trim).filter(|path| !path.is_empty()).map(byte_text::path);
        let paths: Vec<PathBuf> = paths.collect();
        paths.iter().all(|path| path.is_absolute()).then_some(paths)
    };
    Ok(properties.read(key, "absolute paths, separated by commas", read)?.unwrap_or_default())
}

fn confinement(properties: &Properties) -> Result<Option<ConfinementSettings>, SettingError> {
    let readable = paths(properties, keys::READABLE_PATHS)?;
    let writable = paths(properties, keys::WRITABLE_PATHS)?;
    if properties.boolean(keys::CONFINED)? != Some(true) {
        return Ok(None);
    }
    if properties.boolean(keys::GAIN_PRIVILEGES)? == Some(true) {
        // The kernel confines only those who cannot.
        properties
            .read(keys::GAIN_PRIVILEGES, "false where firesteel.worker.confined is set", |_| None::<bool>)?;
    }
    let key_files = [keys::CREDENTIALS_FILE, keys::TLS_PRIVATE_KEY, keys::RPC_TLS_PRIVATE_KEY];
    let key_files = key_files.into_iter().filter_map(|key| properties.get(key)).map(byte_text::path);
    let with_secrets = properties.each().filter_map(|(name, property)| match &property.origin {
        Origin::File { path, .. } if is_secret(name) => Some(path.to_path_buf()),
        _ => None,
    });
    let hidden = key_files.chain(with_secrets).collect();
    Ok(Some(ConfinementSettings { readable, writable, hidden }))
}

fn cleanup(properties: &Properties) -> Result<Option<Cleanup>, SettingError> {
    let cleanup = Cleanup {
        interval: properties
            .period(keys::CLEANUP_INTERVAL, Unit::Seconds)?
            .unwrap_or(Duration::from_secs(1_800)),
        keep: properties.duration(keys::CLEANUP_TTL, Unit::Seconds)?.unwrap_or(Duration::from_secs(604_800)),
        max_executors: properties.positive(keys::CLEANUP_EXECUTORS)?.map_or(10_000, |count| count as usize),
        max_bytes: properties
            .read(keys::CLEANUP_SIZE, size::EXPECTED, |text| size::bytes(text, size::Unit::Bytes).ok())?
            .unwrap_or(100 << 30),
    };
    Ok(properties.boolean(keys::CLEANUP_ENABLED)?.unwrap_or(true).then_some(cleanup))
}

#[cfg(test)]
mod tests {
    use firesteel_placement::MiB;

    use super::*;
    use crate::daemon::rolling::{Compression, Strategy};
    use crate::resources::ResourceRequest;

    fn parsed(pairs: &[&str]) -> Result<WorkerSettings, SettingError> {
        WorkerSettings::of(&Properties::parse(pairs.iter().copied()).expect("they are pairs"))
    }

    #[test]
    fn every_key_reaches_its_field() {
        let defaults = WorkerSettings {
            max_registration_retries: 16,
            kill_grace: Duration::from_secs(10),
            driver_kill_grace: Duration::from_secs(10),
            control_groups: true,
            may_gain_privileges: false,
            run_as: None,
            confinement: None,
            is_insecure: false,
            encrypted_spark: false,
            spark_tls: None,
            spark_passwords: BTreeMap::new(),
            cleanup: Some(Cleanup {
                interval: Duration::from_secs(1_800),
                keep: Duration::from_secs(7 * 86_400),
                max_executors: 10_000,
                max_bytes: 100 << 30,
            }),
            max_disk_percent: 95,
            limits: Limits::default(),
            resources: WorkerResources::default(),
            retained_executors: 1_000,
            spark_homes: Vec::new(),
            local_directories: Vec::new(),
            shuffle_service: None,
            rolling: None,
            not_rolled: None,
            log_links: LogLinks::Worker,
            page_hosts: Vec::new(),
        };
        assert_eq!(parsed(&[]), Ok(defaults.clone()));
        let set = WorkerSettings {
            max_registration_retries: 2,
            kill_grace: Duration::from_millis(5),
            driver_kill_grace: Duration::from_secs(6),
            control_groups: false,
            may_gain_privileges: true,
            run_as: Some("spark".to_owned()),
            confinement: None,
            is_insecure: true,
            encrypted_spark: true,
            spark_tls: None,
            spark_passwords: BTreeMap::new(),
            cleanup: Some(Cleanup {
                interval: Duration::from_secs(60),
                keep: Duration::from_secs(3_600),
                max_executors: 5,
                max_bytes: 2 << 20,
            }),
            max_disk_percent: 80,
            limits: Limits {
                memory_overhead: Some(0.25),
                threads: Some(500),
                disk: Some(MiB(10 << 10)),
                is_held_to_cores: true,
            },
            resources: WorkerResources {
                requests: [(
                    "gpu".to_owned(),
                    ResourceRequest { name: "gpu".to_owned(), amount: 2, script: None },
                )]
                .into(),
                ..WorkerResources::default()
            },
            retained_executors: 7,
            spark_homes: vec!["/opt/spark-3".into(), "/opt/spark-4".into()],
            local_directories: vec!["/scratch".into()],
            shuffle_service: Some(ShuffleServiceSettings { port: 7447, properties: Vec::new() }),
            rolling: Some(Rolling {
                strategy: Strategy::BySize(1 << 20),
                retained: None,
                compression: Compression::Off,
            }),
            not_rolled: None,
            log_links: LogLinks::Worker,
            page_hosts: Vec::new(),
        };
        let pairs = [
            "spark.worker.maxRegistrationRetries=2",
            "firesteel.worker.maxDiskUsage=80",
            "firesteel.worker.memoryOverheadFactor=0.25",
            "firesteel.worker.maxThreads=500",
            "firesteel.worker.maxDiskSize=10g",
            "firesteel.worker.cpuQuota=true",
            "firesteel.worker.killGrace=5ms",
            "spark.worker.driverTerminateTimeout=6s",
            "firesteel.worker.controlGroups=false",
            "firesteel.worker.gainPrivileges=true",
            "firesteel.worker.runAs=spark",
            "firesteel.insecure=true",
            "spark.network.crypto.enabled=true",
            "spark.worker.cleanup.interval=60",
            "spark.worker.cleanup.appDataTtl=1h",
            "firesteel.worker.cleanup.maxExecutors=5",
            "firesteel.worker.cleanup.maxSize=2m",
            "spark.worker.resource.gpu.amount=2",
            "spark.worker.ui.retainedExecutors=7",
            "firesteel.worker.sparkHomes=/opt/spark-3, /opt/spark-4",
            "spark.local.dir=/scratch",
            "spark.shuffle.service.enabled=true",
            "spark.shuffle.service.port=7447",
            "spark.executor.logs.rolling.strategy=size",
        ];
        assert_eq!(parsed(&pairs), Ok(set));
        let never = WorkerSettings { cleanup: None, ..defaults };
        assert_eq!(parsed(&["spark.worker.cleanup.enabled=false"]), Ok(never));
    }

    #[test]
    fn confined_programs_gain_no_privileges() {
        let confined = "firesteel.worker.confined=true";
        let paths = ["firesteel.worker.readablePaths=/data", "firesteel.worker.writablePaths=/tmp, /scratch"];
        let of = |pairs: &[&str]| parsed(pairs).map(|settings| settings.confinement);
        assert_eq!(of(&paths), Ok(None));
        assert_eq!(of(&[confined]), Ok(Some(ConfinementSettings::default())));
        let settings = ConfinementSettings {
            readable: vec!["/data".into()],
            writable: vec!["/tmp".into(), "/scratch".into()],
            hidden: ["/etc/credentials".into(), "/etc/key.pem".into()].into(),
        };
        let secrets =
            ["firesteel.credentials.file=/etc/credentials", "spark.ssl.rpc.privateKey=/etc/key.pem"];
        assert_eq!(of(&[confined, paths[0], paths[1], secrets[0], secrets[1]]), Ok(Some(settings)));
        for wrong in ["firesteel.worker.readablePaths=data", "firesteel.worker.gainPrivileges=true"] {
            let key = wrong.split_once('=').expect("a pair").0;
            let error = of(&[confined, wrong]).expect_err(wrong).to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
