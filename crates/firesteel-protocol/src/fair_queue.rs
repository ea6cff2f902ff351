//! The order in which a daemon handles the events of its peers. A peer that sends many events delays no other peer.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use slab::Slab;

use crate::ids::PeerId;

/// An empty queue keeps memory for at most this number of events.
const KEPT: usize = 1024;

/// The waiting events of all peers.
///
/// - The events of one peer leave in the order in which they came.
/// - Peers take turns: up to [`IN_A_TURN`](Self::IN_A_TURN) events of one peer leave per round, so that the answers to
///   this peer are sent together. A peer without waiting events joins at the end of the round. So the first events of
///   new peers leave in the order in which they came.
/// - Peers whose next event is urgent take part in a separate round, with one event per turn. The urgent round goes
///   first. But after [`URGENT_IN_A_ROW`](Self::URGENT_IN_A_ROW) urgent events, one waiting ordinary event leaves. So a
///   peer's next event waits for at most `IN_A_TURN * (URGENT_IN_A_ROW + 1)` events of each other peer that is served
///   before.
/// - The number and size of waiting events are limited, per peer and in total.
#[derive(Clone, Debug)]
pub struct FairQueue<T> {
    limits: Limits,
    /// The events of all peers, so that a peer's own queue takes no memory of its own.
    events: Slab<Waiting<T>>,
    /// The peers that have waiting events.
    peers: BTreeMap<PeerId, Lane>,
    urgent: VecDeque<PeerId>,
    ordinary: VecDeque<PeerId>,
    /// How many urgent events have left in a row while an ordinary event waited.
    in_a_row: usize,
    /// How many ordinary events of the first peer in the round have left in the peer's present turn.
    in_turn: usize,
    bytes: usize,
}

/// The waiting events of one peer: at least one.
#[derive(Clone, Debug)]
struct Lane {
    /// The slab index of the peer's oldest event.
    first: usize,
    /// The slab index of the peer's newest event.
    last: usize,
    count: usize,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    urgency: Urgency,
    bytes: usize,
    event: T,
    /// The slab index of the same peer's next event.
    next: Option<usize>,
}

/// Whether an event is handled before the events of other peers that came earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// The event waits for its peer's turn.
    Ordinary,
    /// The event is small, and somebody waits for the result: for example a question, or an order to kill.
    Urgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub events_of_peer: usize,
    /// The maximum size of one peer's waiting events, in bytes. A single event fits in any case.
    pub bytes_of_peer: usize,
    /// The maximum size of all waiting events, in bytes. An urgent event fits in any case if its peer has no waiting
    /// events.
    pub bytes: usize,
}

impl Default for Limits {
    /// 256 events and 1 MiB for each peer, and 64 MiB for all peers together.
    fn default() -> Self {
        Self { events_of_peer: 256, bytes_of_peer: 1 << 20, bytes: 64 << 20 }
    }
}

impl<T> FairQueue<T> {
    /// The maximum number of urgent events that leave in a row while an ordinary event waits.
    pub const URGENT_IN_A_ROW: usize = 8;

    /// The maximum number of ordinary events of one peer that leave in one turn.
    pub const IN_A_TURN: usize = 8;

    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            events: Slab::new(),
            peers: BTreeMap::new(),
            urgent: VecDeque::new(),
            ordinary: VecDeque::new(),
            in_a_row: 0,
            in_turn: 0,
            bytes: 0,
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// The total size of the waiting events, as their callers gave it to [`push`](Self::push).
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an event of this number of bytes can be added.
    #[must_use]
    pub fn has_room(&self, peer: PeerId, urgency: Urgency, bytes: usize) -> bool {
        let lane = self.peers.get(&peer);
        let of_peer = lane.is_none_or(|lane| {
            lane.count < self.limits.events_of_peer
                && lane.bytes.saturating_add(bytes) <= self.limits.bytes_of_peer
        });
        let of_all = self.bytes.saturating_add(bytes) <= self.limits.bytes
            || self.bytes == 0
            || (urgency == Urgency::Urgent && lane.is_none());
        of_peer && of_all
    }

    /// Adds an event of a peer. The caller asks [`has_room`](Self::has_room) first, except for the end of a connection,
    /// which is always added.
    pub fn push(&mut self, peer: PeerId, urgency: Urgency, bytes: usize, event: T) {
        let at = self.events.insert(Waiting { urgency, bytes, event, next: None });
        match self.peers.entry(peer) {
            Entry::Vacant(lane) => {
                lane.insert(Lane { first: at, last: at, count: 1, bytes });
                match urgency {
                    Urgency::Urgent => self.urgent.push_back(peer),
                    Urgency::Ordinary => self.ordinary.push_back(peer),
                }
            }
            Entry::Occupied(mut lane) => {
                let lane = lane.get_mut();
                self.events[lane.last].next = Some(at);
                lane.last = at;
                lane.count += 1;
                lane.bytes += bytes;
            }
        }
        self.bytes += bytes;
    }

    pub fn heads(&self) -> impl Iterator<Item = &T> {
        self.peers.values().map(|lane| &self.events[lane.first].event)
    }

