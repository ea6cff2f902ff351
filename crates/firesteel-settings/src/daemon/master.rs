//! The settings of a Master, from properties.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_master::{Config, Durability, Exclusion, HistoryLimits, Limits, ResourceShares, Retries};
use firesteel_placement::{Cores, MiB, Strategy, worker_order_names};
use firesteel_protocol::byte_text;
use firesteel_protocol::scheduling::{Backfill, GangPreemption, Preemption, ServingOrder};

use super::zookeeper_url;
use crate::values::duration::Unit;
use crate::values::size;
use crate::{Properties, SettingError, keys};

/// The settings of the Master at this `url`. Settings that are not set have Spark's default.
///
/// # Errors
/// The error for the first value that cannot be used.
pub fn config(properties: &Properties, url: String) -> Result<Config, SettingError> {
    let defaults = Config::default();
    let spread_out = match properties.boolean(keys::SPREAD_OUT)? {
        Some(spread_out) => Some(spread_out),
        None => properties.boolean(keys::SPREAD_OUT_OLD)?,
    };
    let worker_timeout =
        properties.period(keys::WORKER_TIMEOUT, Unit::Seconds)?.unwrap_or(defaults.worker_timeout);
    let preemption = preemption(properties)?;
    Ok(Config {
        url,
        worker_timeout,
        strategy: match spread_out {
            Some(true) => Strategy::SpreadOut,
            Some(false) => Strategy::Consolidate,
            None => defaults.strategy,
        },
        worker_order: properties
            .read(keys::WORKER_ORDER, worker_order_names!(), |text| text.parse().ok())?
            .unwrap_or(defaults.worker_order),
        rule: properties.rule()?.unwrap_or(defaults.rule),
        default_cores: properties.cores(keys::DEFAULT_CORES)?.unwrap_or(defaults.default_cores),
        retries: properties
            .read(keys::MAX_EXECUTOR_RETRIES, "-1 (never) or a whole number of at least 0", retries)?
            .unwrap_or(defaults.retries),
        proven_after: properties
            .duration(keys::PROVEN_AFTER, Unit::Seconds)?
            .unwrap_or(defaults.proven_after),
        exclusion: exclusion(properties)?,
        first_application: defaults.first_application,
        web_address: defaults.web_address,
        state_place: defaults.state_place,
        foreign: defaults.foreign,
        retained_applications: properties
            .count(keys::RETAINED_APPLICATIONS)?
            .map_or(defaults.retained_applications, |count| count as usize),
        history: HistoryLimits {
            age: properties.duration(keys::HISTORY_MAX_AGE, Unit::Seconds)?.unwrap_or(defaults.history.age),
            bytes: properties
                .read(keys::HISTORY_MAX_SIZE, size::EXPECTED, |text| {
                    size::bytes(text, size::Unit::Bytes).ok()
                })?
                .unwrap_or(defaults.history.bytes),
        },
        driver_strategy: match properties.boolean(keys::SPREAD_OUT_DRIVERS)? {
            Some(true) => Strategy::SpreadOut,
            Some(false) => Strategy::Consolidate,
            None => defaults.driver_strategy,
        },
        max_drivers: properties
            .positive(keys::MAX_DRIVERS)?
            .map_or(defaults.max_drivers, |count: u32| count as usize),
        retained_drivers: properties
            .count(keys::RETAINED_DRIVERS)?
            .map_or(defaults.retained_drivers, |count| count as usize),
        queues: properties.read(keys::QUEUES, QUEUES, |text| text.parse().ok())?.unwrap_or(defaults.queues),
        reservations: properties
            .positive(keys::RESERVATIONS)?
            .map_or(defaults.reservations, |most| most as usize),
        backfill: match properties.boolean(keys::BACKFILL)? {
            Some(true) => Backfill::On,
            Some(false) => Backfill::Off,
            None => defaults.backfill,
        },
        order: properties
            .read(keys::ORDER, "registration or shortest", serving_order)?
            .unwrap_or(defaults.order),
        preemption,
        gang_preemption: gang_preemption(properties, preemption)?,
        dead_worker_persistence: properties
            .count(keys::DEAD_WORKER_PERSISTENCE)?
            .unwrap_or(defaults.dead_worker_persistence),
        durability: match recovery(properties)? {
            Recovery::Nowhere => Durability::Volatile,
            Recovery::Directory(_) | Recovery::ZooKeeper(_) => Durability::Durable,
        },
        recovery_timeout: properties.period(keys::RECOVERY_TIMEOUT, Unit::Seconds)?.unwrap_or(worker_timeout),
        page: defaults.page,
        limits: limits(properties)?,
        resource_shares: match properties.boolean(keys::RESOURCE_SHARES)? {
            Some(true) => ResourceShares::Allowed,
            Some(false) => ResourceShares::Refused,
            None => defaults.resource_shares,
        },
    })
}

