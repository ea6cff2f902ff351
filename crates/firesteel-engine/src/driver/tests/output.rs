//! Tests of the output of attempts and its credit.

use bytes::Bytes;
use firesteel_protocol::ids::{AttemptId, ExecutorId};
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver, Stream};

use super::bench::*;
use crate::driver::{Effect, Event, ExecutorLoss, Note};

fn output(bench: &mut Bench, attempt: AttemptId, length: usize) -> Vec<Effect> {
    let (stream, bytes) = (Stream::Stderr, Bytes::from(vec![b'x'; length]));
    bench.executor(0, ExecutorToDriver::TaskOutput { attempt, stream, bytes })
}

fn handed_on(attempt: AttemptId, length: usize) -> Effect {
    Effect::Output { attempt, stream: Stream::Stderr, bytes: Bytes::from(vec![b'x'; length]) }
}

#[test]
fn output_is_handed_on_and_what_was_put_away_may_come_again() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let a = attempt(0, 0);
    assert_eq!(output(&mut bench, a, 1000), [handed_on(a, 1000)]);
    assert_eq!(bench.apply(Event::OutputConsumed { attempt: a, bytes: 249 }), []);
    let credit = DriverToExecutor::OutputCredit { attempt: a, bytes: 250 };
    assert_eq!(bench.apply(Event::OutputConsumed { attempt: a, bytes: 1 }), [to_executor(0, credit)]);
    assert_eq!(output(&mut bench, a, 250), [handed_on(a, 250)]);
    assert_eq!(output(&mut bench, a, 0), []);
}

#[test]
fn an_executor_that_sends_more_than_its_credit_is_given_up() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let a = attempt(0, 0);
    let executor = ExecutorId(0);
    let (loss, host) = (ExecutorLoss::Misbehaved, "h0".to_owned());
    assert_eq!(
        output(&mut bench, a, 1001),
        [
            Effect::Note(Note::CreditExceeded { executor, attempt: a, sent: 1001, granted: 1000 }),
            Effect::Note(Note::ExecutorLost { executor, host, loss, tasks: 1 }),
            to_executor(0, DriverToExecutor::StopExecutor),
            closed(0),
            discard(a),
            kill_asked(&[0]),
        ]
    );
    assert_eq!(output(&mut bench, a, 1), []);
}

#[test]
fn output_and_credit_of_attempts_that_are_over_go_nowhere() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    let a = attempt(0, 0);
    output(&mut bench, a, 500);
    bench.end(0, a, exit(0));
    assert_eq!(output(&mut bench, a, 1), []);
    assert_eq!(bench.apply(Event::OutputConsumed { attempt: a, bytes: 500 }), []);
}
