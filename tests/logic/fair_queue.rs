//! Laws of the order in which a daemon handles its peers' events.

use std::collections::BTreeSet;

use firesteel_protocol::fair_queue::{FairQueue, Limits, Urgency};
use firesteel_protocol::ids::PeerId;
use quickcheck::quickcheck;

const PEERS: u64 = 8;

/// The order in which simultaneous events leave the queue, by index. An entry is an event's peer, and whether it is
/// urgent.
fn order(entries: &[(u8, bool)]) -> Vec<(PeerId, usize)> {
    let mut queue = FairQueue::new(Limits::default());
    for (number, (peer, is_urgent)) in entries.iter().enumerate() {
        let urgency = if *is_urgent { Urgency::Urgent } else { Urgency::Ordinary };
        queue.push(PeerId(u64::from(*peer) % PEERS), urgency, 1, number);
    }
    let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    assert!(queue.is_empty() && order.len() == entries.len(), "every event leaves once");
    order
}

/// For each event of the peer, the number of events that left since the peer's previous one, or since the beginning.
fn gaps(order: &[(PeerId, usize)], peer: PeerId) -> Vec<usize> {
    let at = (1..).zip(order).filter(|(_, (from, _))| *from == peer).map(|(at, _)| at);
    let mut before = 0;
    at.map(|at| at - std::mem::replace(&mut before, at)).collect()
}

/// The most ordinary events that leave in one round of all peers.
fn most_of_a_round() -> usize {
    usize::try_from(PEERS).expect("it is small") * FairQueue::<usize>::IN_A_TURN
}

/// Entries that belong mostly to few peers, so that their turns are used up.
fn crowded(peers: Vec<u8>) -> impl Iterator<Item = (u8, bool)> {
    peers.into_iter().map(|peer| (if peer % 4 == 0 { peer / 4 } else { 1 }, false))
}

quickcheck! {
    fn the_events_of_a_peer_leave_in_the_order_in_which_they_came(entries: Vec<(u8, bool)>) -> bool {
        let order = order(&entries);
        (0..PEERS).all(|peer| order.iter().filter(|(from, _)| from.0 == peer).is_sorted_by_key(|(_, number)| number))
    }

    fn the_first_events_of_new_peers_leave_in_the_order_in_which_they_came(peers: Vec<u8>) -> bool {
        let entries: Vec<_> = peers.into_iter().map(|peer| (peer, false)).collect();
        let mut seen = BTreeSet::new();
        order(&entries).into_iter().filter(|(peer, _)| seen.insert(*peer)).is_sorted_by_key(|(_, number)| number)
    }

    fn an_ordinary_event_waits_for_one_turn_of_each_other_peer_and_a_few_urgent_events(entries: Vec<(u8, bool)>) -> bool {
        let most = most_of_a_round() * (FairQueue::<usize>::URGENT_IN_A_ROW + 1);
        let order = order(&entries);
        (0..PEERS).all(|peer| gaps(&order, PeerId(peer)).into_iter().all(|gap| gap <= most))
    }

    fn without_urgent_events_a_peer_waits_for_one_turn_of_each_other(peers: Vec<u8>) -> bool {
        let entries: Vec<_> = crowded(peers).collect();
        let order = order(&entries);
        (0..PEERS).all(|peer| gaps(&order, PeerId(peer)).into_iter().all(|gap| gap <= most_of_a_round()))
    }
}
