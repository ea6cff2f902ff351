//! The clients on a connection, which submit cluster drivers.
//!
//! A client's request shows its generation of Spark, which is enough to answer the request. To start the driver, the
//! exact release is needed. The connection's state machine finds it by sending a request to the client's endpoint: the
//! endpoint accepts no requests, and answers with an exception. The exception's serial version id shows the release.
//! The client does not log this exchange. For an unknown generation, the client is asked for its classes one by one,
//! and logs each question. Its requests wait until it has answered.

use crate::dialect::{ClassNames, UnknownSerialId, of_failure};
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::java::{self, Bounds};
use crate::messages::{self, ClientRequest, FromClient, ToClient};
use crate::translate::clients;

use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{ClientToMaster, Requester, Rights};

use super::master_client::PendingAnswer;
use super::questions::Question;
use super::{Connection, Effect, Note};

/// The number of a client on its connection, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientNumber(pub usize);

/// A client that submits cluster drivers.
#[derive(Debug)]
pub(super) struct Client {
    /// The client's address; `None` if it does not listen.
    address: Option<Address>,
    /// The address that the client uses for the Master.
    master: Address,
    vocabulary: ClassNames,
    /// The numbers of the client's possible releases. `None` until the client was asked.
    releases: Option<&'static [&'static str]>,
    /// Whether a question to the client is still open.
    is_asked: bool,
    /// The client's requests that wait for its answer, with their ids.
    held: Vec<(i64, ClientRequest)>,
}

/// The name of a client's endpoint.
const ENDPOINT: &str = "client";

impl Connection {
    /// Handles a request that a client sends.
    pub(super) fn on_client(&mut self, envelope: Envelope, id: i64, message: FromClient) {
        let Envelope { sender, receiver, .. } = envelope;
        let FromClient { request, vocabulary } = message;
        let Some(master) = receiver else {
            return self.fail(id, "a request to a Master without its address".to_owned());
        };
        let most = self.limits.clients;
        let known = self.clients.iter().position(|client| client.address == sender);
        let number = match known {
            Some(number) => number,
            None if self.clients.len() == most => {
                return self.fail(id, format!("more than {most} submit on one connection"));
            }
            None => {
                let (held, releases, is_asked) = (Vec::new(), None, false);
                self.clients.push(Client { address: sender, master, vocabulary, releases, is_asked, held });
                self.clients.len() - 1
            }
        };
        let client = ClientNumber(number);
        let row = &mut self.clients[number];
        // Earlier requests wait, so later ones must, too.
        if !row.is_asked && row.lacks(&request).is_none() {
            return self.on_client_request(client, id, request);
        }
        if row.held.len() == self.limits.held {
            return self.fail(id, format!("more than {} requests wait", self.limits.held));
        }
        row.held.push((id, request));
        if !row.is_asked {
            self.ask_or_hear(client);
        }
    }

    /// Handles a request of a client whose release is known. The request may wait for the end of its driver.
    fn on_client_request(&mut self, client: ClientNumber, id: i64, request: ClientRequest) {
        self.see_use();
        match request {
            ClientRequest::SubmitDriver(submission) => {
                let releases = self.clients[client.0].releases.unwrap_or_default();
                match clients::submission(*submission, releases, self.proven.as_ref()) {
                    Ok(question) => self.ask_master(PendingAnswer::Submission(client, id), question),
                    Err(unfit) => {
                        let answer = clients::refusal(unfit.to_string());
                        self.note(Note::ClusterDriverRefused { unfit });
                        self.answer_client(client, id, &answer);
                    }
                }
            }
            ClientRequest::KillDriver { driver } => {
                let mut by = Requester::new(format!("Spark's client at {}", self.remote), Rights::Admin);
                if let Some(proven) = &self.proven {
                    by.prove(proven.user.as_deref(), proven.rights);
                }
                let question =
                    ClientToMaster::RequestKillDriver { driver: DriverId::new(driver.as_str()), by };
                self.ask_master(PendingAnswer::Kill(client, id, driver), question);
            }
            ClientRequest::DriverStatus { driver } => {
                let question = ClientToMaster::RequestDriverStatus { driver: DriverId::new(driver) };
                self.ask_master(PendingAnswer::Status(client, id), question);
            }
        }
    }

    /// Asks a client for data that its next request needs. If nothing is missing, handles the client's requests.
    fn ask_or_hear(&mut self, client: ClientNumber) {
        let row = &mut self.clients[client.0];
        match row.held.iter().find_map(|(_, request)| row.lacks(request)) {
            Some(lack) => {
                row.is_asked = true;
                self.ask_client(client, lack);
            }
            None => {
                for (id, request) in std::mem::take(&mut row.held) {
                    self.on_client_request(client, id, request);
                }
            }
        }
    }

    /// Asks a client for missing data about its release.
    fn ask_client(&mut self, client: ClientNumber, lack: Lack) {
        let Client { address, master, .. } = &self.clients[client.0];
        let envelope = Envelope {
            sender: Some(master.clone()),
            receiver: address.clone(),
            endpoint: ENDPOINT.to_owned(),
        };
        let (object, question) = match lack {
            Lack::Serial(class) => (ClassNames::question(class), Question::Client(client, class)),
            // Any object of Java's own library would do.
            Lack::Release => (messages::answer(true), Question::Release(client)),
        };
        self.ask(question, envelope.around(&object));
    }

    /// Handles a client's failure, which answers the question about the serial version id of a class.
    pub(super) fn on_client_serial(&mut self, client: ClientNumber, class: &'static str, answer: &str) {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        match row.vocabulary.learn(class, answer) {
            Ok(()) => self.ask_or_hear(client),
            Err(error) => self.refuse_client(client, &error),
        }
    }

    /// Fails the requests of a client, because they cannot be answered.
    fn refuse_client(&mut self, client: ClientNumber, error: &UnknownSerialId) {
        for (id, _) in std::mem::take(&mut self.clients[client.0].held) {
            self.fail(id, error.to_string());
        }
    }

    /// Handles a client's failure (`object`), which shows the client's release. If it does not, any release of the
    /// client's generation remains possible.
    pub(super) fn on_client_failure(&mut self, client: ClientNumber, object: &[u8]) {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        let told = java::read(object, Bounds::default()).ok().and_then(|(failure, _)| of_failure(&failure));
        row.releases = Some(told.unwrap_or_else(|| row.vocabulary.generation.numbers()));
        self.ask_or_hear(client);
    }

    /// Answers a request of a client that submits cluster drivers.
    pub(super) fn answer_client(&mut self, client: ClientNumber, id: i64, answer: &ToClient) {
        let body = answer.write(&self.clients[client.0].vocabulary).into();
        self.effects.push(Effect::Send(Frame::Response { id, body }));
    }
}

/// The data about a client that is still missing before its request can be handled.
#[derive(Clone, Copy, Debug)]
enum Lack {
    /// The serial version id of this class.
    Serial(&'static str),
    /// The client's release.
    Release,
}

impl Client {
    /// The number of the client's requests that wait.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// The data that is still missing for this request. `None`: nothing is missing.
    fn lacks(&self, request: &ClientRequest) -> Option<Lack> {
        let needs_release = matches!(request, ClientRequest::SubmitDriver(_));
        let lacks_release = needs_release && self.vocabulary.is_known && self.releases.is_none();
        let serial = self.vocabulary.to_ask_client().map(Lack::Serial);
        serial.or(lacks_release.then_some(Lack::Release))
    }
}
