//! Tests: executors end, and the tasks on them run again.

use std::time::Duration;

use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::messages::{DriverToExecutor, ExecutorState, LossReason, RefusedExecutor, TaskEnd};
use firesteel_protocol::process::ExitStatus;

use super::bench::*;
use crate::driver::{Effect, Event, ExecutorLoss, FailureCause, Note, Reason, TaskOutcome};

const CRASHED: ExecutorState = ExecutorState::Exited(ExitStatus::Signal(9));

fn lost(id: u32, loss: ExecutorLoss, tasks: usize) -> Effect {
    Effect::Note(Note::ExecutorLost { executor: ExecutorId(id), host: format!("h{id}"), loss, tasks })
}

fn lost_as(id: u32, state: &ExecutorState, tasks: usize) -> Effect {
    lost(id, ExecutorLoss::Ended(state.clone()), tasks)
}

fn disconnect(bench: &mut Bench, id: u32) -> Vec<Effect> {
    bench.apply(Event::Disconnected { peer: peer(id) })
}

#[test]
fn a_disconnected_executor_waits_for_the_masters_word_and_its_tasks_count_the_crash() {
    let mut bench = Bench::with_executors(&[2, 1]);
    for task in 0..3 {
        bench.submit(task, 1);
    }
    bench.submit(3, 1);
    assert_eq!(disconnect(&mut bench, 0), []);
    let (at, reason) = bench.next_deadline().expect("the Master's word is waited for");
    assert_eq!((at.since(bench.now).as_secs(), reason), (5, Reason::ExecutorDelay(ExecutorId(0))));
    // Tasks 0 and 2 ran on this executor.
    let cause = FailureCause::ExecutorDied(CRASHED);
    assert_eq!(
        bench.updated(0, CRASHED),
        [
            lost_as(0, &CRASHED, 2),
            failure_noted(attempt(0, 0), 0, cause.clone(), 1),
            discard(attempt(0, 0)),
            failure_noted(attempt(2, 0), 0, cause, 1),
            discard(attempt(2, 0)),
        ]
    );
    let next = bench.end(1, attempt(1, 0), exit(0));
    assert_eq!(next, [succeeded(attempt(1, 0), 1), launch(1, attempt(0, 1))]);
    assert_eq!(bench.updated(0, CRASHED), [], "repeated");
    assert_eq!(bench.next_deadline(), None);
}

#[test]
fn without_the_masters_word_a_disconnected_executor_is_given_up_and_no_task_is_blamed() {
    let mut bench = Bench::with_executors(&[1, 1]);
    bench.submit(0, 1);
    disconnect(&mut bench, 0);
    assert_eq!(bench.pass(Duration::from_millis(4_999)), []);
    let given_up = bench.pass(Duration::from_millis(1));
    assert_eq!(
        given_up,
        [
            lost(0, ExecutorLoss::Disconnected, 1),
            discard(attempt(0, 0)),
            kill_asked(&[0]),
            launch(1, attempt(0, 1))
        ]
    );
    assert_eq!(bench.updated(0, CRASHED), [], "too late");
    assert_eq!(bench.driver.view().failed_attempts, 0);
}

#[test]
fn without_a_master_a_disconnected_executor_is_given_up_at_once() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: MASTER });
    assert_eq!(disconnect(&mut bench, 0), [lost(0, ExecutorLoss::Disconnected, 1), discard(attempt(0, 0))]);
}

#[test]
fn a_disconnected_executor_is_offered_nothing() {
    let mut bench = Bench::with_executors(&[2]);
    bench.submit(0, 1);
    disconnect(&mut bench, 0);
    assert_eq!(bench.submit(1, 1), []);
}

#[test]
fn ends_that_no_task_can_have_caused_blame_no_task() {
    for state in [
        ExecutorState::Lost(LossReason::Disconnected),
        ExecutorState::Killed(Some(ExitStatus::Signal(15))),
        ExecutorState::Exited(ExitStatus::SUCCESS),
    ] {
        let mut bench = Bench::with_executors(&[1]);
        bench.submit(0, 1);
        assert_eq!(
            bench.updated(0, state.clone()),
            [
                lost_as(0, &state, 1),
                to_executor(0, DriverToExecutor::StopExecutor),
                closed(0),
                discard(attempt(0, 0))
            ]
        );
        assert_eq!(bench.driver.view().failed_attempts, 0);
        assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [], "it is not listened to any more");
    }
}

