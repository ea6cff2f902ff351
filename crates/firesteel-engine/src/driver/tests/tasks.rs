//! Tests: the executors on which tasks run, and the ends of tasks.

use super::bench::*;
use crate::driver::{
    Effect, Ending, Event, FailureCause, Note, Replacement, TaskOutcome, TaskRequest, Unfit, Until,
};
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{AppId, ExecutorId, TaskId};
use firesteel_protocol::messages::{
    DriverToExecutor, DriverToMaster, ExecutorState, ExecutorToDriver, MasterToDriver, Outcome, TaskEnd,
};
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};

#[test]
fn a_task_runs_on_an_executor_and_the_application_ends_with_the_last_one() {
    let mut bench = Bench::with_executors(&[1]);
    assert_eq!(bench.submit(0, 1), [launch(0, attempt(0, 0))]);
    assert_eq!(bench.submit(1, 1), []);
    let outcome = Some(Outcome::failed("1 of 2 items failed"));
    assert_eq!(bench.apply(Event::Finish { outcome: outcome.clone() }), []);
    let first = bench.end(0, attempt(0, 0), exit(0));
    assert_eq!(first, [succeeded(attempt(0, 0), 0), launch(0, attempt(1, 0))]);
    let last = bench.end(0, attempt(1, 0), exit(0));
    let unregister = DriverToMaster::UnregisterApplication { app: AppId::new("app-1"), outcome };
    assert_eq!(
        last,
        [
            succeeded(attempt(1, 0), 0),
            to_executor(0, DriverToExecutor::StopExecutor),
            to_master(unregister),
            Effect::Done(Ending::Completed),
            Effect::Exit,
        ]
    );
    assert_eq!(bench.updated(0, ExecutorState::Killed(None)), []);
    assert_eq!(bench.next_deadline(), None);
}

#[test]
fn an_executor_that_is_said_to_leave_gets_no_more_tasks() {
    let mut bench = Bench::with_executors(&[2, 1]);
    assert_eq!(bench.submit(0, 1), [launch(0, attempt(0, 0))]);
    let leaving = |executor| MasterToDriver::ExecutorLeaving { executor: ExecutorId(executor), host: None };
    assert_eq!(bench.master(leaving(0)), []);
    assert_eq!(bench.master(leaving(7)), [], "nobody knows it");
    assert_eq!(bench.submit(1, 1), [launch(1, attempt(1, 0))]);
    assert_eq!(bench.submit(2, 1), [], "the other one has no room");
    // Running tasks continue. Once the executor has no task, it is ended, and the Master replaces it.
    let ends = |executor| {
        let executors = vec![ExecutorId(executor)];
        let killed = Note::ExecutorsKilled { executors, replacement: Replacement::Wanted };
        [Effect::Note(killed), kill_asked(&[executor])]
    };
    let end = bench.end(0, attempt(0, 0), exit(0));
    assert_eq!(end, [vec![succeeded(attempt(0, 0), 0)], ends(0).to_vec()].concat());
    let next = bench.end(1, attempt(1, 0), exit(0));
    assert_eq!(next, [succeeded(attempt(1, 0), 1), launch(1, attempt(2, 0))]);
    assert_eq!(bench.end(1, attempt(2, 0), exit(0)), [succeeded(attempt(2, 0), 1)]);
    assert_eq!(bench.master(leaving(1)), ends(1), "it has no task");
    assert_eq!(bench.master(leaving(1)), [], "once");
}

#[test]
fn an_executor_that_is_said_to_leave_before_it_registers_is_ended_at_once() {
    let mut bench = Bench::registered();
    bench.added(0, 2);
    let leaving = MasterToDriver::ExecutorLeaving { executor: ExecutorId(0), host: None };
    let effects = bench.master(leaving);
    assert!(
        matches!(&effects[..], [Effect::Note(Note::ExecutorsKilled { .. }), Effect::Send { .. }]),
        "{effects:?}"
    );
}

#[test]
fn executors_take_turns_with_one_task_each() {
    let mut bench = Bench::registered();
    for task in 0..7 {
        assert_eq!(bench.submit(task, 1), []);
    }
    let on_two: Vec<_> = bench.executor(0, register(0, 2)).split_off(2);
    assert_eq!(on_two, [launch(0, attempt(0, 0)), launch(0, attempt(1, 0))]);
    bench.executor(1, register(1, 2));
    bench.executor(2, register(2, 1));
    let view = bench.driver.view();
    let running: Vec<_> = view.executors.iter().map(|executor| executor.running.clone()).collect();
    assert_eq!(running, [vec![TaskId(0), TaskId(1)], vec![TaskId(2), TaskId(3)], vec![TaskId(4)]]);

    let mut bench = Bench::with_executors(&[2, 2, 1]);
    let launched: Vec<_> = (0..6).flat_map(|task| bench.submit(task, 1)).collect();
    let turns = [0, 1, 2, 0, 1];
    let expected: Vec<_> = (0..).zip(turns).map(|(task, on)| launch(on, attempt(task, 0))).collect();
    assert_eq!(launched, expected);
}

