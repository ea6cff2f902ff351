//! The table of an owner's connections.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use firesteel_protocol::Leadership;
use firesteel_protocol::address::Address;
use firesteel_protocol::fair_queue::Urgency;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::wire::{Hello, Message, Role};
use futures_util::future::Either;
use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{self, Reading, log_end};
use super::dial::{self, DialError};
use super::handshake::Introduced;
use super::listener::acceptor;
use super::listener::limits::ConnectionPermit;
use super::older_peer::OlderPeer;
use super::outbound::{self, CloseMode, Load, Outbound, Total};
use super::rope::Rope;
use super::virtual_peer::VirtualPeers;
use super::{AcceptedRole, Decode, Disconnect, Introduction, Listener, PeerInfo, QueueLimits};
use crate::inbox::{Inbox, InboxEntry, Opened, Turn};
use crate::lease::Lease;
use crate::meter::OwnerMeter;

/// How long to wait for progress. If no connection has written anything in this time, none of them can write.
const SETTLE: Duration = Duration::from_millis(5);

/// The connections of one owner. A daemon sends messages to its peers only through this table. The methods that wait
/// are `async`.
#[derive(Debug)]
pub struct Peers<E> {
    table: HashMap<PeerId, Peer>,
    /// The peers with gathered messages that are not sealed, in the order of their first message.
    touched: Vec<PeerId>,
    /// The number of bytes in the gathered frames.
    gathered: usize,
    /// The messages that the next hand-over sends, in this order.
    sealed: Vec<Sealed>,
    /// The turn of the peer whose message is being handled, if it ends when the message is handled.
    current: Option<(PeerId, Turn)>,
    /// The turns of peers whose messages were handled, and whose answers are not sealed.
    turns: Vec<Turn>,
    /// The turns that end with the next hand-over.
    sealed_turns: Vec<Turn>,
    shared: Shared<E>,
}

#[derive(Debug)]
struct Peer {
    info: PeerInfo,
    /// The queue of the connection. `None` after the end of the connection was handed over.
    outbound: Option<Outbound>,
    /// The gathered messages that are not sealed.
    gathered: Load,
    /// How the connection ends after the gathered messages. Nothing more is gathered, and incoming messages are
    /// dropped.
    close: Option<CloseMode>,
}

/// The messages for one connection that are ready to be handed over.
#[derive(Debug)]
struct Sealed {
    peer: PeerId,
    load: Load,
    /// Whether the connection ends after these messages.
    is_last: bool,
}

impl Peer {
    fn is_open(&self) -> bool {
        self.outbound.is_some() && self.close.is_none()
    }

    /// Whether there is something to seal.
    fn is_touched(&self) -> bool {
        !self.gathered.is_empty() || self.close.is_some()
    }

    fn hand_over(&mut self, mut load: Load, is_last: bool) {
        let Some(outbound) = &self.outbound else { return };
        let pushed = if load.is_empty() { Ok(()) } else { outbound.push(&mut load) };
        match pushed {
            Err(why) => self.end(CloseMode::Now(why)),
            Ok(()) if is_last => {
                let close = self.close.take().expect("the last load was sealed with it");
                self.end(close);
            }
            Ok(()) => {}
        }
    }

    fn end(&mut self, close: CloseMode) {
        if let Some(outbound) = self.outbound.take() {
            outbound.end(close);
        }
    }
}

/// The state that the tasks of all connections share.
#[derive(Debug)]
pub(super) struct Shared<E> {
    pub(super) introduction: Arc<Introduction>,
    pub(super) limits: QueueLimits,
    pub(super) inbox: Inbox<E>,
    /// The bytes queued for all peers.
    pub(super) queued: Total,
    last_id: Arc<AtomicU64>,
    pub(super) tasks: TaskTracker,
    /// Cancels connections that are not open yet.
    pub(super) stop: CancellationToken,
    pub(super) lease: Lease,
    pub(super) meter: Arc<OwnerMeter>,
}

impl<E> Clone for Shared<E> {
    fn clone(&self) -> Self {
        Self {
            introduction: Arc::clone(&self.introduction),
            limits: self.limits,
            inbox: self.inbox.clone(),
            queued: self.queued.clone(),
            last_id: Arc::clone(&self.last_id),
            tasks: self.tasks.clone(),
            stop: self.stop.clone(),
            lease: self.lease.clone(),
            meter: Arc::clone(&self.meter),
        }
    }
}

