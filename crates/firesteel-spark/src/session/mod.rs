//! One connection that peers of Spark's opened to a Master: who is on it, and what they are owed.
//!
//! Several drivers and Workers may share a connection. A message names an application or a Worker, which is one of them or
//! belongs to it; only a report on an executor is known by the address that it comes from.
//!
//! - `questions.rs`: registrations that wait until their peer has told more of itself
//! - `clients.rs`: those who submit cluster drivers

mod clients;
mod questions;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use thiserror::Error;

use self::clients::Client;
pub use self::clients::ClientNumber;
use self::questions::{Held, Question};
use crate::dialect::Dialect;
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::java::ReadError;
use crate::messages::{
    self, ClientRequest, FromDriver, FromWorker, MASTER, Message, ToDriver, ToWorker, asked_endpoint,
};
use crate::order_form::{Order, OrderForms};

/// One connection.
#[derive(Debug, Default)]
pub struct Session {
    peers: Vec<Peer>,
    /// Those who submit cluster drivers.
    clients: Vec<Client>,
    /// The peers by what they call themselves: address and endpoint.
    names: BTreeMap<(Address, String), PeerNumber>,
    /// The driver of each application.
    applications: BTreeMap<String, PeerNumber>,
    /// The peer that is each Worker.
    workers: BTreeMap<String, PeerNumber>,
    /// The Worker that runs each executor, by application and number: it is not told to launch it once more.
    executors: BTreeMap<(String, i32), PeerNumber>,
    /// What was asked of peers, by the number of the request.
    questions: BTreeMap<i64, Question>,
    last_question: i64,
}

/// The number of a peer on its connection, counted from 0. It stays the peer's until the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerNumber(pub usize);

/// A driver or a Worker.
#[derive(Debug)]
struct Peer {
    dialect: Dialect,
    /// How it calls the Master.
    master: Address,
    /// Its id, if it is a Worker.
    worker: Option<String>,
    /// Its requests that are not answered yet, oldest first.
    owed: VecDeque<i64>,
    /// Its registration, while the serial version ids of its classes are being asked.
    held: Option<Held>,
}

/// What comes of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// This frame has to be sent.
    Reply(Frame),
    /// A driver has said this.
    Driver(PeerNumber, FromDriver),
    /// A Worker has said this.
    Worker(PeerNumber, FromWorker),
    /// One who submits cluster drivers has this request, with this number.
    Client(ClientNumber, i64, ClientRequest),
    /// Somebody asks, with this number of a request, whether the Master works with everything that came before.
    Readyz(i64),
    /// A sentence for the log: something came that nobody here can do anything with.
    Strange(String),
}

/// Why a driver or a Worker cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Uncallable {
    /// What was kept of it is no registration.
    #[error("what was kept of its registration cannot be read")]
    Unreadable,
    /// It is of a release whose classes are not known.
    #[error("it is of a release of Spark that is not known here")]
    UnknownRelease,
}

/// How many drivers and Workers there may be on one connection.
const MOST_PEERS: usize = 1 << 14;

/// The endpoint that answers whether an endpoint is there.
const VERIFIER: &str = "endpoint-verifier";

/// The name of a Worker's endpoint.
pub const WORKER: &str = "Worker";

/// The answer of a process that has this endpoint to a frame. `None` if a frame of this kind is not answered.
pub fn verify(frame: &Frame, here: &str) -> Option<Frame> {
    let Frame::Request { id, body } = frame else { return None };
    let (id, mut body) = (*id, body.clone());
    let asked = match Envelope::decode(&mut body) {
        Ok(Envelope { endpoint, .. }) if endpoint == VERIFIER => {
            asked_endpoint(&body).map_err(|error| error.to_string())
        }
        Ok(Envelope { endpoint, .. }) => Err(format!("there is no endpoint {endpoint}")),
        Err(error) => Err(error.to_string()),
    };
    Some(match asked {
        Ok(asked) => Frame::Response { id, body: messages::answer(asked == here).into() },
        Err(reason) => Frame::Failure { id, reason },
    })
}

