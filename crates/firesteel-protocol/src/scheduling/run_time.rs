//! An application's own estimate of its run time.
//!
//! The estimate is an environment variable of the executors, [`RUN_TIME`]. So Spark's drivers can set it, a Master of
//! an earlier version ignores it, and the executors' programs can read it. The Master uses the estimate to plan ahead,
//! and never ends an application because of it.

use std::collections::BTreeMap;
use std::time::Duration;

/// The environment variable of an application's executors that contains its estimated run time in seconds, from start
/// to end. Spark's drivers set it by `spark.executorEnv.FIRESTEEL_RUN_TIME`, and Firesteel's own by
/// `firesteel.app.runTime`.
pub const RUN_TIME: &str = "FIRESTEEL_RUN_TIME";

/// The longest estimate, in seconds: ten years. Longer estimates are reduced to this.
const LONGEST: u64 = 10 * 365 * 24 * 3600;

/// The estimate in these variables. `None` if there is no estimate, or if it is not a whole number of seconds above
/// zero.
#[must_use]
pub fn told(environment: &BTreeMap<String, String>) -> Option<Duration> {
    let seconds: u64 = environment.get(RUN_TIME)?.trim().parse().ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds.min(LONGEST)))
}

/// Formats an estimate as the value of the variable: whole seconds, rounded up, at least one.
#[must_use]
pub fn value(run_time: Duration) -> String {
    let seconds = run_time.as_secs() + u64::from(run_time.subsec_nanos() > 0);
    seconds.clamp(1, LONGEST).to_string()
}

/// The expected total run time of an application with this estimate that has run for `age`. Until the estimated time
/// has passed, this is the estimate. Then the estimate is doubled until it exceeds the age.
#[must_use]
pub fn corrected(estimate: Duration, age: Duration) -> Duration {
    let mut whole = estimate.max(Duration::from_secs(1));
    while whole <= age {
        whole *= 2;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_a_whole_number_of_seconds_and_anything_else_is_none() {
        for (text, expected) in [
            ("600", Some(600)),
            (" 1 ", Some(1)),
            ("99999999999", Some(LONGEST)),
            ("0", None),
            ("-5", None),
            ("10m", None),
            ("1.5", None),
            ("", None),
        ] {
            let environment = BTreeMap::from([(RUN_TIME.to_owned(), text.to_owned())]);
            assert_eq!(told(&environment), expected.map(Duration::from_secs), "{text:?}");
        }
        assert_eq!(told(&BTreeMap::new()), None);
    }

    #[test]
    fn what_is_written_is_read() {
        for (millis, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (600_000, 600)] {
            let environment = BTreeMap::from([(RUN_TIME.to_owned(), value(Duration::from_millis(millis)))]);
            assert_eq!(told(&environment), Some(Duration::from_secs(seconds)), "{millis} ms");
        }
    }

    #[test]
    fn an_estimate_that_has_passed_is_doubled_until_it_is_ahead() {
        let seconds = Duration::from_secs;
        for (age, whole) in [(0, 100), (99, 100), (100, 200), (199, 200), (200, 400), (1000, 1600)] {
            assert_eq!(corrected(seconds(100), seconds(age)), seconds(whole), "at {age} s");
        }
        assert_eq!(corrected(Duration::ZERO, Duration::ZERO), seconds(1), "the loop ends");
    }
}
