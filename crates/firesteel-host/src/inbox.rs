//! Where everything that happens to a daemon waits for its owner.

use std::sync::Arc;

use firesteel_core::ids::PeerId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::net::outbound::Outbound;
use crate::net::{Disconnect, PeerInfo};

/// Arrivals that may wait.
const ARRIVALS: usize = 1024;

/// Bytes of messages that may wait.
const BYTES: usize = 64 << 20;

/// The way into an owner's loop. Whoever has something to say waits until there is room: the sender of a
/// connection by not being read, a task of the daemon in [`send`](Inbox::send).
#[derive(Debug)]
pub struct Inbox<E> {
    sender: mpsc::Sender<(Arrival<E>, Room)>,
    bytes: Arc<Semaphore>,
}

/// The owner has ended, and nobody reads its inbox any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the daemon has ended")]
pub struct OwnerGone;

/// What came, as the owner's loop sees it.
#[derive(Debug)]
pub enum Arrival<E> {
    /// A task of the daemon says something.
    Own(E),
    /// A connection is open; if it was dialled, the machine is told.
    Opened {
        /// Whose.
        info: PeerInfo,
        /// The way to it.
        outbound: Outbound,
        /// What the machine is told.
        event: Option<E>,
    },
    /// A peer says something.
    Message {
        /// Who.
        peer: PeerId,
        /// What.
        event: E,
    },
    /// A connection has ended.
    Closed {
        /// Whose.
        peer: PeerId,
        /// Why.
        why: Disconnect,
    },
}

/// Room for a message's bytes, held from before it is decoded until the machine has had it.
#[derive(Debug)]
pub struct Room(#[allow(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>);

/// The owner's end.
pub type Arrivals<E> = mpsc::Receiver<(Arrival<E>, Room)>;

/// An empty inbox.
pub fn inbox<E>() -> (Inbox<E>, Arrivals<E>) {
    let (sender, receiver) = mpsc::channel(ARRIVALS);
    (Inbox { sender, bytes: Arc::new(Semaphore::new(BYTES)) }, receiver)
}

impl<E> Clone for Inbox<E> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), bytes: Arc::clone(&self.bytes) }
    }
}

impl<E> Inbox<E> {
    /// Tells the owner something, and waits until there is room for it. Never called by the owner itself, which
    /// would wait for itself: see [`crate::owner::Context::raise`].
    ///
    /// # Errors
    /// The owner has ended.
    pub async fn send(&self, event: E) -> Result<(), OwnerGone> {
        self.put(Arrival::Own(event), Room(None)).await
    }

    /// [`send`](Inbox::send), from a thread that is not of the runtime.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn send_blocking(&self, event: E) -> Result<(), OwnerGone> {
        self.sender.blocking_send((Arrival::Own(event), Room(None))).map_err(|_| OwnerGone)
    }

    pub(crate) async fn room(&self, bytes: usize) -> Room {
        let permits = u32::try_from(bytes.min(BYTES)).expect("the bound is small");
        let permit = Arc::clone(&self.bytes).acquire_many_owned(permits).await;
        Room(Some(permit.expect("it is never closed")))
    }

    pub(crate) async fn opened(
        &self,
        info: PeerInfo,
        outbound: Outbound,
        event: Option<E>,
    ) -> Result<(), OwnerGone> {
        self.put(Arrival::Opened { info, outbound, event }, Room(None)).await
    }

    pub(crate) async fn message(&self, peer: PeerId, event: E, room: Room) -> Result<(), OwnerGone> {
        self.put(Arrival::Message { peer, event }, room).await
    }

    pub(crate) async fn closed(&self, peer: PeerId, why: Disconnect) -> Result<(), OwnerGone> {
        self.put(Arrival::Closed { peer, why }, Room(None)).await
    }

    async fn put(&self, arrival: Arrival<E>, room: Room) -> Result<(), OwnerGone> {
        self.sender.send((arrival, room)).await.map_err(|_| OwnerGone)
    }
}