impl Session {
    /// Takes a frame that came.
    pub fn hear(&mut self, frame: Frame) -> Vec<Heard> {
        match frame {
            Frame::Request { id, ref body } => {
                let mut object = body.clone();
                match Envelope::decode(&mut object) {
                    Ok(envelope) if envelope.endpoint == MASTER => self.on_request(envelope, id, &object),
                    Ok(_) | Err(_) => verify(&frame, MASTER).into_iter().map(Heard::Reply).collect(),
                }
            }
            Frame::OneWay { body } => {
                let mut object = body.clone();
                match Envelope::decode(&mut object) {
                    Ok(envelope) => self.on_message(envelope, &object, body),
                    Err(error) => strange(error.to_string()),
                }
            }
            Frame::Failure { id, reason } => self.on_answer(id, &reason, &[]),
            Frame::Response { id, body } => self.on_answer(id, "it was accepted", &body),
        }
    }

    /// A connection to a driver or a Worker that registered with this body of a frame, and is now called by a Master that was
    /// restarted or takes over: the session with this one, who owns the application or is the Worker of that id, and the
    /// address to dial. `here` is the Master's address; if it is not given, it is the one with which the called one
    /// registered.
    ///
    /// # Errors
    ///
    /// If the body is none of a registration, or the classes of a driver were learnt by asking, and are not known any more.
    pub fn calling(
        mut body: Bytes,
        id: &str,
        here: Option<Address>,
    ) -> Result<(Self, PeerNumber, Address), Uncallable> {
        let envelope = Envelope::decode(&mut body).map_err(|_| Uncallable::Unreadable)?;
        let master = here.or(envelope.receiver).ok_or(Uncallable::Unreadable)?;
        let mut session = Self::default();
        let (dialect, called) = match messages::read(&body) {
            Ok(Message::Driver(FromDriver::RegisterApplication(registration))) => {
                (registration.dialect, &mut session.applications)
            }
            Ok(Message::Worker(FromWorker::RegisterWorker(registration))) => {
                (registration.dialect, &mut session.workers)
            }
            _ => return Err(Uncallable::Unreadable),
        };
        if !dialect.vocabulary.to_ask().is_empty() {
            return Err(Uncallable::UnknownRelease);
        }
        let address = dialect.reference.address.clone();
        let peer = PeerNumber(0);
        called.insert(id.to_owned(), peer);
        let only = session.peer(dialect, master);
        debug_assert_eq!(only, Some(peer));
        session.peers[peer.0].worker = session.workers.keys().next().cloned();
        Ok((session, peer, address))
    }

    /// The frame that tells a driver something.
    pub fn tell_driver(&mut self, peer: PeerNumber, message: &ToDriver) -> Frame {
        if let ToDriver::RegisteredApplication { app, .. } = message {
            self.applications.insert(app.clone(), peer);
        }
        self.one_way(peer, &message.write(&self.peers[peer.0].dialect))
    }

