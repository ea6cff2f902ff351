//! The settings of an ApplicationMaster, from its application's properties.

use std::time::Duration;

use firesteel_application_master::Silence;
use firesteel_application_master::allocator::{self, Decommissioning, HostExclusion, default_most_failures};
use firesteel_engine::driver::Allocation;
use firesteel_placement::advanced::locality::Topology;
use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::ExecutorId;

use super::yarn::{executor_sizing, naming};
use super::{ApplicationSettings, list};
use crate::values::duration::Unit;
use crate::values::size;
use crate::{Properties, SettingError, keys};

/// The settings of an ApplicationMaster. Settings that are not set have Spark's default.
#[derive(Clone, Debug)]
pub struct ApplicationMasterSettings {
    /// How long the ApplicationMaster waits for a driver, from `spark.yarn.am.waitTime`.
    pub wait_time: Duration,
    /// Whether an application counts as failed if its driver vanishes, from
    /// `spark.yarn.am.clientModeTreatDisconnectAsFailed`.
    pub silence: Silence,
    /// The longest final message in bytes, from `spark.yarn.am.finalMessageLimit`.
    pub longest_message: usize,
    /// The number of executors, from `spark.executor.instances`.
    pub executors: u64,
    /// The cores of a task, from `spark.task.cpus`.
    pub task_cores: Cores,
    /// The allocator's settings that come from properties. The topology and the ResourceManager's expiry come from the
    /// cluster.
    pub allocator: allocator::Config,
    /// The maximum number of containers that are started at the same time, from
    /// `spark.yarn.containerLauncherMaxThreads`.
    pub launches: usize,
    /// The label of the nodes on which executors may run, from `spark.yarn.executor.nodeLabelExpression`.
    pub node_label: Option<String>,
}

/// The default number of executors of an application on YARN. Source: Spark on YARN, 4.0.1.
pub const EXECUTORS: u64 = 2;

impl ApplicationMasterSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn of(properties: &Properties, application: &ApplicationSettings) -> Result<Self, SettingError> {
        let bytes = |text: &str| size::bytes(text, size::Unit::Bytes).ok();
        Ok(Self {
            wait_time: millis(properties, keys::YARN_WAIT_TIME, 100_000)?,
            silence: match properties.boolean(keys::YARN_SILENCE)? {
                Some(true) => Silence::Failure,
                Some(false) | None => Silence::Success,
            },
            longest_message: properties
                .read(keys::YARN_LONGEST_MESSAGE, size::EXPECTED, bytes)?
                .map_or(1 << 20, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            executors: match application.executors {
                ExecutorLimit::AtMost(executors) => executors,
                ExecutorLimit::Unlimited => EXECUTORS,
            },
            task_cores: application.task_cores,
            allocator: allocator(properties, application)?,
            launches: properties.positive(keys::YARN_LAUNCHES)?.unwrap_or(25) as usize,
            node_label: properties.get(keys::YARN_EXECUTOR_LABEL).map(str::to_owned),
        })
    }
}

fn allocator(
    properties: &Properties,
    application: &ApplicationSettings,
) -> Result<allocator::Config, SettingError> {
    Ok(allocator::Config {
        topology: Topology::default(),
        sizing: executor_sizing(properties, application)?,
        initial_target: 0,
        naming: naming(properties)?,
        first_executor: ExecutorId(0),
        heartbeat: millis(properties, keys::YARN_HEARTBEAT, 3_000)?,
        initial_pause: millis(properties, keys::YARN_INITIAL_PAUSE, 200)?,
        most_errors: properties.positive(keys::YARN_MAX_ERRORS)?.unwrap_or(5),
        most_failures: properties
            .positive(keys::YARN_MAX_FAILURES)?
            .map_or_else(|| default_most_failures(most_executors(application)), u64::from),
        failure_window: properties.duration(keys::YARN_FAILURE_WINDOW, Unit::Millis)?,
        exclusion: match properties.boolean(keys::YARN_EXCLUDE_HOSTS)? {
            Some(true) => HostExclusion::On {
                failures: application.exclusion.max_failed_executors_per_host.into(),
                timeout: application.exclusion.timeout,
            },
            Some(false) | None => HostExclusion::Off,
        },
        never: list(properties, keys::YARN_EXCLUDED).into_iter().collect(),
        decommissioning: Decommissioning::Notified,
    })
}

