//! Faults that occur by themselves.

use firesteel_engine::driver::{self, Allocation, Question, Replacement};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
use firesteel_protocol::messages::{DriverToMaster, MasterToWorker, ResourceProfile};
use firesteel_worker as worker;

use super::Fault;
use crate::cluster::network::ProcessEnd;
use crate::cluster::network::links::LinkIndex;
use crate::cluster::network::message::Message;
use crate::cluster::processes::node::{Body, NodeEvent};
use crate::cluster::scheduled_event::{ScheduledEvent, StrangerRole};
use crate::cluster::world::{NodeIndex, World};

impl World {
    /// Performs one fault, if it has a target, and plans the next one.
    pub(crate) fn strike(&mut self) {
        if self.is_calm {
            return;
        }
        if let Some(every) = self.scenario.faults.strike_every {
            let pause = self.dice.between(1, every * 2);
            self.after(pause, ScheduledEvent::Strike);
        }
        let fault = Fault::rolled(&mut self.dice);
        match fault {
            Fault::CutLink => self.cut_some_link(fault, false),
            Fault::CutExecutorLink => self.cut_some_executor_link(fault),
            Fault::HalfOpenLink => self.cut_some_link(fault, true),
            Fault::ExecutorStandsStill => self.stop_some_executor(fault),
            Fault::WorkerCrash => self.crash_some_worker(fault),
            Fault::WorkerShutdown => self.shut_some_worker_down(fault),
            Fault::DriverCrash => self.crash_some_owner(fault),
            Fault::DriverCancel => self.cancel_some_owner(fault),
            Fault::TaskCancel => {
                if let Some(node) = self.some_driver() {
                    self.cancel_some_task(fault, node);
                }
            }
            Fault::Question => self.ask_some_driver(fault),
            Fault::MasterCrash => {
                if self.master.is_some() {
                    self.fault(fault);
                    self.crash_master();
                }
            }
            Fault::EarlyDeadline => self.wake_some_node_early(fault),
            Fault::RequestExecutors => self.request_some_executors(fault),
            Fault::KillExecutors => self.kill_some_executors(fault),
            Fault::HostileWorker => self.invite(fault, StrangerRole::Worker),
            Fault::HostileDriver => self.invite(fault, StrangerRole::Driver),
            Fault::HostileExecutor => self.invite(fault, StrangerRole::Executor),
            Fault::StatusClient => self.invite(fault, StrangerRole::Client),
            Fault::HostileMaster => self.invite(fault, StrangerRole::Master),
            Fault::Impostor => self.invite(fault, StrangerRole::Impostor),
            Fault::OddOrder => self.send_odd_order(fault),
            Fault::MessageLost
            | Fault::SlowSync
            | Fault::SyncFails
            | Fault::WrittenUntold
            | Fault::ConnectRefused
            | Fault::ConnectTimesOut
            | Fault::SlowLink
            | Fault::ExecutorStartsLate
            | Fault::ExecutorCannotStart
            | Fault::WorkerCannotStart
            | Fault::ExecutorCrashesAtOnce
            | Fault::ExecutorExitsZero
            | Fault::ExecutorHangs
            | Fault::ExecutorIgnoresTerminate
            | Fault::ExecutorCrashesLater
            | Fault::SlowFetch
            | Fault::FetchFails
            | Fault::TaskFails
            | Fault::TaskCannotStart
            | Fault::TaskHangs
            | Fault::TaskIgnoresTerminate
            | Fault::OutputBeyondCredit
            | Fault::RepeatedOrder
            | Fault::BusyMaster
            | Fault::LeaderCutOff
            | Fault::LeaderPaused
            | Fault::HeldUp
            | Fault::FormerLeaderHears
            | Fault::SlowConnect
            | Fault::LateHello
            | Fault::FormerLeaderMet
            | Fault::FormerLeaderHeard
            | Fault::DiskFull
            | Fault::TaskMeetsShortage
            | Fault::WorkerMeetsShortage
            | Fault::Stall
            | Fault::Partition
            | Fault::LateDeadline => {}
        }
    }

