//! Orders to launch executors on the Workers of a connection.

use std::sync::Arc;

use firesteel_protocol::ids::ExecutorKey;
use firesteel_protocol::messages::{ExecutorLaunch, ExecutorReport, ExecutorState, WorkerToMaster};
use firesteel_protocol::process::{StartFailure, StartStep};

use super::{Connection, Effect, Event, PeerNumber};
use crate::OrderForms;
use crate::dialect::Dialect;
use crate::translate;

/// An order to write in a Worker's dialect.
///
/// All orders of an application have most of their bytes in common, so the daemon caches [`OrderForms`] for all
/// connections.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderRequest {
    /// The number of the Worker on its connection.
    peer: PeerNumber,
    launch: ExecutorLaunch,
    dialect: Arc<Dialect>,
    /// The URL that the Worker uses for the Master.
    master_url: String,
}

impl OrderRequest {
    /// Writes the order, with the help of cached forms. Returns the event for the connection that requested the order.
    #[must_use]
    pub fn write(self, forms: &mut OrderForms) -> Event {
        let Self { peer, launch, dialect, master_url } = self;
        let object = match translate::order(&launch) {
            Ok(order) => forms
                .write(&order, &dialect, &master_url)
                .map_err(|error| format!("its application is described by {error}")),
            Err(unordered) => Err(unordered.to_string()),
        };
        Event::OrderWritten { peer, executor: launch.executor, object }
    }
}

/// The executor's application and number, as Spark has them. `None` if the number exceeds Spark's range.
fn key(executor: &ExecutorKey) -> Option<(String, i32)> {
    Some((executor.app.to_string(), i32::try_from(executor.executor.0).ok()?))
}

impl Connection {
    /// Handles the Master's order to a Worker to launch an executor. An order for an executor that already runs is
    /// dropped, since the Worker would start a second one.
    pub(super) fn launch(&mut self, peer: PeerNumber, launch: ExecutorLaunch) {
        if key(&launch.executor).is_some_and(|key| self.peers.runs(&key).is_some()) {
            return;
        }
        let dialect = Arc::clone(&self.peers[peer].dialect);
        let master_url = self.master(peer).url();
        let request = OrderRequest { peer, launch, dialect, master_url };
        self.effects.push(Effect::WriteOrder(Box::new(request)));
    }

    /// Sends a written order to its Worker. If the order could not be written, reports the failed launch to the Master
    /// at once.
    pub(super) fn on_order_written(
        &mut self,
        peer: PeerNumber,
        executor: &ExecutorKey,
        object: Result<Vec<u8>, String>,
    ) {
        match object {
            Ok(object) => {
                key(executor).into_iter().for_each(|key| self.peers.run(key, peer));
                self.send(peer, &object);
            }
            Err(error) => {
                let state = ExecutorState::Failed(StartFailure { step: StartStep::Program, error });
                let report = ExecutorReport::new(executor.clone(), state);
                self.worker_says(peer, WorkerToMaster::ExecutorStateChanged(report));
            }
        }
    }
}
