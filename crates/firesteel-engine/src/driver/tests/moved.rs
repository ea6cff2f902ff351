//! A Master that restarts at another address, and an application that the cluster's manager ends.

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{ApplicationEnd, DriverToExecutor};

use super::bench::*;
use crate::driver::{Effect, Ending, Event, Note};

fn moved(hosts: &[&str]) -> Event {
    Event::MastersMoved { masters: hosts.iter().map(|host| master(host)).collect() }
}

fn connect(host: &str) -> Effect {
    Effect::Connect { master: master(host) }
}

#[test]
fn a_driver_goes_to_where_its_master_is_now() {
    let mut bench = Bench::registered();
    let effects = bench.apply(moved(&["m2"]));
    let lost = Effect::Note(Note::MasterLost { master: master("m1") });
    assert_eq!(effects, [Effect::Close { peer: MASTER }, lost, connect("m2")]);
    assert_eq!(bench.apply(Event::Disconnected { peer: MASTER }), []);
    assert_eq!(bench.apply(moved(&["m2"])), [], "it is being dialled");
    bench.apply(Event::Connected { peer: PeerId(7), master: master("m2"), leadership: Leadership::ALONE });
    assert_eq!(bench.apply(moved(&["m2"])), [], "it was asked");
}

#[test]
fn a_driver_that_has_lost_its_master_does_not_wait_for_the_next_round() {
    let mut bench = Bench::registered();
    bench.apply(Event::Disconnected { peer: MASTER });
    assert_eq!(bench.apply(moved(&["m2", "m2"])), [connect("m2")]);
}

#[test]
fn where_a_master_was_nobody_is_asked_any_more() {
    let mut bench = Bench::new(&["m1"]);
    assert_eq!(bench.apply(Event::Start), [connect("m1")]);
    assert_eq!(bench.apply(moved(&["m2"])), [connect("m2")]);
    let late =
        bench.apply(Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE });
    assert_eq!(late, [Effect::Close { peer: MASTER }]);
    let failed = Event::ConnectFailed { master: master("m1"), error: ConnectError::unreachable("refused") };
    assert_eq!(bench.apply(failed), []);
}

#[test]
fn an_application_that_was_ended_without_a_master_is_over() {
    let mut bench = Bench::with_executors(&[1]);
    bench.apply(Event::Disconnected { peer: MASTER });
    let end = ApplicationEnd::Killed { by: "ann".to_owned() };
    let effects = bench.apply(Event::Removed { end: end.clone() });
    let stop = to_executor(0, DriverToExecutor::StopExecutor);
    assert_eq!(effects, [stop, Effect::Done(Ending::Removed(end)), Effect::Exit]);
}
