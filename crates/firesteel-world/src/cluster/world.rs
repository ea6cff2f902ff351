//! The world: virtual time, the queue of events, and the processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use firesteel_engine::driver;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{ExecutorKey, PeerId};
use firesteel_worker as worker;

use super::effects::fetches::Fetches;
use super::effects::master_disk::MasterDisk;
use super::faults::Fault;
use super::faults::busy_master::MasterInbox;
use super::faults::election::ListenerState;
use super::faults::partitions::Partition;
use super::faults::stalls::UndeliveredOrders;
use super::laws::coverage::Coverage;
use super::laws::exchanges::Exchanges;
use super::laws::healing::SETTLED_AFTER;
use super::laws::ledger::Ledger;
use super::laws::terms::Terms;
use super::laws::truth::Executors;
use super::network::links::{Link, LinkIndex};
use super::processes::cluster_drivers::ClusterDrivers;
use super::processes::node::{Body, Node, NodeEvent};
use super::sabotage::saboteur::Saboteur;
use super::scenario::Scenario;
use super::scheduled_event::ScheduledEvent;
use firesteel_sim::dice::Dice;

/// The time at which worlds begin: 2026-01-01 00:00 UTC, in milliseconds.
pub(super) const BEGINNING: u64 = 1_767_225_600_000;

/// The number of a process in its world. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeIndex(pub(crate) usize);

/// A whole simulated cluster in one value.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) dice: Dice,
    /// Milliseconds since the world began.
    pub(crate) now: u64,
    queue: BTreeMap<(u64, u64), ScheduledEvent>,
    sequence: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Link>,
    /// The leading Master, while it is alive.
    pub(crate) master: Option<NodeIndex>,
    pub(crate) master_inbox: MasterInbox,
    /// The addresses of Masters: two if they are elected.
    pub(crate) listeners: Vec<ListenerState>,
    pub(crate) terms: Terms,
    /// The Master whose messages are held up, and the time until which they are. This time may have passed.
    pub(crate) held_up: Option<(NodeIndex, u64)>,
    /// The connections to Masters on which the Master's hello has not arrived yet.
    pub(crate) ungreeted: BTreeSet<(NodeIndex, PeerId)>,
    pub(crate) unheard: UndeliveredOrders,
    /// When the current Master began. Set only if it had no state of an earlier Master.
    pub(crate) master_began: Timestamp,
    /// The partitions that have begun, each with its end.
    pub(crate) parted: Vec<(Partition, u64)>,
    /// Whether a hostile peer has pretended to be a Worker, so that the Master may believe false reports about
    /// executors.
    pub(crate) was_lied_to: bool,
    /// The living Worker of each machine, if any.
    pub(crate) workers: Vec<Option<NodeIndex>>,
    pub(crate) drivers: Vec<DriverPhase>,
    /// The processes of executors that have not ended.
    pub(crate) processes: BTreeMap<ExecutorKey, NodeIndex>,
    pub(crate) executors: Executors,
    pub(crate) exchanges: Exchanges,
    pub(crate) fetches: Fetches,
    pub(crate) cluster_drivers: ClusterDrivers,
    pub(crate) ledger: Ledger,
    pub(crate) master_disk: MasterDisk,
    pub(crate) is_calm: bool,
    pub(crate) coverage: Coverage,
    pub(crate) saboteur: Option<Saboteur>,
    pub(crate) violation: Option<String>,
    pub(crate) trace: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverPhase {
    /// The driver has not started yet.
    Awaited,
    Lives(NodeIndex),
    /// The driver ended at this time.
    Over {
        at: u64,
    },
}

impl World {
    pub(crate) fn new(scenario: Scenario, saboteur: Option<Saboteur>, traces: bool) -> Self {
        let mut world = Self {
            dice: Dice::new(scenario.seed ^ 0x5EED),
            now: 0,
            queue: BTreeMap::new(),
            sequence: 0,
            nodes: Vec::new(),
            links: Vec::new(),
            master: None,
            master_inbox: MasterInbox::default(),
            listeners: vec![ListenerState::Empty; if scenario.election.is_some() { 2 } else { 1 }],
            terms: Terms::default(),
            held_up: None,
            ungreeted: BTreeSet::new(),
            unheard: UndeliveredOrders::new(),
            master_began: Timestamp::default(),
            parted: Vec::new(),
            workers: vec![None; scenario.workers.len()],
            drivers: vec![DriverPhase::Awaited; scenario.apps.len()],
            processes: BTreeMap::new(),
            executors: Executors::default(),
            exchanges: Exchanges::default(),
            fetches: Fetches::default(),
            cluster_drivers: ClusterDrivers::default(),
            ledger: Ledger::default(),
            master_disk: MasterDisk::default(),
            is_calm: scenario.faults.until == 0,
            was_lied_to: false,
            coverage: Coverage { runs: 1, ..Coverage::default() },
            saboteur,
            violation: None,
            trace: traces.then(Vec::new),
            scenario,
        };
        world.set_out();
        world
    }

