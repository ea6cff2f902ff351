//! The seat that asks the Master for all clients of a connection, and to whom it owes what the Master answers.

use std::collections::VecDeque;

use firesteel_master::Inbound;
use firesteel_protocol::messages::{ClientToMaster, MasterToClient};
use firesteel_protocol::wire::Role;

use super::{ClientNumber, Connection, Occupant, Seat};
use crate::messages::ToClient;
use crate::translate::clients;

/// Asks the Master for all clients. It answers in the order of the questions.
#[derive(Debug)]
pub(super) struct Asker {
    pub(super) seat: Seat,
    /// Those to whom the next answers belong, oldest first.
    pub(super) owed: VecDeque<Owed>,
}

/// To whom an answer belongs: a number of a request, and what it asked.
#[derive(Debug)]
pub(super) enum Owed {
    /// Somebody asks whether the Master works.
    Readyz(i64),
    /// Somebody submits a cluster driver.
    Submission(ClientNumber, i64),
    /// Somebody asks for the end of this cluster driver.
    Kill(ClientNumber, i64, String),
    /// Somebody asks for the state of a cluster driver.
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
    /// Somebody asks whether the Master works with everything that came before.
    pub(super) fn on_readyz(&mut self, id: i64) {
        self.ask_master(Owed::Readyz(id), ClientToMaster::RequestReadyz);
    }

    /// Asks the Master, behind all that came on this connection before.
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

    /// Those who asked get no answer: the Master has ended the seat that asked for them.
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

/// What the Master answered, in Spark's words. The question may have named this cluster driver.
fn worded(driver: &str, answer: &MasterToClient) -> ToClient {
    match answer {
        MasterToClient::SubmitDriverResponse(answer) => clients::to_submitter(answer),
        MasterToClient::KillDriverResponse(answer) => clients::to_killer(driver, answer),
        MasterToClient::DriverStatusResponse(view) => clients::to_watcher(view.as_deref()),
        other => unreachable!("{other:?} answers no question of Spark's clients"),
    }
}
