//! One connection: feeds a [`Connection`] with events, and performs the connection's effects.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::{Disconnect, OutgoingItem, OutgoingStream, Pace, VirtualPeer, VirtualPeers};
use firesteel_master::{Event as MasterEvent, Inbound, Outbound};
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::DriverToMaster;
use firesteel_protocol::wire::Role;
use firesteel_protocol::{Machine, NoteLevel};
use firesteel_spark::connection::{Channel, Closing, Connection, Effect, Event, Note, PeerEnd, driver_token};
use futures_util::FutureExt;
use futures_util::stream::{SelectAll, Stream, StreamExt};
use tokio::time::{sleep, timeout};

use super::Common;
use crate::secret;
use crate::spark::frames::{Broken, Frames};

/// How long the last writes may take after the Master has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// One connection, and the virtual peers that represent its drivers and Workers at the Master.
pub(super) struct Line {
    connection: Connection,
    virtual_peers: VirtualPeers<MasterEvent>,
    remote: SocketAddr,
    channels: BTreeMap<Channel, ChannelState>,
    outgoing: SelectAll<Addressed>,
    common: Arc<Common>,
    /// How often registrations of this connection are heard.
    pace: Pace,
}

/// The virtual peer of a channel, and why the Master has ended it.
struct ChannelState {
    virtual_peer: VirtualPeer<MasterEvent>,
    why: Option<Disconnect>,
}

struct Addressed {
    channel: Channel,
    role: Role,
    outgoing: OutgoingStream,
}

impl Stream for Addressed {
    type Item = (Channel, Role, OutgoingItem);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (channel, role) = (self.channel, self.role);
        Pin::new(&mut self.outgoing).poll_next(context).map(|item| item.map(|item| (channel, role, item)))
    }
}

impl Line {
    pub(super) fn new(
        connection: Connection,
        virtual_peers: VirtualPeers<MasterEvent>,
        remote: SocketAddr,
        common: Arc<Common>,
    ) -> Self {
        Self {
            connection,
            virtual_peers,
            remote,
            channels: BTreeMap::new(),
            outgoing: SelectAll::new(),
            common,
            pace: Pace::default(),
        }
    }

    pub(super) async fn serve(mut self, mut frames: Frames) {
        let ended = self.run(&mut frames).await;
        let closing = match ended {
            Ok(ControlFlow::Break(closing)) => closing,
            Ok(ControlFlow::Continue(())) => self.end(None, &mut frames).await,
            Err(broken) => self.end(Some(broken.to_string()), &mut frames).await,
        };
        if closing == Closing::Flushed {
            let _ = timeout(FLUSH_TIMEOUT, frames.finish()).await;
        }
    }

    /// Reports that the other side has ended the connection, and ends all virtual peers.
    async fn end(&mut self, error: Option<String>, frames: &mut Frames) -> Closing {
        let _ = self.apply(Event::Closed { error }, frames).await;
        Closing::AtOnce
    }

    /// Serves the connection to its end. Returns `Break` if this side has to close the connection, and `Continue` if
    /// the other side has closed it.
    async fn run(&mut self, frames: &mut Frames) -> Result<ControlFlow<Closing>, Broken> {
        let virtual_peers = self.virtual_peers.clone();
        let mut has_ended = false;
        let mut next = self.apply(Event::Opened { remote: self.remote.ip() }, frames).await;
        while next.is_continue() {
            let is_full = frames.is_full();
            let due = self.connection.next_deadline().map(|(at, _)| at.since(virtual_peers.now()));
            next = tokio::select! {
                more = frames.exchange() => {
                    if !more? {
                        return Ok(ControlFlow::Continue(()));
                    }
                    self.take_all(frames).await?
                }
                Some(first) = self.outgoing.next(), if !is_full => self.deliver_all(first, frames).await,
                () = virtual_peers.ended(), if !has_ended => {
                    has_ended = true;
                    self.apply(Event::MasterEnds, frames).await
                }
                () = sleep(due.unwrap_or_default()), if due.is_some() => {
                    self.apply(Event::Deadline, frames).await
                }
            };
        }
        Ok(next)
    }

