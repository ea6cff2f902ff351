//! The state of a Worker and its exclusions, as text.

use firesteel_host::plain::clean;
use firesteel_placement::advanced::words::{counted, duration};
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::{Departure, ExcludedWorker, WorkerRemark, WorkerState, WorkerView};

/// The state of a Worker: `ALIVE`, `ALIVE, Spark 4.0 only`, `ALIVE, does not answer`, `ALIVE, excluded for 2
/// applications`, or `ALIVE, excluded for all for 3.5 s`. After its connection ended: `UNKNOWN, away for 4.0 s`. After
/// a restart of the Master: `UNKNOWN, not back yet`. When the Worker has left: `LEFT 3.5 s ago: it was stopped`.
#[must_use]
pub fn state_in_words(worker: &WorkerView, now: Timestamp) -> String {
    let state = state_alone(worker, now);
    match worker.remark.as_ref().and_then(WorkerRemark::departure) {
        Some(Departure { at, cause }) => {
            format!("{state} {} ago: {}", duration(now.since(*at)), clean(&cause.to_string()))
        }
        None => state,
    }
}

/// The state of a Worker, without the time and the reason of its departure.
#[must_use]
pub fn state_alone(worker: &WorkerView, now: Timestamp) -> String {
    let remark = worker.remark.as_ref();
    let away = worker.away_since.map(|since| format!("UNKNOWN, away for {}", duration(now.since(since))));
    let name = match worker.state {
        WorkerState::Alive => "ALIVE",
        WorkerState::Decommissioned => "DECOMMISSIONED",
        WorkerState::Dead => "DEAD",
        WorkerState::Left => "LEFT",
        WorkerState::Unknown if matches!(remark, Some(WorkerRemark::Foreign { .. })) => "UNKNOWN",
        WorkerState::Unknown => away.as_deref().unwrap_or("UNKNOWN, not back yet"),
    };
    let state = match &worker.label {
        Some(label) => format!("{name}, {} only", clean(&label.to_string())),
        None => name.to_owned(),
    };
    let state = match remark {
        Some(WorkerRemark::Gone(_)) => return state,
        Some(WorkerRemark::Late) => format!("{state}, late"),
        Some(WorkerRemark::Foreign { until, .. }) => {
            format!("{state}, runs executors of another Master for {}", duration(until.since(now)))
        }
        None => state,
    };
    match (&worker.impairment, worker.excluded_until, worker.excluded_for) {
        (Some(impairment), ..) => format!("{state}, {}", clean(&impairment.to_string())),
        (None, Some(until), _) => format!("{state}, excluded for all for {}", duration(until.since(now))),
        (None, None, 0) => state,
        (None, None, apps) => format!("{state}, excluded for {}", counted(apps, "application")),
    }
}

/// How long a Worker is excluded, and why: `worker-1 for 3.5 s: executors fail there (2 times in a row)`.
#[must_use]
pub fn for_how_long(excluded: &ExcludedWorker, now: Timestamp) -> String {
    let ExcludedWorker { worker, end, times, until, for_all } = excluded;
    let whose = if *for_all { "executors of several applications" } else { "executors" };
    let times = match times {
        0 | 1 => String::new(),
        times => format!(" ({times} times in a row)"),
    };
    format!("{worker} for {}: {whose} {end} there{times}", duration(until.since(now)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_protocol::address::Address;
    use firesteel_protocol::ids::WorkerId;
    use firesteel_protocol::messages::{
        DepartureCause, EarlyEnd, Impairment, LossReason, Offered, WorkerDescription,
    };

    #[test]
    fn the_state_of_a_worker_says_for_whom_it_is_excluded() {
        let now = Timestamp::from_millis(1_000);
        let state = |state, excluded_for, until: Option<u64>| {
            let address = Address::new("h".to_owned(), 1);
            let worker = WorkerDescription::new(WorkerId::new("w1"), address, Offered::default(), "/work");
            let excluded_until = until.map(Timestamp::from_millis);
            let worker =
                WorkerView { state, excluded_for, excluded_until, ..WorkerView::unused(&worker, now) };
            state_in_words(&worker, now)
        };
        assert_eq!(state(WorkerState::Alive, 0, None), "ALIVE");
        assert_eq!(state(WorkerState::Dead, 0, None), "DEAD");
        assert_eq!(state(WorkerState::Alive, 1, None), "ALIVE, excluded for 1 application");
        assert_eq!(
            state(WorkerState::Decommissioned, 2, None),
            "DECOMMISSIONED, excluded for 2 applications"
        );
        assert_eq!(state(WorkerState::Alive, 2, Some(4_500)), "ALIVE, excluded for all for 3.5 s");
        let address = Address::new("h".to_owned(), 1);
        let worker = WorkerDescription::new(WorkerId::new("w1"), address, Offered::default(), "/work");
        let deaf = WorkerView {
            impairment: Some(Impairment::Deaf),
            excluded_for: 1,
            ..WorkerView::unused(&worker, now)
        };
        assert_eq!(state_in_words(&deaf, now), "ALIVE, does not answer");
        let away = WorkerView {
            state: WorkerState::Unknown,
            away_since: Some(now),
            ..WorkerView::unused(&worker, now)
        };
        assert_eq!(state_in_words(&away, Timestamp::from_millis(5_000)), "UNKNOWN, away for 4.0 s");
        let late = WorkerView { remark: Some(WorkerRemark::Late), ..WorkerView::unused(&worker, now) };
        assert_eq!(state_in_words(&late, now), "ALIVE, late");
        assert_eq!(state(WorkerState::Left, 0, None), "LEFT");
        let gone = |cause: DepartureCause| {
            let state = cause.state();
            let remark = Some(WorkerRemark::Gone(Departure { at: now, cause }));
            let worker = WorkerView { state, remark, ..WorkerView::unused(&worker, now) };
            state_in_words(&worker, Timestamp::from_millis(4_500))
        };
        assert_eq!(gone(DepartureCause::Asked), "LEFT 3.5 s ago: it was asked to leave");
        let silent = DepartureCause::Lost(LossReason::HeartbeatTimeout { seconds: 60 });
        assert_eq!(gone(silent), "DEAD 3.5 s ago: no heartbeat from the Worker for 60 s");
    }

    #[test]
    fn an_exclusion_says_how_long_it_lasts_and_why() {
        let words = |end, times, for_all| {
            let until = Timestamp::from_millis(4_500);
            let excluded = ExcludedWorker { worker: WorkerId::new("w1"), end, times, until, for_all };
            for_how_long(&excluded, Timestamp::from_millis(1_000))
        };
        assert_eq!(words(EarlyEnd::Failed, 1, false), "w1 for 3.5 s: executors fail there");
        let twice = "w1 for 3.5 s: executors end at once there (2 times in a row)";
        assert_eq!(words(EarlyEnd::Finished, 2, false), twice);
        let all = "w1 for 3.5 s: executors of several applications fail there (3 times in a row)";
        assert_eq!(words(EarlyEnd::Failed, 3, true), all);
    }
}
