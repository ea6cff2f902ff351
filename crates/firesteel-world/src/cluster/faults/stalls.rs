//! Stalls: no message of the Master reaches a Worker for some time, although the Worker's heartbeats reach the Master.

use std::collections::BTreeMap;

use firesteel_master::{Event, Inbound};
use firesteel_protocol::ids::{ExecutorKey, PeerId};
use firesteel_protocol::messages::WorkerToMaster;
use firesteel_protocol::time::Timestamp;

use super::Fault;
use crate::cluster::world::World;
use firesteel_sim::dice::Dice;

/// How long the Master may count an executor, in milliseconds, if the order to launch it has not reached the Worker but
/// the Worker's heartbeats arrive. This is the time of four late heartbeats, and some more.
const MOST_UNHEARD: u64 = 90_000;

#[derive(Clone, Debug)]
pub struct Stall {
    /// The beginning, in milliseconds after the start.
    pub from: u64,
    pub machine: usize,
    /// The duration in milliseconds.
    pub millis: u64,
}

/// Orders to launch executors that have not reached their Workers, each with its sending time.
pub(crate) type UndeliveredOrders = BTreeMap<ExecutorKey, Timestamp>;

impl Stall {
    /// Random stalls: up to three Workers, in half of the clusters with faults.
    pub(crate) fn rolled(dice: &mut Dice, faults_until: u64, machines: usize) -> Vec<Self> {
        if faults_until == 0 || dice.one_in(2) {
            return Vec::new();
        }
        let stalls = dice.between(1, 3);
        let stall = |_| {
            let machine = dice.index(machines)?;
            Some(Self { from: dice.below(faults_until), machine, millis: dice.between(5_000, 150_000) })
        };
        (0..stalls).filter_map(stall).collect()
    }
}

impl World {
    /// Blocks the Master's messages to this Worker for some time.
    pub(crate) fn stall(&mut self, Stall { machine, millis, .. }: Stall) {
        let (Some(worker), Some(master)) = (self.workers[machine], self.master) else { return };
        for link in self.open_links(worker, master) {
            let row = &mut self.links[link.0];
            row.stall(row.side_of(worker), self.now + millis);
            self.fault(Fault::Stall);
        }
    }

    /// Checks executors whose launch order does not reach the Worker, although the Worker's heartbeats reach the
    /// Master. The Master must not count such an executor for long.
    pub(crate) fn check_unheard(&mut self, event: &Event) {
        let Event::Received { peer, arrived, message: Inbound::Worker(message) } = event else { return };
        if let WorkerToMaster::ExecutorStateChanged(report) = message {
            // Only a repetition of the order may still be in transit.
            self.unheard.remove(&report.executor);
        }
        if !matches!(message, WorkerToMaster::Heartbeat { .. }) {
            return;
        }
        let lost = self.unheard_since(*peer, *arrived);
        if let Some(executor) = lost {
            self.violate(format!("executor {executor} stays LAUNCHING where nobody has heard of it"));
        }
    }

    fn unheard_since(&mut self, peer: PeerId, arrived: Timestamp) -> Option<ExecutorKey> {
        let Self { unheard, ledger, .. } = self;
        unheard.retain(|executor, _| ledger.holds(executor));
        let overdue = |(executor, sent): (&ExecutorKey, &Timestamp)| {
            let millis = arrived.millis().saturating_sub(sent.millis());
            (millis > MOST_UNHEARD && ledger.is_on(peer, executor)).then(|| executor.clone())
        };
        unheard.iter().find_map(overdue)
    }
}