    /// Pauses an executor's process. The events of the process wait until it continues or is killed.
    fn stop_some_executor(&mut self, fault: Fault) {
        let executors: Vec<NodeIndex> =
            self.processes.values().copied().filter(|node| self.is_executor_at_work(*node)).collect();
        let Some(index) = self.dice.index(executors.len()) else { return };
        let node = executors[index];
        self.fault(fault);
        self.node_mut(node).waiting.get_or_insert_default();
        if !self.dice.one_in(4) {
            let millis = self.dice.between(1_000, 100_000);
            self.after(millis, ScheduledEvent::GoOn { node });
        }
    }

    fn is_executor_at_work(&self, node: NodeIndex) -> bool {
        matches!(&self.node(node).body, Body::Executor(body) if body.process.is_running())
    }

    fn crash_some_worker(&mut self, fault: Fault) {
        if let Some(node) = self.some_worker() {
            self.fault(fault);
            self.end_worker(node, ProcessEnd::Abruptly);
        }
    }

    fn shut_some_worker_down(&mut self, fault: Fault) {
        let Some(node) = self.some_worker() else { return };
        self.fault(fault);
        self.tell(node, NodeEvent::Worker(worker::Event::Shutdown));
        if self.dice.one_in(3) {
            let millis = self.dice.between(1, 8_000);
            self.tell_worker(millis, node, worker::Event::Shutdown);
        }
    }

    fn crash_some_owner(&mut self, fault: Fault) {
        if let Some(node) = self.some_owner() {
            self.fault(fault);
            self.end_launcher(node, ProcessEnd::Abruptly);
            self.end_driver(node, ProcessEnd::Abruptly);
        }
    }

    fn cancel_some_owner(&mut self, fault: Fault) {
        if let Some(node) = self.some_owner() {
            self.cancel(fault, node);
        }
    }

    fn ask_some_driver(&mut self, fault: Fault) {
        if let Some(node) = self.some_driver() {
            self.fault(fault);
            let question = *self.dice.pick(&[Question::Look, Question::Explain]);
            self.ask(node, question);
        }
    }

    fn wake_some_node_early(&mut self, fault: Fault) {
        let node = self.dice.index(self.nodes.len()).map(NodeIndex);
        let event_of = |node: NodeIndex| self.node(node).body.deadline(self.heard_until(node));
        if let Some((node, event)) = node.and_then(|node| Some((node, event_of(node)?))) {
            self.fault(fault);
            self.tell(node, event);
        }
    }

    fn some_worker(&mut self) -> Option<NodeIndex> {
        let workers = self.living_workers();
        self.dice.index(workers.len()).map(|index| workers[index])
    }

    fn some_driver(&mut self) -> Option<NodeIndex> {
        let drivers = self.living_drivers();
        self.dice.index(drivers.len()).map(|index| drivers[index])
    }

    /// A random driver or launcher.
    fn some_owner(&mut self) -> Option<NodeIndex> {
        let owners = [self.living_drivers(), self.living_launchers()].concat();
        self.dice.index(owners.len()).map(|index| owners[index])
    }

    /// Cuts a connection between living nodes. Newer connections are preferred, because they are more important.
    fn cut_some_link(&mut self, fault: Fault, half_open: bool) {
        let open: Vec<LinkIndex> =
            (0..self.links.len()).rev().map(LinkIndex).filter(|link| self.links[link.0].is_open()).collect();
        if let Some(index) = self.dice.index(open.len()) {
            self.fault(fault);
            self.cut(open[index], half_open);
        }
    }

    fn cut_some_executor_link(&mut self, fault: Fault) {
        let executors: Vec<NodeIndex> =
            self.processes.values().copied().filter(|node| self.is_executor_at_work(*node)).collect();
        let connections = |node: &NodeIndex| self.node(*node).connections.last().copied();
        let links = executors.iter().filter_map(connections);
        let open: Vec<LinkIndex> = links.filter(|link| self.links[link.0].is_open()).collect();
        if let Some(index) = self.dice.index(open.len()) {
            self.fault(fault);
            self.cut(open[index], false);
        }
    }

