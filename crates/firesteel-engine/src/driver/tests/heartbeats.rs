//! Tests: silent executors are lost, and executors receive heartbeats from the driver.

use std::time::Duration;

use firesteel_protocol::ids::{ExecutorId, PeerId};
use firesteel_protocol::machine::Machine;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    DriverToExecutor, DriverToMaster, ExecutorState, ExecutorToDriver, HeartbeatRules, RefusedExecutor,
};

use super::bench::*;
use crate::driver::{Config, Effect, Event, ExecutorLoss, Heartbeats, Note, Reason};

const SECOND: Duration = Duration::from_secs(1);

/// A driver with executors of one core, heartbeats every 10 s and a timeout of 30 s.
fn bench(executors: u32) -> Bench {
    let (interval, timeout) = (10 * SECOND, 30 * SECOND);
    let heartbeats = Heartbeats { interval, timeout, max_failures: 4 };
    let mut bench = Bench::of(Config { heartbeats, ..config(&["m1"]) });
    bench.register();
    for id in 0..executors {
        bench.executor(id, register(id, 1));
    }
    bench
}

/// Lets time pass until the next deadline, and returns the driver's effects.
fn next(bench: &mut Bench) -> Vec<Effect> {
    let (at, _) = bench.driver.next_deadline().expect("heartbeats are due");
    bench.pass(at.since(bench.now))
}

fn beat(id: u32) -> Effect {
    to_executor(id, DriverToExecutor::Heartbeat { received: 0 })
}

/// The effects of the loss of an executor that had one task.
fn lost(id: u32, task: u64) -> Vec<Effect> {
    let (executor, host) = (ExecutorId(id), format!("h{id}"));
    let loss = ExecutorLoss::HeartbeatTimeout { timeout: 30 * SECOND };
    vec![
        Effect::Note(Note::ExecutorLost { executor, host, loss, tasks: 1 }),
        to_executor(id, DriverToExecutor::StopExecutor),
        closed(id),
        discard(attempt(task, 0)),
        kill_asked(&[id]),
    ]
}

fn is_silent(bench: &mut Bench, id: u32) -> Vec<Effect> {
    bench.apply(Event::ArrivedHandled { peer: peer(id) })
}

#[test]
fn executors_are_told_the_rules_and_get_heartbeats() {
    let mut bench = bench(0);
    assert_eq!(bench.driver.next_deadline().map(|(_, reason)| reason), Some(Reason::Starvation));
    let rules = HeartbeatRules { interval_millis: 10_000, patience_millis: 40_000, away_millis: 0 };
    let confirmation = bench.executor(0, register(0, 1));
    assert_eq!(
        confirmation.get(1),
        Some(&to_executor(0, DriverToExecutor::RegisteredExecutor { rules, received: 0 }))
    );
    bench.pass(4 * SECOND);
    bench.executor(1, register(1, 1));
    bench.executor(0, ExecutorToDriver::Heartbeat { received: 0, ends: false });
    assert_eq!(bench.pass(6 * SECOND), [beat(0), beat(1)]);
    let (at, reason) = bench.driver.next_deadline().expect("they go on");
    assert_eq!((at.since(bench.now), reason), (10 * SECOND, Reason::Heartbeat));
}

#[test]
fn an_executor_that_is_silent_is_lost_and_replaced_and_its_tasks_run_elsewhere() {
    let mut bench = bench(2);
    bench.submit(0, 1);
    bench.submit(1, 1);
    for _ in 0..2 {
        assert_eq!(next(&mut bench), [beat(0), beat(1)]);
        bench.executor(1, ExecutorToDriver::Heartbeat { received: 0, ends: false });
    }
    let handle = Effect::HandleArrived { peer: peer(0) };
    assert_eq!(next(&mut bench), [beat(0), beat(1), handle]);
    assert_eq!(is_silent(&mut bench, 1), [], "it sent heartbeats");
    assert_eq!(is_silent(&mut bench, 0), lost(0, 0));
    let moved = bench.end(1, attempt(1, 0), exit(0));
    assert_eq!(moved, [succeeded(attempt(1, 0), 1), launch(1, attempt(0, 1))]);
    assert_eq!(bench.driver.view().failed_attempts, 0, "no task is blamed");

    // The lost executor continues: its messages are ignored, on this connection and on a new one.
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), []);
    let reason = RefusedExecutor::NumberTaken;
    let refusal = DriverToExecutor::RegisterExecutorFailed(reason);
    let again = bench.executor(7, register(0, 1));
    let refused = Note::ExecutorRefused { executor: ExecutorId(0), reason };
    assert_eq!(again, [Effect::Note(refused), to_executor(7, refusal), closed(7)]);
    let end = bench.end(1, attempt(0, 1), exit(0));
    assert_eq!(end, [succeeded(attempt(0, 1), 1)]);
}

