//! Several Masters, one of which leads.

use firesteel_protocol::master_search::leadership::LeaderConflict;

use super::*;

fn leads(epoch: u64) -> Leadership {
    Leadership::Here { epoch }
}

/// The hello of a Master that stands by, and names this leader.
fn follows(leader: &str) -> Leadership {
    Leadership::Elsewhere { leader: Some(Address::new(leader, 7077)) }
}

fn stands_by(host: &str, leader: Option<&str>) -> Effect {
    let leader = leader.map(|leader| Address::new(leader, 7077));
    note(Note::MasterStandsBy { master: Address::new(host, 7077), leader })
}

#[test]
fn a_master_that_stands_by_is_not_asked_and_is_left_when_another_one_registers_the_worker() {
    let mut bench = Bench::new(&["a", "b"]);
    assert_eq!(bench.apply(Event::Start), [dial("a"), dial("b")]);
    assert_eq!(bench.connect_to(1, "b", follows("a")), [stands_by("b", Some("a"))]);
    assert_eq!(bench.connect_to(2, "a", leads(1)), [register(2, vec![])]);
    let effects = bench.master(2, registered("a"));
    assert!(effects.contains(&close(1)), "{effects:?}");
    // This connection comes too late to be of use.
    assert_eq!(bench.connect_to(3, "b", follows("a")), [close(3)]);
}

#[test]
fn a_leader_that_is_named_is_dialled_although_nobody_configured_it() {
    let mut bench = Bench::new(&["b"]);
    bench.apply(Event::Start);
    assert_eq!(bench.connect_to(1, "b", follows("a")), [stands_by("b", Some("a")), dial("a")]);
    assert_eq!(bench.connect_to(2, "a", leads(4)), [register(2, vec![])]);
}

#[test]
fn when_a_standby_hangs_up_the_next_round_comes_at_once() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    bench.connect_to(1, "a", leads(1));
    bench.master(1, registered("a"));
    bench.disconnect(1);
    bench.deadline();
    bench.connect_failed("a");
    bench.connect_to(2, "b", Leadership::Elsewhere { leader: None });
    assert!(bench.left() >= Duration::from_millis(500), "nobody leads: {:?}", bench.left());
    bench.disconnect(2);
    assert!(bench.left() <= Duration::from_millis(150), "{:?}", bench.left());
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("a"), dial("b")]));
    // Connecting to the dead Master may take long. The other Master is not kept waiting for this.
    bench.connect_to(3, "b", Leadership::Elsewhere { leader: None });
    bench.disconnect(3);
    assert!(bench.left() <= Duration::from_millis(150), "{:?}", bench.left());
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("b")]));
    assert_eq!(bench.connect_to(4, "b", leads(2)), [register(4, vec![])]);
}

#[test]
fn a_standby_that_is_still_there_is_not_dialled_again() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    bench.connect_to(1, "b", follows("a"));
    bench.connect_failed("a");
    assert_eq!(bench.deadline(), (Reason::Registration(Due::Round), vec![dial("a")]));
}

#[test]
fn a_master_of_an_earlier_epoch_is_not_asked() {
    let mut bench = Bench::new(&["a", "b"]);
    bench.apply(Event::Start);
    bench.connect_to(1, "b", leads(7));
    bench.master(1, registered("b"));
    bench.disconnect(1);
    bench.deadline();
    let deposed = LeaderConflict::Deposed { master: Address::new("a", 7077), epoch: 6, latest: 7 };
    assert_eq!(bench.connect_to(2, "a", leads(6)), [note(Note::LeaderConflict(deposed)), close(2)]);
    assert_eq!(bench.connect_to(3, "b", leads(7)), [register(3, vec![])], "the same one again");
}

#[test]
fn masters_that_know_nothing_of_each_other_are_a_dispute() {
    for (one, other) in [(leads(0), leads(0)), (leads(3), leads(0)), (leads(0), leads(3))] {
        let mut bench = Bench::new(&["a", "b"]);
        bench.apply(Event::Start);
        bench.connect_to(1, "a", one);
        let dispute =
            LeaderConflict::Strangers { one: Address::new("a", 7077), other: Address::new("b", 7077) };
        let effects = bench.connect_to(2, "b", other);
        assert_eq!(effects, [note(Note::LeaderConflict(dispute)), register(2, vec![])]);
    }
}
