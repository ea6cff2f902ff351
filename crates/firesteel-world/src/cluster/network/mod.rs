//! Dialling, sending, receiving, and the ends of connections.
//!
//! `links` contains the connections, and `message` the messages on them.

pub(super) mod links;
pub(super) mod message;

use firesteel_engine::{driver, executor, launcher};
use firesteel_master as master;
use firesteel_protocol::Leadership;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::{ExecutorKey, PeerId};
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver, MasterToWorker};
use firesteel_protocol::time::Timestamp;
use firesteel_worker as worker;

use super::faults::Fault;
use super::faults::election::{ListenerState, listener_address};
use super::processes::node::{Body, NodeEvent};
use super::scheduled_event::{Answer, KillReason, ScheduledEvent, Target};
use super::world::{DriverPhase, NodeIndex, World};
use links::{Link, LinkIndex, Pace, Side};
use message::Message;

impl World {
    pub(crate) fn dial(&mut self, node: NodeIndex, target: Target) {
        if self.listener_of(target).is_some_and(|listener| self.are_parted(node, listener)) {
            self.fault(Fault::ConnectTimesOut);
            let millis = self.dice.between(3_000, 12_000);
            return self.after(millis, ScheduledEvent::Dial { node, target, answer: Answer::TimesOut });
        }
        let goes_wrong = self.is_rough() && self.dice.one_in(self.scenario.faults.dial);
        let (answer, millis) = if !goes_wrong {
            (Answer::Taken, self.dice.between(0, 4) + self.lateness_of_dial(target))
        } else if self.dice.one_in(3) {
            self.fault(Fault::ConnectTimesOut);
            (Answer::TimesOut, self.dice.between(3_000, 12_000))
        } else {
            self.fault(Fault::ConnectRefused);
            (Answer::Refused, self.dice.between(0, 4))
        };
        self.after(millis, ScheduledEvent::Dial { node, target, answer });
    }

    /// A random delay of a connection. A lost first packet is sent again after one, three or seven seconds.
    fn lateness_of_dial(&mut self, target: Target) -> u64 {
        let is_late = matches!(target, Target::Master(_))
            && self.is_elected()
            && self.is_rough()
            && self.dice.one_in(6);
        if !is_late {
            return 0;
        }
        self.fault(Fault::SlowConnect);
        *self.dice.pick(&[1_000, 3_000, 7_000])
    }

    pub(crate) fn answer_dial(&mut self, node: NodeIndex, target: Target, answer: Answer) {
        if !self.node(node).body.is_alive() {
            return;
        }
        if let Target::Master(listener) = target {
            return self.answer_at_listener(node, listener, answer);
        }
        let listener = self.listener_of(target);
        let (trouble, error) = match (answer, listener) {
            (Answer::Taken, Some(listener)) => {
                let peer = self.connect(node, listener);
                if let Body::Executor(_) = &self.node(node).body {
                    self.tell(node, NodeEvent::Executor(executor::Event::Connected { peer }));
                }
                return;
            }
            (Answer::Taken, None) | (Answer::Refused, _) => {
                self.see_refusal(node);
                (ExecutorTrouble::NothingListens, "connection refused")
            }
            (Answer::TimesOut, _) => (ExecutorTrouble::TimedOut, "no answer in time"),
        };
        if let Body::Executor(_) = &self.node(node).body {
            let error = error.to_owned();
            self.tell(node, NodeEvent::Executor(executor::Event::ConnectFailed { trouble, error }));
        }
    }

    fn listener_of(&self, target: Target) -> Option<NodeIndex> {
        match target {
            Target::Master(listener) => self.listening_at(listener).map(|(node, _)| node),
            Target::Driver(app) => match self.drivers[app] {
                // A launcher does not listen.
                DriverPhase::Lives(node) => matches!(self.node(node).body, Body::Driver(_)).then_some(node),
                DriverPhase::Awaited | DriverPhase::Over { .. } => None,
            },
        }
    }

    /// A connection to a Master is accepted or refused.
    fn answer_at_listener(&mut self, node: NodeIndex, listener: usize, answer: Answer) {
        let error = match (answer, self.listening_at(listener)) {
            (Answer::Taken, Some((master, leadership))) => {
                let peer = self.connect(node, master);
                if let Some(millis) = self.lateness_of_hello(master) {
                    self.fault(Fault::LateHello);
                    self.ungreeted.insert((node, peer));
                    return self.after(millis, ScheduledEvent::Greet { node, peer, listener, leadership });
                }
                return self.hear_hello(node, peer, listener, leadership);
            }
            (Answer::Taken, None) if self.listeners[listener] == ListenerState::Empty => "connection refused",
            (Answer::Refused, _) => "connection refused",
            (Answer::Taken, None) | (Answer::TimesOut, _) => "no answer in time",
        };
        self.fail_to_connect(node, listener, error);
    }

