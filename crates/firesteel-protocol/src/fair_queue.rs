//! The order in which a daemon handles the events of its peers. A peer that sends many events delays no other peer.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use slab::Slab;

use crate::ids::PeerId;

/// The capacity, in events, that an empty queue keeps.
const KEPT: usize = 1024;

/// The waiting events of all peers.
///
/// - The events of one peer leave in the order in which they came.
/// - Peers take turns: each gives up to [`IN_A_TURN`](Self::IN_A_TURN) events per round, so that the answers to it
///   leave together. A peer that had nothing waiting joins at the end of the round, so the first events of new peers
///   leave in the order in which they came.
/// - Peers with an urgent next event take part in a separate round, with one event per turn. That round goes first, but
///   after [`URGENT_IN_A_ROW`](Self::URGENT_IN_A_ROW) urgent events one ordinary event leaves if one waits. So the next
///   event of a peer waits for at most `IN_A_TURN * (URGENT_IN_A_ROW + 1)` events for each peer before it.
/// - The waiting events are limited, for each peer and in total.
#[derive(Clone, Debug)]
pub struct FairQueue<T> {
    limits: Limits,
    /// The events of all peers, so that a peer's own queue takes no memory of its own.
    events: Slab<Waiting<T>>,
    /// The peers that have something waiting.
    peers: BTreeMap<PeerId, Lane>,
    urgent: VecDeque<PeerId>,
    ordinary: VecDeque<PeerId>,
    /// Urgent events that left in a row while an ordinary one waited.
    in_a_row: usize,
    /// Ordinary events that the first peer of the round has given in its turn.
    in_turn: usize,
    bytes: usize,
}

/// The waiting events of one peer. It is never empty.
#[derive(Clone, Debug)]
struct Lane {
    /// Where its oldest event is.
    first: usize,
    /// Where its newest event is.
    last: usize,
    count: usize,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    urgency: Urgency,
    bytes: usize,
    event: T,
    /// Where the peer's next event is.
    next: Option<usize>,
}

/// Whether an event overtakes the events of other peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// It waits for its peer's turn.
    Ordinary,
    /// It is small, and somebody waits for it, such as a question or an order to kill.
    Urgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub events_of_peer: usize,
    /// Each peer may have this many bytes waiting. One event fits in any case.
    pub bytes_of_peer: usize,
    /// All peers together may have this many bytes waiting. An urgent event of a peer without waiting events fits in
    /// any case.
    pub bytes: usize,
}

impl Default for Limits {
    /// 256 events and 1 MiB of each peer, and 64 MiB in all.
    fn default() -> Self {
        Self { events_of_peer: 256, bytes_of_peer: 1 << 20, bytes: 64 << 20 }
    }
}

impl<T> FairQueue<T> {
    /// The most urgent events that leave in a row while an ordinary one waits.
    pub const URGENT_IN_A_ROW: usize = 8;

    /// The most ordinary events of one peer that leave in its turn.
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

    /// The sum of the sizes that were given to [`push`](Self::push) with the waiting events.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether an event of this number of bytes fits.
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
            self.in_a_row = 0;
            self.in_turn += 1;
            self.ordinary.pop_front()?
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
            // Each gives its first eight in its first turn.
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
