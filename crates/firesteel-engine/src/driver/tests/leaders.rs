//! Tests with several Masters, of which one leads.

use firesteel_protocol::master_search::Due;
use std::time::Duration;

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::leadership::{LeaderConflict, Leadership};
use firesteel_protocol::messages::{DriverToMaster, MasterToDriver};

use super::bench::*;
use crate::driver::{Effect, Event, Inbound, Note, Outbound, Reason};

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
