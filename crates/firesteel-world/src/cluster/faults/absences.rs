//! Workers that are away, and the questions of the Master whether their processes have ended.

use firesteel_master as master;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::time::Timestamp;

use crate::cluster::processes::node::{Body, NodeEvent};
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};

/// How long Workers and drivers may be away, in milliseconds.
pub(crate) const AWAY: u64 = 30_000;

/// The time between two questions about the same Worker.
const PAUSE: u64 = 1_000;

/// A Master's question about a Worker that is away.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) worker: WorkerId,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
}

impl World {
    /// Asks whether anything listens at the Worker's address, and asks again later if it does.
    pub(crate) fn probe(&mut self, master: NodeIndex, probe: Probe) {
        if self.master != Some(master) || self.timestamp() >= probe.until {
            return;
        }
        let Probe { worker, since, .. } = &probe;
        let living = self.nodes.iter().position(|node| match &node.body {
            Body::Worker(body) => body.id == *worker,
            _ => false,
        });
        match living.map(NodeIndex) {
            None => {
                let event = master::Event::WorkerGone { worker: worker.clone(), since: *since };
                let millis = self.dice.between(0, 4);
                self.after(millis, ScheduledEvent::Tell { node: master, event: NodeEvent::Master(event) });
            }
            Some(_) => self.after(PAUSE, ScheduledEvent::Probe { master, probe }),
        }
    }
}
