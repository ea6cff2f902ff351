//! Finds the sender of a frame, and handles the frame.

use bytes::Bytes;

use super::{Closing, Connection, Note, PeerNumber, WORKER};
use crate::envelope::{Address, Envelope};
use crate::frame::Frame;
use crate::messages::{self, FromDriver, FromWorker, MASTER, Message, asked_endpoint};

/// The endpoint that answers whether another endpoint exists.
const VERIFIER: &str = "endpoint-verifier";

/// A process's answer to the question whether it has the endpoint `here`. `None` if the frame is not this question.
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

impl Connection {
    pub(super) fn on_frame(&mut self, frame: Frame) {
        self.bytes = frame.body_length();
        match frame {
            Frame::Request { id, ref body } => {
                let mut object = body.clone();
                match Envelope::decode(&mut object) {
                    Ok(envelope) if envelope.endpoint == MASTER => self.on_request(envelope, id, &object),
                    Ok(_) | Err(_) => {
                        let answer = verify(&frame, MASTER);
                        answer.into_iter().for_each(|answer| self.reply(answer));
                    }
                }
            }
            Frame::OneWay { body } => {
                let mut object = body.clone();
                match Envelope::decode(&mut object) {
                    Ok(envelope) => self.on_message(envelope, &object, body),
                    Err(error) => self.note(Note::NoEnvelope(error)),
                }
            }
            Frame::Failure { id, reason } => self.on_answer(id, &reason, &[]),
            Frame::Response { id, body } => self.on_answer(id, "it was accepted", &body),
        }
    }

    fn on_request(&mut self, envelope: Envelope, id: i64, object: &[u8]) {
        match messages::read(object) {
            Ok(Message::Driver(message)) => match self.driver_of(&message) {
                Some(peer) => self.on_driver_request(peer, id, message),
                // Like Spark's Master, which answers `false` for an unknown application.
                None => self.answer(id, false),
            },
            // Spark's Master also answers every report with `true`.
            Ok(Message::Worker(message)) => {
                if let Some(peer) = self.worker_of(&message, envelope.sender) {
                    self.forget_if_ended(peer, &message);
                    self.on_worker(peer, message);
                }
                self.answer(id, true);
            }
            Ok(Message::Client(message)) => self.on_client(envelope, id, *message),
            Ok(Message::Readyz) => self.on_readyz(id),
            Err(error) => self.fail(id, error.to_string()),
        }
    }

    fn on_message(&mut self, envelope: Envelope, object: &[u8], body: Bytes) {
        let Envelope { sender, receiver, endpoint } = envelope;
        if endpoint != MASTER {
            return self.note(Note::NoSuchEndpoint { endpoint });
        }
        let Some(master) = receiver else { return self.note(Note::NoAddress) };
        match messages::read(object) {
            Ok(Message::Driver(FromDriver::RegisterApplication(mut registration))) => {
                registration.body = body;
                self.hold_driver(master, registration);
            }
            Ok(Message::Driver(message)) => match self.driver_of(&message) {
                Some(peer) => {
                    if let FromDriver::UnregisterApplication { app: Some(app) } = &message {
                        self.peers.take_application(app);
                    }
                    self.driver_says(peer, message);
                }
                None => self.note(Note::NotItsApplication),
            },
            // Whoever may submit applications would get those of others.
            Ok(Message::Worker(FromWorker::RegisterWorker(_))) if self.proven.is_some() => {
                self.note(Note::NoWorkers);
                self.close(Closing::AtOnce);
            }
            Ok(Message::Worker(FromWorker::RegisterWorker(mut registration))) => {
                registration.body = body;
                self.hold_worker(master, registration);
            }
            Ok(Message::Worker(message)) => match self.worker_of(&message, sender) {
                Some(peer) => {
                    self.learn_executors(peer, &message);
                    self.on_worker(peer, message);
                }
                None => self.note(Note::NotItsWorker),
            },
            Ok(Message::Readyz | Message::Client(_)) => self.note(Note::NoNumber),
            Err(error) => self.note(Note::Unreadable(error)),
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
        self.peers.of_application(app)
    }

    /// The Worker that sent a message. A report on an executor names no Worker, so the sender's address identifies the
    /// Worker. The executor may have been launched over another connection.
    fn worker_of(&self, message: &FromWorker, sender: Option<Address>) -> Option<PeerNumber> {
        match message {
            FromWorker::RegisterWorker(_) => None,
            FromWorker::Heartbeat { worker }
            | FromWorker::WorkerLatestState { worker, .. }
            | FromWorker::WorkerSchedulerStateResponse { worker, .. }
            | FromWorker::WorkerDecommissioning { worker } => self.peers.of_worker(worker),
            FromWorker::ExecutorStateChanged { .. } => self.peers.at(sender?, WORKER),
        }
    }
}
