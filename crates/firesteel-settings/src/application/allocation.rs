//! The settings of dynamic allocation, from `spark.dynamicAllocation.*`.

use std::time::Duration;

use firesteel_engine::driver::{Allocation, DynamicAllocation, Ratio};
use firesteel_placement::ExecutorLimit;

use crate::values::duration::Unit;
use crate::{Origin, Properties, SettingError, keys};

/// How the number of executors is decided. `instances` is `spark.executor.instances`.
///
/// Source: Spark's `ExecutorAllocationManager`, 4.0.1, and its configuration. An initial number above the maximum is an
/// error here; Spark starts with it.
///
/// # Errors
/// A value cannot be used; this is checked even if dynamic allocation is disabled. If it is enabled, also if two values
/// contradict each other.
pub(super) fn of(properties: &Properties, instances: ExecutorLimit) -> Result<Allocation, SettingError> {
    let seconds = Unit::Seconds;
    let min = properties.count(keys::MIN_EXECUTORS)?;
    let initial = properties.count(keys::INITIAL_EXECUTORS)?;
    let infinite = |text: &str| match text {
        "infinity" => Some(u64::MAX),
        text => text.parse::<u32>().ok().filter(|max| *max > 0).map(u64::from),
    };
    let max =
        properties.read(keys::MAX_EXECUTORS, "a whole number from 1 to 4294967295, or infinity", infinite)?;
    let backlog = properties.period(keys::BACKLOG_TIMEOUT, seconds)?.unwrap_or(Duration::from_secs(1));
    let sustained = properties.period(keys::SUSTAINED_BACKLOG_TIMEOUT, seconds)?;
    let idle = properties.duration(keys::IDLE_TIMEOUT, seconds)?;
    let ratio =
        properties.read(keys::ALLOCATION_RATIO, "a number above 0 and at most 1, such as 0.5", ratio)?;
    if !properties.boolean(keys::DYNAMIC_ALLOCATION)?.unwrap_or(false) {
        return Ok(Allocation::Fixed);
    }
    let min = u64::from(min.unwrap_or(0));
    let max = max.unwrap_or(u64::MAX);
    let (initial, initial_key) = match (initial.map(u64::from), instances) {
        (set, ExecutorLimit::AtMost(count)) if set.is_none_or(|set| set < count) => {
            (count, keys::EXECUTOR_INSTANCES)
        }
        (set, ExecutorLimit::AtMost(_) | ExecutorLimit::Unlimited) => {
            (set.unwrap_or(0), keys::INITIAL_EXECUTORS)
        }
    };
    at_most(properties, keys::MIN_EXECUTORS, min, max, "no number of executors is both")?;
    at_most(properties, initial_key, initial, max, "the application would begin with too many executors")?;
    Ok(Allocation::Dynamic(DynamicAllocation {
        min,
        max,
        initial: initial.max(min),
        backlog_timeout: backlog,
        sustained_timeout: sustained.unwrap_or(backlog),
        idle_timeout: idle.unwrap_or(Duration::from_secs(60)),
        ratio: ratio.unwrap_or(Ratio::ONE),
    }))
}

fn at_most(
    properties: &Properties,
    key: &'static str,
    value: u64,
    max: u64,
    so: &'static str,
) -> Result<(), SettingError> {
    let is_written = |key| properties.origin(key).is_some_and(Origin::is_command_line);
    let wide = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    match value > max {
        true => Err(SettingError::Contradiction {
            less: keys::MAX_EXECUTORS,
            fewer: wide(max),
            more: key,
            greater: wide(value),
            so,
            is_usage: is_written(keys::MAX_EXECUTORS) || is_written(key),
        }),
        false => Ok(()),
    }
}

