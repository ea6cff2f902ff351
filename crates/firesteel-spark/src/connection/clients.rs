//! Those on a connection who submit cluster drivers.
//!
//! A request shows the generation of Spark whose client made it, which is all that its answer needs. The driver needs the release,
//! too. The client tells it by a failure: it answers a request to its endpoint, which takes none, with an exception whose serial
//! version id differs from release to release. It logs nothing of that. Only the classes of a generation that is not known here
//! are asked for one by one, of which it complains in its log. Requests wait until their client has answered.

use crate::dialect::{NotTold, Vocabulary, of_failure};
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::java::{self, Bounds};
use crate::messages::{self, ClientRequest, FromClient, ToClient};
use crate::translate::clients;

use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::ClientToMaster;

use super::asker::Owed;
use super::questions::Question;
use super::{Connection, Effect, Note};

/// The number of one who submits on its connection, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientNumber(pub usize);

/// One who submits cluster drivers.
#[derive(Debug)]
pub(super) struct Client {
    /// Where it listens. `None` if nowhere.
    address: Option<Address>,
    /// How it calls the Master.
    master: Address,
    vocabulary: Vocabulary,
    /// The numbers of the releases of which it may be. `None`: it was not asked yet.
    releases: Option<&'static [&'static str]>,
    /// Whether it was asked something, and has not answered yet.
    is_asked: bool,
    /// The requests that wait for that, with their numbers.
    held: Vec<(i64, ClientRequest)>,
}

/// The endpoint of one who submits.
const ENDPOINT: &str = "client";

impl Connection {
    /// A request of one who submits.
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
        // What came before waits, and so does what comes behind it.
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

    /// A request of one of whom enough is known. It may wait for the end of its driver.
    fn on_client_request(&mut self, client: ClientNumber, id: i64, request: ClientRequest) {
        self.see_use();
        match request {
            ClientRequest::SubmitDriver(submission) => {
                let releases = self.clients[client.0].releases.unwrap_or_default();
                match clients::submission(*submission, releases) {
                    Ok(question) => self.ask_master(Owed::Submission(client, id), question),
                    Err(unfit) => {
                        let answer = clients::refusal(unfit.to_string());
                        self.note(Note::ClusterDriverRefused { unfit });
                        self.answer_client(client, id, &answer);
                    }
                }
            }
            ClientRequest::KillDriver { driver } => {
                let by = format!("Spark's client at {}", self.remote);
                let question =
                    ClientToMaster::RequestKillDriver { driver: DriverId::new(driver.as_str()), by };
                self.ask_master(Owed::Kill(client, id, driver), question);
            }
            ClientRequest::DriverStatus { driver } => {
                let question = ClientToMaster::RequestDriverStatus { driver: DriverId::new(driver) };
                self.ask_master(Owed::Status(client, id), question);
            }
        }
    }

    /// Asks one who submits for what its requests lack, or hears them.
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

    /// Asks one who submits for what is lacking.
    fn ask_client(&mut self, client: ClientNumber, lack: Lack) {
        let Client { address, master, .. } = &self.clients[client.0];
        let envelope = Envelope {
            sender: Some(master.clone()),
            receiver: address.clone(),
            endpoint: ENDPOINT.to_owned(),
        };
        let (object, question) = match lack {
            Lack::Serial(class) => (Vocabulary::question(class), Question::Client(client, class)),
            // Any object of Java's own will do.
            Lack::Release => (messages::answer(true), Question::Release(client)),
        };
        self.ask(question, envelope.around(&object));
    }

    /// One who submits was asked for the serial version id of a class, and this failure is its answer.
    pub(super) fn on_client_serial(&mut self, client: ClientNumber, class: &'static str, answer: &str) {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        match row.vocabulary.learn(class, answer) {
            Ok(()) => self.ask_or_hear(client),
            Err(error) => self.refuse_client(client, &error),
        }
    }

    /// The requests of one who submits cannot be answered.
    fn refuse_client(&mut self, client: ClientNumber, error: &NotTold) {
        for (id, _) in std::mem::take(&mut self.clients[client.0].held) {
            self.fail(id, error.to_string());
        }
    }

    /// One who submits was asked what it does not answer, and this object is its failure. If it tells nothing, its release is one
    /// of its generation.
    pub(super) fn on_client_failure(&mut self, client: ClientNumber, object: &[u8]) {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        let told = java::read(object, Bounds::default()).ok().and_then(|(failure, _)| of_failure(&failure));
        row.releases = Some(told.unwrap_or_else(|| row.vocabulary.generation.numbers()));
        self.ask_or_hear(client);
    }

    /// Answers a request of one who submits.
    pub(super) fn answer_client(&mut self, client: ClientNumber, id: i64, answer: &ToClient) {
        let body = answer.write(&self.clients[client.0].vocabulary).into();
        self.effects.push(Effect::Send(Frame::Response { id, body }));
    }
}

/// What has to be known of one who submits before its request is heard.
#[derive(Clone, Copy, Debug)]
enum Lack {
    /// The serial version id of this class.
    Serial(&'static str),
    /// Its release.
    Release,
}

impl Client {
    /// The number of its requests that wait.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// What is lacking for this request.
    fn lacks(&self, request: &ClientRequest) -> Option<Lack> {
        let needs_release = matches!(request, ClientRequest::SubmitDriver(_));
        let lacks_release = needs_release && self.vocabulary.is_known && self.releases.is_none();
        let serial = self.vocabulary.to_ask_client().map(Lack::Serial);
        serial.or(lacks_release.then_some(Lack::Release))
    }
}