#[test]
fn a_task_takes_its_cores_and_a_smaller_one_is_not_held_back() {
    let mut bench = Bench::with_executors(&[3]);
    assert_eq!(bench.submit(0, 2), [launch_sized(0, attempt(0, 0), 2)]);
    assert_eq!(bench.submit(1, 2), []);
    assert_eq!(bench.submit(2, 1), [launch(0, attempt(2, 0))]);
    let next = bench.end(0, attempt(0, 0), exit(0));
    assert_eq!(next, [succeeded(attempt(0, 0), 0), launch_sized(0, attempt(1, 0), 2)]);
}

#[test]
fn a_failed_task_runs_again_elsewhere_before_all_later_ones() {
    let mut bench = Bench::with_executors(&[1, 1]);
    for task in 0..4 {
        bench.submit(task, 1);
    }
    let a = attempt(0, 0);
    let failed = bench.end(0, a, exit(1));
    let cause = FailureCause::Ended(exit(1));
    assert_eq!(failed, [failure_noted(a, 0, cause, 1), discard(a), launch(0, attempt(2, 0))]);
    let other = bench.end(1, attempt(1, 0), exit(0));
    assert_eq!(other, [succeeded(attempt(1, 0), 1), launch(1, attempt(0, 1))]);
}

#[test]
fn a_task_that_failed_everywhere_may_run_anywhere() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let a = attempt(0, 0);
    let effects = bench.end(0, a, exit(1));
    let cause = FailureCause::Ended(exit(1));
    assert_eq!(effects, [failure_noted(a, 0, cause, 1), discard(a), launch(0, attempt(0, 1))]);
}

#[test]
fn an_executor_too_small_for_a_task_does_not_keep_it_from_the_one_where_it_failed() {
    let mut bench = Bench::with_executors(&[2, 1]);
    bench.submit(0, 2);
    let a = attempt(0, 0);
    let effects = bench.end(0, a, exit(1));
    let cause = FailureCause::Ended(exit(1));
    assert_eq!(effects, [failure_noted(a, 0, cause, 1), discard(a), launch_sized(0, attempt(0, 1), 2)]);
}

#[test]
fn a_retry_prefers_another_host() {
    let mut bench = Bench::with_executors(&[1]);
    let mut same_host = |id: u32, at: &str| {
        let mut message = register(id, 1);
        if let ExecutorToDriver::RegisterExecutor { host, .. } = &mut message {
            at.clone_into(host);
        }
        bench.executor(id, message);
    };
    same_host(1, "h0");
    same_host(2, "h2");
    bench.submit(0, 1);
    let a = attempt(0, 0);
    let effects = bench.end(0, a, exit(1));
    let cause = FailureCause::Ended(exit(1));
    assert_eq!(effects, [failure_noted(a, 0, cause, 1), discard(a), launch(2, attempt(0, 1))]);
}

#[test]
fn a_task_that_failed_as_often_as_it_may_is_given_up_with_its_last_output() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let failure = StartFailure { step: StartStep::Program, error: "nonesuch: not found".to_owned() };
    let end = TaskEnd::NotStarted(failure);
    let cause = FailureCause::Ended(end.clone());
    for number in 0..2 {
        let a = attempt(0, number);
        let again =
            [failure_noted(a, 0, cause.clone(), number + 1), discard(a), launch(0, attempt(0, number + 1))];
        assert_eq!(bench.end(0, a, end.clone()), again);
    }
    let last = attempt(0, 2);
    let outcome = TaskOutcome::Failed {
        attempt: last,
        executor: ExecutorId(0),
        locality: None,
        failures: 3,
        cause: cause.clone(),
    };
    assert_eq!(bench.end(0, last, end.clone()), [failure_noted(last, 0, cause, 3), ended(0, outcome)]);
    assert_eq!(bench.end(0, last, end), [], "a task ends once");
    assert_eq!(bench.driver.view().failed, 1);
}

