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

use super::questions::Question;
use super::{Heard, Session, failure};

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

/// The most who may submit on one connection.
const MOST_CLIENTS: usize = 64;

/// The most requests of one that may wait.
const MOST_HELD: usize = 64;

/// The endpoint of one who submits.
const ENDPOINT: &str = "client";

impl Session {
    /// A request of one who submits.
    pub(super) fn on_client(&mut self, envelope: Envelope, id: i64, message: FromClient) -> Vec<Heard> {
        let Envelope { sender, receiver, .. } = envelope;
        let FromClient { request, vocabulary } = message;
        let Some(master) = receiver else {
            return vec![failure(id, "a request to a Master without its address".to_owned())];
        };
        let known = self.clients.iter().position(|client| client.address == sender);
        let number = match known {
            Some(number) => number,
            None if self.clients.len() == MOST_CLIENTS => {
                return vec![failure(id, format!("more than {MOST_CLIENTS} submit on one connection"))];
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
            return vec![Heard::Client(client, id, request)];
        }
        if row.held.len() == MOST_HELD {
            return vec![failure(id, format!("more than {MOST_HELD} requests wait"))];
        }
        row.held.push((id, request));
        if row.is_asked { Vec::new() } else { self.ask_or_hear(client) }
    }

    /// Asks one who submits for what its requests lack, or hears them.
    fn ask_or_hear(&mut self, client: ClientNumber) -> Vec<Heard> {
        let row = &mut self.clients[client.0];
        match row.held.iter().find_map(|(_, request)| row.lacks(request)) {
            Some(lack) => {
                row.is_asked = true;
                vec![self.ask_client(client, lack)]
            }
            None => {
                let held = std::mem::take(&mut row.held);
                held.into_iter().map(|(id, request)| Heard::Client(client, id, request)).collect()
            }
        }
    }

    /// The request that asks one who submits for what is lacking.
    fn ask_client(&mut self, client: ClientNumber, lack: Lack) -> Heard {
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
        let body = envelope.around(&object);
        Heard::Reply(Frame::Request { id: self.question(question), body })
    }

    /// One who submits was asked for the serial version id of a class, and this failure is its answer.
    pub(super) fn on_client_serial(
        &mut self,
        client: ClientNumber,
        class: &'static str,
        answer: &str,
    ) -> Vec<Heard> {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        match row.vocabulary.learn(class, answer) {
            Ok(()) => self.ask_or_hear(client),
            Err(error) => row.refuse(&error),
        }
    }

    /// One who submits was asked what it does not answer, and this object is its failure. If it tells nothing, its release is one
    /// of its generation.
    pub(super) fn on_client_failure(&mut self, client: ClientNumber, object: &[u8]) -> Vec<Heard> {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        let told = java::read(object, Bounds::default()).ok().and_then(|(failure, _)| of_failure(&failure));
        row.releases = Some(told.unwrap_or_else(|| row.vocabulary.generation.numbers()));
        self.ask_or_hear(client)
    }

    /// The frame that answers a request of one who submits.
    pub fn answer_client(&self, client: ClientNumber, id: i64, answer: &ToClient) -> Frame {
        Frame::Response { id, body: answer.write(&self.clients[client.0].vocabulary).into() }
    }

    /// The numbers of the releases of which one who submits may be. None if that is not known.
    pub fn client_releases(&self, client: ClientNumber) -> &'static [&'static str] {
        self.clients[client.0].releases.unwrap_or_default()
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
    /// What is lacking for this request.
    fn lacks(&self, request: &ClientRequest) -> Option<Lack> {
        let needs_release = matches!(request, ClientRequest::SubmitDriver(_));
        let lacks_release = needs_release && self.vocabulary.is_known && self.releases.is_none();
        let serial = self.vocabulary.to_ask_client().map(Lack::Serial);
        serial.or(lacks_release.then_some(Lack::Release))
    }

    /// Its requests cannot be answered.
    fn refuse(&mut self, error: &NotTold) -> Vec<Heard> {
        let held = std::mem::take(&mut self.held);
        held.into_iter().map(|(id, _)| failure(id, error.to_string())).collect()
    }
}