    fn fail_to_connect(&mut self, node: NodeIndex, listener: usize, error: &str) {
        let (master, error) = (listener_address(listener), ConnectError::unreachable(error));
        let event = match &self.node(node).body {
            Body::Worker(_) => NodeEvent::Worker(worker::Event::ConnectFailed { master, error }),
            Body::Driver(_) => NodeEvent::Driver(driver::Event::ConnectFailed { master, error }),
            Body::Launcher(_) => NodeEvent::Launcher(launcher::Event::ConnectFailed { master, error }),
            _ => return,
        };
        self.tell(node, event);
    }

    /// A Master's hello arrives, if the connection still exists.
    pub(crate) fn greet(&mut self, node: NodeIndex, peer: PeerId, listener: usize, leadership: Leadership) {
        self.ungreeted.remove(&(node, peer));
        let Some(link) = self.link_of(node, peer) else { return };
        match self.links[link.0].receives(self.links[link.0].side_of(node)) {
            true => self.hear_hello(node, peer, listener, leadership),
            false => self.fail_to_connect(node, listener, "the connection ended"),
        }
    }

    fn hear_hello(&mut self, node: NodeIndex, peer: PeerId, listener: usize, leadership: Leadership) {
        self.meets(node, &leadership);
        let master = listener_address(listener);
        let event = match &self.node(node).body {
            Body::Worker(_) => NodeEvent::Worker(worker::Event::Connected { peer, master, leadership }),
            Body::Driver(_) => NodeEvent::Driver(driver::Event::Connected { peer, master, leadership }),
            Body::Launcher(_) => NodeEvent::Launcher(launcher::Event::Connected { peer, master, leadership }),
            _ => return,
        };
        if self.link_of(node, peer).and_then(|link| self.outdated(node, link)).is_some() {
            self.fault(Fault::FormerLeaderMet);
        }
        self.tell(node, event);
        self.check_former_ones_left(node);
    }

    /// Opens a connection. Returns the peer id that the dialling side uses for it.
    pub(crate) fn connect(&mut self, dialler: NodeIndex, listener: NodeIndex) -> PeerId {
        let link = LinkIndex(self.links.len());
        let slow = self.is_rough() && self.dice.one_in(self.scenario.faults.slow);
        if slow {
            self.fault(Fault::SlowLink);
        }
        let pace = if slow { Pace::Slow } else { Pace::Quick };
        let peers = [dialler, listener].map(|node| {
            let connections = &mut self.nodes[node.0].connections;
            connections.push(link);
            PeerId(connections.len() as u64 - 1)
        });
        self.links.push(Link::new((dialler, peers[0]), (listener, peers[1]), pace));
        self.hold_up(link);
        self.part_link(link);
        peers[0]
    }

    /// The open connections between two nodes.
    pub(crate) fn open_links(&self, node: NodeIndex, other: NodeIndex) -> Vec<LinkIndex> {
        let is_between = |link: &LinkIndex| {
            let row = &self.links[link.0];
            row.is_open() && row.end(row.side_of(node).other()).node == other
        };
        self.node(node).connections.iter().copied().filter(is_between).collect()
    }

    pub(crate) fn send(&mut self, node: NodeIndex, peer: PeerId, message: Message) {
        let Some(link) = self.link_of(node, peer) else {
            let name = self.node(node).body.name();
            return self.violate(format!("{name} sends to peer {peer}, which it never had: {message:?}"));
        };
        self.coverage.sent(&message);
        let side = self.links[link.0].side_of(node).other();
        self.check_voice(node, &message);
        let to = self.links[link.0].end(side).node;
        self.check_numbers(node, to, &message);
        self.check_heed(node, link);
        let row = &mut self.links[link.0];
        if !row.sends(side.other()) {
            return;
        }
        let arrival = row.arrival(side, self.now, &mut self.dice);
        if let Message::MasterToWorker(MasterToWorker::LaunchExecutor(launch)) = &message {
            if self.master == Some(node) {
                let now = self.timestamp();
                self.unheard.entry(launch.executor.clone()).or_insert(now);
            }
            if self.is_rough() && self.dice.one_in(100) {
                self.fault(Fault::RepeatedOrder);
                self.at(arrival, ScheduledEvent::Deliver { link, side, message: message.clone() });
            }
        }
        self.at(arrival, ScheduledEvent::Deliver { link, side, message });
    }

