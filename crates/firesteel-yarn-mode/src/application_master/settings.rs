//! The settings of an ApplicationMaster, from its application's properties.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::allocator::{self, Decommissioning, HostExclusion, Sizing, default_most_failures};
use firesteel_core::application_master::{Config, Mode, Silence};
use firesteel_core::driver::Allocation;
use firesteel_core::ids::{AppId, ExecutorId};
use firesteel_placement::locality::Naming;
use firesteel_placement::{Cores, ExecutorLimit};

use super::Attempt;
use crate::blueprint::{Blueprint, Deploy};
use firesteel_settings::application::{ApplicationSettings, list};
use firesteel_settings::duration::Unit;
use firesteel_settings::yarn::{EXECUTORS, executor_sizing, naming};
use firesteel_settings::{Origin, Properties, SettingError, keys, size};

/// The settings, with Spark's defaults.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    wait_time: Duration,
    silence: Silence,
    longest_message: usize,
    executors: u64,
    task_cores: Cores,
    sizing: Sizing,
    heartbeat: Duration,
    initial_pause: Duration,
    most_errors: u32,
    most_failures: u64,
    failure_window: Option<Duration>,
    exclusion: HostExclusion,
    never: BTreeSet<String>,
    naming: Naming,
    /// The number of containers that are started at once.
    pub(super) launches: usize,
    /// The label of nodes where executors may run.
    pub(super) node_label: Option<String>,
}

impl Settings {
    /// The settings of a blueprint.
    pub(super) fn of(blueprint: &Blueprint) -> Result<Self, SettingError> {
        let mut properties = Properties::default();
        for (key, value) in &blueprint.properties {
            properties.set(key, value.clone(), Origin::Conf);
        }
        let application = ApplicationSettings::of(&properties)?;
        Self::read(&properties, &application, Duration::from_millis(blueprint.hadoop.expiry))
    }

    fn read(
        properties: &Properties,
        application: &ApplicationSettings,
        expiry: Duration,
    ) -> Result<Self, SettingError> {
        let millis = |key, default| {
            let set = properties.duration(key, Unit::Millis)?;
            Ok::<_, SettingError>(set.unwrap_or(Duration::from_millis(default)))
        };
        let bytes = |text: &str| size::bytes(text, size::Unit::Bytes).ok();
        let heartbeat = millis(keys::YARN_HEARTBEAT, 3_000)?.min(expiry / 2);
        Ok(Self {
            wait_time: millis(keys::YARN_WAIT_TIME, 100_000)?,
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
            sizing: executor_sizing(properties, application)?,
            heartbeat,
            initial_pause: millis(keys::YARN_INITIAL_PAUSE, 200)?.min(heartbeat),
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
            naming: naming(properties)?,
            launches: properties.positive(keys::YARN_LAUNCHES)?.unwrap_or(25) as usize,
            node_label: properties.get(keys::YARN_EXECUTOR_LABEL).map(str::to_owned),
        })
    }

    /// The configuration of the machine. Drivers find it at `address`.
    pub(super) fn config(&self, blueprint: &Blueprint, attempt: &Attempt, address: &Address) -> Config {
        let application = attempt.id.application_id.unwrap_or_default();
        Config {
            app: AppId::new(application.to_string()),
            url: address.url(),
            mode: match &blueprint.deploy {
                Deploy::Client => Mode::Client,
                Deploy::Unmanaged => Mode::Unmanaged,
                Deploy::Cluster(_) => Mode::Cluster,
            },
            attempt: u32::try_from(attempt.id.attempt_id()).unwrap_or(1),
            most_attempts: blueprint.max_attempts,
            wait_time: self.wait_time,
            silence: self.silence,
            longest_message: self.longest_message,
            executors: self.executors,
            task_cores: self.task_cores,
            allocator: allocator::Config {
                topology: blueprint.racks.topology(),
                sizing: self.sizing.clone(),
                initial_target: 0,
                naming: self.naming,
                first_executor: ExecutorId(0),
                heartbeat: self.heartbeat,
                initial_pause: self.initial_pause,
                most_errors: self.most_errors,
                most_failures: self.most_failures,
                failure_window: self.failure_window,
                exclusion: self.exclusion,
                never: self.never.clone(),
                decommissioning: Decommissioning::Told,
            },
        }
    }
}

