//! The settings of an application on YARN, from properties.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_application_master::allocator::{Amount, ExecutorNeeds, Sizing};
use firesteel_placement::advanced::locality::Naming;
use firesteel_placement::advanced::resources::{kind, without_kind};
use firesteel_placement::{self as placement, Cores, MiB, ResourceAmounts};

use super::application_master::ApplicationMasterSettings;
use super::{ApplicationSettings, list};
use crate::values::duration::Unit;
use crate::{Origin, Properties, SettingError, keys};

/// The settings for YARN, except the amounts of custom resources. Settings that are not set have Spark's default.
#[derive(Clone, Debug, PartialEq)]
pub struct YarnSettings {
    pub mode: Mode,
    pub queue: String,
    pub application_type: String,
    pub tags: BTreeSet<String>,
    /// The users and groups that may view the application, in YARN's syntax: users, a blank, groups; `*` for all.
    /// `None`: only the submitting user.
    pub view_acl: Option<String>,
    /// The users and groups that may end the application, in the same syntax.
    pub modify_acl: Option<String>,
    pub priority: Option<i32>,
    /// The maximum number of attempts, from `spark.yarn.maxAppAttempts`. `None`: the cluster's default.
    pub max_attempts: Option<u32>,
    /// The age after which a failure no longer counts, from
    /// `spark.yarn.am.attemptFailuresValidityInterval`. `None`: all failures count.
    pub attempt_window: Option<Duration>,
    pub master: MasterSize,
    /// The variables of the ApplicationMaster, from `spark.yarn.appMasterEnv.NAME`.
    pub master_environment: BTreeMap<String, String>,
    /// The node label of the ApplicationMaster, from `spark.yarn.am.nodeLabelExpression`.
    pub master_label: Option<String>,
    pub executors: Sizing,
    /// The directory that contains the staging directories, from `spark.yarn.stagingDir`. `None`: the user's home
    /// directory.
    pub staging: Option<String>,
    /// Whether staged files are kept, from `spark.yarn.preserve.staging.files`.
    pub cleanup: Cleanup,
    /// The binary that all nodes already have, from `firesteel.yarn.binary`. `None`: this program is
    /// copied.
    pub binary: Option<String>,
    /// The event for which the submitting command waits in cluster mode, from `spark.yarn.submit.waitAppCompletion`.
    pub submit_waits: SubmitWaits,
    /// The interval between two reports on the application, from `spark.yarn.report.interval`.
    pub report: Duration,
    /// The interval between two reports until the application runs. In client mode it comes from
    /// `spark.yarn.clientLaunchMonitorInterval`.
    pub launch_report: Duration,
    /// The number of unchanged reports after which the state is shown again, from `spark.yarn.report.loggingFrequency`.
    pub reports_between: u64,
    /// The patterns `spark.yarn.rolledLog.includePattern` and `excludePattern`.
    pub rolled_logs: Option<(String, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The driver runs on the machine where the application is submitted. The ApplicationMaster runs in a container.
    Client,
    /// Driver and ApplicationMaster both run in the submitting process.
    Unmanaged,
    /// Driver and ApplicationMaster both run in one container.
    Cluster,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MasterSize {
    /// The memory of the process, without the memory overhead.
    pub memory: MiB,
    /// The memory overhead of the container.
    pub overhead: MiB,
    pub cores: Cores,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    Delete,
    Keep,
}

/// The event for which the submitting command waits in cluster mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitWaits {
    /// The command waits for the end of the application.
    ForEnd,
    /// The command waits only until the application is submitted.
    ForSubmission,
}

impl YarnSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn of(properties: &Properties, application: &ApplicationSettings) -> Result<Self, SettingError> {
        let text = |key| properties.get(key).map(str::to_owned);
        let is_set = |key| properties.boolean(key).map(|set| set == Some(true));
        let millis = |key, default| {
            Ok::<_, SettingError>(
                properties.period(key, Unit::Millis)?.unwrap_or(Duration::from_millis(default)),
            )
        };
        let mode = mode(properties)?;
        // Reports errors in the ApplicationMaster's settings before it is started.
        let application_master = ApplicationMasterSettings::of(properties, application)?;
        Ok(Self {
            mode,
            queue: text(keys::YARN_QUEUE).unwrap_or_else(|| "default".to_owned()),
            application_type: text(keys::YARN_TYPE).unwrap_or_else(|| "FIRESTEEL".to_owned()),
            tags: list(properties, keys::YARN_TAGS).into_iter().collect(),
            view_acl: acl(properties, keys::VIEW_ACLS, keys::VIEW_ACLS_GROUPS),
            modify_acl: acl(properties, keys::MODIFY_ACLS, keys::MODIFY_ACLS_GROUPS),
            priority: properties.read(keys::YARN_PRIORITY, "a whole number", |text| text.parse().ok())?,
            max_attempts: properties.positive(keys::YARN_MAX_ATTEMPTS)?,
            attempt_window: properties.period(keys::YARN_ATTEMPT_WINDOW, Unit::Millis)?,
            master: master_size(properties, mode)?,
            master_environment: properties
                .family(keys::YARN_MASTER_ENV)
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            master_label: text(keys::YARN_MASTER_LABEL),
            executors: application_master.allocator.sizing,
            staging: text(keys::YARN_STAGING),
            cleanup: if is_set(keys::YARN_PRESERVE)? { Cleanup::Keep } else { Cleanup::Delete },
            binary: text(keys::YARN_BINARY),
            submit_waits: match properties.boolean(keys::YARN_WAIT)? {
                Some(false) => SubmitWaits::ForSubmission,
                Some(true) | None => SubmitWaits::ForEnd,
            },
            report: millis(keys::YARN_REPORT, 1000)?,
            launch_report: millis(keys::YARN_LAUNCH_REPORT, 1000)?,
            reports_between: properties.count(keys::YARN_REPORTS_BETWEEN)?.unwrap_or(30).max(1).into(),
            rolled_logs: text(keys::YARN_ROLLED_INCLUDE)
                .map(|include| (include, text(keys::YARN_ROLLED_EXCLUDE))),
        })
    }
}

