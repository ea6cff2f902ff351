//! The times of each application, as lines of comma-separated values.

use std::time::Duration;

use super::outcome::{ApplicationTimes, Outcome};
use crate::trace::TraceApplication;

/// The names of the columns of [`csv_rows`].
pub const CSV_HEADER: &str = "policy,seed,application,arrival_s,start_s,end_s,wait_s,run_s,executors,gang,cores,memory_mib,gpus,\
queue,priority,run_time_s,family,executors_lost,redone_s,near_executors";

/// One line for each application of a replay, in the order of arrival. Times are seconds since the beginning. A time is
/// empty if its event did not happen. `policy` must not contain a comma.
pub fn csv_rows<'a>(
    policy: &'a str,
    seed: u64,
    applications: &'a [TraceApplication],
    outcome: &'a Outcome,
) -> impl Iterator<Item = String> + 'a {
    applications.iter().zip(&outcome.times).enumerate().map(move |(number, (application, times))| {
        let TraceApplication { arrival, executors, request, lifetime, gang, .. } = application;
        let TraceApplication { queue, priority, run_time, family, .. } = application;
        let ApplicationTimes { began, ended, lost, redone, near, .. } = times;
        let wait = began.map(|began| began.saturating_sub(*arrival));
        let maybe = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        [
            policy.to_owned(),
            seed.to_string(),
            number.to_string(),
            seconds(*arrival),
            began.map_or_else(String::new, seconds),
            ended.map_or_else(String::new, seconds),
            wait.map_or_else(String::new, seconds),
            seconds(*lifetime),
            executors.to_string(),
            gang.to_string(),
            (request.milli_cores as f64 / 1000.0).to_string(),
            request.memory.0.to_string(),
            request.gpus.to_string(),
            queue.to_string(),
            priority.to_string(),
            maybe(run_time.map(|run_time| run_time.as_secs())),
            maybe(*family),
            lost.to_string(),
            seconds(*redone),
            near.to_string(),
        ]
        .join(",")
    })
}

fn seconds(duration: Duration) -> String {
    format!("{}.{:03}", duration.as_secs(), duration.subsec_millis())
}
