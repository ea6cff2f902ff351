//! The inbox of an owner: events that wait for their turn.
//!
//! Events of the daemon's own tasks and messages from connections have separate queues. While an owner cannot handle
//! messages of peers, it still receives the events of its own tasks, so these events never wait for messages, nor
//! messages for them. Peers take turns, as [`FairQueue`] describes.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use firesteel_protocol::Timestamp;
use firesteel_protocol::fair_queue::{FairQueue, Limits, Urgency};
use firesteel_protocol::ids::PeerId;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::clock::Clock;
use crate::net::outbound::Outbound;
use crate::net::pace::Pace;
use crate::net::{Arrival, Disconnect, PeerInfo};

/// The maximum number of waiting events of the daemon's own tasks.
const OWN: usize = 1024;

/// The shortest time between two searches for the oldest entry. A search visits all peers.
const LOOK: Duration = Duration::from_millis(10);

/// The sending end of an owner's inbox. A sender waits while the inbox is full: a connection stops reading, and a task
/// of the daemon waits in [`send`](Inbox::send).
#[derive(Debug)]
pub struct Inbox<E> {
    own: mpsc::Sender<E>,
    clock: Clock,
    peers: Arc<PeerEntries<E>>,
    /// The lane of everything sent through this inbox. `None`: each peer has its own lane.
    lane: Option<PeerId>,
}

#[derive(Debug)]
struct PeerEntries<E> {
    state: Mutex<State<E>>,
    /// Wakes the owner when an entry arrives.
    arrived: Notify,
}

#[derive(Debug)]
struct State<E> {
    /// Each entry with the time when it arrived.
    queue: FairQueue<(Timestamp, InboxEntry<E>)>,
    /// The tasks of connections that wait until the inbox has room, in the order in which they began to wait.
    waiting: VecDeque<Waker>,
    /// The arrival times of messages that wait until the inbox has room, by lane. Meanwhile their connections read
    /// nothing more.
    outside: BTreeMap<PeerId, Timestamp>,
    /// Whether the owner has ended.
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the daemon has ended")]
pub struct OwnerGone;

/// One entry of the inbox, as the owner's loop receives it.
#[derive(Debug)]
pub enum InboxEntry<E> {
    Own(E),
    Opened(Box<Opened<E>>),
    Message {
        peer: PeerId,
        /// The message, as an event for the owner's state machine.
        event: E,
        turn: Option<Turn>,
    },
    Closed {
        peer: PeerId,
        why: Disconnect,
    },
}

/// The turn of a peer whose next message is read only after this one. Dropping it ends the turn. A duration that is
/// sent says how long the peer is not heard.
pub(crate) type Turn = oneshot::Sender<Duration>;

#[derive(Debug)]
pub struct Opened<E> {
    pub(crate) info: PeerInfo,
    pub(crate) outbound: Outbound,
    /// The event for the owner's state machine, if this side opened the connection.
    pub(crate) event: Option<E>,
}

/// The owner's receiving end of the inbox.
#[derive(Debug)]
pub struct InboxReceiver<E> {
    own: mpsc::Receiver<E>,
    peers: Arc<PeerEntries<E>>,
    /// The result of the last search for the oldest entry.
    look: Option<InboxState>,
}

/// The result of a search, with its time.
#[derive(Clone, Copy, Debug)]
struct InboxState {
    at: Timestamp,
    heard_until: Timestamp,
}

impl<E> InboxReceiver<E> {
    /// The next entry of either kind. The future may be dropped and called again.
    pub async fn recv(&mut self) -> Option<InboxEntry<E>> {
        let peers = &self.peers;
        tokio::select! {
            event = self.own.recv() => event.map(InboxEntry::Own),
            entry = peers.next() => Some(entry),
        }
    }

    /// The next event of the daemon's own tasks. The future may be dropped and called again.
    pub async fn recv_own(&mut self) -> Option<InboxEntry<E>> {
        self.own.recv().await.map(InboxEntry::Own)
    }

    /// The time before which everything that arrived from peers has been received: about the present time, or the
    /// arrival of the oldest waiting entry.
    pub(crate) fn heard_until(&mut self, now: Timestamp) -> Timestamp {
        let look = match self.look {
            Some(look) if now.since(look.at) < LOOK => look,
            Some(_) | None => InboxState { at: now, heard_until: self.peers.oldest().unwrap_or(now) },
        };
        self.look = Some(look);
        look.heard_until
    }

    /// Whether no entry of a peer waits.
    pub(crate) fn is_quiet(&self) -> bool {
        self.peers.state().queue.is_empty()
    }