/// The users and groups in the two properties, and the administrators. The submitting user always has access.
///
/// Source: Spark on YARN, 4.0.1. In Spark, `*` together with groups means nobody. Here it means everybody, as Spark's
/// documentation says.
fn acl(properties: &Properties, users: &'static str, groups: &'static str) -> Option<String> {
    let both = |of_all, more| -> BTreeSet<String> {
        list(properties, of_all).into_iter().chain(list(properties, more)).collect()
    };
    let users = both(keys::ADMIN_ACLS, users);
    let groups = both(keys::ADMIN_ACLS_GROUPS, groups);
    if users.is_empty() && groups.is_empty() {
        return None;
    }
    if users.contains("*") || groups.contains("*") {
        return Some("*".to_owned());
    }
    let words = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(",");
    Some(format!("{} {}", words(users), words(groups)))
}

fn mode(properties: &Properties) -> Result<Mode, SettingError> {
    let unmanaged = properties.boolean(keys::YARN_UNMANAGED)? == Some(true);
    let deploy = properties.read(keys::DEPLOY_MODE, "client or cluster", |text| match text {
        "client" => Some(Mode::Client),
        "cluster" => Some(Mode::Cluster),
        _ => None,
    })?;
    match deploy.unwrap_or(Mode::Client) {
        Mode::Client if unmanaged => Ok(Mode::Unmanaged),
        // In cluster mode the container already has an ApplicationMaster.
        Mode::Cluster if unmanaged => {
            let expected = "false in cluster mode, or use client mode";
            properties.read(keys::YARN_UNMANAGED, expected, |_| None::<()>)?;
            Ok(Mode::Cluster)
        }
        mode => Ok(mode),
    }
}

/// The memory overhead of a process: the configured value. If none is configured, a fraction of the process's memory,
/// truncated as in Spark, but not below a minimum.
fn overhead(
    properties: &Properties,
    set: &'static str,
    factor: Option<&'static str>,
    least: Option<&'static str>,
    memory: MiB,
) -> Result<MiB, SettingError> {
    if let Some(overhead) = memory_or_none(properties, set)? {
        return Ok(overhead);
    }
    let sizing = Sizing {
        default: ExecutorNeeds { memory: Some(memory), ..ExecutorNeeds::default() },
        overhead_factor: factor.map_or(Ok(None), |key| properties.factor(key))?.unwrap_or(FACTOR),
        least_overhead: least.map_or(Ok(None), |key| properties.memory(key))?.unwrap_or(LEAST),
        ..Sizing::default()
    };
    Ok(MiB(sizing.default_container().memory.0 - memory.0))
}

const FACTOR: f64 = 0.1;
const LEAST: MiB = MiB(384);

/// An amount of memory that may be 0.
fn memory_or_none(properties: &Properties, key: &str) -> Result<Option<MiB>, SettingError> {
    match properties.get(key) {
        Some("0") => Ok(Some(MiB(0))),
        Some(_) | None => properties.memory(key),
    }
}

