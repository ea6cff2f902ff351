//! The settings of an application's exclusions, from `spark.excludeOnFailure.*`.

use firesteel_engine::driver::{Exclusion, ExclusionPolicy};

use crate::values::duration::Unit;
use crate::{Properties, SettingError, keys};

/// Reads the policy. Settings that are not set have Spark's default.
pub(super) fn of(properties: &Properties) -> Result<ExclusionPolicy, SettingError> {
    let default = ExclusionPolicy::default();
    // All are read, so that a wrong value is found. The first one that is set counts.
    let names = [keys::EXCLUDE_APPLICATION, keys::EXCLUDE, keys::EXCLUDE_OLD];
    let set = names.map(|key| properties.boolean(key));
    let [application, enabled, old] = set;
    let spark_rule = application?.or(enabled?).or(old?);
    // As in Spark, the old name of a limit is read if the new one is not set. Both values must be valid.
    let count = |key, old, default| {
        let (set, old) = (properties.positive(key)?, properties.positive(old)?);
        Ok(set.or(old).unwrap_or(default))
    };
    let period = |key| properties.period(key, Unit::Millis);
    let (timeout, old_timeout) = (period(keys::EXCLUDE_TIMEOUT)?, period(keys::EXCLUDE_TIMEOUT_OLD)?);
    Ok(ExclusionPolicy {
        exclusion: match spark_rule {
            Some(true) => Exclusion::ByLimits,
            Some(false) => Exclusion::Off,
            None => Exclusion::ByComparison,
        },
        timeout: timeout.or(old_timeout).unwrap_or(default.timeout),
        max_failed_tasks_per_executor: count(
            keys::EXCLUDE_TASKS,
            keys::EXCLUDE_TASKS_OLD,
            default.max_failed_tasks_per_executor,
        )?,
        max_failed_executors_per_host: count(
            keys::EXCLUDE_EXECUTORS,
            keys::EXCLUDE_EXECUTORS_OLD,
            default.max_failed_executors_per_host,
        )?,
        max_task_attempts_per_executor: count(
            keys::ATTEMPTS_PER_EXECUTOR,
            keys::ATTEMPTS_PER_EXECUTOR_OLD,
            default.max_task_attempts_per_executor,
        )?,
        max_task_attempts_per_host: count(
            keys::ATTEMPTS_PER_HOST,
            keys::ATTEMPTS_PER_HOST_OLD,
            default.max_task_attempts_per_host,
        )?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_names_of_the_limits_hold_where_the_new_ones_are_not_set() {
        for limit in [
            "timeout",
            "application.maxFailedTasksPerExecutor",
            "application.maxFailedExecutorsPerNode",
            "task.maxTaskAttemptsPerExecutor",
            "task.maxTaskAttemptsPerNode",
        ] {
            let with = |lines: &[String]| {
                let properties = Properties::parse(lines.iter().map(String::as_str)).expect("they are pairs");
                of(&properties).map_err(|error| error.to_string())
            };
            let (new, old) = (format!("spark.excludeOnFailure.{limit}"), format!("spark.blacklist.{limit}"));
            let seven = with(&[format!("{new}=7")]).expect("it is right");
            assert_ne!(seven, ExclusionPolicy::default(), "{new}");
            assert_eq!(with(&[format!("{old}=7")]), Ok(seven), "{old}");
            assert_eq!(with(&[format!("{old}=9"), format!("{new}=7")]), Ok(seven), "{new} takes precedence");
            let wrong = with(&[format!("{old}=no"), format!("{new}=7")]).expect_err("it is no number");
            assert!(wrong.contains(&old), "{wrong}");
        }
    }

    #[test]
    fn sparks_setting_by_any_of_its_names_means_sparks_rule_or_none_and_otherwise_firesteels_holds() {
        const ENABLED: &str = "spark.excludeOnFailure.enabled";
        const APPLICATION: &str = "spark.excludeOnFailure.application.enabled";
        const OLD: &str = "spark.blacklist.enabled";
        let rows: [(&[(&str, bool)], Exclusion); 8] = [
            (&[], Exclusion::ByComparison),
            (&[(ENABLED, true)], Exclusion::ByLimits),
            (&[(ENABLED, false)], Exclusion::Off),
            (&[(OLD, true)], Exclusion::ByLimits),
            (&[(OLD, false)], Exclusion::Off),
            (&[(OLD, true), (ENABLED, false)], Exclusion::Off),
            (&[(APPLICATION, true), (ENABLED, false)], Exclusion::ByLimits),
            (&[(APPLICATION, false), (ENABLED, true), (OLD, true)], Exclusion::Off),
        ];
        for (set, expected) in rows {
            let pairs: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let properties = Properties::parse(pairs.iter().map(String::as_str)).expect("pairs");
            assert_eq!(of(&properties).map(|policy| policy.exclusion), Ok(expected), "{pairs:?}");
        }
        for key in [ENABLED, APPLICATION, OLD] {
            let wrong = Properties::parse([format!("{key}=perhaps").as_str()]).expect("a pair");
            assert!(of(&wrong).is_err(), "{key}");
        }
        let alone = Properties::parse(["spark.excludeOnFailure.application.maxFailedTasksPerExecutor=1"]);
        let policy = of(&alone.expect("a pair")).expect("it is right");
        assert_eq!(
            policy.exclusion,
            Exclusion::ByComparison,
            "a limit alone switches nothing on, as in Spark"
        );
    }
}