fn serving_order(text: &str) -> Option<ServingOrder> {
    match text.to_ascii_lowercase().as_str() {
        "registration" => Some(ServingOrder::Registration),
        "shortest" => Some(ServingOrder::Shortest),
        _ => None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The state is not kept: a Master that ends loses it.
    Nowhere,
    /// The state is kept in this directory. `None`: in the default directory.
    Directory(Option<PathBuf>),
    /// The state is kept in ZooKeeper, with standby Masters.
    ZooKeeper(ZooKeeper),
}

#[derive(Clone, PartialEq, Eq)]
pub struct ZooKeeper {
    /// The addresses of ZooKeeper's servers, `host:port[,host:port...]`.
    pub servers: String,
    /// The node below which the Masters' data is kept.
    pub directory: String,
    pub session: Duration,
    /// The credentials for ZooKeeper, as `user:password`.
    pub password: Option<String>,
}

/// Hides the password.
impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { servers, directory, session, password: _ } = self;
        f.debug_tuple("ZooKeeper").field(servers).field(directory).field(session).finish()
    }
}

/// The place where the Master keeps its state.
///
/// # Errors
///
/// A value cannot be used, or ZooKeeper is requested without its servers.
pub fn recovery(properties: &Properties) -> Result<Recovery, SettingError> {
    let directory = properties.get(keys::RECOVERY_DIRECTORY).filter(|path| !path.is_empty());
    let in_directory = || Recovery::Directory(directory.map(byte_text::path));
    let zookeeper = zookeeper(properties)?;
    let expected = "FILESYSTEM, ROCKSDB, NONE, or ZOOKEEPER together with spark.deploy.zookeeper.url";
    let mode = properties.read(keys::RECOVERY_MODE, expected, |text| {
        Some(match text.to_ascii_uppercase().as_str() {
            "FILESYSTEM" | "ROCKSDB" => in_directory(),
            "NONE" => Recovery::Nowhere,
            "ZOOKEEPER" => Recovery::ZooKeeper(zookeeper?),
            _ => return None,
        })
    })?;
    Ok(mode.unwrap_or_else(in_directory))
}

fn zookeeper(properties: &Properties) -> Result<Option<ZooKeeper>, SettingError> {
    let servers = properties.read(keys::ZOOKEEPER_URL, zookeeper_url::EXPECTED, zookeeper_url::parse)?;
    let directory = properties.read(keys::ZOOKEEPER_DIR, "a path that begins with /", |text| {
        text.starts_with('/').then(|| text.to_owned())
    })?;
    let password = properties.read(keys::ZOOKEEPER_PASSWORD, "USER:PASSWORD", |text| {
        text.contains(':').then(|| text.to_owned())
    })?;
    let session = properties.period(keys::ZOOKEEPER_SESSION, Unit::Seconds)?;
    Ok(servers.map(|servers| ZooKeeper {
        servers,
        directory: directory.unwrap_or_else(|| "/spark".to_owned()),
        session: session.unwrap_or(Duration::from_secs(4)),
        password,
    }))
}

/// The limits on what Workers and applications may request. The defaults are higher than real clusters need.
fn limits(properties: &Properties) -> Result<Limits, SettingError> {
    let count = |key, default| {
        let found: Option<u32> = properties.positive(key)?;
        Ok(u64::from(found.unwrap_or(default)))
    };
    Ok(Limits {
        workers: count(keys::MAX_WORKERS, 100_000)?,
        applications: count(keys::MAX_APPLICATIONS, 100_000)?,
        cores: properties.cores(keys::MAX_WORKER_CORES)?.unwrap_or(Cores(4096)),
        memory: properties.memory(keys::MAX_WORKER_MEMORY)?.unwrap_or(MiB(64 << 20)),
        addresses: count(keys::MAX_WORKER_ADDRESSES, 4096)?,
        executors: count(keys::MAX_WORKER_EXECUTORS, 100_000)?,
        text: count(keys::MAX_TEXT_LENGTH, 4096)?,
    })
}

