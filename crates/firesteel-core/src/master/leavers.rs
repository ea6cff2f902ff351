//! Executors of applications that have ended, on their way out.
//!
//! When an application ends, the Master forgets its executors at once and has their Workers end them, as Spark's does.
//! Their processes take a while, and a driver that stays connected is told of the end of each, and then that all are
//! gone.

use std::collections::{BTreeMap, BTreeSet};

use super::Master;
use crate::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use crate::machine::{Violation, ensure};
use crate::messages::{ExecutorState, LossReason, MasterToDriver};

/// The applications that have ended while processes of theirs may run, each with a driver that is still connected.
#[derive(Debug, Default)]
pub(super) struct Leavers {
    rows: BTreeMap<AppId, Leaver>,
}

#[derive(Debug)]
struct Leaver {
    /// The connection's number.
    peer: PeerId,
    /// Executors whose Workers have not reported their end. Never empty.
    executors: BTreeMap<ExecutorId, WorkerId>,
}

impl Leavers {
    /// A driver's connection ended: nobody waits any more.
    pub(super) fn forget_driver(&mut self, peer: PeerId) {
        self.rows.retain(|_, row| row.peer != peer);
    }

    /// Takes an executor of that Worker out: its driver, and whether it was the last.
    fn remove(&mut self, worker: &WorkerId, executor: &ExecutorKey) -> Option<(PeerId, Left)> {
        let row = self.rows.get_mut(&executor.app)?;
        row.executors.get(&executor.executor).filter(|on| *on == worker)?;
        row.executors.remove(&executor.executor);
        let peer = row.peer;
        if !row.executors.is_empty() {
            return Some((peer, Left::Others));
        }
        self.rows.remove(&executor.app);
        Some((peer, Left::Nobody))
    }

    /// The executors on that Worker.
    fn on(&self, worker: &WorkerId) -> Vec<ExecutorKey> {
        let of_app = |(app, row): (&AppId, &Leaver)| {
            let there = row.executors.iter().filter(|(_, on)| *on == worker);
            let key = |(executor, _): (&ExecutorId, _)| ExecutorKey { app: app.clone(), executor: *executor };
            there.map(key).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of_app).collect()
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        for (app, row) in &self.rows {
            ensure!("master", !row.executors.is_empty(), "nobody of {app} is left, and its driver waits");
        }
        Ok(())
    }
}

/// Who is left of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Others,
    Nobody,
}

impl Master {
    /// An application ended with these executors, which their Workers were told to end.
    pub(super) fn see_off(&mut self, app: AppId, peer: PeerId, executors: BTreeMap<ExecutorId, WorkerId>) {
        if executors.is_empty() {
            self.tell_driver(peer, MasterToDriver::ExecutorsGone { app });
        } else {
            self.leavers.rows.insert(app, Leaver { peer, executors });
        }
    }

    /// That Worker says that an executor which the Master does not count any more has ended.
    pub(super) fn see_gone(&mut self, worker: &WorkerId, executor: &ExecutorKey, end: &ExecutorState) {
        // Its driver may have gone, or the end was told already.
        let Some((peer, left)) = self.leavers.remove(worker, executor) else { return };
        let (state, lost_host) = (end.clone(), None);
        self.tell_driver(
            peer,
            MasterToDriver::ExecutorUpdated { executor: executor.executor, state, lost_host },
        );
        match left {
            Left::Others => {}
            Left::Nobody => {
                self.tell_driver(peer, MasterToDriver::ExecutorsGone { app: executor.app.clone() });
            }
        }
    }

    /// Nobody will hear of those on that Worker any more, but for the ones that it named.
    pub(super) fn see_gone_from(
        &mut self,
        worker: &WorkerId,
        named: &BTreeSet<&ExecutorKey>,
        reason: &LossReason,
    ) {
        for executor in self.leavers.on(worker) {
            if !named.contains(&executor) {
                self.see_gone(worker, &executor, &ExecutorState::Lost(reason.clone()));
            }
        }
    }
}
