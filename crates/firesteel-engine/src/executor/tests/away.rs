//! The connection to the driver breaks, and the executor returns.

use firesteel_protocol::exchange::{ACKNOWLEDGED_MESSAGES, ResumeError};

use super::*;

/// The driver waits 30 s for an executor whose connection broke.
const AWAY: HeartbeatRules = HeartbeatRules { away_millis: 30_000, ..NO_HEARTBEATS };

fn registered() -> Bench {
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    bench.accepted(0);
    bench
}

impl Bench {
    /// The driver accepts the executor, and has received this many messages.
    fn accepted(&mut self, received: u64) -> Vec<Effect> {
        self.receive(DriverToExecutor::RegisteredExecutor { rules: AWAY, received })
    }

    /// Connects again. Returns how many messages the executor says that it has received.
    fn connect_again(&mut self) -> Option<u64> {
        match self.apply(Event::Connected { peer: PeerId(2) }).as_slice() {
            [Effect::Send(ExecutorToDriver::RegisterExecutor { received, .. })] => *received,
            other => panic!("{other:?}"),
        }
    }

    fn fail(&mut self, trouble: ExecutorTrouble) -> Vec<Effect> {
        self.apply(Event::ConnectFailed { trouble, error: "no".to_owned() })
    }

    fn next(&self) -> Option<(Duration, Reason)> {
        self.executor.next_deadline().map(|(at, reason)| (at.since(self.now), reason))
    }
}

fn away() -> Effect {
    Effect::Note(Note::Away { patience: Duration::from_secs(30) })
}

fn back(absent: Duration, again: usize) -> Effect {
    Effect::Note(Note::Back { absent, again })
}

#[test]
fn a_broken_connection_ends_nothing_and_each_lost_message_is_sent_once_more() {
    let mut bench = registered();
    let (a, b) = (attempt(1), attempt(2));
    bench.run(a);
    bench.run(b);
    assert_eq!(bench.apply(Event::Disconnected), [away(), Effect::Connect]);
    let status = ExitStatus::SUCCESS;
    assert_eq!(bench.apply(Event::TaskExited { attempt: a, status }), [], "it waits for the driver");
    bench.now = bench.now + Duration::from_secs(2);
    assert_eq!(bench.connect_again(), Some(2), "two launches");
    // The driver has received that the first task runs.
    let absent = Duration::from_secs(2);
    assert_eq!(
        bench.accepted(1),
        [back(absent, 2), reported(b, TaskState::Running), ended(a, TaskEnd::Exited(status))]
    );
    assert_eq!(bench.executor.attempts().collect::<Vec<_>>(), [b]);
}

#[test]
fn the_driver_is_dialled_again_with_growing_pauses_until_the_time_is_over() {
    let mut bench = registered();
    bench.run(attempt(1));
    bench.apply(Event::Disconnected);
    for pause in [100, 200, 400, 800, 1600, 2000, 2000] {
        assert_eq!(bench.fail(ExecutorTrouble::TimedOut), []);
        // The third executor of its application dials 3 ms later than the first one.
        let pause = Duration::from_millis(pause + 3);
        assert_eq!(bench.next(), Some((pause, Reason::Dial)));
        assert_eq!(bench.pass(pause), [Effect::Connect]);
    }
    let (left, reason) = bench.next().expect("it does not wait for ever");
    assert_eq!(reason, Reason::AwayTooLong);
    let a = attempt(1);
    assert_eq!(bench.pass(left), [drain(a), signal(a, Signal::Terminate)]);
    let end = bench.apply(Event::TaskExited { attempt: a, status: ExitStatus::Signal(15) });
    assert_eq!(end, [Effect::Exit(Exit::DriverLost)]);
}

#[test]
fn a_driver_that_has_ended_is_not_waited_for() {
    for trouble in [ExecutorTrouble::NothingListens, ExecutorTrouble::NoDriver] {
        let mut bench = registered();
        bench.apply(Event::Disconnected);
        assert_eq!(bench.fail(trouble), [Effect::Exit(Exit::DriverLost)], "{trouble:?}");
    }
}

#[test]
fn a_driver_that_does_not_wait_ends_its_executors_with_their_connection() {
    let mut bench = Bench::registered();
    assert_eq!(bench.apply(Event::Disconnected), [Effect::Exit(Exit::DriverLost)]);
}

#[test]
fn an_executor_that_is_no_longer_wanted_or_meets_another_driver_ends() {
    let mut bench = registered();
    bench.apply(Event::Disconnected);
    bench.connect_again();
    let reason = RefusedExecutor::NumberTaken;
    let refused = bench.receive(DriverToExecutor::RegisterExecutorFailed(reason));
    assert_eq!(refused, [Effect::Exit(Exit::GivenUp(reason))]);

    let mut bench = registered();
    bench.apply(Event::Disconnected);
    bench.connect_again();
    let error = ResumeError::Contradiction { received: 7, acknowledged: 0, sent: 0 };
    assert_eq!(bench.accepted(7), [Effect::Exit(Exit::Estranged(error))]);
}

