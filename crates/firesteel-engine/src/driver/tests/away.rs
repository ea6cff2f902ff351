//! The connection of an executor breaks, and the executor returns.

use std::time::Duration;

use bytes::Bytes;
use firesteel_placement::Resources;
use firesteel_protocol::exchange::{ACKNOWLEDGED_BYTES, ResumeError};
use firesteel_protocol::ids::{AttemptId, ExecutorId, PeerId};
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorState, ExecutorToDriver, RefusedExecutor, Stream, TaskState,
};
use firesteel_protocol::secret::Secret;

use super::bench::*;
use crate::driver::{
    Config, Effect, Event, ExecutorLoss, ExecutorViewState, Inbound, Note, Outbound, Reason,
};

const AWAY: Duration = Duration::from_secs(30);

/// The connection on which the first executor returns.
const SECOND: PeerId = PeerId(99);

/// A registered driver that waits for executors whose connection broke, with executors of these cores.
fn waiting(cores: &[i64]) -> Bench {
    let mut bench = Bench::of(Config { away_timeout: AWAY, output_credit: 1 << 20, ..config(&["m1"]) });
    bench.register();
    bench.add_executors(cores);
    bench
}

/// The first executor registers again, and has received this many messages.
fn come_back(bench: &mut Bench, heard: u64) -> Vec<Effect> {
    let size = bench.driver.view().executors.first().map_or(1, |executor| executor.cores.0);
    let mut message = register(0, size);
    if let ExecutorToDriver::RegisterExecutor { received, .. } = &mut message {
        *received = Some(heard);
    }
    bench.apply(Event::Received { peer: SECOND, message: Inbound::Executor(message) })
}

fn confirmed(received: u64) -> Effect {
    let rules = Config { away_timeout: AWAY, ..config(&[]) }.rules();
    to_second(DriverToExecutor::RegisteredExecutor { rules, received })
}

fn to_second(message: DriverToExecutor) -> Effect {
    Effect::Send { peer: SECOND, message: Outbound::Executor(message) }
}

fn launch_of(attempt: AttemptId) -> DriverToExecutor {
    let (spec, resources) = (spec(1), Resources::default());
    DriverToExecutor::LaunchTask { attempt, spec, resources, credit: 1 << 20 }
}

fn is_away() -> Effect {
    let (executor, host) = (ExecutorId(0), "h0".to_owned());
    Effect::Note(Note::ExecutorAway { executor, host, patience: AWAY })
}

fn is_back(absent: Duration) -> Effect {
    Effect::Note(Note::ExecutorBack { executor: ExecutorId(0), host: "h0".to_owned(), absent })
}

fn running(attempt: AttemptId) -> ExecutorToDriver {
    ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Running }
}

#[test]
fn an_executor_that_returns_keeps_its_tasks_and_gets_each_lost_message_once_more() {
    let mut bench = waiting(&[2]);
    bench.submit(0, 1);
    bench.submit(1, 1);
    bench.executor(0, running(attempt(0, 0)));
    assert_eq!(bench.apply(Event::Disconnected { peer: peer(0) }), [is_away()]);
    assert_eq!(bench.driver.view().executors[0].state, ExecutorViewState::Away);
    assert_eq!(bench.submit(2, 1), [], "nothing new goes there");
    bench.apply(Event::CancelTask { task: attempt(0, 0).task });
    bench.now = bench.now + Duration::from_secs(2);
    // The executor has received the first launch only.
    assert_eq!(
        come_back(&mut bench, 1),
        [
            is_back(Duration::from_secs(2)),
            confirmed(1),
            to_second(launch_of(attempt(1, 0))),
            to_second(DriverToExecutor::KillTask { attempt: attempt(0, 0) }),
        ]
    );
    let done = ExecutorToDriver::StatusUpdate { attempt: attempt(1, 0), state: TaskState::Ended(exit(0)) };
    let effects = bench.apply(Event::Received { peer: SECOND, message: Inbound::Executor(done) });
    assert_eq!(effects.last(), Some(&to_second(launch_of(attempt(2, 0)))), "it takes tasks again");
    assert_eq!(bench.driver.view().failed_attempts, 0);
}

#[test]
fn an_executor_that_returns_before_its_old_connection_ends_replaces_it() {
    let mut bench = waiting(&[1]);
    bench.submit(0, 1);
    assert_eq!(come_back(&mut bench, 1), [closed(0), is_back(Duration::ZERO), confirmed(0)]);
    assert_eq!(bench.executor(0, running(attempt(0, 0))), [], "the old connection is not listened to");
    assert_eq!(bench.apply(Event::Disconnected { peer: peer(0) }), []);
    assert_eq!(bench.driver.view().executors[0].state, ExecutorViewState::Offering);
}

