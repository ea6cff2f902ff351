//! One connection between a Master and Spark's peers, as a state machine. Either side may have opened it.
//!
//! Several drivers, Workers and clients may share a connection. A message names an application or a Worker, which
//! identifies the message's sender. Only for reports on executors, the sender's address identifies the sender. At the
//! Master, each driver and each Worker is a peer like any other, and has a number called a *channel*. The machine's
//! effects say which channels to open and leave, and which messages to pass on at each channel.
//!
//! ```text
//! frame ----> Received --> its sender ---> translation --> Say on the channel ----> Master
//! frame <---- Send <------ Spark's message <-- Outgoing on the channel <-------------- Master
//! ```
//!
//! - `event.rs`, `effect.rs`, `note.rs`: inputs and outputs
//! - `hearing.rs`: finds the sender of a frame
//! - `peers.rs`: the table of the drivers and Workers on the connection
//! - `drivers.rs`, `workers.rs`: messages from and to drivers and Workers
//! - `orders.rs`: orders to launch executors
//! - `clients.rs`, `master_client.rs`: clients that submit cluster drivers, and the channel on which the Master is
//!   asked on their behalf
//! - `questions.rs`: questions to peers, and registrations that wait for the answers
//! - `calls.rs`: connections that the Master opens
//! - `directory.rs`: the Workers that the Master has registered, over all connections
//! - `check.rs`: the invariants

mod calls;
mod check;
mod clients;
mod directory;
mod drivers;
mod effect;
mod event;
mod hearing;
mod master_client;
mod note;
mod orders;
mod peers;
mod questions;
mod workers;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use firesteel_master::{Inbound, Outbound};
use firesteel_protocol::wire::Role;
use firesteel_protocol::{Machine, Timestamp, Violation};

pub use self::calls::{Called, Uncallable, driver_token};
use self::clients::Client;
pub use self::clients::ClientNumber;
pub use self::directory::Directory;
pub use self::effect::{Closing, Effect};
pub use self::event::{Event, PeerEnd};
pub use self::hearing::verify;
use self::master_client::MasterClient;
pub use self::note::Note;
pub use self::orders::OrderRequest;
pub use self::peers::PeerNumber;
use self::peers::Peers;
use self::questions::Question;
use crate::authentication::Proven;
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::messages;

/// How long a connection may be open before one of its peers registers.
pub const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The name of a Worker's endpoint.
pub const WORKER: &str = "Worker";

/// The number of one peer of the Master on this connection, counted from 0. When a driver registers its next
/// application, it gets another channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel(pub u64);

/// The limits of one connection, for all of its peers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of drivers and Workers that may register on the connection.
    pub peers: usize,
    /// The number of clients that may submit cluster drivers.
    pub clients: usize,
    /// The number of requests of one client that may wait until its release is known.
    pub held: usize,
    /// The number of requests of one peer, and of all clients, that may wait for the Master's answer.
    pub pending: usize,
    /// The number of executors that Workers may report as running.
    pub executors: usize,
    /// The number of open questions to drivers and Workers.
    pub questions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            peers: 1 << 14,
            clients: 64,
            held: 64,
            pending: 1 << 16,
            executors: 1 << 17,
            questions: 1 << 17,
        }
    }
}

/// One connection between a Master and Spark's peers.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    remote: IpAddr,
    /// What the other side has proven. `None`: it has not been asked to.
    proven: Option<Proven>,
    state: State,
    peers: Peers,
    clients: Vec<Client>,
    master_client: Option<MasterClient>,
    /// The peer on each channel.
    channels: BTreeMap<Channel, Occupant>,
    next_channel: u64,
    /// The open questions to peers, by the id of the request.
    questions: BTreeMap<i64, Question>,
    last_question: i64,
    /// The number of bytes in the current frame.
    bytes: usize,
    effects: Vec<Effect>,
}