/// The maximum number of executors by the properties; 0 if they give none.
fn most_executors(application: &ApplicationSettings) -> u64 {
    match (application.allocation, application.executors) {
        (Allocation::Dynamic(bounds), _) => bounds.max,
        (Allocation::Fixed, ExecutorLimit::AtMost(executors)) => executors,
        (Allocation::Fixed, ExecutorLimit::Unlimited) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blueprint::tests::blueprint;

    fn settings(pairs: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let properties = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Settings::of(&Blueprint { properties: properties.collect(), ..blueprint() })
    }

    #[test]
    fn what_is_not_set_is_as_in_spark() {
        let found = settings(&[]).expect("nothing is wrong with nothing");
        let seconds = Duration::from_secs;
        assert_eq!((found.wait_time, found.heartbeat), (seconds(100), seconds(3)));
        assert_eq!(found.initial_pause, Duration::from_millis(200));
        assert_eq!((found.executors, found.most_failures, found.most_errors), (2, 3, 5));
        assert_eq!((found.launches, found.longest_message), (25, 1 << 20));
        assert_eq!((found.silence, found.exclusion), (Silence::Success, HostExclusion::Off));
        assert_eq!(found.naming, Naming::Many);
    }

    #[test]
    fn every_key_reaches_its_field() {
        let found = settings(&[
            ("spark.yarn.am.waitTime", "5s"),
            ("spark.yarn.am.clientModeTreatDisconnectAsFailed", "true"),
            ("spark.yarn.am.finalMessageLimit", "1k"),
            ("spark.executor.instances", "7"),
            ("spark.yarn.scheduler.heartbeat.interval-ms", "500"),
            ("spark.yarn.scheduler.initial-allocation.interval", "1s"),
            ("spark.yarn.scheduler.reporterThread.maxFailures", "2"),
            ("spark.executor.failuresValidityInterval", "1h"),
            ("spark.yarn.executor.launch.excludeOnFailure.enabled", "true"),
            ("spark.yarn.exclude.nodes", "h1, h2"),
            ("spark.yarn.containerLauncherMaxThreads", "3"),
            ("spark.yarn.executor.nodeLabelExpression", "gpu"),
            ("firesteel.yarn.hosts.per.request", "one"),
        ]);
        let found = found.expect("they can be used");
        assert_eq!((found.wait_time, found.silence), (Duration::from_secs(5), Silence::Failure));
        assert_eq!((found.longest_message, found.executors, found.most_failures), (1024, 7, 14));
        assert_eq!(
            (found.heartbeat, found.initial_pause),
            (Duration::from_millis(500), Duration::from_millis(500))
        );
        assert_eq!((found.most_errors, found.launches), (2, 3));
        assert_eq!(found.failure_window, Some(Duration::from_secs(3600)));
        let timeout = Duration::from_secs(3600);
        assert_eq!(found.exclusion, HostExclusion::On { failures: 2, timeout });
        assert_eq!(found.never, BTreeSet::from(["h1", "h2"].map(str::to_owned)));
        assert_eq!(found.node_label.as_deref(), Some("gpu"));
        assert_eq!(found.naming, Naming::One);
        let error = settings(&[("firesteel.yarn.hosts.per.request", "two")]).expect_err("it is neither");
        assert!(error.to_string().contains("many or one"), "{error}");
        let limited = settings(&[("spark.executor.maxNumFailures", "9")]).expect("it can be used");
        assert_eq!(limited.most_failures, 9);
    }
}