fn master_size(properties: &Properties, mode: Mode) -> Result<MasterSize, SettingError> {
    let (memory, default, cores) = match mode {
        Mode::Client | Mode::Unmanaged => (keys::YARN_MASTER_MEMORY, MiB(512), keys::YARN_MASTER_CORES),
        Mode::Cluster => (keys::DRIVER_MEMORY, MiB(1024), keys::DRIVER_CORES),
    };
    let memory = properties.memory(memory)?.unwrap_or(default);
    let overhead = match mode {
        Mode::Client | Mode::Unmanaged => {
            overhead(properties, keys::YARN_MASTER_OVERHEAD, None, None, memory)?
        }
        Mode::Cluster => overhead(
            properties,
            keys::DRIVER_OVERHEAD,
            Some(keys::DRIVER_OVERHEAD_FACTOR),
            Some(keys::DRIVER_LEAST_OVERHEAD),
            memory,
        )?,
    };
    Ok(MasterSize { memory, overhead, cores: properties.cores(cores)?.unwrap_or(Cores(1)) })
}

pub(super) fn naming(properties: &Properties) -> Result<Naming, SettingError> {
    let naming = |text: &str| match text {
        "many" => Some(Naming::Many),
        "one" => Some(Naming::One),
        _ => None,
    };
    Ok(properties.read(keys::YARN_HOSTS, "many or one", naming)?.unwrap_or_default())
}

/// The number of addresses of each resource. YARN grants only whole addresses, and has no kinds of resources.
fn whole_addresses(
    properties: &Properties,
    executors: &ResourceAmounts,
) -> Result<BTreeMap<String, u64>, SettingError> {
    const EXPECTED: &str = "a whole number of addresses: YARN has no parts of them";
    const NO_KIND: &str = "no kind of a resource: YARN has none";
    let refused = |key: String, expected: &'static str| {
        let value = properties.get(&key).unwrap_or_default().to_owned();
        let origin = properties.origin(&key).cloned().unwrap_or(Origin::Conf);
        Err(SettingError::Value { key, value, origin, expected })
    };
    let whole = |(name, amount): (&String, &placement::Amount)| match (amount, kind(name)) {
        (_, Some(_)) => {
            let plain = keys::EXECUTOR_RESOURCE_KIND.replace("NAME", without_kind(name));
            let named = keys::EXECUTOR_RESOURCE.replace("NAME", name);
            refused(if properties.get(&named).is_some() { named } else { plain }, NO_KIND)
        }
        (placement::Amount::Part(_), None) => {
            refused(keys::EXECUTOR_RESOURCE.replace("NAME", name), EXPECTED)
        }
        (placement::Amount::Whole(count), None) => Ok((name.clone(), *count)),
    };
    executors.iter().map(whole).collect()
}