    /// The owner of an application changes executor targets, for profiles that its driver may or may not know.
    fn request_some_executors(&mut self, fault: Fault) {
        let profile = ProfileId(u32::try_from(self.dice.below(4)).expect("it is small"));
        let total = self.dice.below(6);
        let event = if profile == ProfileId::DEFAULT || self.dice.one_in(4) {
            driver::Event::RequestExecutors { profile, total }
        } else {
            // Never smaller than the application's own profile: its tasks must fit the executors that it
            // holds.
            let cores = if self.dice.one_in(20) { Cores(0) } else { Cores(4) };
            let needs = ResourceProfile {
                cores: self.dice.one_in(3).then_some(cores),
                memory: self.dice.one_in(2).then_some(MiB(512)),
                ..ResourceProfile::default()
            };
            driver::Event::AddProfile { profile, needs, total }
        };
        let Some(node) = self.some_driver() else { return };
        let Some(app) = self.driver_mut(node).map(|body| body.app) else { return };
        let keeps_some = match self.scenario.apps[app].allocation {
            Allocation::Fixed => false,
            Allocation::Dynamic(bounds) => bounds.min > 0,
        };
        // Executors that another profile always keeps might never become free for the tasks of the first profile.
        if !(keeps_some && matches!(event, driver::Event::AddProfile { .. })) {
            self.fault(fault);
            self.tell(node, NodeEvent::Driver(event));
        }
    }

    /// The owner of an application ends executors, some of which may not exist. Or a driver requests this in another
    /// application's name.
    fn kill_some_executors(&mut self, fault: Fault) {
        let count = self.dice.between(1, 3);
        let executors = (0..count)
            .map(|_| ExecutorId(u32::try_from(self.dice.below(12)).expect("it is small")))
            .collect();
        if self.dice.one_in(10) {
            return self.ask_in_anothers_name(fault, executors);
        }
        let replacement = *self.dice.pick(&[Replacement::Wanted, Replacement::Unwanted]);
        self.tell_some_driver(fault, driver::Event::KillExecutors { executors, replacement });
    }

    fn tell_some_driver(&mut self, fault: Fault, event: driver::Event) {
        if let Some(node) = self.some_driver() {
            self.fault(fault);
            self.tell(node, NodeEvent::Driver(event));
        }
    }

    /// A driver sends the Master requests about another application.
    fn ask_in_anothers_name(&mut self, fault: Fault, executors: Vec<ExecutorId>) {
        let Some(node) = self.some_driver() else { return };
        let Some((_, peer)) = self.driver_mut(node).and_then(|body| body.registration.clone()) else {
            return;
        };
        if self.link_of(node, peer).and_then(|link| self.outdated(node, link)).is_some() {
            return;
        }
        self.fault(fault);
        let app = AppId::new("app-of-nobody");
        let message = match self.dice.one_in(2) {
            true => DriverToMaster::KillExecutors { app, executors },
            false => DriverToMaster::RequestExecutors { app, targets: Vec::new() },
        };
        self.send(node, peer, Message::DriverToMaster(message));
    }

    /// The Master orders a Worker to register again, for no reason.
    fn send_odd_order(&mut self, fault: Fault) {
        let (Some(master), Some(worker)) = (self.master, self.some_worker()) else { return };
        if self.node(master).waiting.is_some() {
            return;
        }
        let Body::Worker(body) = &self.node(worker).body else { return };
        let Some(peer) = self.ledger.peer_of_worker(&body.id) else { return };
        self.fault(fault);
        self.send(master, peer, Message::MasterToWorker(MasterToWorker::ReconnectWorker));
    }

    /// A hostile peer connects, sends a few messages, and disconnects.
    fn invite(&mut self, fault: Fault, role: StrangerRole) {
        let listener = match role {
            StrangerRole::Worker | StrangerRole::Driver => self.master,
            StrangerRole::Executor | StrangerRole::Impostor => self.some_driver(),
            StrangerRole::Master => self.some_worker(),
            StrangerRole::Client if self.dice.one_in(2) => self.some_worker(),
            StrangerRole::Client => self.master,
        };
        let Some(listener) = listener else { return };
        self.fault(fault);
        self.was_lied_to |= role == StrangerRole::Worker;
        let node = self.add_node(Body::Stranger);
        self.connect(node, listener);
        let left = self.dice.between(1, 8);
        self.after(0, ScheduledEvent::Speak { node, role, left });
    }
}