    pub(crate) fn deliver(&mut self, link: LinkIndex, side: Side, message: Message) {
        let row = &self.links[link.0];
        if !row.receives(side) {
            if row.is_cut() {
                self.fault(Fault::MessageLost);
            }
            return;
        }
        let end = row.end(side);
        let (node, peer) = (end.node, end.peer);
        self.coverage.received(&message);
        if let (Body::Stranger, Message::DriverToExecutor(DriverToExecutor::LaunchTask { attempt, .. })) =
            (&self.node(node).body, &message)
        {
            return self.flood(node, *attempt);
        }
        let sender = self.links[link.0].end(side.other()).node;
        self.see_order(sender, node, &message);
        if let Message::MasterToWorker(MasterToWorker::LaunchExecutor(launch)) = &message {
            self.unheard.remove(&launch.executor);
        }
        let is_newcomer =
            matches!(message, Message::ExecutorToDriver(ExecutorToDriver::RegisterExecutor { .. }));
        let is_executor = matches!(self.node(sender).body, Body::Executor(_));
        match (&message, self.driver_mut(node)) {
            (Message::ExecutorToDriver(ExecutorToDriver::TaskGivenBack { attempt, .. }), Some(body))
                if is_executor && body.machine.runs(*attempt) =>
            {
                body.tasks.give_back(*attempt);
            }
            (Message::MasterToDriver(message), Some(body)) => body.entrance.hear_master(message),
            (Message::ExecutorToDriver(message), Some(body)) => body.entrance.hear_executor(peer, message),
            _ => {}
        }
        match &message {
            Message::ExecutorToDriver(message) if is_executor => self.hear_executor_message(sender, message),
            Message::DriverToExecutor(message) => self.hear_driver_message(node, message),
            _ => {}
        }
        if matches!(self.node(node).body, Body::Standby { .. }) {
            return self.tell_standby(node, peer, &message);
        }
        let event = received(&self.node(node).body, peer, self.timestamp(), message);
        if self.terms.is_succeeded(sender) {
            self.fault(Fault::FormerLeaderHeard);
        }
        self.arrive(node, peer, event);
        if is_newcomer && self.is_rough() {
            self.change_mind_early(node);
        }
    }

    /// A user cancels the application at a special moment: an executor has connected, but the driver does not know its
    /// application id yet.
    fn change_mind_early(&mut self, node: NodeIndex) {
        let waits = self.driver_mut(node).is_some_and(|body| body.machine.app().is_none());
        if waits && self.dice.one_in(8) {
            self.fault(Fault::DriverCancel);
            self.cancel_driver(node);
        }
    }

    /// Notes an order of a Master to a Worker, which the Worker must carry out.
    fn see_order(&mut self, sender: NodeIndex, receiver: NodeIndex, message: &Message) {
        if self.master != Some(sender) {
            return;
        }
        if let Message::MasterToWorker(MasterToWorker::DecommissionWorker { within_millis }) = message {
            self.must_leave(receiver, *within_millis);
        }
        if let Message::MasterToWorker(MasterToWorker::KillExecutor { executor }) = message {
            self.check_foreign(executor);
        }
        if let Message::MasterToWorker(MasterToWorker::KillExecutor { executor }) = message
            && let Some(&node) = self.processes.get(executor)
            && self.process(node).is_some_and(|process| process.worker == receiver)
        {
            // The executor may be starting, for up to 40 s; then it has its grace period.
            self.after(60_000, ScheduledEvent::KillCheck { node, kill_reason: KillReason::Ordered });
        }
    }

    /// Checks that a Master without the state of the former Master does not end the executor immediately.
    fn check_foreign(&mut self, executor: &ExecutorKey) {
        let hold = master::Config::default().recovery_timeout;
        let holds = self.scenario.holds_foreign && !self.scenario.is_durable;
        let began = self.master_began;
        let is_early = self.timestamp().since(began) < hold;
        let is_older = *executor.app.as_str() < *format!("app-{}", began.compact());
        if holds && is_early && is_older && self.processes.contains_key(executor) {
            self.violate(format!("executor {executor} of an earlier Master is ended at once"));
        }
    }

    pub(crate) fn hang_up(&mut self, link: LinkIndex, side: Side) {
        if !self.links[link.0].close(side) {
            return;
        }
        let end = self.links[link.0].end(side);
        let (node, peer) = (end.node, end.peer);
        self.see_hang_up(node, self.links[link.0].end(side.other()).node);
        if self.ungreeted.contains(&(node, peer)) {
            return;
        }
        let event = self.node(node).body.disconnected(peer);
        self.arrive(node, peer, event);
    }