/// A ratio above 0 and at most 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1 to a million")]
fn ratio(text: &str) -> Option<Ratio> {
    let part: f64 = text.parse().ok().filter(|part| *part > 0.0 && *part <= 1.0)?;
    Some(Ratio((part * f64::from(Ratio::ONE.0)).ceil() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pairs: &[&str], instances: ExecutorLimit) -> Result<Allocation, SettingError> {
        let enabled = pairs.iter().copied().chain(["spark.dynamicAllocation.enabled=true"]);
        of(&Properties::parse(enabled)?, instances)
    }

    const DEFAULT: DynamicAllocation = DynamicAllocation {
        min: 0,
        max: u64::MAX,
        initial: 0,
        backlog_timeout: Duration::from_secs(1),
        sustained_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(60),
        ratio: Ratio::ONE,
    };

    #[test]
    fn dynamic_allocation_is_off_unless_it_is_enabled() -> Result<(), SettingError> {
        let minimum = Properties::parse(["spark.dynamicAllocation.minExecutors=3"])?;
        assert_eq!(of(&minimum, ExecutorLimit::Unlimited)?, Allocation::Fixed);
        assert_eq!(parsed(&[], ExecutorLimit::Unlimited)?, Allocation::Dynamic(DEFAULT));
        Ok(())
    }

    #[test]
    fn every_key_reaches_its_field() {
        let pairs = [
            "spark.dynamicAllocation.minExecutors=1",
            "spark.dynamicAllocation.maxExecutors=8",
            "spark.dynamicAllocation.initialExecutors=2",
            "spark.dynamicAllocation.schedulerBacklogTimeout=100ms",
            "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout=2",
            "spark.dynamicAllocation.executorIdleTimeout=5s",
            "spark.dynamicAllocation.executorAllocationRatio=0.5",
        ];
        let expected = DynamicAllocation {
            min: 1,
            max: 8,
            initial: 2,
            backlog_timeout: Duration::from_millis(100),
            sustained_timeout: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(5),
            ratio: Ratio(500_000),
        };
        assert_eq!(parsed(&pairs, ExecutorLimit::Unlimited), Ok(Allocation::Dynamic(expected)));
        let initial = |pairs: &[&str], instances| match parsed(pairs, ExecutorLimit::AtMost(instances)) {
            Ok(Allocation::Dynamic(dynamic)) => dynamic.initial,
            other => panic!("{other:?}"),
        };
        assert_eq!((initial(&pairs, 5), initial(&pairs, 1), initial(&[], 5)), (5, 2, 5));
        let unlimited = parsed(&["spark.dynamicAllocation.maxExecutors=infinity"], ExecutorLimit::Unlimited);
        assert_eq!(unlimited, Ok(Allocation::Dynamic(DEFAULT)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let said =
            |pairs: &[&str], instances| parsed(pairs, instances).expect_err("it cannot be").to_string();
        let (min, max) = ("spark.dynamicAllocation.minExecutors=3", "spark.dynamicAllocation.maxExecutors=2");
        assert_eq!(
            said(&[min, max], ExecutorLimit::Unlimited),
            "spark.dynamicAllocation.maxExecutors is 2 and spark.dynamicAllocation.minExecutors is 3: no number of \
             executors is both; raise one or lower the other"
        );
        assert_eq!(
            said(&[max], ExecutorLimit::AtMost(5)),
            "spark.dynamicAllocation.maxExecutors is 2 and spark.executor.instances is 5: the application would begin \
             with too many executors; raise one or lower the other"
        );
        for pair in [
            "spark.dynamicAllocation.maxExecutors=0",
            "spark.dynamicAllocation.minExecutors=-1",
            "spark.dynamicAllocation.schedulerBacklogTimeout=0s",
            "spark.dynamicAllocation.executorAllocationRatio=0",
            "spark.dynamicAllocation.executorAllocationRatio=1.5",
            "spark.dynamicAllocation.executorAllocationRatio=NaN",
        ] {
            assert!(parsed(&[pair], ExecutorLimit::Unlimited).is_err(), "{pair}");
        }
    }
}
