//! Executors on machines that are short of processes.

use std::time::Duration;

use firesteel_protocol::ids::{AttemptId, ExecutorId};
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver, TaskEnd, TaskState};
use firesteel_protocol::process::{StartFailure, StartStep};

use super::bench::*;
use crate::driver::{Effect, FailureCause, Note, Outbound, Reason};

fn failure() -> StartFailure {
    StartFailure { step: StartStep::Program, error: "sh: Resource temporarily unavailable".to_owned() }
}

fn give_back(bench: &mut Bench, attempt: AttemptId) -> Vec<Effect> {
    bench.executor(0, ExecutorToDriver::TaskGivenBack { attempt, failure: failure() })
}

fn started(bench: &mut Bench, attempt: AttemptId) {
    let running = ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Running };
    assert_eq!(bench.executor(0, running), []);
}

fn short(running: usize) -> Effect {
    Effect::Note(Note::ExecutorShort {
        executor: ExecutorId(0),
        host: "h0".to_owned(),
        failure: failure(),
        running,
    })
}

/// Lets time pass until the executor gets another task. Returns the time that passed, and the effects of the launch.
fn try_again(bench: &mut Bench) -> (u128, Vec<Effect>) {
    let begin = bench.now;
    loop {
        let (at, _) = bench.next_deadline().expect("it tries again");
        let mut effects = bench.pass(at.since(bench.now));
        let is_launch = |effect: &Effect| {
            let beat = Outbound::Executor(DriverToExecutor::Heartbeat { received: 0 });
            matches!(effect, Effect::Send { message: Outbound::Executor(_), .. })
                && !matches!(effect, Effect::Send { message, .. } if *message == beat)
        };
        effects.retain(is_launch);
        if !effects.is_empty() {
            return (bench.now.since(begin).as_millis(), effects);
        }
    }
}

#[test]
fn a_task_that_is_given_back_does_not_count_and_waits_until_another_one_ends() {
    let mut bench = Bench::with_executors(&[4]);
    for task in 0..6 {
        bench.submit(task, 1);
    }
    assert_eq!(give_back(&mut bench, attempt(2, 0)), [short(3)]);
    assert_eq!(give_back(&mut bench, attempt(3, 0)), [], "it was said");
    started(&mut bench, attempt(0, 0));
    started(&mut bench, attempt(1, 0));
    // Like xargs, it tries one task more than it could run before, which may work now.
    let next = [succeeded(attempt(0, 0), 0), launch(0, attempt(2, 1)), launch(0, attempt(3, 1))];
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), next);
    assert_eq!(give_back(&mut bench, attempt(3, 1)), []);
    let next = [succeeded(attempt(1, 0), 0), launch(0, attempt(3, 2)), launch(0, attempt(4, 0))];
    assert_eq!(bench.end(0, attempt(1, 0), exit(0)), next);
    let view = bench.driver.view();
    assert_eq!((view.failed_attempts, view.running, view.waiting), (0, 3, 1));
}

#[test]
fn a_shortage_is_over_when_an_executor_has_run_as_many_tasks_as_it_has_cores_for() {
    let mut bench = Bench::with_executors(&[2]);
    for task in 0..5 {
        bench.submit(task, 1);
    }
    assert_eq!(give_back(&mut bench, attempt(1, 0))[0], short(1));
    let both = [succeeded(attempt(0, 0), 0), launch(0, attempt(1, 1)), launch(0, attempt(2, 0))];
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), both);
    bench.end(0, attempt(1, 1), exit(0));
    assert!(bench.next_deadline().is_none_or(|(_, reason)| reason != Reason::Shortage));
    // The note about each executor is separate.
    assert_eq!(give_back(&mut bench, attempt(3, 0))[0], short(1));
}

#[test]
fn an_executor_of_which_nothing_ends_tries_one_more_after_growing_pauses() {
    let mut bench = Bench::with_executors(&[9]);
    for task in 0..9 {
        bench.submit(task, 1);
    }
    for task in 1..9 {
        give_back(&mut bench, attempt(task, 0));
    }
    started(&mut bench, attempt(0, 0));
    for (try_, millis) in (1..).zip([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]) {
        let tried = try_again(&mut bench);
        assert_eq!(tried, (millis, vec![launch(0, attempt(1, try_))]));
        give_back(&mut bench, attempt(1, try_));
    }
    // Once a task has started, the next try comes soon.
    let (_, effects) = try_again(&mut bench);
    assert_eq!(effects, [launch(0, attempt(1, 9))]);
    started(&mut bench, attempt(1, 9));
    assert_eq!(try_again(&mut bench).1, [launch(0, attempt(2, 1))]);
    give_back(&mut bench, attempt(2, 1));
    assert_eq!(try_again(&mut bench).0, 1_000);
}

#[test]
fn a_task_that_starts_nowhere_for_a_minute_while_nothing_runs_there_has_failed() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    assert_eq!(give_back(&mut bench, attempt(0, 0)), [short(0)]);
    let begin = bench.now;
    for number in 1.. {
        let (_, effects) = try_again(&mut bench);
        assert_eq!(effects, [launch(0, attempt(0, number))]);
        let effects = give_back(&mut bench, attempt(0, number));
        if bench.now.since(begin) < Duration::from_secs(60) {
            assert_eq!(effects, []);
            continue;
        }
        let cause = FailureCause::Ended(TaskEnd::NotStarted(failure()));
        assert_eq!(effects[0], failure_noted(attempt(0, number), 0, cause, 1));
        break;
    }
}

#[test]
fn a_task_that_is_given_back_goes_to_another_executor_with_room() {
    let mut bench = Bench::with_executors(&[1, 1]);
    bench.submit(0, 1);
    let elsewhere = [short(0), launch(1, attempt(0, 1))];
    assert_eq!(give_back(&mut bench, attempt(0, 0)), elsewhere);
}

#[test]
fn a_cancelled_task_that_is_given_back_is_over() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(crate::driver::Event::CancelTask { task: firesteel_protocol::ids::TaskId(0) });
    assert_eq!(give_back(&mut bench, attempt(0, 0)), [short(0), cancelled(0)]);
}