    /// A message arrives at a node. A busy Master queues the message.
    fn arrive(&mut self, node: NodeIndex, peer: PeerId, event: Option<NodeEvent>) {
        match event {
            Some(NodeEvent::Master(event)) => self.arrive_at_master(node, peer, event),
            Some(event) => self.tell(node, event),
            None => {}
        }
    }

    /// A node ends a connection. Messages sent before arrive, and both sides learn of the end.
    pub(crate) fn close(&mut self, node: NodeIndex, peer: PeerId) {
        let Some(link) = self.link_of(node, peer) else {
            let name = self.node(node).body.name();
            return self.violate(format!("{name} closes peer {peer}, which it never had"));
        };
        let side = self.links[link.0].side_of(node);
        self.links[link.0].stop_sending(side);
        let own = self.dice.between(0, 2);
        self.after(own, ScheduledEvent::Hangup { link, side });
        let arrival = self.links[link.0].arrival(side.other(), self.now, &mut self.dice);
        self.at(arrival, ScheduledEvent::Hangup { link, side: side.other() });
    }

    /// Cuts a connection. Messages in transit are lost, and the two sides notice at different times.
    pub(crate) fn cut(&mut self, link: LinkIndex, half_open: bool) {
        self.links[link.0].cut();
        let mut delays = [self.dice.below(300), self.dice.below(300)];
        if half_open {
            delays[self.dice.index(2).expect("two sides")] = self.dice.between(10_000, 100_000);
        }
        for (side, delay) in Side::BOTH.into_iter().zip(delays) {
            self.after(delay, ScheduledEvent::Hangup { link, side });
        }
    }

    /// Ends a process. `end` decides how the process's peers notice.
    pub(crate) fn end_process(&mut self, node: NodeIndex, end: ProcessEnd) {
        self.node_mut(node).body = Body::Gone;
        self.node_mut(node).alarm = None;
        for link in std::mem::take(&mut self.node_mut(node).connections) {
            let side = self.links[link.0].side_of(node);
            if !self.links[link.0].close(side) {
                continue;
            }
            let other = side.other();
            let silent = end == ProcessEnd::Abruptly && self.is_rough() && self.dice.one_in(6);
            if silent {
                self.fault(Fault::HalfOpenLink);
                self.links[link.0].cut();
                let delay = self.dice.between(10_000, 100_000);
                self.after(delay, ScheduledEvent::Hangup { link, side: other });
            } else if end == ProcessEnd::Abruptly && self.dice.one_in(2) {
                self.links[link.0].cut();
                let delay = self.dice.below(300);
                self.after(delay, ScheduledEvent::Hangup { link, side: other });
            } else {
                let arrival = self.links[link.0].arrival(other, self.now, &mut self.dice);
                self.at(arrival, ScheduledEvent::Hangup { link, side: other });
            }
        }
    }
}

/// How a process ends its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessEnd {
    /// Messages that the process sent before its end arrive.
    Orderly,
    /// Messages that the process sent before its end may be lost, and peers may learn of the end very late.
    Abruptly,
}

/// Turns a message into an event of the receiving process. `None` if the process does not accept this kind of message.
fn received(body: &Body, peer: PeerId, arrived: Timestamp, message: Message) -> Option<NodeEvent> {
    let at_master = |message| NodeEvent::Master(master::Event::Received { peer, arrived, message });
    let at_worker = |message| NodeEvent::Worker(worker::Event::Received { peer, message });
    let at_driver = |message| NodeEvent::Driver(driver::Event::Received { peer, message });
    let event = match message {
        Message::WorkerToMaster(message) => at_master(master::Inbound::Worker(message)),
        Message::DriverToMaster(message) => at_master(master::Inbound::Driver(message)),
        Message::ClientToMaster(message) => at_master(master::Inbound::Client(message)),
        Message::MasterToWorker(message) => at_worker(worker::Inbound::Master(message)),
        Message::ClientToWorker(message) => at_worker(worker::Inbound::Client(message)),
        Message::MasterToDriver(message) if matches!(body, Body::Launcher(_)) => {
            NodeEvent::Launcher(launcher::Event::Received { peer, message })
        }
        Message::MasterToDriver(message) => at_driver(driver::Inbound::Master(message)),
        Message::ExecutorToDriver(message) => at_driver(driver::Inbound::Executor(message)),
        Message::DriverToExecutor(message) => NodeEvent::Executor(executor::Event::Received { message }),
        Message::MasterToClient(_) | Message::WorkerToClient(_) => return None,
    };
    body.hears(&event).then_some(event)
}
