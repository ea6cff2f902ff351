//! One connection as a state machine. Spark's peers opened it to a Master, or the Master opened it to one of them.
//!
//! Several drivers, Workers and clients may share a connection. A message names an application or a Worker, which
//! identifies its sender; only reports on executors are identified by the address of their sender. To the Master each
//! of them is a peer like any other, with a number called a *seat*. The machine tells the shell which seats to open and
//! leave, and which messages to say at each.
//!
//! ```text
//! frame ----> Received --> its sender ---> translation --> Say at the seat ----> Master
//! frame <---- Send <------ Spark's message <-- Told at the seat <-------------- Master
//! ```
//!
//! - `event.rs`, `effect.rs`, `note.rs`: inputs and outputs
//! - `hearing.rs`: from a frame to its sender
//! - `peers.rs`: the table of the drivers and Workers on the connection
//! - `drivers.rs`, `workers.rs`: messages from and to drivers and Workers
//! - `orders.rs`: orders to launch executors
//! - `clients.rs`, `asker.rs`: clients that submit cluster drivers, and the seat that asks the Master for all of them
//! - `questions.rs`: questions to peers, and registrations that wait for the answers
//! - `calls.rs`: connections that the Master opens
//! - `directory.rs`: the Workers that the Master knows by any connection
//! - `check.rs`: the invariants

mod asker;
mod calls;
mod check;
mod clients;
mod directory;
mod drivers;
mod effect;
mod event;
mod hearing;
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

use self::asker::Asker;
pub use self::calls::{Called, Uncallable};
use self::clients::Client;
pub use self::clients::ClientNumber;
pub use self::directory::Directory;
pub use self::effect::{Closing, Effect};
pub use self::event::{Dismissal, Event};
pub use self::hearing::verify;
pub use self::note::Note;
pub use self::orders::OrderRequest;
pub use self::peers::PeerNumber;
use self::peers::Peers;
use self::questions::Question;
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::messages;

/// How long a connection may be open before one of its peers registers.
pub const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The name of a Worker's endpoint.
pub const WORKER: &str = "Worker";

/// The number of one peer of the Master on this connection, counted from 0. A driver gets another seat with its next
/// application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat(pub u64);

/// How much one connection may hold, for all its peers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of drivers and Workers that may register on the connection.
    pub peers: usize,
    /// The number of clients that may submit cluster drivers.
    pub clients: usize,
    /// The number of requests of one client that may wait until its release is known.
    pub held: usize,
    /// The number of requests of one peer, and of all clients, that may wait for the Master's answer.
    pub owed: usize,
    /// The number of executors that Workers may report as running.
    pub executors: usize,
    /// The number of open questions to drivers and Workers.
    pub questions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { peers: 1 << 14, clients: 64, held: 64, owed: 1 << 16, executors: 1 << 17, questions: 1 << 17 }
    }
}

/// One connection between a Master and Spark's peers.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    remote: IpAddr,
    state: State,
    peers: Peers,
    clients: Vec<Client>,
    asker: Option<Asker>,
    /// The peer at each seat.
    seats: BTreeMap<Seat, Occupant>,
    next_seat: u64,
    /// Open questions to peers, by the id of the request.
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
    /// It is not open yet. Carries the peer to call, if the Master opens it.
    New(Option<Box<Called>>),
    /// No peer has registered; one must before this time.
    Mute(Timestamp),
    /// A peer has registered.
    InUse,
    /// The Master ends: the connection closes once it has no driver and no Worker.
    Ending,
    /// It has ended, and sends nothing more.
    Closed,
}

/// The peer at a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupant {
    Driver(PeerNumber),
    Worker(PeerNumber),
    /// All clients of the connection together.
    Asker,
}

