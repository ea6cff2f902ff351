//! Questions to peers, and registrations that wait for the answers: the serial version ids of the peer's classes.

use std::sync::Arc;

use super::{ClientNumber, Connection, Note, PeerNumber};
use crate::dialect::{ClassNames, PROFILE, Release, UnknownSerialId, told};
use crate::envelope::Address;
use crate::frame::Frame;
use crate::messages::{Registration, WorkerRegistration};

use super::effect::Effect;

/// A registration that waits for answers.
#[derive(Debug)]
pub(super) enum Held {
    Driver(Box<Registration>),
    Worker(Box<WorkerRegistration>),
}

/// An open question, and the peer that was asked.
#[derive(Debug)]
pub(super) enum Question {
    /// The question for the serial version id of this class, sent to a driver or a Worker.
    Peer(PeerNumber, &'static str),
    /// The question for the serial version id of this class, sent to a client.
    Client(ClientNumber, &'static str),
    /// A request that a client answers with a failure. The failure shows the client's release.
    Release(ClientNumber),
}

impl Connection {
    /// Handles a Worker's registration. If several releases are possible, the Worker is asked for the id of a class in
    /// which these releases differ.
    pub(super) fn hold_worker(&mut self, master: Address, registration: Box<WorkerRegistration>) {
        let most = self.limits.peers;
        let Some(peer) = self.peers.named(&registration.dialect, master, most) else {
            return self.note(Note::TooManyPeers { most });
        };
        if registration.releases.len() < 2 {
            return self.register_worker(peer, &registration);
        }
        if self.peers[peer].held.is_some() {
            self.peers[peer].held = Some(Held::Worker(registration));
        } else {
            self.ask_peer(peer, &[PROFILE], Held::Worker(registration));
        }
    }

    /// Handles a driver's registration. If its release is unknown, the driver is first asked for the ids of its
    /// classes.
    pub(super) fn hold_driver(&mut self, master: Address, registration: Box<Registration>) {
        let most = self.limits.peers;
        let Some(peer) = self.peers.named(&registration.dialect, master, most) else {
            return self.note(Note::TooManyPeers { most });
        };
        let asked = self.peers[peer].dialect.vocabulary.to_ask();
        if asked.is_empty() {
            return self.register_application(peer, *registration);
        }
        // The driver repeats its registration after a while; it is asked only once.
        if self.peers[peer].held.is_some() {
            self.peers[peer].held = Some(Held::Driver(registration));
        } else {
            self.ask_peer(peer, &asked, Held::Driver(registration));
        }
    }

    /// Asks a peer for the serial version ids of classes, and holds the peer's registration until all questions are
    /// answered.
    fn ask_peer(&mut self, peer: PeerNumber, classes: &[&'static str], held: Held) {
        let most = self.limits.questions;
        if self.questions.len() + classes.len() > most {
            return self.note(Note::TooManyQuestions { most });
        }
        self.peers[peer].held = Some(held);
        for class in classes {
            let body = self.addressed(peer, &ClassNames::question(class));
            self.ask(Question::Peer(peer, class), body);
        }
    }

    /// Sends a question as a request.
    pub(super) fn ask(&mut self, question: Question, body: bytes::Bytes) {
        self.last_question += 1;
        self.questions.insert(self.last_question, question);
        self.effects.push(Effect::Send(Frame::Request { id: self.last_question, body }));
    }

    /// Handles a peer's answer to a question: a failure with this reason, or this object.
    pub(super) fn on_answer(&mut self, id: i64, reason: &str, object: &[u8]) {
        match self.questions.remove(&id) {
            None => self.note(Note::Unasked { id }),
            Some(Question::Peer(peer, class)) => self.on_serial(peer, class, reason),
            Some(Question::Client(client, class)) => self.on_client_serial(client, class, reason),
            Some(Question::Release(client)) => self.on_client_failure(client, object),
        }
    }

    /// Handles the answer of a driver or a Worker to the question about one of its classes.
    fn on_serial(&mut self, peer: PeerNumber, class: &'static str, answer: &str) {
        match self.peers[peer].held.take() {
            // One answer was useless, so all of them are.
            None => {}
            Some(Held::Worker(registration)) => match complete(*registration, class, answer) {
                Ok(whole) => self.register_worker(peer, &whole),
                Err(error) => self.note(Note::UnknownSerialId(error)),
            },
            Some(Held::Driver(registration)) => {
                let dialect = Arc::make_mut(&mut self.peers[peer].dialect);
                match dialect.vocabulary.learn(class, answer) {
                    Ok(()) if dialect.vocabulary.to_ask().is_empty() => {
                        self.register_application(peer, *registration);
                    }
                    Ok(()) => self.peers[peer].held = Some(Held::Driver(registration)),
                    Err(error) => self.note(Note::UnknownSerialId(error)),
                }
            }
        }
    }
}

/// Completes the registration of a Worker with the serial version id of its resource profiles.
fn complete(
    registration: WorkerRegistration,
    class: &'static str,
    answer: &str,
) -> Result<WorkerRegistration, UnknownSerialId> {
    let release = Release::of_profile(told(class, answer)?);
    Ok(WorkerRegistration { releases: release.into_iter().collect(), ..registration })
}
