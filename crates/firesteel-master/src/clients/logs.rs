//! Requests for logs. The Workers have the logs; the Master knows whose they are, and where.

use firesteel_protocol::ids::{AppId, ExecutorId, PeerId};
use firesteel_protocol::messages::{
    DriverLocation, ExecutorView, LogAddress, LogAuthor, LogPiece, LogRange, MasterToClient, Requester,
};

use crate::clients::plain_name::plain_name;
use crate::{Effect, Master, Outbound};

/// The maximum number of other Workers on a host that are asked for a log.
const MOST_OTHERS: usize = 4;

/// The logs that a request names: whose they are, and where.
struct Found {
    owner: String,
    /// `Err`: there are none, for this reason.
    address: Result<LogAddress, String>,
}

impl Master {
    /// Why the requester may not read the logs of this author. `None`: he may, or there are none.
    pub(super) fn hides(&self, author: &LogAuthor, by: &Requester) -> Option<String> {
        let Found { owner, .. } = self.logs_of(author)?;
        let (user, owner_name) = (plain_name(by.user()), plain_name(&owner));
        let hidden = || format!("{author} belongs to {owner_name}, and {user} may not read its logs");
        (!by.may_view(&owner)).then(hidden)
    }

    /// Has a piece of a log read. Returns the answer if it is known at once.
    pub(super) fn on_request_log(&mut self, peer: PeerId, range: LogRange) -> Option<MasterToClient> {
        let failed = |why: String| Some(MasterToClient::RequestLogFailed { why });
        let Some(Found { address, .. }) = self.logs_of(&range.author) else {
            let unknown = match &range.author {
                LogAuthor::Executor(key) => {
                    format!("no application has the id {}", plain_name(key.app.as_str()))
                }
                LogAuthor::Driver(id) => format!("no cluster driver has the id {}", plain_name(id.as_str())),
            };
            return failed(format!("{unknown}, or it is listed no longer"));
        };
        let first = match address {
            Ok(address) => address,
            Err(why) => return failed(why),
        };
        if first.is_foreign() {
            return failed(format!(
                "Worker {} is one of Spark's own: its web page and its work directory on {} have the logs",
                first.worker, first.host
            ));
        }
        if !self.log_readers.insert(peer) {
            return failed("the question before was not answered yet".to_owned());
        }
        let others = self.other_addresses(&first);
        let addresses = std::iter::once(first).chain(others).collect();
        self.effects.push(Effect::ReadLog { peer, addresses, range });
        None
    }

    /// A Worker has answered, or could not be asked.
    pub(crate) fn on_log_read(&mut self, peer: PeerId, outcome: Result<LogPiece, String>) {
        // Otherwise the client has disconnected.
        if self.log_readers.remove(&peer) {
            let message = match outcome {
                Ok(piece) => MasterToClient::LogResponse(piece),
                Err(why) => MasterToClient::RequestLogFailed { why },
            };
            self.effects.push(Effect::Send { peer, message: Outbound::Client(message) });
        }
    }

    fn logs_of(&self, author: &LogAuthor) -> Option<Found> {
        match author {
            LogAuthor::Executor(key) => {
                let (owner, executor) = self.executor_of(&key.app, key.executor)?;
                let missing = || format!("{} has no executor {} that is still listed", key.app, key.executor);
                let address = executor.map(|executor| LogAddress::of_executor(&key.app, &executor));
                Some(Found { owner, address: address.ok_or_else(missing) })
            }
            LogAuthor::Driver(id) => {
                let driver = self.on_driver_status(id)?;
                let address = |place: &DriverLocation| LogAddress::of_driver(id, place);
                let nowhere =
                    || format!("{id} is {}: it has not been on a Worker, and has no log", driver.state);
                let address = driver.worker.as_ref().map(address).ok_or_else(nowhere);
                Some(Found { owner: driver.user, address })
            }
        }
    }

    /// The user of an application, and its executor with this number if that is still listed.
    fn executor_of(&self, app: &AppId, number: ExecutorId) -> Option<(String, Option<ExecutorView>)> {
        let (user, first) = match self.applications.get(app) {
            Some(live) => (&live.description.user, self.executors_from(live, number).next()),
            None => {
                let ended = self.applications.ended().get(app)?;
                (&ended.row.user, ended.executors_from(number).next())
            }
        };
        Some((user.clone(), first.filter(|executor| executor.id == number)))
    }

    /// The same log on other Workers of a host whose Worker is gone. A Worker that was started again in the same work
    /// directory has the logs of its predecessor.
    fn other_addresses(&self, first: &LogAddress) -> Vec<LogAddress> {
        if self.workers.slot(&first.worker).is_some() {
            return Vec::new();
        }
        let others = self.workers.iter().map(|row| &row.description);
        let others = others.filter(|other| other.host == first.host).take(MOST_OTHERS);
        others
            .map(|other| LogAddress { worker: other.id.clone(), port: other.port, ..first.clone() })
            .collect()
    }
}