    /// Plans the first events of the world.
    fn set_out(&mut self) {
        // Sometimes the Master starts so late that early Workers and drivers have given up.
        let master_at = match self.dice.one_in(6) {
            true if self.dice.one_in(8) => 70_000,
            true => 3_000,
            false => 0,
        };
        self.at(master_at, ScheduledEvent::StartMaster { listener: 0 });
        if let Some(election) = self.scenario.election.clone() {
            self.at(master_at, ScheduledEvent::StandBy { listener: 1 });
            for deposition in election.depositions {
                self.at(deposition.from, ScheduledEvent::Depose(deposition));
            }
        }
        for plan in 0..self.scenario.workers.len() {
            self.at(self.scenario.workers[plan].starts_at, ScheduledEvent::StartWorker { plan });
        }
        for app in 0..self.scenario.apps.len() {
            self.at(self.scenario.apps[app].starts_at, ScheduledEvent::StartDriver { app });
        }
        for plan in 0..self.scenario.submissions.len() {
            self.at(self.scenario.submissions[plan].at, ScheduledEvent::SubmitDriver { plan });
        }
        for stall in self.scenario.stalls.clone() {
            self.at(stall.from, ScheduledEvent::Stall(stall));
        }
        for partition in self.scenario.partitions.clone() {
            self.at(partition.from, ScheduledEvent::Part(partition));
        }
        if let Some(departure) = self.scenario.departure.clone() {
            self.at(departure.from, ScheduledEvent::Depart(departure));
        }
        if let Some(every) = self.scenario.faults.strike_every {
            self.at(every, ScheduledEvent::Strike);
        }
        self.at(self.scenario.faults.until, ScheduledEvent::Calm);
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        Timestamp::from_millis(BEGINNING + self.now)
    }

    /// Whether everything must have recovered from the last fault by now.
    pub(crate) fn is_settled(&self) -> bool {
        let until = self.scenario.faults.until;
        until == 0 || self.now > until + SETTLED_AFTER
    }

    /// Whether faults still occur.
    pub(crate) fn is_rough(&self) -> bool {
        !self.is_calm
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.coverage.fault.count(&fault);
        if self.trace.is_some() {
            self.remark(format!("fault: {fault:?}"));
        }
    }

