//! Those on a connection who submit cluster drivers.
//!
//! Their messages have no reference, from which their release could be known. So each is asked for the serial version ids of a
//! class or two with its first request, and its requests wait until it has answered.

use crate::dialect::{NotTold, Release, Vocabulary};
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::messages::{ClientRequest, FromClient, ToClient};

use super::questions::{Question, Whom};
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
    release: Option<Release>,
    /// Whether it was asked for the id of a class, and has not answered yet.
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
                let (held, release, is_asked) = (Vec::new(), None, false);
                self.clients.push(Client { address: sender, master, vocabulary, release, is_asked, held });
                self.clients.len() - 1
            }
        };
        let client = ClientNumber(number);
        let row = &mut self.clients[number];
        let to_ask = row.vocabulary.to_ask_client();
        if to_ask.is_none() {
            return vec![Heard::Client(client, id, request)];
        }
        if row.held.len() == MOST_HELD {
            return vec![failure(id, format!("more than {MOST_HELD} requests wait"))];
        }
        row.held.push((id, request));
        let unasked = to_ask.filter(|_| !row.is_asked);
        unasked.into_iter().map(|class| self.ask_client(client, class)).collect()
    }

    /// Asks one who submits for the serial version id of a class.
    fn ask_client(&mut self, client: ClientNumber, class: &'static str) -> Heard {
        let Client { address, master, is_asked, .. } = &mut self.clients[client.0];
        *is_asked = true;
        let envelope = Envelope {
            sender: Some(master.clone()),
            receiver: address.clone(),
            endpoint: ENDPOINT.to_owned(),
        };
        let body = envelope.around(&Vocabulary::question(class));
        let id = self.question(Question { whom: Whom::Client(client), class });
        Heard::Reply(Frame::Request { id, body })
    }

    /// One who submits has answered a question.
    pub(super) fn on_client_answer(
        &mut self,
        client: ClientNumber,
        class: &'static str,
        answer: &str,
    ) -> Vec<Heard> {
        let row = &mut self.clients[client.0];
        row.is_asked = false;
        if let Err(error) = row.vocabulary.learn(class, answer) {
            return row.refuse(&error);
        }
        if let Some(next) = row.vocabulary.to_ask_client() {
            return vec![self.ask_client(client, next)];
        }
        row.release = row.vocabulary.client_release();
        row.vocabulary.settle(row.release);
        let held = std::mem::take(&mut row.held);
        held.into_iter().map(|(id, request)| Heard::Client(client, id, request)).collect()
    }

    /// The frame that answers a request of one who submits.
    pub fn answer_client(&self, client: ClientNumber, id: i64, answer: &ToClient) -> Frame {
        let Client { vocabulary, master, .. } = &self.clients[client.0];
        Frame::Response { id, body: answer.write(vocabulary, master).into() }
    }

    /// The release of one who submits. `None`: it is not known here.
    pub fn client_release(&self, client: ClientNumber) -> Option<Release> {
        self.clients[client.0].release
    }
}

impl Client {
    /// Its requests cannot be answered.
    fn refuse(&mut self, error: &NotTold) -> Vec<Heard> {
        let held = std::mem::take(&mut self.held);
        held.into_iter().map(|(id, _)| failure(id, error.to_string())).collect()
    }
}