fn preemption(properties: &Properties) -> Result<Preemption, SettingError> {
    let executors = properties.count(keys::PREEMPTION)?.unwrap_or(0);
    let every =
        properties.period(keys::PREEMPTION_INTERVAL, Unit::Seconds)?.unwrap_or(Duration::from_secs(60));
    Ok(match executors {
        0 => Preemption::Off,
        executors => Preemption::AtMost { executors, every },
    })
}

fn gang_preemption(
    properties: &Properties,
    preemption: Preemption,
) -> Result<Option<GangPreemption>, SettingError> {
    let duration = |key| properties.duration(key, Unit::Seconds);
    let none_ended = |key, value, needed| {
        let origin = properties.origin(key).cloned().expect("what was read was set somewhere");
        Err(SettingError::NoneEnded { key, value, origin, needed })
    };
    let patience = duration(keys::GANG_PATIENCE)?;
    let reach = duration(keys::GANG_REACH)?.unwrap_or_default();
    match patience {
        Some(patience) if preemption == Preemption::Off => {
            none_ended(keys::GANG_PATIENCE, patience, keys::PREEMPTION)
        }
        None if !reach.is_zero() => none_ended(keys::GANG_REACH, reach, keys::GANG_PATIENCE),
        _ => Ok(patience.map(|patience| GangPreemption { patience, reach })),
    }
}

fn exclusion(properties: &Properties) -> Result<Exclusion, SettingError> {
    let duration = |key, default| Ok(properties.duration(key, Unit::Seconds)?.unwrap_or(default));
    let first = duration(keys::EXCLUSION_DELAY, Duration::from_secs(1))?;
    let longest = duration(keys::EXCLUSION_MAX_DELAY, Duration::from_secs(60))?;
    Ok(match first.is_zero() {
        true => Exclusion::Off,
        false => Exclusion::For { first, longest: longest.max(first) },
    })
}

const QUEUES: &str = "names with weights from 1 to 1000000, each once, such as prod=3,dev=1";