impl<E: Send + 'static> Peers<E> {
    /// Makes an empty table. Each peer gets the introduction. Nothing is sent after the lease has ended.
    pub fn new(ours: impl Into<Introduction>, limits: QueueLimits, inbox: Inbox<E>, lease: Lease) -> Self {
        let stop = lease.token().child_token();
        let shared = Shared {
            introduction: Arc::new(ours.into()),
            limits,
            inbox,
            queued: Total::default(),
            last_id: Arc::default(),
            tasks: TaskTracker::new(),
            stop,
            lease,
            meter: Arc::default(),
        };
        Self {
            table: HashMap::new(),
            touched: Vec::new(),
            gathered: 0,
            sealed: Vec::new(),
            current: None,
            turns: Vec::new(),
            sealed_turns: Vec::new(),
            shared,
        }
    }

    pub fn virtual_peers(&self) -> VirtualPeers<E> {
        VirtualPeers(self.shared.clone())
    }

    pub(crate) fn meter(&self) -> &OwnerMeter {
        &self.shared.meter
    }

    /// Accepts peers that dial and have one of these roles.
    pub fn serve(&self, listener: Listener, accepted_roles: Vec<AcceptedRole<E>>) {
        self.shared.tasks.spawn(self.shared.clone().accept(listener, accepted_roles, None));
    }

    /// Serves like [`serve`](Self::serve), but on a thread of its own that also serves the clients. So clients do not
    /// wait for the tasks of many other connections.
    ///
    /// # Errors
    /// The system gives no thread, or no means to wait for sockets.
    pub fn serve_apart(&self, listener: Listener, accepted_roles: Vec<AcceptedRole<E>>) -> io::Result<()> {
        let (shared, home) = (self.shared.clone(), Handle::current());
        let accepting = async move {
            match listener.moved_here() {
                Ok(listener) => shared.accept(listener, accepted_roles, Some(home)).await,
                Err(error) => tracing::error!("cannot accept connections: {error}"),
            }
        };
        acceptor::start(accepting, self.shared.tasks.clone())
    }

    /// Dials an address. `outcome` turns the result into an event for the state machine. On success the peer has the
    /// wanted role, and the event comes before any message from the peer. If the peer is a Master, the result includes
    /// whether it is the leader.
    pub fn dial(
        &self,
        address: &Address,
        role: Role,
        decode: Decode<E>,
        outcome: impl FnOnce(Result<(PeerId, Leadership), DialError>) -> E + Send + 'static,
    ) {
        let shared = self.shared.clone();
        let address = address.clone();
        self.shared.tasks.spawn(async move {
            match shared.stop.run_until_cancelled(dial::open(&address, &shared.introduction, role)).await {
                Some(Ok((introduced, remote))) => {
                    let leadership = Leadership::of(&introduced.hello);
                    let accepted_peer =
                        AcceptedPeer { introduced, remote, decode, first_within: None, permit: None };
                    let id = shared.next_id();
                    if let Some(serving) = shared.open(id, accepted_peer, Some(outcome(Ok((id, leadership)))))
                    {
                        // A task of its own, so that the memory of dialling is given back.
                        shared.tasks.spawn(serving);
                    }
                }
                Some(Err(error)) => {
                    let _ = shared.inbox.send(outcome(Err(error))).await;
                }
                None => {}
            }
        });
    }

    /// Gathers a message for the next hand-over. Does nothing if the connection has ended. A message that is too long
    /// closes the connection. A message that does not exist in the version of an older peer is left out.
    pub fn send<M: Message>(&mut self, peer: PeerId, message: M) {
        let Some(version) = self.table.get(&peer).map(|row| row.info.version) else { return };
        if let Err(older) = OlderPeer::check(&message, version) {
            tracing::debug!(peer = %peer, "a message is not sent: {older}");
            return;
        }
        let Some(row) = self.touch(peer) else { return };
        match row.gathered.push(message) {
            Ok(bytes) => self.gathered += bytes,
            Err(error) => row.close = Some(CloseMode::Now(Disconnect::TooLong(error))),
        }
    }

    /// Ends a connection at the next hand-over, after its queued messages are sent. The state machine gets
    /// `Disconnected` when the connection has ended.
    pub fn close(&mut self, peer: PeerId) {
        if let Some(row) = self.touch(peer) {
            row.close = Some(CloseMode::AfterFlush);
        }
    }

    /// Hears nothing more from a peer for this time, after the message that is being handled. Does nothing if the
    /// peer's messages come without turns.
    pub fn pause(&mut self, peer: PeerId, time: Duration) {
        if let Some((_, turn)) = self.current.take_if(|(current, _)| *current == peer) {
            // If the connection has ended, nobody waits.
            let _ = turn.send(time);
        }
    }

    /// Passes this event to the owner, as if the peer sent it now. All earlier messages of the peer reach the owner
    /// first. Does nothing if the connection has ended.
    pub fn after_arrived(&self, peer: PeerId, event: E) {
        // If the owner has ended, nobody waits for the event.
        let _ = self.shared.inbox.after_arrived(peer, self.urgency(peer), event);
    }

    /// The open connection to a peer. Marks the connection as having something to hand over.
    fn touch(&mut self, peer: PeerId) -> Option<&mut Peer> {
        let row = self.table.get_mut(&peer).filter(|row| row.is_open())?;
        if !row.is_touched() {
            self.touched.push(peer);
        }
        Some(row)
    }

    /// The number of bytes in frames that were gathered and are not sealed.
    pub(crate) fn gathered(&self) -> usize {
        self.gathered
    }

    /// Hands the gathered messages over to the connections. Each connection is called once. Before this call, no
    /// decision of a machine leaves the daemon.
    pub fn hand_over(&mut self) {
        self.seal();
        self.hand_over_sealed();
    }

    /// Seals the gathered messages, to hand them over later. Messages that are gathered from now on are separate.
    pub(crate) fn seal(&mut self) {
        self.gathered = 0;
        self.current = None;
        self.sealed_turns.append(&mut self.turns);
        for peer in std::mem::take(&mut self.touched) {
            if let Some(row) = self.table.get_mut(&peer) {
                let (load, is_last) = (row.gathered.take(), row.close.is_some());
                self.sealed.push(Sealed { peer, load, is_last });
            }
        }
    }

    pub(crate) fn hand_over_sealed(&mut self) {
        for Sealed { peer, load, is_last } in std::mem::take(&mut self.sealed) {
            if let Some(row) = self.table.get_mut(&peer) {
                row.hand_over(load, is_last);
            }
        }
        self.sealed_turns.clear();
        while self.shared.queued.bytes() > self.shared.limits.in_all && self.close_slowest() {}
    }

    /// Drops gathered and sealed messages.
    pub(crate) fn discard(&mut self) {
        self.seal();
        self.sealed.clear();
    }

    /// Waits while connections write, if more than half of the queue limit for all peers is used. So the owner does not
    /// get ahead of peers that read as fast as they can. The owner does not wait for peers that read nothing.
    pub(crate) async fn settle(&self) {
        let mut queued = self.shared.queued.bytes();
        while queued > self.shared.limits.in_all / 2 {
            sleep(SETTLE).await;
            let before = std::mem::replace(&mut queued, self.shared.queued.bytes());
            if queued >= before {
                return;
            }
        }
    }

    /// Closes the connection with the most bytes in its queue. Returns whether a connection was closed.
    fn close_slowest(&mut self) -> bool {
        let waiting = |row: &Peer| row.outbound.as_ref().map(Outbound::owed).filter(|bytes| *bytes > 0);
        let queues = self.table.values_mut().filter_map(|row| Some((waiting(row)?, row)));
        let Some((bytes, row)) = queues.max_by_key(|(bytes, _)| *bytes) else { return false };
        row.end(CloseMode::Now(Disconnect::Slow { bytes }));
        true
    }

    /// Whether messages of this peer overtake those of other peers. They no longer do when the connection has ended.
    pub(crate) fn urgency(&self, peer: PeerId) -> Urgency {
        self.table.get(&peer).map_or(Urgency::Ordinary, |row| urgency_of(row.info.role))
    }

    /// Whether a peer's connection has ended, although its last messages are still being handled.
    pub(crate) fn is_gone(&self, peer: PeerId) -> bool {
        let outbound = self.table.get(&peer).and_then(|row| row.outbound.as_ref());
        outbound.is_some_and(Outbound::is_over)
    }

    /// The description of a peer, while its connection lasts.
    #[must_use]
    pub fn info(&self, peer: PeerId) -> Option<&PeerInfo> {
        self.table.get(&peer).map(|peer| &peer.info)
    }

    /// Updates the table for an arrival. Returns the event for the state machine, if there is one, and the peer that it
    /// comes from.
    pub fn admit(
        &mut self,
        entry: InboxEntry<E>,
        disconnected: fn(PeerId) -> E,
    ) -> Option<(Option<PeerId>, E)> {
        self.current = None;
        match entry {
            InboxEntry::Own(event) => Some((None, event)),
            InboxEntry::Opened(opened) => {
                let Opened { info, outbound, event } = *opened;
                let id = info.id;
                self.shared.meter.opened(info.role);
                let gathered = outbound.empty();
                let row = Peer { info, outbound: Some(outbound), gathered, close: None };
                self.table.insert(id, row);
                event.map(|event| (Some(id), event))
            }
            InboxEntry::Message { peer, event, turn } => {
                let row = self.table.get(&peer).filter(|row| row.is_open())?;
                match urgency_of(row.info.role) {
                    Urgency::Urgent => self.turns.extend(turn),
                    Urgency::Ordinary => self.current = turn.map(|turn| (peer, turn)),
                }
                Some((Some(peer), event))
            }
            InboxEntry::Closed { peer, why } => {
                let Peer { info, .. } = self.table.remove(&peer)?;
                self.shared.meter.closed(info.role);
                log_end(&info, &why);
                Some((Some(peer), disconnected(peer)))
            }
        }
    }

    /// Stops accepting, and cancels connections that are not open yet.
    pub(crate) fn accept_no_more(&self) {
        self.shared.stop.cancel();
    }

    /// The peers with open connections. Drivers come first, since other peers wait for them.
    pub(crate) fn open_ones(&self) -> Vec<PeerId> {
        let open = self.table.values().filter(|row| row.is_open());
        let (mut first, then): (Vec<_>, Vec<_>) = open.partition(|row| row.info.role == Role::Driver);
        first.extend(then);
        first.into_iter().map(|row| row.info.id).collect()
    }

    /// Closes a connection at once, before anything was sent on it.
    pub(crate) fn hang_up(&mut self, peer: PeerId) {
        if let Some(row) = self.table.get_mut(&peer) {
            row.end(CloseMode::Now(Disconnect::LeaseOver));
        }
    }

    /// Ends all connections after their queued messages are sent, within a limited time. Stops accepting.
    pub(crate) async fn end(mut self) {
        self.shared.stop.cancel();
        self.hand_over();
        self.table.clear();
        self.shared.tasks.close();
        if tokio::time::timeout(Duration::from_secs(5), self.shared.tasks.wait()).await.is_err() {
            tracing::warn!("some peers did not read the last messages to them");
        }
    }
}