#[test]
fn a_task_that_starts_on_no_host_with_executors_is_not_tried_there_again() {
    let failure = StartFailure { step: StartStep::Lookup, error: "nonesuch: not found".to_owned() };
    let end = TaskEnd::NotStarted(failure.clone());
    let over = |executor, attempt, hosts| TaskOutcome::Failed {
        attempt,
        executor: ExecutorId(executor),
        locality: None,
        failures: hosts as u32,
        cause: FailureCause::StartsNowhere { failure: failure.clone(), hosts },
    };
    let noted = |executor, attempt, failures| {
        failure_noted(attempt, executor, FailureCause::Ended(end.clone()), failures)
    };

    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let a = attempt(0, 0);
    assert_eq!(bench.end(0, a, end.clone()), [noted(0, a, 1), ended(0, over(0, a, 1))]);

    let mut bench = Bench::with_executors(&[1, 1]);
    bench.submit(0, 1);
    let (a, b) = (attempt(0, 0), attempt(0, 1));
    assert_eq!(bench.end(0, a, end.clone()), [noted(0, a, 1), discard(a), launch(1, b)]);
    assert_eq!(bench.end(1, b, end.clone()), [noted(1, b, 2), ended(0, over(1, b, 2))]);
}

#[test]
fn a_task_that_returns_a_fatal_exit_code_is_not_retried() {
    let mut bench = Bench::with_executors(&[1, 1]);
    bench.submit(0, 1);
    let a = attempt(0, 0);
    let cause = FailureCause::FatalExit(ExitStatus::Code(124));
    let executor = ExecutorId(0);
    let outcome =
        TaskOutcome::Failed { attempt: a, executor, locality: None, failures: 1, cause: cause.clone() };
    assert_eq!(bench.end(0, a, exit(124)), [failure_noted(a, 0, cause, 1), ended(0, outcome)]);
    assert_eq!(bench.driver.view().failed, 1);

    bench.submit(1, 1);
    let a = attempt(1, 0);
    let signal = TaskEnd::Exited(ExitStatus::Signal(124));
    let cause = FailureCause::Ended(signal.clone());
    let again = [failure_noted(a, 1, cause, 1), discard(a), launch(0, attempt(1, 1))];
    assert_eq!(bench.end(1, a, signal), again, "a signal is no exit code");
}

#[test]
fn a_task_may_have_a_limit_of_its_own() {
    let mut bench = Bench::with_executors(&[1]);
    let request = TaskRequest { max_failures: Some(1), ..spec(1).into() };
    bench.apply(Event::Submit { task: TaskId(0), request });
    let cause = FailureCause::Ended(exit(3));
    let note = Note::TaskFailed {
        attempt: attempt(0, 0),
        executor: ExecutorId(0),
        host: "h0".to_owned(),
        cause: cause.clone(),
        failures: 1,
        limit: 1,
    };
    let outcome = TaskOutcome::Failed {
        attempt: attempt(0, 0),
        executor: ExecutorId(0),
        failures: 1,
        cause,
        locality: None,
    };
    assert_eq!(bench.end(0, attempt(0, 0), exit(3)), [Effect::Note(note), ended(0, outcome)]);
}

#[test]
fn a_task_larger_than_every_executor_is_said_once_and_waits() {
    let mut bench = Bench::with_executors(&[2]);
    let note = Note::TaskTooLarge { task: TaskId(0), cores: Cores(4), largest: Cores(2) };
    assert_eq!(bench.submit(0, 4), [Effect::Note(note)]);
    assert_eq!(bench.submit(1, 4), []);
    let larger = bench.executor(1, register(1, 4));
    assert_eq!(larger.last(), Some(&launch_sized(1, attempt(0, 0), 4)));
}

#[test]
fn cancelling_ends_every_task_once_and_stops_the_executors() {
    let mut bench = Bench::with_executors(&[1, 1]);
    for task in 0..3 {
        bench.submit(task, 1);
    }
    let outcome = Some(Outcome::cancelled("none of 3 items done"));
    let unregister =
        DriverToMaster::UnregisterApplication { app: AppId::new("app-1"), outcome: outcome.clone() };
    assert_eq!(
        bench.apply(Event::Cancel { outcome, until: Until::NothingLeft }),
        [
            cancelled(0),
            cancelled(1),
            cancelled(2),
            to_executor(0, DriverToExecutor::StopExecutor),
            to_executor(1, DriverToExecutor::StopExecutor),
            to_master(unregister),
            Effect::Done(Ending::Cancelled),
        ]
    );
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), []);
    assert_eq!(bench.apply(Event::Cancel { outcome: None, until: Until::NothingLeft }), []);
}