    async fn take_all(&mut self, frames: &mut Frames) -> Result<ControlFlow<Closing>, Broken> {
        while let Some(frame) = frames.take()? {
            let next = self.apply(Event::Received(frame), frames).await;
            if next.is_break() {
                return Ok(next);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Encodes this message and all queued messages, so that they leave in one write.
    async fn deliver_all(
        &mut self,
        first: (Channel, Role, OutgoingItem),
        frames: &mut Frames,
    ) -> ControlFlow<Closing> {
        let mut next = Some(first);
        while let Some((channel, role, item)) = next {
            let event = self.opened(channel, role, item);
            self.apply(event, frames).await?;
            next = if frames.is_full() { None } else { self.outgoing.next().now_or_never().flatten() };
        }
        ControlFlow::Continue(())
    }

    /// Turns an item of the outgoing stream into an event for the connection.
    fn opened(&mut self, channel: Channel, role: Role, item: OutgoingItem) -> Event {
        let boxed = match item {
            OutgoingItem::Message(boxed) => boxed,
            OutgoingItem::End(why) => {
                let dismissal = match why {
                    Disconnect::Here => PeerEnd::InOrder,
                    _ => PeerEnd::AtOnce,
                };
                if let Some(state) = self.channels.get_mut(&channel) {
                    state.why = Some(why);
                }
                return Event::Dismissed { channel, dismissal };
            }
        };
        let message = match role {
            Role::Driver => Outbound::Driver(boxed.open()),
            Role::Worker => Outbound::Worker(boxed.open()),
            _ => Outbound::Client(boxed.open()),
        };
        Event::Outgoing { channel, message }
    }

    /// Applies an event, and performs the effects in order. An event that results from an effect is applied before the
    /// next effect.
    async fn apply(&mut self, event: Event, frames: &mut Frames) -> ControlFlow<Closing> {
        let mut effects = VecDeque::from(self.effects_of(event));
        while let Some(effect) = effects.pop_front() {
            let event = match effect {
                Effect::Close(closing) => return ControlFlow::Break(closing),
                Effect::Send(frame) => {
                    frames.push(&frame);
                    None
                }
                effect => self.perform(effect).await.unwrap_or(Some(Event::MasterGone)),
            };
            for effect in event.into_iter().flat_map(|event| self.effects_of(event)).rev() {
                effects.push_front(effect);
            }
        }
        ControlFlow::Continue(())
    }

    fn effects_of(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.connection.apply(self.virtual_peers.now(), event);
        if cfg!(debug_assertions)
            && let Err(violation) = self.connection.check()
        {
            panic!("{violation}");
        }
        effects
    }

    /// Performs an effect, except effects on the socket. Returns the event that the effect causes at once.
    async fn perform(&mut self, effect: Effect) -> Result<Option<Event>, OwnerGone> {
        match effect {
            Effect::Open { channel, role, name } => {
                let (virtual_peer, outgoing) = self.virtual_peers.open(role, name, self.remote)?;
                self.channels.insert(channel, ChannelState { virtual_peer, why: None });
                self.outgoing.push(Addressed { channel, role, outgoing });
            }
            Effect::Say { channel, bytes, message } => self.say(self.peer(channel), bytes, message).await?,
            Effect::Register { channel, bytes, mut description } => {
                description.token = driver_token(&secret::draw(), self.remote.ip());
                let message = Inbound::Driver(DriverToMaster::RegisterApplication(description));
                let (peer, arrived) = (self.peer(channel), self.virtual_peers.now());
                let event = MasterEvent::Received { peer, arrived, message };
                self.virtual_peers.say_in_turn_for(peer, arrived, bytes, event, &mut self.pace).await?;
            }
            Effect::SayElsewhere { peer, worker, token, bytes, message } => {
                let known = self.common.directory().find(&worker, &token);
                match known {
                    Some(known) => self.say(known, bytes, Inbound::Worker(message)).await?,
                    None => return Ok(Some(Event::FoundNobody { peer })),
                }
            }
            Effect::Enter { worker, token, channel } => {
                self.common.directory().enter(worker, token, self.peer(channel));
            }
            Effect::Withdraw { worker, channel } => {
                // A channel that could not be opened is not in the table.
                if let Some(state) = self.channels.get(&channel) {
                    self.common.directory().withdraw(&worker, state.virtual_peer.peer());
                }
            }
            Effect::Leave { channel } => match self.channels.remove(&channel) {
                Some(ChannelState { virtual_peer, why: Some(why) }) => virtual_peer.end(why),
                left => drop(left),
            },
            Effect::WriteOrder(request) => return Ok(Some(request.write(&mut self.common.forms()))),
            Effect::ForgetOrders { app } => self.common.forms().forget(&app),
            Effect::Note(note) => self.log(&note),
            Effect::Send(_) | Effect::Close(_) => unreachable!("it is about the socket"),
        }
        Ok(None)
    }

    fn peer(&self, channel: Channel) -> PeerId {
        self.channels.get(&channel).expect("a channel is used while it is open").virtual_peer.peer()
    }

    /// Passes a peer's message to the Master. `bytes` is the length of the message.
    async fn say(&self, peer: PeerId, bytes: usize, message: Inbound) -> Result<(), OwnerGone> {
        let arrived = self.virtual_peers.now();
        self.virtual_peers
            .say_for(peer, arrived, bytes, MasterEvent::Received { peer, arrived, message })
            .await
    }

    fn log(&self, note: &Note) {
        let remote = self.remote;
        match note.level() {
            NoteLevel::Info => tracing::debug!(%remote, "{note}"),
            NoteLevel::Warn => self.common.warn(remote, &note.to_string()),
        }
    }
}
