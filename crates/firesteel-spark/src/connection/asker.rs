//! The seat that asks the Master for all clients of a connection, and the open requests in their order.

use std::collections::VecDeque;

use firesteel_master::Inbound;
use firesteel_protocol::messages::{ClientToMaster, MasterToClient};
use firesteel_protocol::wire::Role;

use super::{ClientNumber, Connection, Occupant, Seat};
use crate::messages::ToClient;
use crate::translate::clients;

/// Asks the Master for all clients. The Master answers in the order of the questions.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) seat: Seat,
    /// The requests to answer next, oldest first.
    pub(super) owed: VecDeque<Owed>,
}

/// A request that waits for the Master's answer: its id, and its question.
#[derive(Debug)]
pub(super) enum Owed {
    /// Whether the Master works.
    Readyz(i64),
    /// The submission of a cluster driver.
    Submission(ClientNumber, i64),
    /// The end of this cluster driver.
    Kill(ClientNumber, i64, String),
    /// The state of a cluster driver.
    Status(ClientNumber, i64),
}

impl Owed {
    /// The number of the request.
    fn id(&self) -> i64 {
        match self {
            Self::Readyz(id) | Self::Submission(_, id) | Self::Kill(_, id, _) | Self::Status(_, id) => *id,
        }
    }
}

impl Connection {
    /// Asks whether the Master works, after it has handled all earlier messages of this connection.
    pub(super) fn on_readyz(&mut self, id: i64) {
        self.ask_master(Owed::Readyz(id), ClientToMaster::RequestReadyz);
    }

    /// Asks the Master, after all earlier messages of this connection.
    pub(super) fn ask_master(&mut self, owed: Owed, question: ClientToMaster) {
        let waiting = self.asker.as_ref().map_or(0, |asker| asker.owed.len());
        if waiting >= self.limits.owed {
            return self.fail(owed.id(), format!("more than {} requests wait", self.limits.owed));
        }
        let seat = match &self.asker {
            Some(asker) => asker.seat,
            None => self.open(Occupant::Asker, Role::Client, "Spark's client".to_owned()),
        };
        self.asker.get_or_insert_with(|| Asker { seat, owed: VecDeque::new() }).owed.push_back(owed);
        self.say(seat, Inbound::Client(question));
    }

    /// Fails the waiting requests, because the Master has ended the seat that asked for them.
    pub(super) fn fail_owed(&mut self, asker: Asker) {
        for owed in asker.owed {
            self.fail(owed.id(), "the Master does not answer".to_owned());
        }
    }

    /// The Master answers the oldest question.
    pub(super) fn tell_asker(&mut self, answer: &MasterToClient) {
        let owed = self.asker.as_mut().and_then(|asker| asker.owed.pop_front());
        let (client, id, answer) = match owed {
            None => return,
            Some(Owed::Readyz(id)) => return self.answer(id, true),
            Some(Owed::Kill(client, id, driver)) => (client, id, worded(&driver, answer)),
            Some(Owed::Submission(client, id) | Owed::Status(client, id)) => (client, id, worded("", answer)),
        };
        self.answer_client(client, id, &answer);
    }
}

/// The Master's answer as Spark's message. `driver` is the cluster driver that the question named, if any.
fn worded(driver: &str, answer: &MasterToClient) -> ToClient {
    match answer {
        MasterToClient::SubmitDriverResponse(answer) => clients::to_submitter(answer),
        MasterToClient::KillDriverResponse(answer) => clients::to_killer(driver, answer),
        MasterToClient::DriverStatusResponse(view) => clients::to_watcher(view.as_deref()),
        other => unreachable!("{other:?} answers no question of Spark's clients"),
    }
}
