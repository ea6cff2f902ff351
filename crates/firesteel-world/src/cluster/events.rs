//! Delivers events to nodes. The node's state machine applies the event. The world then checks the effects against the
//! laws (`laws`: rules that every run must obey) and performs them.

use firesteel_engine::driver;
use firesteel_master as master;
use firesteel_master::ReservationView;
use firesteel_worker as worker;

use super::effects::master_disk::Held;
use super::faults::Fault;
use super::processes::node::{Alarm, Body, NodeEffects, NodeEvent};
use super::scheduled_event::ScheduledEvent;
use super::world::{BEGINNING, NodeIndex, World};

impl World {
    pub(super) fn wake(&mut self, node: NodeIndex, at: u64) {
        let row = &mut self.nodes[node.0];
        if row.alarm.is_none_or(|alarm| alarm.rings != at) {
            return;
        }
        row.alarm = None;
        row.woken = if row.woken.0 == at { (at, row.woken.1 + 1) } else { (at, 1) };
        if row.woken.1 > 100 {
            let name = row.body.name();
            return self.violate(format!("{name} wants to be woken again and again at the same time"));
        }
        if let Some(event) = self.node(node).body.deadline(self.heard_until(node)) {
            self.tell(node, event);
        }
    }

    /// A paused process continues and receives the events that arrived during the pause.
    pub(super) fn go_on_again(&mut self, node: NodeIndex) {
        for event in self.node_mut(node).waiting.take().unwrap_or_default() {
            self.tell(node, event);
        }
    }

