//! A puppet: a state machine that follows the messages of its peers, the [`PuppetShell`] around it, and peers that the
//! test drives.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::BytesMut;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::version::Version;
use firesteel_protocol::wire::{self, DecodeError, MAX_FRAME, Role};
use firesteel_protocol::{Machine, Timestamp, Violation};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::clock::Clock;
use crate::net::frame;
use crate::net::handshake::Introduced;
use crate::net::{
    AcceptedRole, Arrival, Introduction, Listener, OtherProtocolConnection, QueueLimits, VirtualPeers, dial,
};
use crate::owner::{self, Commit, Committed, Context, Shell};
use crate::signals::{EndRequest, EndRequests};
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("puppet event")]
pub(super) enum Event {
    Start { dial: Option<Address> },
    Connected(PeerId),
    ConnectFailed(String),
    Received { peer: PeerId, message: String },
    Disconnected(PeerId),
    Deadline,
}

pub(super) enum Effect {
    Dial(Address),
    Send(PeerId, String),
    /// Sends a message that does not exist in the peer's version of the protocol.
    SendNews(PeerId),
    Close(PeerId),
    /// Holds the earlier messages back until the next commit.
    Keep,
    End,
}

/// A machine that does what its peers ask, and reports every event to the test.
pub(super) struct Puppet {
    seen: mpsc::UnboundedSender<Event>,
    deadline: Option<Timestamp>,
}

impl Machine for Puppet {
    type Event = Event;
    type Effect = Effect;
    type Reason = ();

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        // The test may have ended already.
        let _ = self.seen.send(event.clone());
        match event {
            Event::Start { dial } => dial.into_iter().map(Effect::Dial).collect(),
            Event::Connected(peer) => vec![Effect::Send(peer, "hello".to_owned())],
            Event::Received { peer, message } => match message.as_str() {
                "say" => vec![Effect::Send(peer, "said".to_owned())],
                "news" => vec![Effect::SendNews(peer)],
                "keep" => vec![Effect::Send(peer, "kept".to_owned()), Effect::Keep],
                "close" => vec![Effect::Send(peer, "bye".to_owned()), Effect::Close(peer)],
                "end" => vec![Effect::Send(peer, "z".repeat(8 << 20)), Effect::End],
                "deadline" => {
                    self.deadline = Some(now + Duration::from_millis(1));
                    Vec::new()
                }
                "flood" => (0..10_000).map(|number| Effect::Send(peer, number.to_string())).collect(),
                _ => Vec::new(),
            },
            Event::Deadline => {
                self.deadline = None;
                Vec::new()
            }
            Event::ConnectFailed(_) | Event::Disconnected(_) => Vec::new(),
        }
    }

    fn next_deadline(&self) -> Option<(Timestamp, ())> {
        self.deadline.map(|time| (time, ()))
    }

    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}

/// A message of a puppet.
#[derive(serde::Serialize)]
pub(super) struct Text(pub(super) String);

impl wire::Message for Text {}

/// The shell of a puppet. For each commit, the test decides what it achieves; without an answer the puppet ends.
pub(super) struct PuppetShell {
    commits: mpsc::UnboundedSender<oneshot::Sender<Committed>>,
    is_due: bool,
}

impl Shell for PuppetShell {
    type Machine = Puppet;
    type End = ();

    fn deadline(_: Timestamp) -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected(peer)
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<()> {
        match effect {
            Effect::Dial(address) => {
                context.peers.dial(&address, Role::Master, received, |outcome| match outcome {
                    Ok((peer, _)) => Event::Connected(peer),
                    Err(error) => Event::ConnectFailed(error.to_string()),
                });
            }
            Effect::Send(peer, message) => context.peers.send(peer, Text(message)),
            Effect::SendNews(peer) => context.peers.send(peer, News),
            Effect::Close(peer) => context.peers.close(peer),
            Effect::Keep => self.is_due = true,
            Effect::End => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn commit(&mut self, _: &Puppet, _: bool) -> Option<Commit<()>> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        let (answer, result) = oneshot::channel();
        self.commits.send(answer).expect("the test runs");
        Some(Box::pin(async {
            match result.await {
                Ok(committed) => ControlFlow::Continue(committed),
                Err(_) => ControlFlow::Break(()),
            }
        }))
    }

    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<(), Event> {
        ControlFlow::Break(())
    }
}

pub(super) fn received(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: wire::decode(body)? })
}