#[test]
fn an_executor_that_does_not_return_is_lost_after_its_time() {
    for has_master in [true, false] {
        let mut bench = waiting(&[1, 1]);
        bench.submit(0, 1);
        if !has_master {
            bench.apply(Event::Disconnected { peer: MASTER });
        }
        bench.apply(Event::Disconnected { peer: peer(0) });
        let until = bench.now + AWAY;
        let delay = (until, Reason::ExecutorDelay(ExecutorId(0)));
        if has_master {
            assert_eq!(bench.next_deadline(), Some(delay));
        }
        let effects = bench.pass(AWAY);
        let lost = Note::ExecutorLost {
            executor: ExecutorId(0),
            host: "h0".to_owned(),
            loss: ExecutorLoss::Disconnected,
            tasks: 1,
        };
        assert!(effects.contains(&Effect::Note(lost)), "{effects:?}");
        assert!(effects.contains(&discard(attempt(0, 0))), "{effects:?}");
        let reason = RefusedExecutor::NumberTaken;
        let refused = come_back(&mut bench, 1);
        assert!(
            refused.contains(&to_second(DriverToExecutor::RegisterExecutorFailed(reason))),
            "{refused:?}"
        );
    }
}

#[test]
fn the_master_s_report_ends_an_absence_at_once() {
    let mut bench = waiting(&[1, 1]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: peer(0) });
    let effects = bench.updated(0, ExecutorState::Killed(None));
    let again = to_executor(1, launch_of(attempt(0, 1)));
    assert_eq!(effects.last(), Some(&again));
}

#[test]
fn an_executor_that_said_goodbye_is_not_waited_for() {
    let mut bench = waiting(&[1]);
    let goodbye = ExecutorToDriver::Heartbeat { received: 0, ends: true };
    assert_eq!(bench.executor(0, goodbye), []);
    assert_eq!(bench.submit(0, 1), [], "it takes no more tasks");
    bench.apply(Event::Disconnected { peer: MASTER });
    let effects = bench.apply(Event::Disconnected { peer: peer(0) });
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert_eq!(bench.driver.view().executors, []);
}

#[test]
fn nobody_returns_without_the_secret_or_with_another_past() {
    let mut bench = waiting(&[1]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: peer(0) });
    let mut message = register(0, 1);
    if let ExecutorToDriver::RegisterExecutor { secret, .. } = &mut message {
        *secret = Secret::new("guessed");
    }
    let effects = bench.apply(Event::Received { peer: SECOND, message: Inbound::Executor(message) });
    let reason = RefusedExecutor::WrongSecret;
    assert!(effects.contains(&to_second(DriverToExecutor::RegisterExecutorFailed(reason))), "{effects:?}");
    bench.apply(Event::Disconnected { peer: SECOND });
    let other = bench.apply(Event::Received { peer: SECOND, message: Inbound::Executor(register(0, 8)) });
    let reason = RefusedExecutor::NumberTaken;
    assert!(other.contains(&to_second(DriverToExecutor::RegisterExecutorFailed(reason))), "{other:?}");
    bench.apply(Event::Disconnected { peer: SECOND });
    assert_eq!(bench.driver.view().executors[0].state, ExecutorViewState::Away);

    let effects = come_back(&mut bench, 2);
    let error = ResumeError::Contradiction { received: 2, acknowledged: 0, sent: 1 };
    let estranged = Note::ExecutorEstranged { executor: ExecutorId(0), error };
    assert_eq!(effects.first(), Some(&Effect::Note(estranged)));
    assert_eq!(bench.driver.view().executors, []);
}

#[test]
fn much_output_is_acknowledged_and_what_was_acknowledged_is_not_retained() {
    let mut bench = waiting(&[1]);
    bench.submit(0, 1);
    bench.executor(0, ExecutorToDriver::Heartbeat { received: 1, ends: false });
    let output = ExecutorToDriver::TaskOutput {
        attempt: attempt(0, 0),
        stream: Stream::Stdout,
        bytes: Bytes::from(vec![7; ACKNOWLEDGED_BYTES]),
    };
    let effects = bench.executor(0, output);
    assert_eq!(effects.first(), Some(&to_executor(0, DriverToExecutor::Heartbeat { received: 1 })));
    bench.apply(Event::Disconnected { peer: peer(0) });
    assert_eq!(come_back(&mut bench, 1), [is_back(Duration::ZERO), confirmed(1)]);
}

#[test]
fn an_executor_that_will_leave_still_leaves_after_its_return() {
    use firesteel_protocol::messages::MasterToDriver;
    let mut bench = waiting(&[2]);
    bench.submit(0, 1);
    bench.apply(Event::Disconnected { peer: peer(0) });
    bench.master(MasterToDriver::ExecutorLeaving { executor: ExecutorId(0), host: None });
    come_back(&mut bench, 1);
    assert_eq!(bench.driver.view().executors[0].state, ExecutorViewState::Leaving);
    assert_eq!(bench.submit(1, 1), []);
}