    pub(crate) fn remark(&mut self, line: String) {
        let now = self.now;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now:>9} {line}"));
        }
    }

    /// Plans an event for this time.
    pub(crate) fn at(&mut self, time: u64, scheduled_event: ScheduledEvent) {
        self.sequence += 1;
        self.queue.insert((time.max(self.now), self.sequence), scheduled_event);
    }

    /// Plans an event after this many milliseconds.
    pub(crate) fn after(&mut self, millis: u64, scheduled_event: ScheduledEvent) {
        self.at(self.now + millis, scheduled_event);
    }

    /// The events that are still in the queue.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &ScheduledEvent> {
        self.queue.values()
    }

    /// Records the first broken invariant, after which the run stops.
    pub(crate) fn violate(&mut self, sentence: impl fmt::Display) {
        if self.violation.is_none() {
            self.violation = Some(sentence.to_string());
        }
    }

    pub(crate) fn hold(&mut self, result: Result<(), String>) {
        if let Err(sentence) = result {
            self.violate(sentence);
        }
    }

    pub(crate) fn add_node(&mut self, body: Body) -> NodeIndex {
        self.nodes.push(Node::new(body));
        NodeIndex(self.nodes.len() - 1)
    }

    pub(crate) fn node(&self, node: NodeIndex) -> &Node {
        &self.nodes[node.0]
    }

    pub(crate) fn node_mut(&mut self, node: NodeIndex) -> &mut Node {
        &mut self.nodes[node.0]
    }

    /// Runs the next event. Returns whether there was one.
    pub(crate) fn step(&mut self) -> bool {
        let Some(((time, _), scheduled_event)) = self.queue.pop_first() else { return false };
        self.now = time;
        self.happen(scheduled_event);
        true
    }

    fn happen(&mut self, scheduled_event: ScheduledEvent) {
        match scheduled_event {
            ScheduledEvent::Deliver { link, side, message } => self.deliver(link, side, message),
            ScheduledEvent::Hangup { link, side } => self.hang_up(link, side),
            ScheduledEvent::Dial { node, target, answer } => self.answer_dial(node, target, answer),
            ScheduledEvent::Wake { node, at } => self.wake(node, at),
            ScheduledEvent::Tell { node, event } => self.tell(node, event),
            ScheduledEvent::Part(partition) => self.part(partition),
            ScheduledEvent::Stall(stall) => self.stall(stall),
            ScheduledEvent::Depart(departure) => self.ask_to_leave(&departure),
            ScheduledEvent::Cut { link } => self.cut_if_open(link),
            ScheduledEvent::Probe { master, probe } => self.probe(master, probe),
            ScheduledEvent::MasterTurn { node } => self.master_turn(node),
            ScheduledEvent::StartMaster { listener } => self.start_master(listener),
            ScheduledEvent::StandBy { listener } => self.stand_by(listener),
            ScheduledEvent::Follow { listener } => self.follow(listener),
            ScheduledEvent::Depose(deposition) => self.depose(deposition),
            ScheduledEvent::EndLease { node, lingers } => self.end_lease(node, lingers),
            ScheduledEvent::EndFormer { node } => self.end_former(node),
            ScheduledEvent::Greet { node, peer, listener, leadership } => {
                self.greet(node, peer, listener, leadership)
            }
            ScheduledEvent::Synced { node } => self.synced(node),
            ScheduledEvent::StartWorker { plan } => self.start_worker(plan),
            ScheduledEvent::StartDriver { app } => self.start_driver(app),
            ScheduledEvent::Submit { node, task } => self.submit(node, task),
            ScheduledEvent::ExecutorUp { node } => self.executor_up(node),
            ScheduledEvent::ExecutorEnd { node, status } => self.executor_end(node, status),
            ScheduledEvent::KillCheck { node, kill_reason } => self.check_kill(node, kill_reason),
            ScheduledEvent::GoOn { node } => self.go_on_again(node),
            ScheduledEvent::FetchEnd { node, app, fetch, driver, fails } => {
                self.end_fetch(node, app, fetch, driver, fails);
            }
            ScheduledEvent::IdleCheck { node, since } => self.check_idle(node, since),
            ScheduledEvent::TaskUp { node, attempt } => self.task_up(node, attempt),
            ScheduledEvent::TaskStep { node, attempt } => self.task_step(node, attempt),
            ScheduledEvent::SubmitDriver { plan } => self.submit_driver(plan),
            ScheduledEvent::KillDriver => self.kill_driver(),
            ScheduledEvent::ClusterDriverUp { driver, start } => self.cluster_driver_up(driver, start),
            ScheduledEvent::ClusterDriverEnd { driver, start, status } => {
                self.cluster_driver_end(driver, start, status);
            }
            ScheduledEvent::Strike => self.strike(),
            ScheduledEvent::Speak { node, role, left } => self.speak(node, role, left),
            ScheduledEvent::Calm => self.calm_down(),
            ScheduledEvent::Mend => self.mend(),
            ScheduledEvent::Audit => self.audit(),
        }
    }

    pub(crate) fn living_workers(&self) -> Vec<NodeIndex> {
        self.workers.iter().flatten().copied().collect()
    }

    pub(crate) fn living_drivers(&self) -> Vec<NodeIndex> {
        let node = |phase: &DriverPhase| match phase {
            DriverPhase::Lives(node) => matches!(self.node(*node).body, Body::Driver(_)).then_some(*node),
            DriverPhase::Awaited | DriverPhase::Over { .. } => None,
        };
        self.drivers.iter().filter_map(node).collect()
    }

    pub(crate) fn tell_worker(&mut self, millis: u64, node: NodeIndex, event: worker::Event) {
        self.after(millis, ScheduledEvent::Tell { node, event: NodeEvent::Worker(event) });
    }

    pub(crate) fn tell_driver(&mut self, millis: u64, node: NodeIndex, event: driver::Event) {
        self.after(millis, ScheduledEvent::Tell { node, event: NodeEvent::Driver(event) });
    }

    /// The connection to which a node refers by this peer id.
    pub(crate) fn link_of(&self, node: NodeIndex, peer: PeerId) -> Option<LinkIndex> {
        let index = usize::try_from(peer.0).ok()?;
        self.node(node).connections.get(index).copied()
    }

    /// The living processes of executors, in order.
    pub(crate) fn living_processes(&self) -> BTreeSet<NodeIndex> {
        self.processes.values().copied().collect()
    }
}