    /// Gives a node an event, performs the effects, and checks the node.
    pub(crate) fn tell(&mut self, node: NodeIndex, event: NodeEvent) {
        if !self.node(node).body.is_alive() || self.violation.is_some() {
            return;
        }
        if let Some(waiting) = &mut self.node_mut(node).waiting {
            return waiting.push_back(event);
        }
        self.note_event(node, &event);
        let heard = match &event {
            NodeEvent::Driver(event @ (driver::Event::CancelTask { .. } | driver::Event::Ask { .. })) => {
                Some(event.clone())
            }
            NodeEvent::Driver(_)
            | NodeEvent::Master(_)
            | NodeEvent::Worker(_)
            | NodeEvent::Launcher(_)
            | NodeEvent::Executor(_) => None,
        };
        let log_read = match &event {
            NodeEvent::Worker(worker::Event::LogRead { peer, .. }) => Some(*peer),
            _ => None,
        };
        let seen = match &event {
            NodeEvent::Master(event) => Some(event.clone()),
            NodeEvent::Worker(_) | NodeEvent::Driver(_) | NodeEvent::Launcher(_) | NodeEvent::Executor(_) => {
                None
            }
        };
        let before = self.nodes[node.0].body.reservations();
        let now = self.timestamp();
        let told = match &mut self.saboteur {
            None => Some(event),
            Some(saboteur) => saboteur.event(now, event, &self.ledger, &mut self.dice),
        };
        let mut effects = match told {
            None => NodeEffects::Worker(Vec::new()),
            Some(event) => match self.nodes[node.0].body.apply(now, event) {
                Some(effects) => effects,
                None => return self.violate("a process is told what only another kind can hear"),
            },
        };
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.effects(&mut effects, &self.ledger, &mut self.dice);
        }
        match seen {
            Some(event) => self.take_decision(node, event, effects, before),
            None => self.perform(node, effects),
        }
        if let Some(event) = heard {
            self.check_heard(node, &event);
        }
        if let Some(peer) = log_read {
            self.log_was_read(node, peer);
        }
        self.check(node);
        self.set_alarm(node);
    }

    /// Counts an event, and enters the event in the books of its node.
    fn note_event(&mut self, node: NodeIndex, event: &NodeEvent) {
        self.coverage.events += 1;
        self.count_event(event);
        let now = self.now;
        match event {
            NodeEvent::Driver(event) => {
                if let Some(body) = self.driver_mut(node) {
                    body.hear(event, now);
                    if let driver::Event::KillExecutors { executors, .. } = event {
                        body.headcount.dismiss(executors);
                    }
                }
            }
            NodeEvent::Launcher(event) => self.launcher_hears(node, event),
            NodeEvent::Master(_) | NodeEvent::Worker(_) | NodeEvent::Executor(_) => {}
        }
        if self.trace.is_some() {
            let name = self.node(node).body.name();
            self.remark(format!("{name} <- {event:?}"));
        }
    }

    /// Enters an event of the Master and its effects in the ledger. Performs the effects unless they wait for the disk.
    /// `before` are the Master's reservations before the event.
    fn take_decision(
        &mut self,
        node: NodeIndex,
        event: master::Event,
        effects: NodeEffects,
        before: Vec<ReservationView>,
    ) {
        let effects = match effects {
            NodeEffects::Master(effects) => effects,
            NodeEffects::Worker(_)
            | NodeEffects::Driver(_)
            | NodeEffects::Launcher(_)
            | NodeEffects::Executor(_) => Vec::new(),
        };
        if self.is_former(node) {
            return self.decide_in_vain(node, &event, effects);
        }
        self.check_silence(node, &effects);
        let after = self.nodes[node.0].body.reservations();
        let held = Held { event, effects, before, after, at: self.now };
        if self.must_wait(&held.effects) {
            return self.hold_back(node, held);
        }
        let entry = self.enter(&held);
        self.take_outcome(node, entry);
        self.check_unheard(&held.event);
        self.perform(node, NodeEffects::Master(held.effects));
    }

    /// Checks a node's own invariants, and compares the Master's tables with the ledger.
    fn check(&mut self, node: NodeIndex) {
        let every = self.scenario.check_every;
        let row = &mut self.nodes[node.0];
        row.events += 1;
        let (is_master, is_driver) =
            (matches!(row.body, Body::Master(_)), matches!(row.body, Body::Driver(_)));
        if (is_master || is_driver) && !row.events.is_multiple_of(every) {
            return;
        }
        if let Err(violation) = row.body.check() {
            return self.violate(violation);
        }
        if is_master && row.events.is_multiple_of(every * 4) {
            self.compare_tables();
        }
        self.compare_recovered(node);
    }

    pub(crate) fn compare_tables(&mut self) {
        let Some(master) = self.master.filter(|_| !self.master_disk.is_busy()) else { return };
        if let Body::Master(machine) = &self.nodes[master.0].body {
            let view = machine.view();
            let result = self.ledger.compare(&view);
            let result = result.and_then(|()| self.ledger.compare_presence(&view));
            self.hold(result);
        }
    }

    pub(crate) fn set_alarm(&mut self, node: NodeIndex) {
        let due = self.node(node).body.next_deadline().map(|at| at.millis().saturating_sub(BEGINNING));
        let Some(due) = due else {
            self.node_mut(node).alarm = None;
            return;
        };
        if self.node(node).alarm.is_some_and(|alarm| alarm.due == due) {
            return;
        }
        let late = self.is_rough() && self.dice.one_in(self.scenario.faults.deadline);
        let lateness = if late { self.dice.between(1, 3_000) } else { self.dice.below(2) };
        if late {
            self.fault(Fault::LateDeadline);
        }
        let rings = due.max(self.now) + lateness;
        self.node_mut(node).alarm = Some(Alarm { due, rings });
        self.at(rings, ScheduledEvent::Wake { node, at: rings });
    }

    fn count_event(&mut self, event: &NodeEvent) {
        match event {
            NodeEvent::Master(event) => self.coverage.master_event.count(event),
            NodeEvent::Worker(event) => self.coverage.worker_event.count(event),
            NodeEvent::Driver(event) => self.coverage.driver_event.count(event),
            NodeEvent::Launcher(event) => self.coverage.launcher_event.count(event),
            NodeEvent::Executor(event) => self.coverage.executor_event.count(event),
        }
    }
}