#[test]
fn an_executor_whose_driver_is_silent_hangs_up_and_returns() {
    let second = Duration::from_secs(1);
    let rules = HeartbeatRules { interval_millis: 10_000, patience_millis: 600_000, away_millis: 30_000 };
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    bench.receive(DriverToExecutor::RegisteredExecutor { rules, received: 0 });
    bench.run(attempt(1));
    for _ in 0..5 {
        bench.pass(10 * second);
    }
    let end = bench.pass(10 * second);
    let beat = Effect::Send(ExecutorToDriver::Heartbeat { received: 1, ends: false });
    let silent = Effect::Note(Note::DriverSilent { silence: 60 * second });
    // The driver may stand still for 600 s, as without a return.
    let absent = Effect::Note(Note::Away { patience: 570 * second });
    assert_eq!(end, [beat, silent, Effect::HangUp, absent]);
    assert_eq!(bench.next(), Some((570 * second, Reason::AwayTooLong)));
    let (a, status) = (attempt(1), ExitStatus::SUCCESS);
    assert_eq!(bench.apply(Event::TaskExited { attempt: a, status }), [], "nothing is sent any more");
    assert_eq!(bench.apply(Event::Disconnected), [Effect::Connect]);
    assert_eq!(bench.connect_again(), Some(1));
    let accepted = bench.accepted(1);
    assert_eq!(accepted, [back(Duration::ZERO, 1), ended(a, TaskEnd::Exited(status))]);
}

#[test]
fn an_executor_that_is_away_ends_at_once_when_it_is_told_to() {
    let mut bench = registered();
    bench.apply(Event::Disconnected);
    assert_eq!(bench.apply(Event::Shutdown), [Effect::Exit(Exit::Stopped)]);
}

#[test]
fn an_executor_whose_registration_was_lost_registers_again() {
    let mut bench = Bench::new();
    bench.apply(Event::Start);
    bench.apply(Event::Connected { peer: PeerId(1) });
    assert_eq!(bench.apply(Event::Disconnected), [away(), Effect::Connect]);
    assert_eq!(bench.connect_again(), Some(0));
    assert_eq!(bench.apply(Event::Disconnected), [], "a pause comes first");
    assert_eq!(bench.pass(Duration::from_millis(103)), [Effect::Connect]);
    assert_eq!(bench.fail(ExecutorTrouble::NothingListens), [Effect::Exit(Exit::DriverGone)]);
}

#[test]
fn a_first_dial_that_may_succeed_later_is_repeated_and_its_last_failure_is_told() {
    let unreachable = |trouble| Effect::Exit(Exit::DriverUnreachable { trouble, error: "no".to_owned() });
    for trouble in ExecutorTrouble::ALL {
        let mut bench = Bench::new();
        bench.apply(Event::Start);
        if trouble.is_certain() {
            assert_eq!(bench.fail(trouble), [unreachable(trouble)]);
            continue;
        }
        let patience = Duration::from_secs(30);
        let trying = Effect::Note(Note::Unreachable { error: "no".to_owned(), patience });
        assert_eq!(bench.fail(trouble), [trying]);
        let mut last = bench.clone();
        assert_eq!(bench.pass(Duration::from_millis(103)), [Effect::Connect]);
        assert_eq!(bench.connect_again(), Some(0));
        assert_eq!(bench.accepted(0), [Effect::Note(Note::Registered)]);

        // The time is over while the executor dials.
        assert_eq!(last.pass(Duration::from_millis(103)), [Effect::Connect]);
        assert_eq!(last.pass(patience), [unreachable(trouble)]);
    }
}

#[test]
fn much_that_was_received_is_acknowledged_and_the_end_is_announced() {
    let mut bench = registered();
    bench.run(attempt(1));
    let credit = DriverToExecutor::OutputCredit { attempt: attempt(1), bytes: 1 };
    let mut beats = Vec::new();
    for _ in 0..ACKNOWLEDGED_MESSAGES {
        let is_beat = |effect: &Effect| matches!(effect, Effect::Send(ExecutorToDriver::Heartbeat { .. }));
        beats.extend(bench.receive(credit.clone()).into_iter().filter(is_beat));
    }
    let beat = |received, ends| Effect::Send(ExecutorToDriver::Heartbeat { received, ends });
    assert_eq!(beats, [beat(ACKNOWLEDGED_MESSAGES, false)]);
    bench.apply(Event::Shutdown);
    let end = bench.apply(Event::TaskExited { attempt: attempt(1), status: ExitStatus::Signal(15) });
    let received = ACKNOWLEDGED_MESSAGES + 1;
    assert_eq!(end, [ended(attempt(1), TaskEnd::Killed), beat(received, true), Effect::Exit(Exit::Stopped)]);
}
