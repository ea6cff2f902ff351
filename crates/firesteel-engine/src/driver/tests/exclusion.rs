//! Spark's rule: if tasks fail on an executor or host and succeed elsewhere, it gets no more tasks. Firesteel's own
//! rule is tested in `comparison`.

use std::time::Duration;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ExecutorId, ProfileId, WorkerId};
use firesteel_protocol::messages::{ExecutorState, MasterToDriver};
use firesteel_protocol::process::ExitStatus;

use super::bench::*;
use crate::driver::{Config, Effect, Exclusion, ExclusionCause, ExclusionPolicy, Note, Readmission, Reason};

const HOUR: Duration = Duration::from_secs(3600);

fn excluded(number: u32) -> Effect {
    let cause =
        ExclusionCause::Executor { executor: ExecutorId(number), host: format!("h{number}"), tasks: 2 };
    Effect::Note(Note::Excluded { cause, timeout: HOUR })
}

/// A driver with Spark's rule and executors of these cores.
fn by_limits(cores: &[i64]) -> Bench {
    let exclusion = ExclusionPolicy { exclusion: Exclusion::ByLimits, ..ExclusionPolicy::default() };
    let mut bench = Bench::of(Config { exclusion, ..config(&["m1"]) });
    bench.register();
    bench.add_executors(cores);
    bench
}

fn readmitted(number: u32, why: Readmission) -> Effect {
    Effect::Note(Note::Readmitted { executor: ExecutorId(number), host: format!("h{number}"), why })
}

/// Executors 0 and 1 have one core each. Tasks 0 and 2 fail on executor 0 and succeed on executor 1. Returns the last
/// effects.
fn spoilt(bench: &mut Bench) -> Vec<Effect> {
    bench.submit(0, 1);
    bench.end(0, attempt(0, 0), exit(1));
    bench.end(1, attempt(0, 1), exit(0));
    bench.submit(2, 1);
    bench.end(0, attempt(2, 0), exit(1));
    bench.end(1, attempt(2, 1), exit(0))
}

#[test]
fn two_tasks_that_succeed_elsewhere_exclude_an_executor_for_an_hour() {
    let mut bench = by_limits(&[1, 1]);
    let last = spoilt(&mut bench);
    assert!(last.contains(&excluded(0)), "{last:?}");
    // All tasks go to the other executor.
    bench.submit(10, 1);
    assert_eq!(bench.submit(11, 1), []);
    assert_eq!(bench.end(1, attempt(10, 0), exit(0))[1..], [launch(1, attempt(11, 0))]);
    let (at, reason) = bench.next_deadline().expect("the exclusion ends");
    assert_eq!((at.since(bench.now), reason), (HOUR, Reason::ExclusionOver));
    assert_eq!(bench.submit(12, 1), []);
    assert_eq!(bench.pass(HOUR), [readmitted(0, Readmission::TimeIsUp), launch(0, attempt(12, 0))]);
}

#[test]
fn the_last_executor_is_taken_back_and_none_is_excluded_that_is_alone() {
    let mut bench = by_limits(&[1, 1]);
    spoilt(&mut bench);
    let crashed = ExecutorState::Exited(ExitStatus::Signal(9));
    let effects = bench.updated(1, crashed);
    assert!(effects.contains(&readmitted(0, Readmission::NoOtherLeft)), "{effects:?}");
    assert_eq!(bench.submit(20, 1), [launch(0, attempt(20, 0))]);
}

#[test]
fn tasks_that_fail_everywhere_exclude_nobody() {
    let mut bench = by_limits(&[1, 1]);
    for task in 0..6 {
        bench.submit(task, 1);
        for number in 0..3 {
            let view = bench.driver.view();
            let on = view.executors.iter().find(|executor| !executor.running.is_empty());
            let on = on.expect("the task runs somewhere").id.0;
            let effects = bench.end(on, attempt(task, number), exit(1));
            assert!(!effects.iter().any(|effect| matches!(effect, Effect::Note(Note::Excluded { .. }))));
        }
    }
    assert_eq!(bench.next_deadline(), None);
}

#[test]
fn a_host_where_executors_do_not_start_is_excluded() {
    let mut bench = by_limits(&[1]);
    let fail_to_start = |bench: &mut Bench, number: u32| {
        bench.master(MasterToDriver::ExecutorAdded {
            executor: ExecutorId(number),
            profile: ProfileId::DEFAULT,
            worker: WorkerId::new("bad"),
            host: "bad".to_owned(),
            cores: Cores(1),
            memory: MiB(512),
            port: 7078,
        });
        bench.updated(number, ExecutorState::Exited(ExitStatus::Code(1)))
    };
    assert_eq!(fail_to_start(&mut bench, 7).len(), 1);
    let cause = ExclusionCause::HostOfFailedStarts { host: "bad".to_owned(), starts: 2 };
    let second = fail_to_start(&mut bench, 8);
    assert!(second.contains(&Effect::Note(Note::Excluded { cause, timeout: HOUR })), "{second:?}");
    let avoided = |bench: &Bench| bench.hints.last().map(|hints| hints.avoided.len());
    assert_eq!(avoided(&bench), Some(1), "the Master launches none there");
    bench.pass(Duration::from_secs(1));
    bench.updated(0, ExecutorState::Exited(ExitStatus::Code(1)));
    assert_eq!(avoided(&bench), Some(0), "better there than nowhere");
}