fn millis(properties: &Properties, key: &str, default: u64) -> Result<Duration, SettingError> {
    Ok(properties.duration(key, Unit::Millis)?.unwrap_or(Duration::from_millis(default)))
}

/// The maximum number of executors in the properties; 0 if the properties set no maximum.
fn most_executors(application: &ApplicationSettings) -> u64 {
    match (application.allocation, application.executors) {
        (Allocation::Dynamic(bounds), _) => bounds.max,
        (Allocation::Fixed, ExecutorLimit::AtMost(executors)) => executors,
        (Allocation::Fixed, ExecutorLimit::Unlimited) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use firesteel_placement::advanced::locality::Naming;

    use super::*;

    fn settings(pairs: &[&str]) -> Result<ApplicationMasterSettings, SettingError> {
        let properties = Properties::parse(pairs.iter().copied())?;
        ApplicationMasterSettings::of(&properties, &ApplicationSettings::of(&properties)?)
    }

    #[test]
    fn what_is_not_set_is_as_in_spark() {
        let found = settings(&[]).expect("nothing is wrong with nothing");
        let seconds = Duration::from_secs;
        assert_eq!((found.wait_time, found.allocator.heartbeat), (seconds(100), seconds(3)));
        assert_eq!(found.allocator.initial_pause, Duration::from_millis(200));
        assert_eq!((found.executors, found.allocator.most_failures, found.allocator.most_errors), (2, 3, 5));
        assert_eq!((found.launches, found.longest_message), (25, 1 << 20));
        assert_eq!((found.silence, found.allocator.exclusion), (Silence::Success, HostExclusion::Off));
        assert_eq!(found.allocator.naming, Naming::Many);
    }

    #[test]
    fn every_key_reaches_its_field() {
        let found = settings(&[
            "spark.yarn.am.waitTime=5s",
            "spark.yarn.am.clientModeTreatDisconnectAsFailed=true",
            "spark.yarn.am.finalMessageLimit=1k",
            "spark.executor.instances=7",
            "spark.yarn.scheduler.heartbeat.interval-ms=500",
            "spark.yarn.scheduler.initial-allocation.interval=1s",
            "spark.yarn.scheduler.reporterThread.maxFailures=2",
            "spark.executor.failuresValidityInterval=1h",
            "spark.yarn.executor.launch.excludeOnFailure.enabled=true",
            "spark.yarn.exclude.nodes=h1, h2",
            "spark.yarn.containerLauncherMaxThreads=3",
            "spark.yarn.executor.nodeLabelExpression=gpu",
            "firesteel.yarn.hosts.per.request=one",
        ]);
        let found = found.expect("they can be used");
        assert_eq!((found.wait_time, found.silence), (Duration::from_secs(5), Silence::Failure));
        assert_eq!((found.longest_message, found.executors, found.allocator.most_failures), (1024, 7, 14));
        assert_eq!(
            (found.allocator.heartbeat, found.allocator.initial_pause),
            (Duration::from_millis(500), Duration::from_secs(1))
        );
        assert_eq!((found.allocator.most_errors, found.launches), (2, 3));
        assert_eq!(found.allocator.failure_window, Some(Duration::from_secs(3600)));
        let timeout = Duration::from_secs(3600);
        assert_eq!(found.allocator.exclusion, HostExclusion::On { failures: 2, timeout });
        assert_eq!(found.allocator.never, BTreeSet::from(["h1", "h2"].map(str::to_owned)));
        assert_eq!(found.node_label.as_deref(), Some("gpu"));
        assert_eq!(found.allocator.naming, Naming::One);
        let error = settings(&["firesteel.yarn.hosts.per.request=two"]).expect_err("it is neither");
        assert!(error.to_string().contains("many or one"), "{error}");
        let limited = settings(&["spark.executor.maxNumFailures=9"]).expect("it can be used");
        assert_eq!(limited.allocator.most_failures, 9);
    }
}