/// Stops accepting, and lets the accepting thread end.
impl<E> Drop for Peers<E> {
    fn drop(&mut self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
    }
}

impl<E: Send + 'static> Shared<E> {
    pub(super) fn next_id(&self) -> PeerId {
        PeerId(self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Opens a connection after its handshake. Returns the future that serves it to its end. `None` if the owner has
    /// ended.
    pub(super) fn open(
        &self,
        id: PeerId,
        accepted_peer: AcceptedPeer<E>,
        event: Option<E>,
    ) -> Option<impl Future<Output = ()> + Send + use<E>> {
        let AcceptedPeer { introduced, remote, decode, first_within, permit } = accepted_peer;
        let Introduced { hello, version, reader, writer, user, rights, transition, .. } = introduced;
        let Hello { role, name, .. } = hello;
        tracing::debug!(peer = %id, %remote, "{role} {name:?} connected");
        let urgency = urgency_of(role);
        let info = PeerInfo { id, role, name, remote, version, has_proven_user: user.is_some() };
        let (outbound, queue) =
            outbound::queue(self.limits, self.queued.clone(), Load::Frames(Rope::default()));
        self.inbox.opened(info, urgency, outbound, event).ok()?;
        // Drivers that dial send few messages, and anybody who may submit can send many long ones.
        let pace = (role == Role::Driver && permit.is_some()).then(Box::default);
        let reading = Reading { peer: id, user, rights, decode, urgency, pace, first_within };
        let lease = self.lease.clone();
        let serving =
            connection::serve((reader, writer), (queue, lease), reading, self.inbox.clone(), permit);
        let serving = match transition {
            None => Either::Left(serving),
            Some(transition) => {
                let inbox = self.inbox.clone();
                Either::Right(Box::pin(async move {
                    if transition.run(serving).await.is_none() {
                        inbox.closed(id, Disconnect::NoSecret);
                    }
                }))
            }
        };
        let over = self.lease.token().clone();
        Some(async move {
            over.run_until_cancelled_owned(serving).await;
        })
    }
}

pub(super) struct AcceptedPeer<E> {
    pub(super) introduced: Introduced,
    pub(super) remote: SocketAddr,
    pub(super) decode: Decode<E>,
    /// The time limit for the peer's first message. `None`: no limit.
    pub(super) first_within: Option<Duration>,
    /// The connection's permit, if the peer dialled.
    pub(super) permit: Option<ConnectionPermit>,
}

/// The urgency of a peer's messages. Requests of clients are urgent, since people wait for the answers.
pub(super) fn urgency_of(role: Role) -> Urgency {
    match role {
        Role::Client => Urgency::Urgent,
        _ => Urgency::Ordinary,
    }
}
