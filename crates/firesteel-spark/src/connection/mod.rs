//! One connection that peers of Spark's opened to a Master, or the Master to one of them, as a state machine.
//!
//! Several drivers, Workers and clients may share a connection. A message names an application or a Worker, which is one of
//! them or belongs to it; only a report on an executor is known by the address that it comes from. To the Master each of them
//! is a peer like any other, and has a *seat*: the machine says what the shell opens, says and leaves there.
//!
//! ```text
//!  frame ----> Received --> who says it --> translation --> Say at the seat ----> Master
//!  frame <---- Send <------ Spark's words <-- Told at the seat <----------------- Master
//! ```
//!
//! - `event.rs`, `effect.rs`, `note.rs`: what comes in and goes out
//! - `hearing.rs`: from a frame to the one who says it
//! - `peers.rs`: who is on the connection; the one table of them
//! - `drivers.rs`, `workers.rs`: what drivers and Workers say, and are told
//! - `orders.rs`: orders to launch executors
//! - `clients.rs`, `asker.rs`: those who submit cluster drivers, and the seat that asks the Master for all of them
//! - `questions.rs`: what peers are asked, and registrations that wait for the answers
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

/// How long a connection may be open before somebody on it registers.
pub const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(60);

/// The name of a Worker's endpoint.
pub const WORKER: &str = "Worker";

/// A seat at the Master: one peer that this connection has there, counted from 0. A driver has another seat with its next
/// application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seat(pub u64);

/// How much one connection may hold, whoever is on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of drivers and Workers that may register.
    pub peers: usize,
    /// The number of those who may submit cluster drivers.
    pub clients: usize,
    /// The number of requests of one client that may wait until its release is known.
    pub held: usize,
    /// The number of requests of one peer, and of all clients, that may wait for the Master.
    pub owed: usize,
    /// The number of executors that Workers may say they run.
    pub executors: usize,
    /// The number of questions to drivers and Workers that may be open.
    pub questions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { peers: 1 << 14, clients: 64, held: 64, owed: 1 << 16, executors: 1 << 17, questions: 1 << 17 }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    remote: IpAddr,
    state: State,
    peers: Peers,
    clients: Vec<Client>,
    asker: Option<Asker>,
    /// Who has each seat at the Master.
    seats: BTreeMap<Seat, Occupant>,
    next_seat: u64,
    /// What was asked of peers, by the number of the request.
    questions: BTreeMap<i64, Question>,
    last_question: i64,
    /// The number of bytes in the frame at hand.
    bytes: usize,
    effects: Vec<Effect>,
}

/// What a connection waits for.
///
/// ```text
///  NEW --opened--> MUTE --somebody registers--> IN USE --the Master ends--> ENDING
///   |                | the deadline               | ..                        | nobody is left
///   +--- opened by the Master: IN USE             v                           v
///                  CLOSED  <--------- the other side ends it, or the Master is gone
/// ```
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// It is not open yet. The one who is called, if the Master opens it.
    New(Option<Box<Called>>),
    /// Nobody has registered, and somebody has to before this time.
    Mute(Timestamp),
    /// Somebody has registered.
    InUse,
    /// The Master ends: it closes when no driver and no Worker is left.
    Ending,
    /// It has ended. Nothing is sent any more.
    Closed,
}

/// Who has a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupant {
    Driver(PeerNumber),
    Worker(PeerNumber),
    /// All clients together.
    Asker,
}

/// Why a connection wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nobody has registered yet.
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
    /// A connection that was accepted and may hold this much.
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
            // It is open already.
            other => self.state = other,
        }
    }

    /// The Master sends something to a peer.
    fn on_told(&mut self, seat: Seat, message: Outbound) {
        match (self.seats.get(&seat).copied(), message) {
            (Some(Occupant::Driver(peer)), Outbound::Driver(message)) => self.tell_driver(peer, &message),
            (Some(Occupant::Worker(peer)), Outbound::Worker(message)) => self.tell_worker(peer, message),
            (Some(Occupant::Asker), Outbound::Client(answer)) => self.tell_asker(&answer),
            // Of a seat that was left no more is told. A Master speaks to each peer as its role wants.
            (None | Some(Occupant::Driver(_) | Occupant::Worker(_) | Occupant::Asker), _) => {}
        }
    }

    /// The Master ends a peer. A Worker that is at home on another connection keeps this one; otherwise the connection of the
    /// last one ends, too.
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

    /// Whether no driver and no Worker has a seat.
    fn is_gone(&self) -> bool {
        self.seats.values().all(|occupant| *occupant == Occupant::Asker)
    }

    /// Takes the next seat at the Master.
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

    /// Somebody has registered, or waits for the end of a driver: the connection may stay.
    fn see_use(&mut self) {
        if let State::Mute(_) = self.state {
            self.state = State::InUse;
        }
    }

    /// Sends a frame. A failure is worth a line in the log.
    fn reply(&mut self, frame: Frame) {
        if let Frame::Failure { reason, .. } = &frame {
            self.note(Note::RequestRefused { reason: reason.clone() });
        }
        self.effects.push(Effect::Send(frame));
    }

    /// Answers a request with yes or no.
    fn answer(&mut self, id: i64, yes: bool) {
        self.effects.push(Effect::Send(Frame::Response { id, body: messages::answer(yes).into() }));
    }

    fn fail(&mut self, id: i64, reason: String) {
        self.reply(Frame::Failure { id, reason });
    }

    fn note(&mut self, note: Note) {
        self.effects.push(Effect::Note(note));
    }

    /// Sends a driver or a Worker an object in a message.
    fn send(&mut self, peer: PeerNumber, object: &[u8]) {
        let body = self.addressed(peer, object);
        self.effects.push(Effect::Send(Frame::OneWay { body }));
    }

    /// A body for a peer. The Master calls itself as the peer does, so that all comparisons of addresses come out right.
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

    /// The address by which a peer calls the Master.
    fn master(&self, peer: PeerNumber) -> &Address {
        &self.peers[peer].master
    }

    /// Ends the connection from this side.
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
