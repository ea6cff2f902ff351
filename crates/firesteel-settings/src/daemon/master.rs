//! The settings of a Master, from properties.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_master::{
    Config, Durability, Exclusion, HistoryLimits, Limits, PerUser, ResourceShares, Retries,
};
use firesteel_placement::{Cores, MiB, Strategy, worker_order_names};
use firesteel_protocol::Timestamp;
use firesteel_protocol::byte_text;
use firesteel_protocol::scheduling::{Backfill, GangPreemption, Preemption, ServingOrder};

use super::zookeeper_url;
use crate::values::duration::Unit;
use crate::values::size;
use crate::{Properties, SettingError, keys};

/// What `firesteel.master.preemption` may be where users are limited.
const NOT_BESIDE_USERS: &str = "0 where firesteel.user.maxCores, .maxMemory or .maxExecutors is set";

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
    // The keys are made with it.
    credentials_optional_until(properties)?;
    let preemption = preemption(properties)?;
    let limits = limits(properties)?;
    if preemption != Preemption::Off && limits.per_user.limits_what_is_held() {
        let no_preemption = |_: &str| None::<u32>;
        properties.read(keys::PREEMPTION, NOT_BESIDE_USERS, no_preemption)?;
    }
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
        exposed_until: defaults.exposed_until,
        state_place: defaults.state_place,
        run: defaults.run,
        is_cut: defaults.is_cut,
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
        away_timeout: properties.duration(keys::AWAY_TIMEOUT, Unit::Seconds)?.unwrap_or(worker_timeout / 2),
        page: defaults.page,
        limits,
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
        per_user: per_user(properties)?,
        kept: memory(properties)?.map_or(u64::MAX, |bytes| bytes / 2),
    })
}

fn per_user(properties: &Properties) -> Result<PerUser, SettingError> {
    let none = PerUser::default();
    let count = |key, default| Ok(properties.positive(key)?.map_or(default, u64::from));
    Ok(PerUser {
        applications: count(keys::USER_APPLICATIONS, none.applications)?,
        submissions: count(keys::USER_SUBMISSIONS, none.submissions)?,
        cores: properties.cores(keys::USER_CORES)?.unwrap_or(none.cores),
        memory: properties.memory(keys::USER_MEMORY)?.unwrap_or(none.memory),
        executors: count(keys::USER_EXECUTORS, none.executors)?,
    })
}

/// The memory of the Master for what others send, in bytes, if it is set.
///
/// # Errors
/// The value is no size.
pub fn memory(properties: &Properties) -> Result<Option<u64>, SettingError> {
    let memory = properties.memory(keys::MASTER_MEMORY)?;
    Ok(memory.map(|MiB(mib)| u64::try_from(mib).unwrap_or(0) << 20))
}

/// Whether connections of Spark's peers must be encrypted. Unlike in Spark, an unencrypted connection is served in
/// their place only if a setting says so.
///
/// # Errors
/// A value is malformed.
pub fn encrypted_spark(properties: &Properties) -> Result<bool, SettingError> {
    // With credentials, all peers prove a secret anyway.
    properties.boolean(keys::AUTHENTICATE)?;
    let is_wanted = properties.boolean(keys::CRYPTO)?.unwrap_or(false);
    let may_be_plain = properties.boolean(keys::SASL_FALLBACK)?.unwrap_or(false);
    Ok(is_wanted && !may_be_plain)
}

/// Whether the Master may listen without credentials at addresses that other machines reach.
///
/// # Errors
/// The value is neither true nor false.
pub fn is_insecure(properties: &Properties) -> Result<bool, SettingError> {
    Ok(properties.boolean(keys::INSECURE)?.unwrap_or(false))
}

/// Until when a daemon with credentials admits peers without a secret, too.
///
/// # Errors
/// The value is no time.
pub fn credentials_optional_until(properties: &Properties) -> Result<Option<Timestamp>, SettingError> {
    const EXPECTED: &str = "a time with its offset from UTC, such as 2026-12-24T18:00Z";
    properties.read(keys::CREDENTIALS_OPTIONAL_UNTIL, EXPECTED, Timestamp::parse)
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
mod tests;