    /// The frame that tells a Worker something.
    pub fn tell_worker(&mut self, peer: PeerNumber, message: &ToWorker) -> Frame {
        match message {
            // No executor of it is left, or its end is of no more interest.
            ToWorker::ApplicationFinished { app } => {
                let of_app = (app.clone(), i32::MIN)..=(app.clone(), i32::MAX);
                let there = self.executors.range(of_app).filter(|(_, on)| **on == peer);
                for key in there.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
                    self.executors.remove(&key);
                }
            }
            ToWorker::LaunchExecutor(_)
            | ToWorker::RegisteredWorker { .. }
            | ToWorker::RegisterWorkerFailed { .. }
            | ToWorker::ReconnectWorker { .. }
            | ToWorker::MasterChanged { .. }
            | ToWorker::KillExecutor { .. } => {}
        }
        self.one_way(peer, &message.write(&self.peers[peer.0].dialect))
    }

    /// The frame that has a Worker launch an executor. `None` if the Worker was told so before: it would start a second one.
    ///
    /// # Errors
    ///
    /// If the application's description is no stream of Java objects.
    pub fn launch(
        &mut self,
        peer: PeerNumber,
        order: &Order<'_>,
        forms: &mut OrderForms,
    ) -> Result<Option<Frame>, ReadError> {
        let key = (order.app.to_owned(), order.executor);
        if self.executors.contains_key(&key) {
            return Ok(None);
        }
        let Peer { dialect, master, .. } = &self.peers[peer.0];
        let object = forms.write(order, dialect, &master.url())?;
        self.executors.insert(key, peer);
        Ok(Some(self.one_way(peer, &object)))
    }

    /// The frame that answers the request with this number with yes.
    pub fn accept(id: i64) -> Frame {
        Frame::Response { id, body: messages::answer(true).into() }
    }

    /// The frame that answers a peer's oldest request with yes or no. `None` if it is owed no answer.
    pub fn answer(&mut self, peer: PeerNumber, yes: bool) -> Option<Frame> {
        let id = self.peers[peer.0].owed.pop_front()?;
        Some(Frame::Response { id, body: messages::answer(yes).into() })
    }

    /// The address by which a peer calls the Master.
    pub fn master(&self, peer: PeerNumber) -> &Address {
        &self.peers[peer.0].master
    }

    fn on_request(&mut self, envelope: Envelope, id: i64, object: &[u8]) -> Vec<Heard> {
        match messages::read(object) {
            Ok(Message::Driver(message)) => match self.driver_of(&message) {
                Some(peer) => {
                    self.peers[peer.0].owed.push_back(id);
                    vec![Heard::Driver(peer, message)]
                }
                // Like Spark's Master, which answers no for an application that it does not know.
                None => vec![response(id, false)],
            },
            // Spark's Master, too, answers every report with yes.
            Ok(Message::Worker(message)) => match self.worker_of(&message, envelope.sender) {
                Some(peer) => {
                    self.forget_if_ended(&message);
                    vec![Heard::Worker(peer, message), response(id, true)]
                }
                None => vec![response(id, true)],
            },
            Ok(Message::Client(message)) => self.on_client(envelope, id, *message),
            Ok(Message::Readyz) => vec![Heard::Readyz(id)],
            Err(error) => vec![failure(id, error.to_string())],
        }
    }

    fn on_message(&mut self, envelope: Envelope, object: &[u8], body: Bytes) -> Vec<Heard> {
        let Envelope { sender, receiver, endpoint } = envelope;
        if endpoint != MASTER {
            return strange(format!("a message to the endpoint {endpoint}, which is not here"));
        }
        let Some(master) = receiver else {
            return strange("a message to a Master without its address".to_owned());
        };
        match messages::read(object) {
            Ok(Message::Driver(FromDriver::RegisterApplication(mut registration))) => {
                registration.body = body;
                self.register(master, registration)
            }
            Ok(Message::Driver(message)) => match self.driver_of(&message) {
                Some(peer) => {
                    if let FromDriver::UnregisterApplication { app: Some(app) } = &message {
                        self.applications.remove(app);
                    }
                    vec![Heard::Driver(peer, message)]
                }
                None => strange("a driver speaks of an application that is not on its connection".to_owned()),
            },
            Ok(Message::Worker(FromWorker::RegisterWorker(mut registration))) => {
                registration.body = body;
                self.register_worker(master, registration)
            }
            Ok(Message::Worker(message)) => match self.worker_of(&message, sender) {
                Some(peer) => {
                    self.learn_executors(peer, &message);
                    vec![Heard::Worker(peer, message)]
                }
                None => strange("a Worker speaks that is not registered on its connection".to_owned()),
            },
            Ok(Message::Readyz | Message::Client(_)) => strange("a question without a number".to_owned()),
            Err(error) => strange(error.to_string()),
        }
    }

    /// The peer that calls itself so: one that is known, or a new one. `None` if there are too many.
    fn peer(&mut self, dialect: Dialect, master: Address) -> Option<PeerNumber> {
        let name = (dialect.reference.address.clone(), dialect.reference.name.clone());
        if let Some(known) = self.names.get(&name) {
            return Some(*known);
        }
        let number = PeerNumber(self.peers.len());
        if number.0 == MOST_PEERS {
            return None;
        }
        self.peers.push(Peer { dialect, master, worker: None, owed: VecDeque::new(), held: None });
        self.names.insert(name, number);
        Some(number)
    }

    /// Whose an executor was is forgotten with its end.
    fn forget_if_ended(&mut self, message: &FromWorker) {
        if let FromWorker::ExecutorStateChanged { app, executor, state, .. } = message
            && state.is_finished()
        {
            self.executors.remove(&(app.clone(), *executor));
        }
    }

    /// What a Worker says that it runs is the Worker's.
    fn learn_executors(&mut self, peer: PeerNumber, message: &FromWorker) {
        if let FromWorker::WorkerLatestState { executors, .. }
        | FromWorker::WorkerSchedulerStateResponse { executors, .. } = message
        {
            let keys = executors.iter().map(|running| (running.app.clone(), running.executor));
            self.executors.extend(keys.map(|key| (key, peer)));
        }
    }

    fn driver_of(&self, message: &FromDriver) -> Option<PeerNumber> {
        let app = match message {
            FromDriver::RegisterApplication(_) => return None,
            FromDriver::RequestExecutors { app, .. }
            | FromDriver::KillExecutors { app, .. }
            | FromDriver::MasterChangeAcknowledged { app } => app,
            FromDriver::UnregisterApplication { app } => app.as_ref()?,
        };
        self.applications.get(app).copied()
    }

    /// The Worker that says something. A report names none, but comes from the address of the one that sends it; the executor
    /// may have been launched over another connection.
    fn worker_of(&self, message: &FromWorker, sender: Option<Address>) -> Option<PeerNumber> {
        match message {
            FromWorker::RegisterWorker(_) => None,
            FromWorker::Heartbeat { worker }
            | FromWorker::WorkerLatestState { worker, .. }
            | FromWorker::WorkerSchedulerStateResponse { worker, .. }
            | FromWorker::WorkerDecommissioning { worker } => self.workers.get(worker).copied(),
            FromWorker::ExecutorStateChanged { .. } => self.names.get(&(sender?, WORKER.to_owned())).copied(),
        }
    }

    fn one_way(&self, peer: PeerNumber, object: &[u8]) -> Frame {
        Frame::OneWay { body: self.addressed(peer, object) }
    }

    /// A body for a peer. The Master calls itself as the peer does, so that all comparisons of addresses come out right.
    fn addressed(&self, peer: PeerNumber, object: &[u8]) -> Bytes {
        let Peer { dialect, master, .. } = &self.peers[peer.0];
        let envelope = Envelope {
            sender: Some(master.clone()),
            receiver: Some(dialect.reference.address.clone()),
            endpoint: dialect.reference.name.clone(),
        };
        envelope.around(object)
    }
}

fn strange(sentence: String) -> Vec<Heard> {
    vec![Heard::Strange(sentence)]
}

fn too_many() -> Vec<Heard> {
    strange(format!("more than {MOST_PEERS} drivers and Workers register on one connection"))
}

fn response(id: i64, yes: bool) -> Heard {
    Heard::Reply(Frame::Response { id, body: messages::answer(yes).into() })
}

fn failure(id: i64, reason: String) -> Heard {
    Heard::Reply(Frame::Failure { id, reason })
}
