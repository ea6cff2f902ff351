//! Virtual peers: peers without a connection of their own. A task of the daemon sends and receives for them.
//!
//! The owner does not see the difference. Messages to a virtual peer wait in the same bounded queues. As for a
//! connection, a task that puts an event into the inbox waits until the inbox has room.

use std::any::Any;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use firesteel_protocol::Timestamp;
use firesteel_protocol::fair_queue::Urgency;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{Message, Role};
use futures_util::Stream;

use super::outbound::{self, CloseMode, Load, LoadQueue, Next, Weighed};
use super::pace::Pace;
use super::peers::Shared;
use super::{Arrival, Disconnect, PeerInfo};
use crate::inbox::{Inbox, OwnerGone};
use crate::lease::Lease;
use crate::meter::{OwnerMeter, Traffic};

/// Makes virtual peers for an owner.
#[derive(Debug)]
pub struct VirtualPeers<E>(pub(super) Shared<E>);

impl<E> Clone for VirtualPeers<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A virtual peer, held by the task that sends for it. Dropping this value reports to the owner that the peer's
/// connection has ended.
#[derive(Debug)]
pub struct VirtualPeer<E> {
    peer: PeerId,
    inbox: Inbox<E>,
    /// Why this side ends the connection. `None` if the peer ended it.
    why: Option<Disconnect>,
}

/// The stream of messages from the owner to the peer.
#[derive(Debug)]
pub struct OutgoingStream {
    queue: LoadQueue,
    /// Messages taken from the queue but not yet returned.
    taken: vec::IntoIter<Weighed>,
    is_over: bool,
}

#[derive(Debug)]
pub enum OutgoingItem {
    Message(BoxedMessage),
    /// The owner ends the connection, for this reason. This is the last item.
    End(Disconnect),
}

#[derive(Debug)]
pub struct BoxedMessage(Box<dyn Any + Send + Sync>);

impl BoxedMessage {
    /// The message.
    ///
    /// # Panics
    /// The message has another type.
    #[must_use]
    pub fn open<M: Message>(self) -> M {
        *self.0.downcast().expect("an owner sends its peers messages for their role")
    }
}

impl<E: Send + 'static> VirtualPeers<E> {
    /// A factory for all virtual peers of one connection. These peers take turns as one peer. The owner handles their
    /// messages in the order in which they were sent.
    #[must_use]
    pub fn of_a_connection(&self) -> Self {
        let Self(shared) = self;
        let mut shared = shared.clone();
        shared.inbox = shared.inbox.in_lane(shared.next_id());
        Self(shared)
    }

    /// Runs a task that sends for peers, until the task or the lease ends. When the owner ends, it waits for these
    /// tasks for a limited time.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let over = self.0.lease.token().clone();
        self.0.tasks.spawn(async move {
            over.run_until_cancelled_owned(task).await;
        });
    }

    /// The lease of the owner, which also applies to these tasks.
    #[must_use]
    pub fn lease(&self) -> Lease {
        self.0.lease.clone()
    }

    #[must_use]
    pub fn meter(&self) -> &OwnerMeter {
        &self.0.meter
    }

    /// The amount of data that waits in the owner's queues now.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let (messages, bytes) = self.0.inbox.waiting();
        let outbox_bytes = self.0.queued.bytes() as u64;
        Traffic { inbox_messages: messages as u64, inbox_bytes: bytes as u64, outbox_bytes }
    }

    pub async fn ended(&self) {
        self.0.stop.cancelled().await;
    }

    /// Reports to the owner a new peer with this role and name.
    ///
    /// # Errors
    /// The owner has ended.
    pub fn open(
        &self,
        role: Role,
        name: String,
        remote: SocketAddr,
    ) -> Result<(VirtualPeer<E>, OutgoingStream), OwnerGone> {
        let Self(shared) = self;
        let peer = shared.next_id();
        let (outbound, queue) =
            outbound::queue(shared.limits, shared.queued.clone(), Load::Messages(Vec::new()));
        let version = Version::CURRENT;
        let info = PeerInfo { id: peer, role, name, remote, version, has_proven_user: false };
        shared.inbox.opened(info, Urgency::Ordinary, outbound, None)?;
        let outgoing = OutgoingStream { queue, taken: Vec::new().into_iter(), is_over: false };
        Ok((VirtualPeer { peer, inbox: shared.inbox.clone(), why: None }, outgoing))
    }

    /// Like [`VirtualPeer::say`], for a virtual peer that another task holds. The event takes its turn with the other
    /// events of this connection.
    ///
    /// # Errors
    /// The owner has ended.
    pub async fn say_for(
        &self,
        peer: PeerId,
        at: Timestamp,
        bytes: usize,
        event: E,
    ) -> Result<(), OwnerGone> {
        self.0.inbox.message(Arrival::unproven(peer, at), Urgency::Ordinary, bytes, (event, None)).await
    }

    /// Like [`say_for`](Self::say_for), and waits until the owner has handled the event and hears the peer again.
    ///
    /// # Errors
    /// The owner has ended.
    pub async fn say_in_turn_for(
        &self,
        peer: PeerId,
        at: Timestamp,
        bytes: usize,
        event: E,
        pace: &mut Pace,
    ) -> Result<(), OwnerGone> {
        self.0.inbox.message_in_turn(Arrival::unproven(peer, at), bytes, event, pace).await
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.inbox.now()
    }
}

impl<E> VirtualPeer<E> {
    #[must_use]
    pub fn peer(&self) -> PeerId {
        self.peer
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inbox.now()
    }

    /// Passes to the owner an event that came from the peer at this time with this number of bytes. Waits until the
    /// inbox has room. Do not drop the future before it completes.
    ///
    /// # Errors
    /// The owner has ended.
    pub async fn say(&self, at: Timestamp, bytes: usize, event: E) -> Result<(), OwnerGone> {
        let arrival = Arrival::unproven(self.peer, at);
        self.inbox.message(arrival, Urgency::Ordinary, bytes, (event, None)).await
    }

    pub fn end(mut self, why: Disconnect) {
        self.why = Some(why);
    }
}

impl<E> Drop for VirtualPeer<E> {
    fn drop(&mut self) {
        self.inbox.closed(self.peer, self.why.take().unwrap_or(Disconnect::ByPeer));
    }
}

impl Stream for OutgoingStream {
    type Item = OutgoingItem;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<OutgoingItem>> {
        let Self { queue, taken, is_over } = &mut *self;
        if *is_over {
            return Poll::Ready(None);
        }
        loop {
            if let Some(Weighed { bytes, message }) = taken.next() {
                queue.written(bytes);
                return Poll::Ready(Some(OutgoingItem::Message(BoxedMessage(message))));
            }
            let why = match queue.poll_next(context) {
                Poll::Ready(Next::Load(Load::Messages(messages))) => {
                    *taken = messages.into_iter();
                    continue;
                }
                Poll::Ready(Next::Load(Load::Frames(_))) => {
                    unreachable!("a virtual peer has a queue of messages")
                }
                Poll::Ready(Next::End) => Disconnect::Here,
                Poll::Pending => match queue.poll_close(context) {
                    Poll::Ready(CloseMode::Now(why)) => why,
                    // Messages that were queued in between come first.
                    Poll::Ready(CloseMode::AfterFlush) => continue,
                    Poll::Pending => return Poll::Pending,
                },
            };
            *is_over = true;
            return Poll::Ready(Some(OutgoingItem::End(why)));
        }
    }
}