#[test]
fn a_task_that_kills_its_executors_is_given_up() {
    let mut bench = Bench::registered();
    bench.submit(0, 1);
    for id in 0..3 {
        let a = attempt(0, id);
        assert_eq!(bench.executor(id, register(id, 1)).last(), Some(&launch(id, a)));
        disconnect(&mut bench, id);
        let cause = FailureCause::ExecutorDied(CRASHED);
        let fate = if id < 2 {
            discard(a)
        } else {
            ended(
                0,
                TaskOutcome::Failed {
                    locality: None,
                    attempt: a,
                    executor: ExecutorId(id),
                    failures: 3,
                    cause: cause.clone(),
                },
            )
        };
        let expected = [lost_as(id, &CRASHED, 1), failure_noted(a, id, cause, id + 1), fate];
        assert_eq!(bench.updated(id, CRASHED), expected);
    }
}

#[test]
fn an_executor_that_kills_a_task_unasked_is_ending_and_gets_no_more() {
    let mut bench = Bench::with_executors(&[2]);
    bench.submit(0, 1);
    assert_eq!(bench.end(0, attempt(0, 0), TaskEnd::Killed), [discard(attempt(0, 0))]);
    assert_eq!(bench.submit(1, 1), []);
    let other = bench.executor(1, register(1, 2));
    assert_eq!(other.get(2..), Some(&[launch(1, attempt(0, 1)), launch(1, attempt(1, 0))][..]));
}

#[test]
fn tasks_that_an_executor_interrupts_before_it_ends_are_said_to_have_run_there() {
    let mut bench = Bench::with_executors(&[2]);
    bench.submit(0, 1);
    bench.submit(1, 1);
    bench.end(0, attempt(0, 0), TaskEnd::Killed);
    let killed = ExecutorState::Killed(Some(ExitStatus::Signal(15)));
    let effects = bench.updated(0, killed.clone());
    assert_eq!(effects.first(), Some(&lost_as(0, &killed, 2)));
}

#[test]
fn an_ended_number_is_never_taken_again() {
    let mut bench = Bench::registered();
    assert_eq!(bench.added(0, 1).len(), 1);
    assert_eq!(bench.updated(0, ExecutorState::Running), []);
    assert_eq!(bench.updated(0, CRASHED), [lost_as(0, &CRASHED, 0)]);
    let reason = RefusedExecutor::NumberTaken;
    assert_eq!(
        bench.executor(0, register(0, 1)),
        [
            Effect::Note(Note::ExecutorRefused { executor: ExecutorId(0), reason }),
            to_executor(0, DriverToExecutor::RegisterExecutorFailed(reason)),
            closed(0),
        ]
    );
}

#[test]
fn an_executor_that_registers_twice_is_given_up() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    assert_eq!(
        bench.executor(0, register(0, 1)),
        [
            Effect::Note(Note::UnexpectedMessage { peer: peer(0) }),
            lost(0, ExecutorLoss::Misbehaved, 1),
            to_executor(0, DriverToExecutor::StopExecutor),
            closed(0),
            discard(attempt(0, 0)),
            kill_asked(&[0]),
        ]
    );
}

#[test]
fn an_executor_that_runs_and_does_not_come_is_ended_and_replaced_and_two_exclude_their_host() {
    let mut bench = Bench::registered();
    bench.executor(0, register(0, 1));
    bench.added(1, 1);
    assert_eq!(bench.next_deadline(), None, "its Worker may have much to fetch for it");
    bench.updated(1, ExecutorState::Running);
    let (at, reason) = bench.next_deadline().expect("it is expected");
    assert_eq!((at.since(bench.now).as_secs(), reason), (120, Reason::ExecutorDelay(ExecutorId(1))));
    let absent = |executor| Note::ExecutorAbsent {
        executor: ExecutorId(executor),
        host: format!("h{executor}"),
        waited: Duration::from_secs(120),
    };
    let effects = bench.pass(Duration::from_secs(120));
    assert_eq!(effects, [Effect::Note(absent(1)), kill_asked(&[1])], "the target stays");
    assert_eq!(bench.next_deadline(), None);
    // The executor registers late, and takes no task.
    bench.executor(1, register(1, 1));
    bench.submit(0, 1);
    assert_eq!(bench.submit(1, 1), []);
}

#[test]
fn an_executor_that_comes_in_time_is_waited_for_no_more() {
    let mut bench = Bench::registered();
    bench.added(0, 1);
    bench.updated(0, ExecutorState::Running);
    bench.executor(0, register(0, 1));
    bench.updated(0, ExecutorState::Running);
    assert_eq!(bench.next_deadline(), None);
}