/// A running puppet: its address, and the events that it reports.
pub(super) struct Running {
    pub(super) address: Address,
    pub(super) seen: mpsc::UnboundedReceiver<Event>,
    pub(super) commits: mpsc::UnboundedReceiver<oneshot::Sender<Committed>>,
    pub(super) virtual_peers: VirtualPeers<Event>,
    pub(super) connections: mpsc::Receiver<OtherProtocolConnection>,
}

impl Running {
    /// Starts a puppet that accepts clients and Workers on a separate thread, as a Master does. If `dial` is given, the
    /// puppet first dials this address.
    pub(super) async fn start(role: Role, dial: Option<Address>, limits: QueueLimits) -> Self {
        Self::introduced(Introduction::new(role, "a puppet"), dial, limits).await
    }

    /// Starts a puppet with this introduction.
    pub(super) async fn introduced(ours: Introduction, dial: Option<Address>, limits: QueueLimits) -> Self {
        let role = ours.role();
        let listener = Listener::bind(&Address::new("127.0.0.1", 0)).await.expect("there is a free port");
        let (sender, connections) = mpsc::channel(1);
        let listener = listener.also_receive(b"G", sender);
        let address = Address::new("127.0.0.1", listener.local().port());
        let mut context = Context::introduced(ours, limits, Clock::start());
        let accepted_roles =
            [Role::Client, Role::Worker].map(|role| AcceptedRole { role, decode: received }).into();
        match role {
            Role::Master => context.peers.serve_apart(listener, accepted_roles).expect("there are threads"),
            _ => context.peers.serve(listener, accepted_roles),
        }
        let virtual_peers = context.peers.virtual_peers();
        context.raise(Event::Start { dial });
        let (sender, mut seen) = mpsc::unbounded_channel();
        let mut requests = EndRequests::install().expect("signals can be caught");
        let (of_shell, commits) = mpsc::unbounded_channel();
        let shell = PuppetShell { commits: of_shell, is_due: false };
        tokio::spawn(async move {
            owner::run(Puppet { seen: sender, deadline: None }, shell, context, &mut requests).await
        });
        assert!(matches!(seen.recv().await, Some(Event::Start { .. })));
        Self { address, seen, commits, virtual_peers, connections }
    }

    pub(super) async fn master() -> Self {
        Self::start(Role::Master, None, QueueLimits::default()).await
    }

    pub(super) async fn next(&mut self) -> Event {
        let event = timeout(Duration::from_secs(30), self.seen.recv()).await;
        event.expect("something happens in time").expect("the puppet runs")
    }
}

/// The other end of a connection, driven by the test.
pub(super) struct Hand(pub(super) Introduced);

impl Hand {
    pub(super) async fn connect(address: &Address) -> Self {
        Self::introduced(Introduction::new(Role::Worker, "a hand"), address).await
    }

    pub(super) async fn introduced(ours: Introduction, address: &Address) -> Self {
        Self(dial::open(address, &ours, Role::Master).await.expect("the puppet lets it in").0)
    }

    /// Sends all messages in one write.
    pub(super) async fn send(&mut self, messages: &[&str]) {
        let mut bytes = BytesMut::new();
        for message in messages {
            frame::append(message, &mut bytes, MAX_FRAME).expect("it fits");
        }
        self.0.writer.write_all(&bytes).await.expect("the puppet reads");
    }

    /// Receives the next message; `None` at the end.
    pub(super) async fn receive(&mut self) -> Option<String> {
        let body = timeout(Duration::from_secs(30), self.0.reader.next()).await;
        let body = body.expect("something comes in time").expect("the frames are sound")?;
        Some(wire::decode(&body).expect("it is a text"))
    }

    /// Checks that nothing arrives for a moment. A slow machine does not make this fail.
    pub(super) async fn receives_nothing(&mut self) {
        let body = timeout(Duration::from_millis(50), self.0.reader.next()).await;
        assert!(body.is_err(), "something came before it was durable");
    }
}

pub(super) fn message(peer: u64, text: &str) -> Event {
    Event::Received { peer: PeerId(peer), message: text.to_owned() }
}

/// A message of a version that no peer speaks yet.
#[derive(serde::Serialize)]
pub(super) struct News;

impl wire::Message for News {
    fn since(&self) -> Version {
        Version(Version::CURRENT.0 + 1)
    }
}
