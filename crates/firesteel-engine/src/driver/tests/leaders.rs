//! Tests with several Masters, of which one leads, and with a Master that restarts at another address.

use firesteel_protocol::master_search::Due;
use std::time::Duration;

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::{LeaderConflict, Leadership};
use firesteel_protocol::messages::{ApplicationEnd, DriverToExecutor, DriverToMaster, MasterToDriver};

use super::bench::*;
use crate::driver::{Effect, Ending, Event, Inbound, Note, Outbound, Reason};

fn connect(host: &str) -> Effect {
    Effect::Connect { master: master(host) }
}

fn connected(peer: u64, host: &str, leadership: Leadership) -> Event {
    Event::Connected { peer: PeerId(peer), master: master(host), leadership }
}

fn from_master(peer: u64, message: MasterToDriver) -> Event {
    Event::Received { peer: PeerId(peer), message: Inbound::Master(message) }
}

fn follows(leader: Option<&str>) -> Leadership {
    Leadership::Elsewhere { leader: leader.map(master) }
}

fn is_asked(effects: &[Effect]) -> bool {
    let asks = |effect: &Effect| {
        let Effect::Send { message: Outbound::Master(message), .. } = effect else { return false };
        matches!(message, DriverToMaster::RegisterApplication(_) | DriverToMaster::ResumeApplication(_))
    };
    effects.iter().any(asks)
}

#[test]
fn a_leader_that_a_standby_names_is_dialled_at_once() {
    let mut bench = Bench::new(&["m2"]);
    assert_eq!(bench.apply(Event::Start), [connect("m2")]);
    assert_eq!(bench.apply(connected(1, "m2", follows(Some("m1")))), [connect("m1")]);
    assert!(is_asked(&bench.apply(connected(2, "m1", Leadership::Here { epoch: 3 }))));
}

#[test]
fn a_driver_is_asked_for_by_a_standby_that_becomes_the_leader() {
    let mut bench = Bench::with_executors(&[1]);
    bench.apply(Event::Disconnected { peer: MASTER });
    (bench.now, _) = bench.next_deadline().expect("it looks for a Master");
    assert_eq!(bench.apply(Event::Deadline), [connect("m1")]);
    assert_eq!(bench.apply(connected(7, "m1", follows(None))), []);
    let (next, reason) = bench.next_deadline().expect("it waits");
    assert_eq!(reason, Reason::Registration(Due::Round));
    assert!(next.since(bench.now) > Duration::from_millis(100), "nobody leads");
    assert_eq!(bench.apply(Event::Disconnected { peer: PeerId(7) }), []);
    let (next, _) = bench.next_deadline().expect("it has hung up, so somebody leads");
    assert!(next.since(bench.now) <= Duration::from_millis(30));
    bench.now = next;
    assert_eq!(bench.apply(Event::Deadline), [connect("m1")]);
    let effects = bench.apply(connected(8, "m1", Leadership::Here { epoch: 2 }));
    assert!(is_asked(&effects), "{effects:?}");
}

#[test]
fn a_standby_is_left_when_another_master_has_the_application() {
    let mut bench = Bench::new(&["m1", "m2"]);
    bench.apply(Event::Start);
    bench.apply(connected(1, "m2", follows(Some("m1"))));
    bench.apply(connected(2, "m1", Leadership::Here { epoch: 1 }));
    let effects = bench.apply(from_master(2, registered("app-1")));
    assert!(effects.contains(&Effect::Close { peer: PeerId(1) }), "{effects:?}");
    let late = bench.apply(connected(3, "m2", follows(Some("m1"))));
    assert_eq!(late, [Effect::Close { peer: PeerId(3) }]);
}

#[test]
fn a_master_of_an_earlier_epoch_is_not_asked_and_strangers_are_noted() {
    let mut bench = Bench::new(&["m1", "m2"]);
    bench.apply(Event::Start);
    assert!(is_asked(&bench.apply(connected(1, "m1", Leadership::Here { epoch: 5 }))));
    let deposed = LeaderConflict::Deposed { master: master("m2"), epoch: 4, latest: 5 };
    let effects = bench.apply(connected(2, "m2", Leadership::Here { epoch: 4 }));
    assert_eq!(effects, [Effect::Note(Note::LeaderConflict(deposed)), Effect::Close { peer: PeerId(2) }]);

    bench.apply(from_master(1, registered("app-1")));
    let strangers = LeaderConflict::Strangers { one: master("m1"), other: master("m2") };
    let effects = bench.apply(connected(3, "m2", Leadership::ALONE));
    assert_eq!(effects, [Effect::Note(Note::LeaderConflict(strangers)), Effect::Close { peer: PeerId(3) }]);
}

fn moved(hosts: &[&str]) -> Event {
    Event::MastersMoved { masters: hosts.iter().map(|host| master(host)).collect() }
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