/// The sizes of executors' containers, for the requests to YARN.
pub(super) fn executor_sizing(
    properties: &Properties,
    application: &ApplicationSettings,
) -> Result<Sizing, SettingError> {
    let standard = Sizing::default();
    let name = |key, spark: &str| {
        let own = standard.names.get(spark).cloned().unwrap_or_default();
        (spark.to_owned(), properties.get(key).map_or(own, str::to_owned))
    };
    let extra = properties.family(keys::YARN_EXECUTOR_RESOURCE).map(|(name, _)| {
        let key = keys::YARN_EXECUTOR_RESOURCE.replace("NAME", name);
        let expected = "a whole number, optionally with a unit of YARN, such as 2 or 2G";
        Ok((name.to_owned(), properties.read(&key, expected, |text| text.parse::<Amount>().ok())?))
    });
    let extra: Result<Vec<(String, Option<Amount>)>, SettingError> = extra.collect();
    let names = BTreeMap::from([name(keys::YARN_GPU_NAME, "gpu"), name(keys::YARN_FPGA_NAME, "fpga")]);
    Ok(Sizing {
        default: ExecutorNeeds {
            cores: application.executor_cores,
            memory: Some(application.executor_memory),
            overhead: memory_or_none(properties, keys::EXECUTOR_OVERHEAD)?,
            resources: whole_addresses(properties, &application.executor_resources)?,
            ..ExecutorNeeds::default()
        },
        overhead_factor: properties.factor(keys::EXECUTOR_OVERHEAD_FACTOR)?.unwrap_or(FACTOR),
        least_overhead: properties.memory(keys::EXECUTOR_LEAST_OVERHEAD)?.unwrap_or(LEAST),
        names,
        extra: extra?.into_iter().filter_map(|(name, amount)| Some((name, amount?))).collect(),
        ..standard
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[&str]) -> Result<YarnSettings, SettingError> {
        let properties = Properties::parse(pairs.iter().copied())?;
        YarnSettings::of(&properties, &ApplicationSettings::of(&properties)?)
    }

    #[test]
    fn containers_have_what_spark_counts_for_them() {
        let executor =
            |pairs: &[&str]| settings(pairs).expect("they can be used").executors.default_container().memory;
        let master = |pairs: &[&str]| {
            let MasterSize { memory, overhead, .. } = settings(pairs).expect("they can be used").master;
            MiB(memory.0 + overhead.0)
        };
        for (memory, all) in [("1g", 1408), ("2g", 2432), ("4g", 4505), ("8g", 9011)] {
            assert_eq!(executor(&[&format!("spark.executor.memory={memory}")]), MiB(all));
        }
        assert_eq!(executor(&["spark.executor.memoryOverheadFactor=0.5"]), MiB(1536));
        assert_eq!(executor(&["spark.executor.memoryOverhead=409"]), MiB(1433));
        assert_eq!(executor(&["spark.executor.memoryOverhead=0"]), MiB(1024));
        assert_eq!(executor(&["spark.executor.minMemoryOverhead=512m"]), MiB(1536));
        let cluster = "spark.submit.deployMode=cluster";
        assert_eq!((master(&[]), master(&[cluster])), (MiB(896), MiB(1408)));
        assert_eq!(master(&[cluster, "spark.driver.memory=8g"]), MiB(9011));
        assert_eq!(master(&[cluster, "spark.yarn.am.memory=8g"]), MiB(1408), "that is client mode's");
        assert_eq!(master(&["spark.yarn.am.memory=64m", "spark.yarn.am.memoryOverhead=64"]), MiB(128));
        assert_eq!(settings(&["spark.yarn.am.cores=3"]).expect("it can be used").master.cores, Cores(3));
        let driver = settings(&[cluster, "spark.driver.cores=2"]).expect("it can be used");
        assert_eq!(driver.master.cores, Cores(2));
    }

    #[test]
    fn lists_of_who_may_are_yarns() {
        let acls = |pairs: &[&str]| {
            let found = settings(pairs).expect("they can be used");
            (found.view_acl, found.modify_acl)
        };
        assert_eq!(acls(&[]), (None, None));
        let found = acls(&[
            "spark.admin.acls=root",
            "spark.ui.view.acls=bob, ann",
            "spark.ui.view.acls.groups=staff",
            "spark.modify.acls=eve",
        ]);
        assert_eq!(found, (Some("ann,bob,root staff".to_owned()), Some("eve,root ".to_owned())));
        let found =
            acls(&["spark.ui.view.acls=*", "spark.ui.view.acls.groups=x", "spark.modify.acls.groups=y"]);
        assert_eq!(found, (Some("*".to_owned()), Some(" y".to_owned())));
    }

    #[test]
    fn yarn_has_neither_parts_nor_kinds() {
        for (pairs, sentence) in [
            (
                &["spark.executor.resource.gpu.amount=0.25"][..],
                "spark.executor.resource.gpu.amount cannot be \"0.25\": write a whole number of addresses: YARN has no \
                 parts of them",
            ),
            (
                &["spark.executor.resource.gpu:A100.amount=1"],
                "spark.executor.resource.gpu:A100.amount cannot be \"1\": write no kind of a resource: YARN has none",
            ),
            (
                &["spark.executor.resource.gpu.amount=1", "firesteel.executor.resource.gpu.kind=A100"],
                "firesteel.executor.resource.gpu.kind cannot be \"A100\": write no kind of a resource: YARN has none",
            ),
        ] {
            let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
            let application = ApplicationSettings::of(&properties).expect("it can run on other clusters");
            let error = executor_sizing(&properties, &application).expect_err("YARN cannot");
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn resources_have_yarns_names() {
        let found = settings(&[
            "spark.executor.resource.gpu.amount=2",
            "spark.yarn.resourceGpuDeviceName=acme.io/gpu",
            "spark.yarn.executor.resource.licence.amount=3g",
        ]);
        let resources = found.expect("they can be used").executors.default_container().resources;
        let amount = |value, unit: &str| Amount { value, unit: unit.to_owned() };
        let expected = [("acme.io/gpu".to_owned(), amount(2, "")), ("licence".to_owned(), amount(3, "G"))];
        assert_eq!(resources, BTreeMap::from(expected));
    }

    #[test]
    fn an_unmanaged_master_is_one_of_client_mode() {
        let mode = |pairs: &[&str]| settings(pairs).map(|settings| settings.mode);
        assert_eq!(mode(&[]), Ok(Mode::Client));
        assert_eq!(mode(&["spark.yarn.unmanagedAM.enabled=true"]), Ok(Mode::Unmanaged));
        let both = mode(&["spark.yarn.unmanagedAM.enabled=true", "spark.submit.deployMode=cluster"]);
        assert_eq!(
            both.expect_err("they cannot be").to_string(),
            "spark.yarn.unmanagedAM.enabled cannot be \"true\": write false in cluster mode, or use client mode"
        );
        let other = mode(&["spark.submit.deployMode=moon"]).expect_err("there is none").to_string();
        assert_eq!(other, "spark.submit.deployMode cannot be \"moon\": write client or cluster");
    }
}
