//! Workers that are asked to leave, and must have ended some time later.

use firesteel_core::messages::WorkerToMaster;

use super::node::Body;
use super::world::{NodeIndex, World};

/// The most time that a Worker takes to end after the time that its executors were given, in milliseconds: they may ignore
/// signals, and deadlines come late.
const ENDS_WITHIN: u64 = 60_000;

impl World {
    /// A Worker's Master asks it to leave. Asked again, it may take another time.
    pub(crate) fn must_leave(&mut self, worker: NodeIndex, within_millis: Option<u64>) {
        let now = self.now;
        if let Body::Worker(body) = &mut self.node_mut(worker).body {
            body.gone_by = within_millis.map(|within| now + within + ENDS_WITHIN);
        }
    }

    /// Checks that a Worker which speaks need not have ended.
    pub(crate) fn check_left(&mut self, worker: NodeIndex, message: &WorkerToMaster) {
        let Body::Worker(body) = &self.node(worker).body else { return };
        let WorkerToMaster::Heartbeat { worker, .. } = message else { return };
        if body.gone_by.is_some_and(|gone_by| gone_by < self.now) {
            self.violate(format!("{worker} was asked to leave, and is still there"));
        }
    }
}
