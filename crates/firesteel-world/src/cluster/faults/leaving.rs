//! Workers that are decommissioned, and must end in a limited time.

use firesteel_protocol::messages::{ClientToMaster, Requester, Rights, WorkerToMaster};
use firesteel_sim::dice::Dice;

use super::Fault;
use crate::cluster::network::links::LinkIndex;
use crate::cluster::network::message::Message;
use crate::cluster::processes::node::Body;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};

/// How long after its executors' deadline a Worker may take to end, in milliseconds. Executors may ignore signals, and
/// deadlines come late.
const ENDS_WITHIN: u64 = 60_000;

/// A Worker that is decommissioned. Shortly afterwards, the Worker's connection is cut, so that the Master's request
/// may be lost.
#[derive(Clone, Debug)]
pub struct Departure {
    /// When the operator decommissions the Worker, in milliseconds after the start.
    pub from: u64,
    pub machine: usize,
    /// The time that executors have until they must end, in milliseconds.
    pub within_millis: u64,
    /// When the connection is cut, in milliseconds after the operator's request.
    pub cut_after: u64,
}

impl Departure {
    /// A random departure, in one of eight clusters with faults.
    pub(crate) fn rolled(dice: &mut Dice, faults_until: u64, machines: usize) -> Option<Self> {
        if faults_until == 0 || !dice.one_in(8) {
            return None;
        }
        Some(Self {
            from: dice.below(faults_until),
            machine: dice.index(machines)?,
            within_millis: dice.between(1_000, 30_000),
            cut_after: dice.between(1, 200),
        })
    }
}

impl World {
    /// An operator asks the Master to decommission a Worker.
    pub(crate) fn ask_to_leave(&mut self, departure: &Departure) {
        let (Some(worker), Some(master)) = (self.workers[departure.machine], self.master) else { return };
        let Body::Worker(body) = &self.node(worker).body else { return };
        let which = body.id.to_string();
        let link = self.open_links(worker, master).first().copied();
        let operator = self.add_node(Body::Stranger);
        let peer = self.connect(operator, master);
        let within_millis = Some(departure.within_millis);
        let by = Requester::new("an operator", Rights::Admin);
        let question = ClientToMaster::DecommissionWorkers { which, within_millis, by };
        self.send(operator, peer, Message::ClientToMaster(question));
        if let Some(link) = link {
            self.after(departure.cut_after, ScheduledEvent::Cut { link });
        }
    }

    /// Cuts a connection, unless it has already ended.
    pub(crate) fn cut_if_open(&mut self, link: LinkIndex) {
        if self.links[link.0].is_open() && !self.is_calm {
            self.fault(Fault::CutLink);
            self.cut(link, false);
        }
    }

    /// A Worker's Master tells the Worker to leave. A later request may set another deadline.
    pub(crate) fn must_leave(&mut self, worker: NodeIndex, within_millis: Option<u64>) {
        let now = self.now;
        if let Body::Worker(body) = &mut self.node_mut(worker).body {
            body.gone_by = within_millis.map(|within| now + within + ENDS_WITHIN);
        }
    }

    /// Checks that a Worker that sends a message did not have to end earlier.
    pub(crate) fn check_left(&mut self, worker: NodeIndex, message: &WorkerToMaster) {
        let Body::Worker(body) = &self.node(worker).body else { return };
        let WorkerToMaster::Heartbeat { worker, .. } = message else { return };
        if body.gone_by.is_some_and(|gone_by| gone_by < self.now) {
            self.violate(format!("{worker} was asked to leave, and is still there"));
        }
    }
}