/// The states of a connection.
///
/// ```text
///  NEW --opened--> MUTE --somebody registers--> IN USE --the Master ends--> ENDING
///   |                | the deadline               | ..                        | nobody is left
///   +--- opened by the Master: IN USE             v                           v
///                  CLOSED  <--------- the other side ends it, or the Master is gone
/// ```
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The connection is not open yet. If the Master opens it: the peer to call.
    New(Option<Box<Called>>),
    /// No peer has registered yet. One must register before this time.
    Mute(Timestamp),
    /// A peer has registered.
    InUse,
    /// The Master is ending. The connection closes when no driver and no Worker is left on it.
    Ending,
    /// The connection has ended, and nothing more is sent.
    Closed,
}

/// The peer on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupant {
    Driver(PeerNumber),
    Worker(PeerNumber),
    /// All clients of the connection together.
    MasterClient,
}

/// The reason why a connection has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No peer has registered in time.
    Registration,
}

impl Default for Connection {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Machine for Connection {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if self.state == State::Closed {
            return Vec::new();
        }
        match event {
            Event::Opened { remote } => self.on_opened(now, remote),
            Event::Received(frame) => self.on_frame(frame),
            Event::Outgoing { channel, message } => self.on_outgoing(channel, message),
            Event::Dismissed { channel, dismissal } => self.on_dismissed(channel, dismissal),
            Event::FoundNobody { peer } => self.reconnect(peer),
            Event::OrderWritten { peer, executor, object } => self.on_order_written(peer, &executor, object),
            Event::MasterEnds => self.state = State::Ending,
            Event::MasterGone => self.close(Closing::Flushed),
            Event::Closed { error } => {
                self.note(error.map_or(Note::Ended, Note::Broken));
                self.end();
            }
            Event::Deadline => {
                if matches!(self.state, State::Mute(until) if until <= now) {
                    self.note(Note::Mute);
                    self.close(Closing::AtOnce);
                }
            }
        }
        self.bytes = 0;
        if self.state == State::Ending && self.is_gone() {
            self.close(Closing::Flushed);
        }
        std::mem::take(&mut self.effects)
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.state {
            State::Mute(until) => Some((until, Reason::Registration)),
            State::New(_) | State::InUse | State::Ending | State::Closed => None,
        }
    }

    fn check(&self) -> Result<(), Violation> {
        self.check_tables()
    }
}

