//! ApplicationMasters, one attempt after the other: thousands of worlds from seeds, and deliberate bugs.

mod deliberate;

use std::thread;

use firesteel_world::attempts::{AttemptCoverage, Plan, run};
use firesteel_world::cluster::Row;

use super::suites::worlds::{number, say};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 10_000;

/// The sums over some worlds.
#[derive(Default)]
struct Total {
    coverage: AttemptCoverage,
    as_planned: u64,
    later_attempts: usize,
}

/// Runs these worlds. A broken law fails the test, with the command that replays the world.
fn survive(seeds: impl Iterator<Item = u64>) -> Total {
    let mut total = Total::default();
    for seed in seeds {
        let outcome = run(Plan::rolled(seed));
        if let Some(violation) = outcome.violation {
            panic!(
                "{violation}\nreplay it with\n    FIRESTEEL_SEED={seed} cargo test -p firesteel-world --test logic \
                 attempts::replay -- --nocapture"
            );
        }
        total.coverage.add(&outcome.coverage);
        total.as_planned += u64::from(outcome.as_planned);
        total.later_attempts += outcome.attempts - 1;
    }
    total
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the worlds share no memory: two threads halve the wait")]
fn applications_keep_every_law_under_faults_and_end_rightly_after_them() {
    let worlds = number("FIRESTEEL_SEEDS").unwrap_or(WORLDS);
    let halves = [0, 1].map(|half| thread::spawn(move || survive((half..worlds).step_by(2))));
    let mut total = Total::default();
    for half in halves {
        match half.join() {
            Ok(part) => {
                total.coverage.add(&part.coverage);
                total.as_planned += part.as_planned;
                total.later_attempts += part.later_attempts;
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let Total { coverage, as_planned, later_attempts } = total;
    let events = coverage.events;
    say(&format_args!(
        "{worlds} worlds, {later_attempts} later attempts, {as_planned} ends as planned, {events} events"
    ));
    for row in coverage.rows() {
        say(&row);
    }
    if worlds >= WORLDS {
        check_coverage(&coverage);
        assert!(as_planned > worlds / 2, "only {as_planned} of {worlds} ended as planned");
    }
}

/// Variants that no world can reach, each with the reason.
const IMPOSSIBLE: [(&str, &str, &str); 32] = [
    ("MasterToDriver", "WorkerRemoved", "there are no Workers"),
    ("ExecutorState", "Launching", "an executor that is launched is told as added"),
    ("LossReason", "Disconnected", "there are no Workers whose connection could end"),
    ("LossReason", "HeartbeatTimeout", "there are no Workers that could fall silent"),
    ("LossReason", "LaunchLost", "there are no Workers that a launch could be lost on the way to"),
    ("LossReason", "Preempted", "the cluster's manager takes containers away, which is told as such"),
    ("LossReason", "Unanswered", "there are no Workers that could leave an order unanswered"),
    ("LossReason", "CannotStart", "there are no Workers that say so"),
    ("LossReason", "NotBack", "there are no Workers that could return"),
    ("ApplicationEnd", "NotBack", "an ApplicationMaster is not recovered from records"),
    ("ApplicationEnd", "DriverLost", "a driver that is lost is not there to be told"),
    ("ApplicationEnd", "ExecutorsFailed", "too many failures are told in the allocator's words, as GivenUp"),
    ("ApplicationEnd", "GangRefused", "containers come one by one"),
    ("ApplicationAnswer", "Ambiguous", "there is one application"),
    ("KillAnswer", "Over", "an ApplicationMaster ends when its application does"),
    ("KillAnswer", "Ambiguous", "there is one application"),
    ("ClientToMaster", "RequestSubmitDriver", "an ApplicationMaster runs no cluster drivers"),
    ("ClientToMaster", "RequestKillDriver", "an ApplicationMaster runs no cluster drivers"),
    ("ClientToMaster", "RequestDriverStatus", "an ApplicationMaster runs no cluster drivers"),
    ("ClientToMaster", "RequestKillAllDrivers", "an ApplicationMaster runs no cluster drivers"),
    (
        "ClientToMaster",
        "RequestClearCompletedDriversAndApps",
        "an ApplicationMaster ends with its application",
    ),
    ("MasterToClient", "KillAllDriversResponse", "an ApplicationMaster runs no cluster drivers"),
    ("MasterToClient", "ClearCompletedResponse", "an ApplicationMaster ends with its application"),
    ("MasterToClient", "SubmitDriverResponse", "an ApplicationMaster runs no cluster drivers"),
    ("MasterToClient", "KillDriverResponse", "an ApplicationMaster runs no cluster drivers"),
    ("MasterToClient", "DriverStatusResponse", "an ApplicationMaster runs no cluster drivers"),
    ("ClientToMaster", "RequestHistory", "YARN keeps the history of its applications"),
    ("MasterToClient", "RequestForbidden", "who reaches an ApplicationMaster may end its application"),
    ("MasterToClient", "HistoryResponse", "YARN keeps the history of its applications"),
    ("ClientToMaster", "RequestLog", "YARN has the logs of its containers"),
    ("MasterToClient", "LogResponse", "YARN has the logs of its containers"),
    ("MasterToClient", "RequestLogFailed", "YARN has the logs of its containers"),
];

/// Checks that the variants of `IMPOSSIBLE` have never occurred, and all others have.
fn check_coverage(coverage: &AttemptCoverage) {
    let impossible =
        |row: &Row| IMPOSSIBLE.iter().any(|(kind, name, _)| (*kind, *name) == (row.kind, row.name));
    let rows = coverage.rows();
    let wrong = rows.iter().filter(|row| (row.count == 0) != impossible(row));
    let wrong: Vec<String> = wrong.map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "never, or against all reason:\n{}", wrong.join("\n"));
}

/// Worlds that have revealed bugs.
#[test]
fn worlds_that_once_went_wrong_keep_every_law() {
    survive(
        [
            // A driver that existed before its ApplicationMaster began never got its application.
            17, // The end of an executor, told on a connection that had broken, was never heard.
            25, // The answer to a request that ended the attempt came after the attempt's end.
            188, 232,
            // Turns of executors were counted in the middle of an answer that ended the attempt.
            1_943, 3_442, 4_248,
            // A first call ended the attempt before its driver was accepted.
            12_925,
            // An executor that started and ended while the driver was away had a number that a later attempt gave
            // again.
            10_213,
        ]
        .into_iter(),
    );
}

#[test]
fn replay() {
    let seed = number("FIRESTEEL_SEED").unwrap_or(0);
    let outcome = run(Plan::rolled(seed));
    outcome.trace.iter().for_each(|line| say(line));
    assert_eq!(outcome.violation, None);
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in 0..5 {
        let trace = || run(Plan::rolled(seed)).trace;
        assert!(trace() == trace(), "seed {seed}");
    }
}
