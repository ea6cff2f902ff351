//! Executors of ended applications whose processes still run.
//!
//! When an application ends, the Master forgets its executors at once and orders their Workers to end them, as Spark's
//! Master does. Their processes take a while to end. If the driver stays connected, it receives a message about each
//! end, and finally a message that all executors have ended.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::machine::{Violation, ensure};
use firesteel_protocol::messages::{ExecutorState, LossReason, MasterToDriver};

use crate::Master;
use crate::tables::link::Link;

/// Ended applications that may still have running executors, and whose drivers are still connected.
#[derive(Debug, Default)]
pub(crate) struct EndedAppExecutors {
    rows: BTreeMap<AppId, EndedApp>,
}

#[derive(Debug)]
struct EndedApp {
    /// The connection of the application's driver.
    peer: PeerId,
    /// The executors whose ends are not reported yet. There is at least one.
    executors: BTreeMap<ExecutorId, WorkerId>,
}

impl EndedAppExecutors {
    /// Forgets the executors of a driver that has disconnected, because it needs no more messages about them.
    pub(super) fn forget_driver(&mut self, peer: PeerId) {
        self.rows.retain(|_, row| row.peer != peer);
    }

    /// Removes an executor on this Worker. Returns the connection of its driver, and whether it was the last executor.
    fn remove(&mut self, worker: &WorkerId, executor: &ExecutorKey) -> Option<(PeerId, Left)> {
        let row = self.rows.get_mut(&executor.app)?;
        row.executors.get(&executor.executor).filter(|on| *on == worker)?;
        row.executors.remove(&executor.executor);
        let peer = row.peer;
        if !row.executors.is_empty() {
            return Some((peer, Left::Some));
        }
        self.rows.remove(&executor.app);
        Some((peer, Left::None))
    }

    fn on(&self, worker: &WorkerId) -> Vec<ExecutorKey> {
        let of_app = |(app, row): (&AppId, &EndedApp)| {
            let there = row.executors.iter().filter(|(_, on)| *on == worker);
            let key = |(executor, _): (&ExecutorId, _)| ExecutorKey { app: app.clone(), executor: *executor };
            there.map(key).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of_app).collect()
    }

    pub(crate) fn check(&self) -> Result<(), Violation> {
        for (app, row) in &self.rows {
            ensure!(
                "master",
                !row.executors.is_empty(),
                "no executor of {app} is left, and its driver waits"
            );
        }
        Ok(())
    }
}

/// Whether the ended application still has executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Some,
    None,
}

impl Master {
    /// Remembers the executors of an ended application. Their Workers already have the order to end them.
    pub(super) fn await_ends(&mut self, app: AppId, driver: Link, executors: BTreeMap<ExecutorId, WorkerId>) {
        let Link::Here(peer) = driver else { return };
        if executors.is_empty() {
            self.tell_driver(peer, MasterToDriver::ExecutorsGone { app });
        } else {
            self.ended_app_executors.rows.insert(app, EndedApp { peer, executors });
        }
    }

    /// Handles the reported end of an executor that the Master has already forgotten.
    pub(super) fn report_end(&mut self, worker: &WorkerId, executor: &ExecutorKey, end: &ExecutorState) {
        // The driver may have disconnected, or may already know of this end.
        let Some((peer, left)) = self.ended_app_executors.remove(worker, executor) else { return };
        let (state, lost_host) = (end.clone(), None);
        self.tell_driver(
            peer,
            MasterToDriver::ExecutorUpdated { executor: executor.executor, state, lost_host },
        );
        match left {
            Left::Some => {}
            Left::None => {
                self.tell_driver(peer, MasterToDriver::ExecutorsGone { app: executor.app.clone() });
            }
        }
    }

    /// Handles the ends of executors whose Worker is lost or does not list them. There will be no more reports about
    /// them.
    pub(super) fn forget_executors_on(
        &mut self,
        worker: &WorkerId,
        named: &BTreeSet<&ExecutorKey>,
        reason: &LossReason,
    ) {
        for executor in self.ended_app_executors.on(worker) {
            if !named.contains(&executor) {
                self.report_end(worker, &executor, &ExecutorState::Lost(reason.clone()));
            }
        }
    }
}
