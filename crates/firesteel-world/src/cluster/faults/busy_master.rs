//! A busy Master: messages wait in the queue of the real daemon, and arrive faster than the Master handles them.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_master::{Effect, Event, Inbound, Note};
use firesteel_protocol::fair_queue::{FairQueue, Limits, Urgency};
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{LossReason, WorkerToMaster};
use firesteel_protocol::time::Timestamp;

use super::Fault;
use crate::cluster::processes::node::NodeEvent;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};
use firesteel_sim::dice::Dice;

/// A time during which the Master is busy.
#[derive(Clone, Debug)]
pub struct BusyPeriod {
    /// The beginning, in milliseconds after the start. The period ends when the faults stop.
    pub from: u64,
    /// How long the Master takes to handle one message, in milliseconds.
    pub pace: u64,
}

impl BusyPeriod {
    /// A random busy period. One Master in six has one before the faults stop.
    pub(crate) fn rolled(dice: &mut Dice, faults_until: u64) -> Option<Self> {
        let is_busy = faults_until > 0 && dice.one_in(6);
        is_busy.then(|| Self { from: dice.below(faults_until), pace: *dice.pick(&[20, 300, 1_000, 4_000]) })
    }
}

/// The messages that have arrived at a Master.
#[derive(Debug)]
pub(crate) struct MasterInbox {
    /// The waiting messages, each with its arrival time.
    queue: FairQueue<(Timestamp, Event)>,
    /// When the heartbeats of each peer arrived.
    heartbeats: BTreeMap<PeerId, Vec<Timestamp>>,
}

impl Default for MasterInbox {
    fn default() -> Self {
        Self { queue: FairQueue::new(Limits::default()), heartbeats: BTreeMap::new() }
    }
}

impl World {
    /// A message, or the end of a connection, arrives at the Master.
    pub(crate) fn arrive_at_master(&mut self, node: NodeIndex, peer: PeerId, event: Event) {
        if self.is_former(node) {
            return self.tell(node, NodeEvent::Master(event));
        }
        let now = self.timestamp();
        // A stranger's heartbeat may name a Worker that is not its own.
        if let Event::Received { message: Inbound::Worker(WorkerToMaster::Heartbeat { worker, .. }), .. } =
            &event
            && !self.ledger.is_another(peer, worker)
        {
            self.master_inbox.heartbeats.entry(peer).or_default().push(now);
        }
        let is_empty = self.master_inbox.queue.is_empty();
        if is_empty && self.master_pace() == 0 {
            return self.tell(node, NodeEvent::Master(event));
        }
        if is_empty {
            self.fault(Fault::BusyMaster);
            self.after(self.master_pace(), ScheduledEvent::MasterTurn { node });
        }
        let urgency = match event {
            Event::Received { message: Inbound::Client(_), .. } => Urgency::Urgent,
            Event::Received { .. }
            | Event::Disconnected { .. }
            | Event::WorkerGone { .. }
            | Event::LogRead { .. }
            | Event::Deadline { .. } => Urgency::Ordinary,
        };
        self.master_inbox.queue.push(peer, urgency, 0, (now, event));
    }

    /// The Master handles the next message in its queue.
    pub(crate) fn master_turn(&mut self, node: NodeIndex) {
        if self.master != Some(node) {
            return;
        }
        if let Some((_, (_, event))) = self.master_inbox.queue.pop() {
            self.tell(node, NodeEvent::Master(event));
        }
        if !self.master_inbox.queue.is_empty() {
            self.after(self.master_pace(), ScheduledEvent::MasterTurn { node });
        }
    }

    /// How long the Master now takes to handle a message, in milliseconds.
    fn master_pace(&self) -> u64 {
        match &self.scenario.busy_spell {
            Some(spell) if self.is_rough() && self.now >= spell.from => spell.pace,
            Some(_) | None => 0,
        }
    }

    /// The time up to which a node has handled all its messages.
    pub(crate) fn heard_until(&self, node: NodeIndex) -> Timestamp {
        let oldest = self.master_inbox.queue.heads().map(|(came, _)| *came).min();
        match self.master == Some(node) {
            true => oldest.unwrap_or(self.timestamp()),
            false => self.timestamp(),
        }
    }

    /// Checks a Master that calls a Worker silent. For the whole timeout before the time up to which the Master has
    /// handled its messages, no heartbeat of the Worker may have arrived.
    pub(crate) fn check_silence(&mut self, node: NodeIndex, effects: &[Effect]) {
        let heard_until = self.heard_until(node);
        let mut silent = None;
        for effect in effects {
            match effect {
                Effect::Note(Note::WorkerRemoved {
                    worker,
                    reason: LossReason::HeartbeatTimeout { seconds },
                    ..
                }) => silent = Some((worker, Duration::from_secs(*seconds))),
                Effect::Close { peer } => {
                    let heartbeats = self.master_inbox.heartbeats.get(peer).into_iter().flatten();
                    let last = heartbeats.filter(|arrived| **arrived < heard_until).max();
                    let since = last.map(|arrived| heard_until.since(*arrived));
                    if let (Some((worker, timeout)), Some(since)) = (silent.take(), since)
                        && since < timeout
                    {
                        let since = since.as_secs_f64();
                        self.violate(format!(
                            "{worker} is called silent, and its heartbeat arrived {since} s before"
                        ));
                    }
                }
                _ => {}
            }
        }
    }
}