#[test]
fn every_message_is_a_sign_of_life_and_what_waits_unread_is_handled_first() {
    let mut bench = bench(1);
    bench.submit(0, 1);
    bench.pass(25 * SECOND);
    let (stream, bytes) = (firesteel_protocol::messages::Stream::Stdout, bytes::Bytes::from_static(b"x"));
    bench.executor(0, ExecutorToDriver::TaskOutput { attempt: attempt(0, 0), stream, bytes });
    let looks = |bench: &mut Bench| {
        let effects = next(bench);
        effects.contains(&Effect::HandleArrived { peer: peer(0) })
    };
    while !looks(&mut bench) {}
    assert_eq!(bench.now.millis(), 1_055_000, "30 s after the output");
    // A heartbeat had arrived but was not handled, because nobody took the driver's reports.
    bench.executor(0, ExecutorToDriver::Heartbeat { received: 0, ends: false });
    assert_eq!(is_silent(&mut bench, 0), []);
    while !looks(&mut bench) {}
    assert_eq!(is_silent(&mut bench, 0), lost(0, 0));
    assert_eq!(is_silent(&mut bench, 0), [], "it is lost once");
}

#[test]
fn a_driver_that_stood_still_gives_its_executors_the_time_again_once() {
    let mut bench = bench(2);
    bench.submit(0, 1);
    let excused = Note::ExecutorsExcused { executors: 2, late: 3570 * SECOND };
    assert_eq!(bench.pass(3600 * SECOND), [beat(0), beat(1), Effect::Note(excused)]);
    bench.executor(1, ExecutorToDriver::Heartbeat { received: 0, ends: false });
    bench.pass(10 * SECOND);
    bench.pass(10 * SECOND);
    bench.executor(1, ExecutorToDriver::Heartbeat { received: 0, ends: false });
    let handle = Effect::HandleArrived { peer: peer(0) };
    assert_eq!(bench.pass(11 * SECOND), [beat(0), beat(1), handle], "it is late again");
    let mut expected = lost(0, 0);
    expected.push(launch(1, attempt(0, 1)));
    assert_eq!(is_silent(&mut bench, 0), expected);
}

#[test]
fn a_master_that_comes_back_is_asked_again_to_end_a_silent_executor_until_it_has_ended() {
    let mut bench = bench(1);
    bench.apply(Event::Disconnected { peer: MASTER });
    while !next(&mut bench).contains(&Effect::HandleArrived { peer: peer(0) }) {}
    is_silent(&mut bench, 0);
    let mut resume = |peer: PeerId, wanted: bool| {
        bench.apply(Event::Connected { peer, master: master("m1"), leadership: Leadership::ALONE });
        let message = crate::driver::Inbound::Master(registered("app-1"));
        let effects = bench.apply(Event::Received { peer, message });
        let asked = effects.iter().any(|effect| match effect {
            Effect::Send { message: crate::driver::Outbound::Master(message), .. } => {
                matches!(message, DriverToMaster::KillExecutors { executors, .. } if *executors == [ExecutorId(0)])
            }
            _ => false,
        });
        assert_eq!(asked, wanted);
        let state = ExecutorState::Killed(None);
        let message = firesteel_protocol::messages::MasterToDriver::ExecutorUpdated {
            executor: ExecutorId(0),
            state,
            lost_host: None,
        };
        bench.apply(Event::Received { peer, message: crate::driver::Inbound::Master(message) });
        bench.apply(Event::Disconnected { peer });
    };
    resume(PeerId(5), true);
    resume(PeerId(6), false);
}
