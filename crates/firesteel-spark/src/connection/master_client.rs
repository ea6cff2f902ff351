//! The channel on which a connection asks the Master on behalf of all its clients, and the open requests in their
//! order.

use std::collections::VecDeque;

use firesteel_master::Inbound;
use firesteel_protocol::messages::{ClientToMaster, MasterToClient};
use firesteel_protocol::wire::Role;

use super::{Channel, ClientNumber, Connection, Occupant};
use crate::messages::ToClient;
use crate::translate::clients;

/// Sends requests to the Master for all clients. The Master answers in the order of the requests.
#[derive(Debug)]
pub(super) struct MasterClient {
    pub(super) channel: Channel,
    /// The requests whose answers come next, oldest first.
    pub(super) pending: VecDeque<PendingAnswer>,
}

/// A request that waits for the Master's answer: its id, and its question.
#[derive(Debug)]
pub(super) enum PendingAnswer {
    /// The question whether the Master works.
    Readyz(i64),
    /// The submission of a cluster driver.
    Submission(ClientNumber, i64),
    /// The request to end this cluster driver.
    Kill(ClientNumber, i64, String),
    /// The request for the state of a cluster driver.
    Status(ClientNumber, i64),
}

impl PendingAnswer {
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
        self.ask_master(PendingAnswer::Readyz(id), ClientToMaster::RequestReadyz);
    }

    /// Sends a request to the Master, after all earlier messages of this connection.
    pub(super) fn ask_master(&mut self, pending: PendingAnswer, question: ClientToMaster) {
        let waiting = self.master_client.as_ref().map_or(0, |master_client| master_client.pending.len());
        if waiting >= self.limits.pending {
            return self.fail(pending.id(), format!("more than {} requests wait", self.limits.pending));
        }
        let channel = match &self.master_client {
            Some(master_client) => master_client.channel,
            None => self.open(Occupant::MasterClient, Role::Client, "Spark's client".to_owned()),
        };
        self.master_client
            .get_or_insert_with(|| MasterClient { channel, pending: VecDeque::new() })
            .pending
            .push_back(pending);
        self.say(channel, Inbound::Client(question));
    }

    /// Fails the waiting requests, because the Master has ended the channel on which they were sent.
    pub(super) fn fail_pending(&mut self, master_client: MasterClient) {
        for pending in master_client.pending {
            self.fail(pending.id(), "the Master does not answer".to_owned());
        }
    }

    /// Handles the Master's answer to the oldest request.
    pub(super) fn tell_master_client(&mut self, answer: &MasterToClient) {
        let pending = self.master_client.as_mut().and_then(|master_client| master_client.pending.pop_front());
        let (client, id, answer) = match pending {
            None => return,
            Some(PendingAnswer::Readyz(id)) => return self.answer(id, true),
            Some(PendingAnswer::Kill(client, id, driver)) => (client, id, worded(&driver, answer)),
            Some(PendingAnswer::Submission(client, id) | PendingAnswer::Status(client, id)) => {
                (client, id, worded("", answer))
            }
        };
        self.answer_client(client, id, &answer);
    }
}

/// Converts the Master's answer to Spark's message. `driver` is the cluster driver that the request named, if any.
fn worded(driver: &str, answer: &MasterToClient) -> ToClient {
    match answer {
        MasterToClient::SubmitDriverResponse(answer) => clients::to_submitter(answer),
        MasterToClient::KillDriverResponse(answer) => clients::to_killer(driver, answer),
        MasterToClient::RequestForbidden { why } => clients::to_forbidden_killer(driver, why),
        MasterToClient::DriverStatusResponse(view) => clients::to_watcher(view.as_deref()),
        other => unreachable!("{other:?} answers no question of Spark's clients"),
    }
}