    pub fn pop(&mut self) -> Option<(PeerId, T)> {
        let is_ordinarys_turn =
            self.urgent.is_empty() || (self.in_a_row >= Self::URGENT_IN_A_ROW && !self.ordinary.is_empty());
        let peer = if is_ordinarys_turn {
            let peer = self.ordinary.pop_front()?;
            self.in_a_row = 0;
            self.in_turn += 1;
            peer
        } else {
            self.in_a_row = if self.ordinary.is_empty() { 0 } else { self.in_a_row + 1 };
            self.urgent.pop_front()?
        };
        let lane = self.peers.get_mut(&peer)?;
        let Waiting { bytes, event, next, .. } = self.events.remove(lane.first);
        self.bytes -= bytes;
        if let Some(next) = next {
            lane.first = next;
            lane.count -= 1;
            lane.bytes -= bytes;
        }
        let next = next.map(|next| self.events[next].urgency);
        let goes_on = is_ordinarys_turn && next == Some(Urgency::Ordinary) && self.in_turn < Self::IN_A_TURN;
        if is_ordinarys_turn && !goes_on {
            self.in_turn = 0;
        }
        match next {
            Some(Urgency::Ordinary) if goes_on => self.ordinary.push_front(peer),
            Some(Urgency::Ordinary) => self.ordinary.push_back(peer),
            Some(Urgency::Urgent) => self.urgent.push_back(peer),
            None => drop(self.peers.remove(&peer)),
        }
        if self.is_empty() && self.events.capacity() > KEPT {
            self.events = Slab::new();
        }
        Some((peer, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { events_of_peer: 3, bytes_of_peer: 100, bytes: 200 };

    fn drained(mut queue: FairQueue<u64>) -> Vec<(PeerId, u64)> {
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert!(queue.is_empty() && queue.bytes == 0, "{queue:?}");
        order
    }

    #[test]
    fn a_peer_that_sends_much_delays_nobody() {
        let (flood, other) = (PeerId(1), PeerId(2));
        let mut queue = FairQueue::new(Limits::default());
        (0..100).for_each(|number| queue.push(flood, Urgency::Ordinary, 1, number));
        queue.push(other, Urgency::Ordinary, 1, 100);
        assert_eq!(drained(queue)[FairQueue::<u64>::IN_A_TURN], (other, 100));
    }

    #[test]
    fn a_look_into_an_empty_queue_takes_nobodys_turn() {
        let (flood, other) = (PeerId(1), PeerId(2));
        let mut queue = FairQueue::new(Limits::default());
        assert!((0..100).all(|_| queue.pop().is_none()));
        (0..100).for_each(|number| queue.push(flood, Urgency::Ordinary, 1, number));
        queue.push(other, Urgency::Ordinary, 1, 100);
        assert_eq!(drained(queue)[FairQueue::<u64>::IN_A_TURN], (other, 100));
    }

    #[test]
    fn urgent_events_go_first_and_leave_ordinary_ones_their_turn() {
        let mut queue = FairQueue::new(Limits::default());
        queue.push(PeerId(0), Urgency::Ordinary, 1, 0);
        (1..=10).for_each(|number| queue.push(PeerId(number), Urgency::Urgent, 1, number));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(_, number)| number).collect();
        assert_eq!(order, [1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10]);
    }

    #[test]
    fn room_for_many_events_is_given_back() {
        let mut queue = FairQueue::new(Limits::default());
        (0..10).for_each(|round| {
            (0..KEPT as u64).for_each(|peer| queue.push(PeerId(peer), Urgency::Ordinary, 1, round));
        });
        assert!(queue.events.capacity() >= 10 * KEPT);
        let mut left = 10 * KEPT;
        while let Some((_, round)) = queue.pop() {
            left -= 1;
            // Each peer's first eight events leave in its first turn.
            assert_eq!(round >= 8, left < 2 * KEPT);
        }
        assert_eq!((left, queue.events.capacity()), (0, 0));
    }

    #[test]
    fn what_waits_is_bounded_by_peer_and_in_all() {
        let (one, two, three) = (PeerId(1), PeerId(2), PeerId(3));
        let mut queue = FairQueue::new(LIMITS);
        assert!(queue.has_room(one, Urgency::Ordinary, 500), "one event fits in any case");
        queue.push(one, Urgency::Ordinary, 90, ());
        assert!(!queue.has_room(one, Urgency::Ordinary, 11), "bytes of the peer");
        queue.push(one, Urgency::Ordinary, 1, ());
        queue.push(one, Urgency::Ordinary, 1, ());
        assert!(!queue.has_room(one, Urgency::Urgent, 1), "events of the peer");
        queue.push(two, Urgency::Ordinary, 100, ());
        assert!(!queue.has_room(three, Urgency::Ordinary, 9), "bytes in all");
        assert!(
            queue.has_room(three, Urgency::Urgent, 9),
            "an urgent event of somebody who has nothing waiting"
        );
        queue.pop();
        assert!(queue.has_room(three, Urgency::Ordinary, 9), "90 bytes have left");
    }
}
