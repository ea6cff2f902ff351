//! The inbox of an owner: the bounded queues of everything that happens to a daemon.
//!
//! Events of the daemon's own tasks and messages from connections have separate queues. While an owner cannot handle
//! messages of peers, it still receives the events of its own tasks, so neither kind ever waits for the other.

use std::sync::Arc;

use firesteel_core::ids::PeerId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::net::outbound::Outbound;
use crate::net::{Disconnect, PeerInfo};

/// The maximum number of entries of each kind in the inbox.
const CAPACITY: usize = 1024;

/// The maximum number of message bytes in the queue.
const BYTES: usize = 64 << 20;

/// The sending end of an owner's inbox. A sender waits until there is room. A connection waits by not being
/// read; a task of the daemon waits in [`send`](Inbox::send).
#[derive(Debug)]
pub struct Inbox<E> {
    own: mpsc::Sender<E>,
    peers: mpsc::Sender<(InboxEntry<E>, MessagePermit)>,
    bytes: Arc<Semaphore>,
}

/// The error that the owner has ended and nothing reads its inbox any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the daemon has ended")]
pub struct OwnerGone;

/// One entry of the inbox, as the owner's loop receives it.
#[derive(Debug)]
pub enum InboxEntry<E> {
    /// An event from one of the daemon's own tasks.
    Own(E),
    /// A connection was opened. If this side dialled it, the machine gets an event.
    Opened {
        /// The peer of this connection.
        info: PeerInfo,
        /// The sending end of the connection's queue.
        outbound: Outbound,
        /// The event for the machine, if this side dialled.
        event: Option<E>,
    },
    /// A peer sent a message.
    Message {
        /// The peer that sent it.
        peer: PeerId,
        /// The message as an event of the machine.
        event: E,
    },
    /// A connection has ended.
    Closed {
        /// The peer whose connection ended.
        peer: PeerId,
        /// Why the connection ended.
        why: Disconnect,
    },
}

/// Permits for the bytes of one message. They are held from before the message is decoded until the machine
/// has handled it.
#[derive(Debug)]
pub struct MessagePermit(#[allow(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>);

/// The owner's receiving end of the inbox.
#[derive(Debug)]
pub struct InboxReceiver<E> {
    own: mpsc::Receiver<E>,
    peers: mpsc::Receiver<(InboxEntry<E>, MessagePermit)>,
}

impl<E> InboxReceiver<E> {
    /// The next entry of either kind. May be dropped and called again.
    pub async fn recv(&mut self) -> Option<(InboxEntry<E>, MessagePermit)> {
        tokio::select! {
            event = self.own.recv() => event.map(of_own),
            entry = self.peers.recv() => entry,
        }
    }

    /// The next event of the daemon's own tasks. May be dropped and called again.
    pub async fn recv_own(&mut self) -> Option<(InboxEntry<E>, MessagePermit)> {
        self.own.recv().await.map(of_own)
    }
}

fn of_own<E>(event: E) -> (InboxEntry<E>, MessagePermit) {
    (InboxEntry::Own(event), MessagePermit(None))
}

/// Makes an empty inbox and its receiving end.
#[must_use]
pub fn inbox<E>() -> (Inbox<E>, InboxReceiver<E>) {
    let (own, own_receiver) = mpsc::channel(CAPACITY);
    let (peers, peer_receiver) = mpsc::channel(CAPACITY);
    let inbox = Inbox { own, peers, bytes: Arc::new(Semaphore::new(BYTES)) };
    (inbox, InboxReceiver { own: own_receiver, peers: peer_receiver })
}

impl<E> Clone for Inbox<E> {
    fn clone(&self) -> Self {
        Self { own: self.own.clone(), peers: self.peers.clone(), bytes: Arc::clone(&self.bytes) }
    }
}

impl<E> Inbox<E> {
    /// Sends an event to the owner and waits until there is room. The owner itself must never call this,
    /// because it would wait for itself: see [`crate::owner::Context::raise`].
    ///
    /// # Errors
    /// The owner has ended.
    pub async fn send(&self, event: E) -> Result<(), OwnerGone> {
        self.own.send(event).await.map_err(|_| OwnerGone)
    }

    /// Does what [`send`](Inbox::send) does, for a thread outside the runtime.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn send_blocking(&self, event: E) -> Result<(), OwnerGone> {
        self.own.blocking_send(event).map_err(|_| OwnerGone)
    }

    pub(crate) async fn reserve(&self, bytes: usize) -> MessagePermit {
        let permits = u32::try_from(bytes.min(BYTES)).expect("the bound is small");
        let permit = Arc::clone(&self.bytes).acquire_many_owned(permits).await;
        MessagePermit(Some(permit.expect("it is never closed")))
    }

    pub(crate) async fn opened(
        &self,
        info: PeerInfo,
        outbound: Outbound,
        event: Option<E>,
    ) -> Result<(), OwnerGone> {
        self.put(InboxEntry::Opened { info, outbound, event }, MessagePermit(None)).await
    }

    pub(crate) async fn message(
        &self,
        peer: PeerId,
        event: E,
        permit: MessagePermit,
    ) -> Result<(), OwnerGone> {
        self.put(InboxEntry::Message { peer, event }, permit).await
    }

    pub(crate) async fn closed(&self, peer: PeerId, why: Disconnect) -> Result<(), OwnerGone> {
        self.put(InboxEntry::Closed { peer, why }, MessagePermit(None)).await
    }

    async fn put(&self, entry: InboxEntry<E>, permit: MessagePermit) -> Result<(), OwnerGone> {
        self.peers.send((entry, permit)).await.map_err(|_| OwnerGone)
    }
}