impl Connection {
    /// A connection that the Master accepted, with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            remote: Ipv4Addr::UNSPECIFIED.into(),
            proven: None,
            state: State::New(None),
            peers: Peers::default(),
            clients: Vec::new(),
            master_client: None,
            channels: BTreeMap::new(),
            next_channel: 0,
            questions: BTreeMap::new(),
            last_question: 0,
            bytes: 0,
            effects: Vec::new(),
        }
    }

    /// The connection of a side that has proven this.
    #[must_use]
    pub fn proven(self, proven: Option<Proven>) -> Self {
        Self { proven, ..self }
    }

    fn on_opened(&mut self, now: Timestamp, remote: IpAddr) {
        self.remote = remote;
        match std::mem::replace(&mut self.state, State::InUse) {
            State::New(None) => self.state = State::Mute(now + REGISTRATION_TIMEOUT),
            State::New(Some(called)) => self.begin_call(*called),
            // It was already open.
            other => self.state = other,
        }
    }

    /// Handles a message from the Master to a peer.
    fn on_outgoing(&mut self, channel: Channel, message: Outbound) {
        match (self.channels.get(&channel).copied(), message) {
            (Some(Occupant::Driver(peer)), Outbound::Driver(message)) => self.tell_driver(peer, &message),
            (Some(Occupant::Worker(peer)), Outbound::Worker(message)) => self.tell_worker(peer, message),
            (Some(Occupant::MasterClient), Outbound::Client(answer)) => self.tell_master_client(&answer),
            // Messages to a channel that was left are dropped. The Master's message always fits the peer's role.
            (None | Some(Occupant::Driver(_) | Occupant::Worker(_) | Occupant::MasterClient), _) => {}
        }
    }

    /// Handles that the Master ends a peer. If the peer is a Worker that has registered on another connection, this
    /// connection stays open. Otherwise it closes with its last peer.
    fn on_dismissed(&mut self, channel: Channel, dismissal: PeerEnd) {
        let Some(occupant) = self.channels.get(&channel).copied() else { return };
        let mut pending = None;
        match occupant {
            Occupant::Driver(peer) => self.peers[peer].driver = None,
            Occupant::Worker(peer) => self.withdraw(peer),
            Occupant::MasterClient => pending = self.master_client.take(),
        }
        self.leave(channel);
        let stays_open = matches!((occupant, dismissal), (Occupant::Worker(_), PeerEnd::InOrder));
        if !stays_open && self.is_gone() {
            return self.close(Closing::Flushed);
        }
        match occupant {
            Occupant::Driver(peer) => self.answer_pending(peer),
            Occupant::Worker(_) => {}
            Occupant::MasterClient => {
                pending.into_iter().for_each(|master_client| self.fail_pending(master_client))
            }
        }
    }

    /// Whether no driver and no Worker on the connection is a peer of the Master.
    fn is_gone(&self) -> bool {
        self.channels.values().all(|occupant| *occupant == Occupant::MasterClient)
    }

    /// Opens the next channel at the Master.
    fn open(&mut self, occupant: Occupant, role: Role, name: String) -> Channel {
        let channel = Channel(self.next_channel);
        self.next_channel += 1;
        self.channels.insert(channel, occupant);
        self.effects.push(Effect::Open { channel, role, name });
        channel
    }

    fn leave(&mut self, channel: Channel) {
        self.channels.remove(&channel);
        self.effects.push(Effect::Leave { channel });
    }

    fn say(&mut self, channel: Channel, message: Inbound) {
        self.effects.push(Effect::Say { channel, bytes: self.bytes, message });
    }

    /// Records that a peer has registered, or waits for the end of a cluster driver. Then the connection may stay open.
    fn see_use(&mut self) {
        if let State::Mute(_) = self.state {
            self.state = State::InUse;
        }
    }

    /// Sends a frame. A failure is also logged.
    fn reply(&mut self, frame: Frame) {
        if let Frame::Failure { reason, .. } = &frame {
            self.note(Note::RequestRefused { reason: reason.clone() });
        }
        self.effects.push(Effect::Send(frame));
    }

    /// Answers a request with `true` or `false`.
    fn answer(&mut self, id: i64, yes: bool) {
        self.effects.push(Effect::Send(Frame::Response { id, body: messages::answer(yes).into() }));
    }

    fn fail(&mut self, id: i64, reason: String) {
        self.reply(Frame::Failure { id, reason });
    }

    fn note(&mut self, note: Note) {
        self.effects.push(Effect::Note(note));
    }

    /// Sends a message with this object to a driver or a Worker.
    fn send(&mut self, peer: PeerNumber, object: &[u8]) {
        let body = self.addressed(peer, object);
        self.effects.push(Effect::Send(Frame::OneWay { body }));
    }

    /// A body for a peer. The Master's address in it is the one that the peer uses, since peers compare addresses.
    fn addressed(&self, peer: PeerNumber, object: &[u8]) -> Bytes {
        let row = &self.peers[peer];
        let reference = &row.dialect.reference;
        let envelope = Envelope {
            sender: Some(row.master.clone()),
            receiver: Some(reference.address.clone()),
            endpoint: reference.name.clone(),
        };
        envelope.around(object)
    }

    /// The address that a peer uses for the Master.
    fn master(&self, peer: PeerNumber) -> &Address {
        &self.peers[peer].master
    }

    /// Closes the connection from this side.
    fn close(&mut self, closing: Closing) {
        self.end();
        self.effects.push(Effect::Close(closing));
    }

    /// Ends all peers of the connection.
    fn end(&mut self) {
        self.state = State::Closed;
        for (channel, occupant) in std::mem::take(&mut self.channels) {
            if let Occupant::Worker(peer) = occupant {
                self.withdraw(peer);
            }
            self.effects.push(Effect::Leave { channel });
        }
        self.peers.driven_out();
        self.master_client = None;
    }
}
