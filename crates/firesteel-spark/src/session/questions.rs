//! Registrations that are held until their peer has told the serial version ids of its classes.

use super::{ClientNumber, Heard, PeerNumber, Session, strange, too_many};
use crate::dialect::{NotTold, PROFILE, Release, Vocabulary, told};
use crate::envelope::Address;
use crate::frame::Frame;
use crate::messages::{FromDriver, FromWorker, Registration, WorkerRegistration};

/// A registration that is not complete.
#[derive(Debug)]
pub(super) enum Held {
    Driver(Box<Registration>),
    Worker(Box<WorkerRegistration>),
}

/// What was asked of whom.
#[derive(Debug)]
pub(super) enum Question {
    /// The serial version id of this class, of a driver or a Worker.
    Peer(PeerNumber, &'static str),
    /// The serial version id of this class, of one who submits cluster drivers.
    Client(ClientNumber, &'static str),
    /// Something to which one who submits cluster drivers answers with a failure of its release.
    Release(ClientNumber),
}

impl Session {
    /// A Worker registers. If it may be of several releases, it is asked for the id of a class in which they differ.
    pub(super) fn register_worker(
        &mut self,
        master: Address,
        registration: Box<WorkerRegistration>,
    ) -> Vec<Heard> {
        let Some(peer) = self.peer(registration.dialect.clone(), master) else { return too_many() };
        let id = registration.worker.clone();
        if let Some(before) = self.peers[peer.0].worker.replace(id.clone()) {
            self.workers.remove(&before);
        }
        self.workers.insert(id, peer);
        if registration.releases.len() < 2 {
            return vec![Heard::Worker(peer, FromWorker::RegisterWorker(registration))];
        }
        match self.peers[peer.0].held.replace(Held::Worker(registration)) {
            None => vec![self.ask(peer, PROFILE)],
            Some(_) => Vec::new(),
        }
    }

    /// A driver registers. If its release is not known, it is asked for the ids of its classes first.
    pub(super) fn register(&mut self, master: Address, registration: Box<Registration>) -> Vec<Heard> {
        let Some(peer) = self.peer(registration.dialect.clone(), master) else { return too_many() };
        let asked = self.peers[peer.0].dialect.vocabulary.to_ask();
        if asked.is_empty() {
            return vec![Heard::Driver(peer, FromDriver::RegisterApplication(registration))];
        }
        // The driver registers again after a while; it is asked once.
        if self.peers[peer.0].held.replace(Held::Driver(registration)).is_some() {
            return Vec::new();
        }
        asked.into_iter().map(|class| self.ask(peer, class)).collect()
    }

    /// Asks a peer for the serial version id of a class.
    fn ask(&mut self, peer: PeerNumber, class: &'static str) -> Heard {
        let body = self.addressed(peer, &Vocabulary::question(class));
        let id = self.question(Question::Peer(peer, class));
        Heard::Reply(Frame::Request { id, body })
    }

    /// The number of the request that asks a question.
    pub(super) fn question(&mut self, question: Question) -> i64 {
        self.last_question += 1;
        self.questions.insert(self.last_question, question);
        self.last_question
    }

    /// An answer to a question of ours: a failure for this reason, or this object.
    pub(super) fn on_answer(&mut self, id: i64, reason: &str, object: &[u8]) -> Vec<Heard> {
        let (peer, class) = match self.questions.remove(&id) {
            None => return strange(format!("an answer to the request {id}, which nobody made")),
            Some(Question::Peer(peer, class)) => (peer, class),
            Some(Question::Client(client, class)) => return self.on_client_serial(client, class, reason),
            Some(Question::Release(client)) => return self.on_client_failure(client, object),
        };
        let row = &mut self.peers[peer.0];
        let vocabulary = &mut row.dialect.vocabulary;
        let learnt = match row.held.take() {
            // One answer was of no use, so all of them are.
            None => return Vec::new(),
            Some(Held::Worker(registration)) => complete(*registration, class, reason)
                .map(|whole| Heard::Worker(peer, FromWorker::RegisterWorker(Box::new(whole)))),
            Some(Held::Driver(registration)) => vocabulary
                .learn(class, reason)
                .map(|()| Heard::Driver(peer, FromDriver::RegisterApplication(registration))),
        };
        match learnt {
            Err(error) => strange(error.to_string()),
            Ok(Heard::Driver(_, FromDriver::RegisterApplication(held)))
                if !vocabulary.to_ask().is_empty() =>
            {
                row.held = Some(Held::Driver(held));
                Vec::new()
            }
            Ok(heard) => vec![heard],
        }
    }
}

/// The registration of a Worker that has told the serial version id of its resource profiles.
fn complete(
    registration: WorkerRegistration,
    class: &'static str,
    answer: &str,
) -> Result<WorkerRegistration, NotTold> {
    let release = Release::of_profile(told(class, answer)?);
    Ok(WorkerRegistration { releases: release.into_iter().collect(), ..registration })
}