fn retries(text: &str) -> Option<Retries> {
    match text.parse::<i32>().ok()? {
        -1 => Some(Retries::Unlimited),
        count => u32::try_from(count).ok().map(Retries::AtMost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_placement::{Policy, WorkerOrder};

    fn parsed(pairs: &[&str]) -> Result<Config, SettingError> {
        config(&Properties::parse(pairs.iter().copied())?, "spark://h:7077".to_owned())
    }

    #[test]
    fn every_key_reaches_its_field() {
        let url = "spark://h:7077".to_owned();
        let limits = Limits {
            workers: 100_000,
            applications: 100_000,
            cores: Cores(4096),
            memory: MiB(64 << 20),
            addresses: 4096,
            executors: 100_000,
            text: 4096,
        };
        let durability = Durability::Durable;
        assert_eq!(parsed(&[]), Ok(Config { url: url.clone(), durability, limits, ..Config::default() }));
        let all = [
            "spark.worker.timeout=7",
            "spark.deploy.spreadOutApps=FALSE",
            "spark.deploy.workerSelectionPolicy=memory_free_asc",
            "firesteel.placement.policy=best-fit",
            "spark.deploy.defaultCores=3",
            "spark.deploy.maxExecutorRetries=-1",
            "firesteel.executor.provenAfter=1500ms",
            "firesteel.master.exclusion.delay=200ms",
            "firesteel.master.exclusion.maxDelay=2m",
            "spark.deploy.retainedApplications=5",
            "firesteel.master.history.maxAge=2h",
            "firesteel.master.history.maxSize=3m",
            "spark.deploy.spreadOutDrivers=false",
            "spark.deploy.maxDrivers=6",
            "spark.deploy.retainedDrivers=7",
            "spark.deploy.recoveryMode=none",
            "spark.deploy.recoveryTimeout=8s",
            "spark.dead.worker.persistence=0",
            "firesteel.master.queues=prod=3,dev=1",
            "firesteel.master.backfill=false",
            "firesteel.master.reservations=4",
            "firesteel.master.order=Shortest",
            "firesteel.master.preemption=3",
            "firesteel.master.preemption.interval=10s",
            "firesteel.master.preemption.gangPatience=20s",
            "firesteel.master.preemption.gangReach=1min",
            "firesteel.master.maxWorkers=1",
            "firesteel.master.maxApplications=2",
            "firesteel.master.maxWorkerCores=3",
            "firesteel.master.maxWorkerMemory=4g",
            "firesteel.master.maxWorkerAddresses=5",
            "firesteel.master.maxWorkerExecutors=6",
            "firesteel.master.maxTextLength=7",
            "firesteel.master.resourceShares=true",
        ];
        let expected = Config {
            url,
            worker_timeout: Duration::from_secs(7),
            strategy: Strategy::Consolidate,
            worker_order: WorkerOrder::MemoryFreeAsc,
            rule: Policy::BestFit.into(),
            default_cores: Cores(3),
            retries: Retries::Unlimited,
            proven_after: Duration::from_millis(1500),
            exclusion: Exclusion::For {
                first: Duration::from_millis(200),
                longest: Duration::from_secs(120),
            },
            first_application: 0,
            web_address: None,
            state_place: Config::default().state_place,
            foreign: Config::default().foreign,
            retained_applications: 5,
            history: HistoryLimits { age: Duration::from_secs(7200), bytes: 3 << 20 },
            driver_strategy: Strategy::Consolidate,
            max_drivers: 6,
            retained_drivers: 7,
            queues: "prod=3,dev=1".parse().expect("they are queues"),
            backfill: Backfill::Off,
            reservations: 4,
            order: ServingOrder::Shortest,
            preemption: Preemption::AtMost { executors: 3, every: Duration::from_secs(10) },
            gang_preemption: Some(GangPreemption {
                patience: Duration::from_secs(20),
                reach: Duration::from_secs(60),
            }),
            dead_worker_persistence: 0,
            durability: Durability::Volatile,
            recovery_timeout: Duration::from_secs(8),
            page: Config::default().page,
            limits: Limits {
                workers: 1,
                applications: 2,
                cores: Cores(3),
                memory: MiB(4096),
                addresses: 5,
                executors: 6,
                text: 7,
            },
            resource_shares: ResourceShares::Allowed,
        };
        assert_eq!(parsed(&all), Ok(expected));
    }

    #[test]
    fn the_old_name_of_spread_out_counts_where_the_new_one_is_not_set() {
        let strategy = |pairs: &[&str]| parsed(pairs).map(|config| config.strategy);
        assert_eq!(strategy(&["spark.deploy.spreadOut=false"]), Ok(Strategy::Consolidate));
        let both = ["spark.deploy.spreadOut=false", "spark.deploy.spreadOutApps=true"];
        assert_eq!(strategy(&both), Ok(Strategy::SpreadOut));
    }

    #[test]
    fn a_master_waits_for_those_who_return_as_long_as_for_a_silent_worker() {
        let waits = |pairs: &[&str]| parsed(pairs).map(|config| config.recovery_timeout.as_secs());
        assert_eq!(waits(&["spark.worker.timeout=7"]), Ok(7));
        assert_eq!(waits(&["spark.worker.timeout=7", "spark.deploy.recoveryTimeout=70"]), Ok(70));
    }

    #[test]
    fn zookeeper_is_used_if_its_servers_are_named() {
        let read =
            |pairs: &[&str]| recovery(&Properties::parse(pairs.iter().copied()).expect("they are pairs"));
        let zookeeper = |servers: &str, directory: &str, session, password: Option<&str>| ZooKeeper {
            servers: servers.into(),
            directory: directory.into(),
            session: Duration::from_secs(session),
            password: password.map(str::to_owned),
        };
        let (mode, url) =
            ("spark.deploy.recoveryMode=zookeeper", "spark.deploy.zookeeper.url=a:1,b:2/masters");
        let least = zookeeper("a:1,b:2/masters", "/spark", 4, None);
        assert_eq!(read(&[mode, url]), Ok(Recovery::ZooKeeper(least)));
        let rest = [
            "spark.deploy.zookeeper.dir=/here",
            "firesteel.master.zookeeper.sessionTimeout=9s",
            "firesteel.master.zookeeper.password=ann:secret",
        ];
        let all = zookeeper("a:1", "/here", 9, Some("ann:secret"));
        assert!(!format!("{all:?}").contains("secret"));
        let pairs = [&[mode, "spark.deploy.zookeeper.url=a:1"][..], &rest].concat();
        assert_eq!(read(&pairs), Ok(Recovery::ZooKeeper(all)));
        assert_eq!(read(&[url]), Ok(Recovery::Directory(None)), "its servers alone say nothing");
    }

    #[test]
    fn executors_are_ended_for_gangs_only_with_preemption_and_patience() {
        let gangs = |pairs: &[&str]| parsed(pairs).map(|config| config.gang_preemption);
        let (off, on) = ("firesteel.master.preemption=0", "firesteel.master.preemption=1");
        let patience = "firesteel.master.preemption.gangPatience=20s";
        let (reach, none) =
            ("firesteel.master.preemption.gangReach=1min", "firesteel.master.preemption.gangReach=0");
        let with = |reach| {
            Some(GangPreemption { patience: Duration::from_secs(20), reach: Duration::from_secs(reach) })
        };
        assert_eq!(gangs(&[on, patience]), Ok(with(0)));
        assert_eq!(gangs(&[on, patience, reach]), Ok(with(60)));
        assert_eq!(gangs(&[on, none]), Ok(None));
        let without_preemption = "firesteel.master.preemption.gangPatience is 20s and firesteel.master.preemption is not \
                                  set: no executor would be ended; set it, too";
        let without_patience = "firesteel.master.preemption.gangReach is 60s and \
                                firesteel.master.preemption.gangPatience is not set: no executor would be ended; set it, too";
        for (pairs, expected) in [
            (&[patience][..], without_preemption),
            (&[off, patience, reach], without_preemption),
            (&[on, reach], without_patience),
        ] {
            let error = gangs(pairs).expect_err("none is ended").to_string();
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_delay_of_zero_excludes_no_worker_and_the_longest_is_at_least_the_first() {
        let exclusion = |pairs: &[&str]| parsed(pairs).map(|config| config.exclusion);
        assert_eq!(exclusion(&["firesteel.master.exclusion.delay=0"]), Ok(Exclusion::Off));
        let ten = Duration::from_secs(10);
        let pairs = ["firesteel.master.exclusion.delay=10s", "firesteel.master.exclusion.maxDelay=5s"];
        assert_eq!(exclusion(&pairs), Ok(Exclusion::For { first: ten, longest: ten }));
    }

    #[test]
    fn unusable_values_are_refused() {
        for pair in [
            "spark.worker.timeout=0",
            "spark.worker.timeout=soon",
            "spark.deploy.spreadOutApps=yes",
            "spark.deploy.workerSelectionPolicy=RANDOM",
            "firesteel.placement.policy=best",
            "firesteel.placement.policy=expr:left.core",
            "spark.deploy.defaultCores=0",
            "spark.deploy.maxExecutorRetries=-2",
            "spark.deploy.retainedApplications=-1",
            "spark.deploy.maxDrivers=0",
            "spark.deploy.recoveryMode=ZOOKEEPER",
            "spark.deploy.recoveryMode=CUSTOM",
            "spark.deploy.zookeeper.url=one:x",
            "spark.deploy.zookeeper.url=one/two/",
            "spark.deploy.zookeeper.dir=spark",
            "firesteel.master.zookeeper.password=secret",
            "firesteel.master.zookeeper.sessionTimeout=0",
            "spark.deploy.recoveryTimeout=0",
            "firesteel.master.exclusion.delay=soon",
            "firesteel.master.exclusion.maxDelay=-1",
            "firesteel.master.queues=prod=0",
            "firesteel.master.backfill=perhaps",
            "firesteel.master.reservations=0",
            "firesteel.master.order=longest",
            "firesteel.master.preemption=-1",
            "firesteel.master.preemption.interval=0",
            "firesteel.master.preemption.gangPatience=soon",
            "firesteel.master.preemption.gangReach=far",
            "firesteel.master.maxWorkers=0",
            "firesteel.master.maxTextLength=-1",
            "firesteel.master.maxWorkerCores=0",
        ] {
            let key = pair.split_once('=').expect("it is a pair").0;
            let error = parsed(&[pair]).expect_err(pair).to_string();
            assert!(error.starts_with(key), "{error}");
        }
    }
}