/// Why a connection wants to be woken.
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
            Event::Told { seat, message } => self.on_told(seat, message),
            Event::Dismissed { seat, dismissal } => self.on_dismissed(seat, dismissal),
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
            state: State::New(None),
            peers: Peers::default(),
            clients: Vec::new(),
            asker: None,
            seats: BTreeMap::new(),
            next_seat: 0,
            questions: BTreeMap::new(),
            last_question: 0,
            bytes: 0,
            effects: Vec::new(),
        }
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

    /// The Master sends a message to a peer.
    fn on_told(&mut self, seat: Seat, message: Outbound) {
        match (self.seats.get(&seat).copied(), message) {
            (Some(Occupant::Driver(peer)), Outbound::Driver(message)) => self.tell_driver(peer, &message),
            (Some(Occupant::Worker(peer)), Outbound::Worker(message)) => self.tell_worker(peer, message),
            (Some(Occupant::Asker), Outbound::Client(answer)) => self.tell_asker(&answer),
            // Messages to a seat that was left are dropped. The Master's message always fits the peer's role.
            (None | Some(Occupant::Driver(_) | Occupant::Worker(_) | Occupant::Asker), _) => {}
        }
    }

    /// The Master ends a peer. A Worker that is registered on another connection keeps this one. Otherwise the
    /// connection closes with its last peer.
    fn on_dismissed(&mut self, seat: Seat, dismissal: Dismissal) {
        let Some(occupant) = self.seats.get(&seat).copied() else { return };
        let mut owed = None;
        match occupant {
            Occupant::Driver(peer) => self.peers[peer].driver = None,
            Occupant::Worker(peer) => self.withdraw(peer),
            Occupant::Asker => owed = self.asker.take(),
        }
        self.leave(seat);
        let stays_open = matches!((occupant, dismissal), (Occupant::Worker(_), Dismissal::InOrder));
        if !stays_open && self.is_gone() {
            return self.close(Closing::Flushed);
        }
        match occupant {
            Occupant::Driver(peer) => self.answer_owed(peer),
            Occupant::Worker(_) => {}
            Occupant::Asker => owed.into_iter().for_each(|asker| self.fail_owed(asker)),
        }
    }

    /// Whether the connection has no driver and no Worker at the Master.
    fn is_gone(&self) -> bool {
        self.seats.values().all(|occupant| *occupant == Occupant::Asker)
    }

    /// Opens the next seat at the Master.
    fn open(&mut self, occupant: Occupant, role: Role, name: String) -> Seat {
        let seat = Seat(self.next_seat);
        self.next_seat += 1;
        self.seats.insert(seat, occupant);
        self.effects.push(Effect::Open { seat, role, name });
        seat
    }

    fn leave(&mut self, seat: Seat) {
        self.seats.remove(&seat);
        self.effects.push(Effect::Leave { seat });
    }

    fn say(&mut self, seat: Seat, message: Inbound) {
        self.effects.push(Effect::Say { seat, bytes: self.bytes, message });
    }

    /// A peer has registered, or waits for the end of a cluster driver: the connection may stay open.
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

    /// Sends a driver or a Worker a message with this object.
    fn send(&mut self, peer: PeerNumber, object: &[u8]) {
        let body = self.addressed(peer, object);
        self.effects.push(Effect::Send(Frame::OneWay { body }));
    }

    /// A body for a peer. The Master uses the address by which the peer knows it, since peers compare addresses.
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

    /// The address by which a peer knows the Master.
    fn master(&self, peer: PeerNumber) -> &Address {
        &self.peers[peer].master
    }

    /// Closes the connection from this side.
    fn close(&mut self, closing: Closing) {
        self.end();
        self.effects.push(Effect::Close(closing));
    }

    /// All peers leave.
    fn end(&mut self) {
        self.state = State::Closed;
        for (seat, occupant) in std::mem::take(&mut self.seats) {
            if let Occupant::Worker(peer) = occupant {
                self.withdraw(peer);
            }
            self.effects.push(Effect::Leave { seat });
        }
        self.peers.driven_out();
        self.asker = None;
    }
}