#[test]
fn a_task_that_fits_no_frame_fails_at_once() {
    let mut bench = Bench::with_executors(&[1]);
    let stdin = bytes::Bytes::from(vec![0; firesteel_protocol::wire::MAX_FRAME]);
    let too_long = firesteel_protocol::messages::TaskSpec { stdin, ..spec(1) };
    let effects = bench.apply(Event::Submit { task: TaskId(0), request: too_long.into() });
    let outcome = TaskOutcome::Unfit(Unfit::TooLong { length: 16_777_289, limit: 15_727_616 });
    assert_eq!(effects, [ended(0, outcome)]);
    assert_eq!(bench.submit(1, 1), [launch(0, attempt(1, 0))]);
}

#[test]
fn the_longest_task_fits_a_frame_with_the_most_addresses() {
    let mut longest = spec(1);
    longest.command.arguments = vec![String::new(); 1000];
    longest.stdin =
        bytes::Bytes::from(vec![0; crate::driver::tasks::unfit::MAX_TASK - longest.wire_length()]);
    let addresses = |name: &str, length: usize| (name.to_owned(), vec!["a".repeat(length)]);
    let most = |length| Resources::from_iter([addresses("gpu", length), addresses("nic", 1 << 19)]);
    let admitted = |resources: Resources| {
        let mut message = register(0, 1);
        if let ExecutorToDriver::RegisterExecutor { resources: own, .. } = &mut message {
            own.clone_from(&resources);
        }
        let effects = Bench::registered().executor(0, message);
        effects.contains(&to_executor(0, confirmation()))
    };
    let resources = most((1 << 19) - 36);
    assert!(admitted(resources.clone()) && !admitted(most((1 << 19) - 35)));
    let message = DriverToExecutor::LaunchTask {
        attempt: attempt(u64::MAX, u32::MAX),
        spec: longest,
        resources,
        credit: u64::MAX,
    };
    assert!(firesteel_protocol::wire::encode(&message, firesteel_protocol::wire::MAX_FRAME).is_ok());
}

#[test]
fn a_task_out_of_order_is_ignored() {
    let mut bench = Bench::registered();
    bench.submit(3, 1);
    for task in [3, 2] {
        assert_eq!(bench.submit(task, 1), [Effect::Note(Note::UnexpectedTask { task: TaskId(task) })]);
    }
    bench.apply(Event::Finish { outcome: None });
    assert_eq!(bench.submit(4, 1), [Effect::Note(Note::UnexpectedTask { task: TaskId(4) })]);
}

#[test]
fn words_from_an_executor_about_another_ones_task_change_nothing() {
    let mut bench = Bench::with_executors(&[1, 1]);
    bench.submit(0, 1);
    assert_eq!(bench.end(1, attempt(0, 0), exit(0)), []);
    assert_eq!(bench.end(0, attempt(0, 1), exit(0)), []);
    assert_eq!(bench.end(0, attempt(9, 0), exit(0)), []);
    assert_eq!(bench.driver.view().executors[0].id, ExecutorId(0));
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 0)]);
}

#[test]
fn a_task_for_one_executor_waits_for_that_one_and_goes_with_it() {
    let mut bench = Bench::with_executors(&[1, 2]);
    let on = |executor, cores| TaskRequest { on: Some(ExecutorId(executor)), ..spec(cores).into() };
    let submit = |task, request| Event::Submit { task: TaskId(task), request };
    // Executor 0 would be next in rotation, and is free.
    assert_eq!(bench.apply(submit(0, on(1, 1))), [launch(1, attempt(0, 0))]);
    assert_eq!(bench.apply(submit(1, on(1, 1))), [launch(1, attempt(1, 0))]);
    assert_eq!(bench.apply(submit(2, on(1, 1))), [], "it waits, though executor 0 is free");
    let cause = FailureCause::Ended(exit(1));
    let failed =
        [failure_noted(attempt(0, 0), 1, cause, 1), discard(attempt(0, 0)), launch(1, attempt(0, 1))];
    assert_eq!(bench.end(1, attempt(0, 0), exit(1)), failed, "it fails, and runs there again");

    let unfit = |task, unfit| ended(task, TaskOutcome::Unfit(unfit));
    let few = Unfit::TooFewCores { executor: ExecutorId(0), asked: Cores(2), has: Cores(1) };
    assert_eq!(bench.apply(submit(3, on(0, 2))), [unfit(3, few)]);
    let gone = |executor| Unfit::NoSuchExecutor { executor: ExecutorId(executor) };
    assert_eq!(bench.apply(submit(4, on(7, 1))), [unfit(4, gone(7))]);

    let effects = bench.updated(1, ExecutorState::Killed(None));
    assert!(effects.contains(&discard(attempt(0, 1))), "{effects:?}");
    let ends = [0, 1, 2].map(|task| unfit(task, gone(1)));
    assert!(ends.iter().all(|end| effects.contains(end)), "{effects:?}");
    assert_eq!(bench.driver.view().waiting, 0);
}
