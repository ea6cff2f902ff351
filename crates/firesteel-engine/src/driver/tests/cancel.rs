//! Cancelling a single task.

use std::time::Duration;

use bytes::Bytes;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, TaskId};
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorState, ExecutorToDriver, MasterToDriver, Stream, TaskEnd,
};
use firesteel_protocol::process::ExitStatus;

use super::bench::*;
use crate::driver::{Effect, Ending, Event, ExecutorLoss, Inbound, Note, Until};

fn cancel(bench: &mut Bench, task: u64) -> Vec<Effect> {
    bench.apply(Event::CancelTask { task: TaskId(task) })
}

fn kill(on: u32, task: u64) -> Effect {
    to_executor(on, DriverToExecutor::KillTask { attempt: attempt(task, 0) })
}

#[test]
fn a_task_that_waits_is_given_up_at_once_and_never_runs() {
    let mut bench = Bench::with_executors(&[1]);
    for task in 0..3 {
        bench.submit(task, 1);
    }
    assert_eq!(cancel(&mut bench, 1), [cancelled(1)]);
    assert_eq!(cancel(&mut bench, 1), [], "it has ended");
    let next = bench.end(0, attempt(0, 0), exit(0));
    assert_eq!(next, [succeeded(attempt(0, 0), 0), launch(0, attempt(2, 0))]);
    let view = bench.driver.view();
    assert_eq!((view.cancelled, view.waiting, view.running), (1, 0, 1));
}

#[test]
fn a_task_that_runs_keeps_its_cores_until_its_executor_says_that_it_has_ended() {
    for end in [TaskEnd::Killed, exit(0), exit(1), TaskEnd::Exited(ExitStatus::Signal(15))] {
        let mut bench = Bench::with_executors(&[1]);
        bench.submit(0, 1);
        bench.submit(1, 1);
        assert_eq!(cancel(&mut bench, 0), [kill(0, 0)]);
        assert_eq!(cancel(&mut bench, 0), [], "it has been told");
        assert_eq!(bench.driver.view().executors[0].running, [TaskId(0)]);
        let next = bench.end(0, attempt(0, 0), end.clone());
        assert_eq!(next, [cancelled(0), launch(0, attempt(1, 0))], "{end:?}");
        assert_eq!(bench.end(0, attempt(0, 0), end), [], "repeated");
        assert_eq!(bench.driver.view().failed_attempts, 0);
    }
}

#[test]
fn nobody_wants_the_output_of_a_task_that_was_given_up() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    cancel(&mut bench, 0);
    let bytes = Bytes::from_static(b"late");
    let output = ExecutorToDriver::TaskOutput { attempt: attempt(0, 0), stream: Stream::Stdout, bytes };
    assert_eq!(bench.executor(0, output), []);
    assert_eq!(bench.apply(Event::OutputConsumed { attempt: attempt(0, 0), bytes: 4 }), []);
}

#[test]
fn a_lost_executor_ends_the_task_that_was_given_up_and_repeats_the_other() {
    let crashed = ExecutorState::Exited(ExitStatus::Signal(9));
    let mut bench = Bench::with_executors(&[2]);
    bench.submit(0, 1);
    bench.submit(1, 1);
    cancel(&mut bench, 0);
    bench.apply(Event::Disconnected { peer: peer(0) });
    let lost = bench.updated(0, crashed.clone());
    let loss = ExecutorLoss::Ended(crashed.clone());
    let lost_note = Note::ExecutorLost { executor: ExecutorId(0), host: "h0".to_owned(), loss, tasks: 2 };
    let cause = crate::driver::FailureCause::ExecutorDied(crashed);
    assert_eq!(
        lost,
        [
            Effect::Note(lost_note),
            cancelled(0),
            failure_noted(attempt(1, 0), 0, cause, 1),
            discard(attempt(1, 0)),
        ]
    );
}

#[test]
fn a_task_of_a_disconnected_executor_waits_for_the_executors_end() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: peer(0) });
    assert_eq!(cancel(&mut bench, 0), [], "there is nobody to tell");
    let lost = bench.pass(Duration::from_secs(5));
    assert_eq!(lost.get(1..), Some(&[cancelled(0), kill_asked(&[0])][..]));
}

#[test]
fn a_task_that_failed_and_waits_again_is_given_up_at_once() {
    let mut bench = Bench::with_executors(&[1, 1]);
    for task in 0..3 {
        bench.submit(task, 1);
    }
    bench.end(0, attempt(0, 0), exit(1));
    assert_eq!(cancel(&mut bench, 0), [cancelled(0)]);
    assert_eq!(bench.end(1, attempt(1, 0), exit(0)), [succeeded(attempt(1, 0), 1)]);
}

#[test]
fn the_application_ends_with_the_last_task_that_was_given_up() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Finish { outcome: None });
    cancel(&mut bench, 0);
    let last = bench.end(0, attempt(0, 0), TaskEnd::Killed);
    assert_eq!(last.first(), Some(&cancelled(0)));
    assert_eq!(last[last.len() - 2..], [Effect::Done(Ending::Completed), Effect::Exit]);
    assert_eq!(bench.next_deadline(), None);
}

#[test]
fn a_task_that_nobody_knows_cannot_be_given_up() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.end(0, attempt(0, 0), exit(0));
    assert_eq!(cancel(&mut bench, 0), []);
    assert_eq!(cancel(&mut bench, 7), []);
}

#[test]
fn whoever_stays_after_the_end_hears_when_nothing_is_left_or_nobody_can_say_so() {
    let gone = |app: &str| MasterToDriver::ExecutorsGone { app: AppId::new(app) };
    let said = |peer, app| Event::Received { peer, message: Inbound::Master(gone(app)) };
    let mut bench = Bench::with_executors(&[1]);
    assert_eq!(bench.apply(said(MASTER, "app-1")), [], "nobody asked for the end");
    bench.apply(Event::Cancel { outcome: None, until: Until::NothingLeft });
    assert_eq!(bench.apply(said(MASTER, "app-2")), [], "it is about another one");
    assert_eq!(bench.apply(said(PeerId(77), "app-1")), [], "a stranger says it");
    assert_eq!(bench.apply(said(MASTER, "app-1")), [Effect::Exit]);
    let mut bench = Bench::with_executors(&[1]);
    bench.apply(Event::Cancel { outcome: None, until: Until::NothingLeft });
    assert_eq!(bench.apply(Event::Disconnected { peer: PeerId(77) }), []);
    assert_eq!(bench.apply(Event::Disconnected { peer: MASTER }), [Effect::Exit]);
    assert_eq!(bench.apply(said(MASTER, "app-1")), [], "it has ended");
}

#[test]
fn whoever_does_not_stay_ends_once_the_master_is_told() {
    let mut bench = Bench::with_executors(&[1]);
    let told = bench.apply(Event::Cancel { outcome: None, until: Until::Notified });
    assert_eq!(told[told.len() - 2..], [Effect::Done(Ending::Cancelled), Effect::Exit]);
    let mut bench = Bench::with_executors(&[1]);
    bench.apply(Event::Disconnected { peer: MASTER });
    let alone = bench.apply(Event::Cancel { outcome: None, until: Until::NothingLeft });
    assert_eq!(alone[alone.len() - 2..], [Effect::Done(Ending::Cancelled), Effect::Exit]);
}