    /// The next waiting entry, if there is one. The daemon's own events come first.
    pub fn recv_now(&mut self) -> Option<InboxEntry<E>> {
        match self.own.try_recv() {
            Ok(event) => Some(InboxEntry::Own(event)),
            Err(_) => self.peers.pop(),
        }
    }
}

impl<E> Drop for InboxReceiver<E> {
    /// Wakes all tasks that wait until the inbox has room.
    fn drop(&mut self) {
        let mut state = self.peers.state();
        state.is_closed = true;
        state.queue = FairQueue::new(Limits::default());
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl<E> PeerEntries<E> {
    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn next(&self) -> InboxEntry<E> {
        loop {
            if let Some(entry) = self.pop() {
                return entry;
            }
            self.arrived.notified().await;
        }
    }

    /// When the oldest waiting entry arrived. Entries that still wait until the queue has room count, too.
    fn oldest(&self) -> Option<Timestamp> {
        let state = self.state();
        let inside = state.queue.heads().map(|(came, _)| *came);
        inside.chain(state.outside.values().copied()).min()
    }

    fn pop(&self) -> Option<InboxEntry<E>> {
        let mut state = self.state();
        let popped = state.queue.pop();
        // A task that finds no room waits again, behind the others. An empty queue has room for all.
        let waiting = match &popped {
            Some(_) => state.waiting.pop_front().into_iter().collect(),
            None => std::mem::take(&mut state.waiting),
        };
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        popped.map(|(_, (_, entry))| entry)
    }

    /// Adds an entry even if the queue is full, because a connection has only a few entries of this kind.
    fn push(
        &self,
        lane: PeerId,
        at: Timestamp,
        urgency: Urgency,
        entry: InboxEntry<E>,
    ) -> Result<(), OwnerGone> {
        let mut state = self.state();
        if state.is_closed {
            return Err(OwnerGone);
        }
        state.queue.push(lane, urgency, 0, (at, entry));
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }
}

#[must_use]
pub fn inbox<E>(clock: Clock) -> (Inbox<E>, InboxReceiver<E>) {
    let (own, own_receiver) = mpsc::channel(OWN);
    let state = State {
        queue: FairQueue::new(Limits::default()),
        waiting: VecDeque::new(),
        outside: BTreeMap::new(),
        is_closed: false,
    };
    let peers = Arc::new(PeerEntries { state: Mutex::new(state), arrived: Notify::new() });
    (
        Inbox { own, clock, peers: Arc::clone(&peers), lane: None },
        InboxReceiver { own: own_receiver, peers, look: None },
    )
}

impl<E> Clone for Inbox<E> {
    fn clone(&self) -> Self {
        Self { own: self.own.clone(), clock: self.clock, peers: Arc::clone(&self.peers), lane: self.lane }
    }
}

impl<E> Inbox<E> {
    /// Sends an event to the owner and waits until the inbox has room. The owner itself must never call this, because
    /// the owner would wait for itself: see [`crate::owner::Context::raise`].
    ///
    /// # Errors
    /// The owner has ended.
    pub async fn send(&self, event: E) -> Result<(), OwnerGone> {
        self.own.send(event).await.map_err(|_| OwnerGone)
    }

    /// Sends an event like [`send`](Inbox::send), for a thread outside the runtime.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn send_blocking(&self, event: E) -> Result<(), OwnerGone> {
        self.own.blocking_send(event).map_err(|_| OwnerGone)
    }

    /// The number of waiting messages of peers, and their total size in bytes.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let state = self.peers.state();
        (state.queue.len(), state.queue.bytes())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// This inbox for several peers that share a lane. They take turns as one peer. All their messages are received in
    /// the order in which they arrived.
    pub(crate) fn in_lane(&self, lane: PeerId) -> Self {
        Self { lane: Some(lane), ..self.clone() }
    }

    fn lane_of(&self, peer: PeerId) -> PeerId {
        self.lane.unwrap_or(peer)
    }

    /// Adds an entry of a peer with the present time.
    fn push(&self, peer: PeerId, urgency: Urgency, entry: InboxEntry<E>) -> Result<(), OwnerGone> {
        self.peers.push(self.lane_of(peer), self.now(), urgency, entry)
    }

    pub(crate) fn opened(
        &self,
        info: PeerInfo,
        urgency: Urgency,
        outbound: Outbound,
        event: Option<E>,
    ) -> Result<(), OwnerGone> {
        self.push(info.id, urgency, InboxEntry::Opened(Box::new(Opened { info, outbound, event })))
    }

    /// Adds an event of the owner, after everything that has arrived from the peer.
    pub(crate) fn after_arrived(&self, peer: PeerId, urgency: Urgency, event: E) -> Result<(), OwnerGone> {
        self.push(peer, urgency, InboxEntry::Message { peer, event, turn: None })
    }

    /// Waits until the inbox has room for a message of this size, and adds the message. The memory of the entry itself
    /// counts as well, since most messages are shorter than an entry.
    pub(crate) async fn message(
        &self,
        arrival: Arrival<'_>,
        urgency: Urgency,
        bytes: usize,
        (event, turn): (E, Option<Turn>),
    ) -> Result<(), OwnerGone> {
        let Arrival { peer, at, .. } = arrival;
        let bytes = bytes + size_of::<InboxEntry<E>>();
        let lane = self.lane_of(peer);
        let mut entry = Some(InboxEntry::Message { peer, event, turn });
        poll_fn(|context| {
            let mut state = self.peers.state();
            if state.is_closed {
                return Poll::Ready(Err(OwnerGone));
            }
            if !state.queue.has_room(lane, urgency, bytes) {
                state.outside.insert(lane, at);
                state.waiting.push_back(context.waker().clone());
                return Poll::Pending;
            }
            state.outside.remove(&lane);
            if let Some(entry) = entry.take() {
                state.queue.push(lane, urgency, bytes, (at, entry));
            }
            drop(state);
            self.peers.arrived.notify_one();
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Adds an ordinary message, and waits until it was handled and the peer may be heard again.
    pub(crate) async fn message_in_turn(
        &self,
        arrival: Arrival<'_>,
        bytes: usize,
        event: E,
        pace: &mut Pace,
    ) -> Result<(), OwnerGone> {
        let (turn, handled) = oneshot::channel();
        self.message(arrival, Urgency::Ordinary, bytes, (event, Some(turn))).await?;
        pace.wait(handled.await.ok()).await;
        Ok(())
    }

    /// Adds the end of a connection, unless the owner has ended. Drops messages of the connection that still wait until
    /// the inbox has room.
    pub(crate) fn closed(&self, peer: PeerId, why: Disconnect) {
        self.peers.state().outside.remove(&self.lane_of(peer));
        let _ = self.push(peer, Urgency::Ordinary, InboxEntry::Closed { peer, why });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn heard_until_is_when_the_oldest_entry_came_and_never_later() {
        let (inbox, mut receiver) = inbox::<()>(Clock::start());
        let start = inbox.now();
        assert_eq!(receiver.heard_until(start), start);
        for peer in [1, 2] {
            inbox.after_arrived(PeerId(peer), Urgency::Ordinary, ()).expect("the receiver is there");
        }
        let came = receiver.peers.oldest().expect("two wait");
        assert_eq!(receiver.heard_until(start + LOOK / 2), start, "it was looked for just now");
        let later = came + LOOK * 2;
        assert_eq!(receiver.heard_until(later), came);
        assert!(receiver.recv_now().is_some() && receiver.recv_now().is_some());
        assert_eq!(receiver.heard_until(later + LOOK / 2), came);
        assert_eq!(receiver.heard_until(later + LOOK), later + LOOK);
    }

    #[test]
    fn heard_until_knows_of_what_waits_for_room() {
        let (inbox, receiver) = inbox::<()>(Clock::start());
        let arrival = |peer, after| Arrival::unproven(PeerId(peer), inbox.now() + LOOK * after);
        let (early, late) = (arrival(2, 1), arrival(3, 2));
        let message = |arrival, bytes| Box::pin(inbox.message(arrival, Urgency::Ordinary, bytes, ((), None)));
        let all = Limits::default().bytes - size_of::<InboxEntry<()>>();
        assert!(message(arrival(1, 3), all).now_or_never().is_some(), "there is just enough room");
        let mut waiting = message(early, 1);
        assert!((&mut waiting).now_or_never().is_none(), "it waits");
        let closed = message(late, 1).now_or_never();
        assert!(closed.is_none(), "it waits, and then its connection ends");
        assert_eq!(receiver.peers.oldest(), Some(early.at));
        assert!(receiver.peers.pop().is_some());
        assert_eq!(receiver.peers.oldest(), Some(early.at), "it was woken, and has not come in yet");
        assert!(waiting.now_or_never().is_some());
        assert!(receiver.peers.pop().is_some());
        assert_eq!(receiver.peers.oldest(), Some(late.at));
        inbox.closed(late.peer, Disconnect::ByPeer);
        assert!(receiver.peers.pop().is_some(), "the end of the connection");
        assert_eq!(receiver.peers.oldest(), None);
    }
}
