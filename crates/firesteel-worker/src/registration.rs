//! How the Worker registers with a Master, and how it remains registered.

use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::master_search::connect_error::ConnectError;
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::master_search::{Order, Registered, Remark};
use firesteel_protocol::messages::{
    DriverReport, DriverState, RefusedRegistration, StateMark, WorkerToMaster, is_web_address,
};
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::tables::{SentReport, ShutdownPhase, Terms};
use super::{Effect, Exit, Note, Worker};

/// The shortest interval between heartbeats, even if a Master asks for a shorter one.
const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(10);

impl Worker {
    pub(super) fn seek_master(&mut self, now: Timestamp) {
        let orders = self.registration.search.start(now);
        self.follow(orders);
    }

    pub(super) fn go_on_seeking(&mut self, now: Timestamp) {
        let orders = self.registration.search.on_deadline(now);
        self.follow(orders);
    }

    pub(super) fn on_connected(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        master: Address,
        leadership: Leadership,
    ) {
        let orders = self.registration.search.on_connected(now, peer, master, leadership);
        self.follow(orders);
    }

    pub(super) fn on_connect_failed(&mut self, now: Timestamp, master: Address, error: ConnectError) {
        let orders = self.registration.search.on_connect_failed(now, master, error);
        self.follow(orders);
    }

    pub(super) fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        // The connection may be that of a status client, or one that this Worker closed.
        if let Some(orders) = self.registration.search.on_disconnected(now, peer) {
            self.follow(orders);
        }
    }

    /// Stops searching for a Master, but keeps the present one.
    pub(super) fn stop_looking(&mut self) {
        let orders = self.registration.search.stop_looking();
        self.follow(orders);
    }

    pub(super) fn leave_masters(&mut self) {
        let orders = self.registration.search.leave();
        self.follow(orders);
    }

    fn follow(&mut self, orders: Vec<Order<Terms>>) {
        for order in orders {
            match order {
                Order::Connect(master) => self.effects.push(Effect::Connect { master }),
                Order::Ask(peer) => self.ask(peer, false),
                Order::Close(peer) => self.effects.push(Effect::Close { peer }),
                Order::Lost { master: _, terms: Terms { url: master_url, .. } } => {
                    self.effects.note(Note::MasterLost { master_url, executors: self.executors.live() });
                }
                Order::Remark(remark) => self.effects.note(match remark {
                    Remark::Unreachable { master, error } => Note::MasterUnreachable { master, error },
                    Remark::Silent { master } => Note::MasterSilent { master },
                    Remark::HungUp { master } => Note::MasterHungUp { master },
                    Remark::StandsBy { master, leader } => Note::MasterStandsBy { master, leader },
                    Remark::LeaderConflict(dispute) => Note::LeaderConflict(dispute),
                    Remark::NextRound { failed, pause } => Note::NextRound { failed, pause },
                }),
                Order::GiveUp => {
                    let (attempts, errors) =
                        (self.registration.search.rounds(), self.registration.search.errors());
                    self.exit(Exit::NoMaster { attempts, errors });
                }
            }
        }
    }

    /// Asks a Master to register the Worker.
    fn ask(&mut self, peer: PeerId, gave_orders: bool) {
        let (listed, drivers) = (self.executors.reports(), self.drivers.reports());
        let executors = listed.iter().map(|report| (report.executor.clone(), report.state.clone())).collect();
        self.registration.search.tell(peer, SentReport { executors, drivers: drivers.clone(), gave_orders });
        let mut worker = Box::new(self.config.description.clone());
        worker.seen = self.registration.seen();
        self.effects.push(send(peer, WorkerToMaster::RegisterWorker { worker, executors: listed, drivers }));
    }

    pub(super) fn on_registered_worker(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        (url, web_address): (String, Option<String>),
        heartbeat_millis: u64,
        (duplicate, mark): (bool, Option<StateMark>),
    ) {
        let web_address = web_address.filter(|address| is_web_address(address));
        let heartbeat = Duration::from_millis(heartbeat_millis).max(SHORTEST_HEARTBEAT);
        if let Some(master) = self.registration.search.registered_mut()
            && master.peer == peer
        {
            // This registration is a repetition: heartbeats continue, at the new interval.
            (master.terms.url, master.terms.web_address, master.terms.heartbeat) =
                (url, web_address, heartbeat);
            self.registration.see(mark);
            return;
        }
        let next_heartbeat = now + heartbeat;
        let terms = Terms { url: url.clone(), web_address, heartbeat, next_heartbeat };
        let Some((asked, orders)) = self.registration.search.on_registered(peer, terms) else {
            self.effects.note(Note::NotMyMaster { peer, message: "RegisteredWorker" });
            return;
        };
        self.registration.see(mark);
        self.effects.note(Note::Registered { master_url: url, duplicate });
        self.follow(orders);
        self.send_heartbeat(peer);
        self.recheck_files();
        self.tell_of_obstacle_if_new(peer, duplicate);
        self.report_if_any(peer);
        if matches!(self.shutdown, ShutdownPhase::Draining { .. }) {
            self.tell_of_leaving();
        }

        // Computes the changes since the Worker reported its executors to this Master.
        let SentReport { executors, drivers, .. } = asked.told;
        for report in self.executors.reports() {
            if executors.get(&report.executor) != Some(&report.state) {
                self.effects.push(send(peer, WorkerToMaster::ExecutorStateChanged(report)));
            }
        }
        for (executor, state) in executors {
            if state.is_finished() {
                self.executors.confirm_end(&executor);
            }
        }
        for report in self.drivers.reports() {
            if !drivers.contains(&report) {
                self.effects.push(send(peer, WorkerToMaster::DriverStateChanged(report)));
            }
        }
        self.tell_of_all_restarts(now);
        for DriverReport { driver, state, used: _ } in drivers {
            if state != DriverState::Running {
                self.drivers.confirm_end(&driver);
            }
        }
    }

    pub(super) fn on_register_worker_failed(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        refusal: RefusedRegistration,
    ) {
        let Some((master, orders)) = self.registration.search.on_refused(now, peer) else {
            self.effects.note(Note::NotMyMaster { peer, message: "RegisterWorkerFailed" });
            return;
        };
        self.effects.note(Note::Refused { master, refusal: refusal.clone() });
        self.follow(orders);
        // A Worker that was registered before may have executors, so it keeps running and asks again later.
        if !self.registration.search.was_registered() {
            self.exit(Exit::Refused(refusal));
        }
    }

    /// Registers again on the same connection, because the Master does not know the Worker.
    pub(super) fn on_reconnect_worker(&mut self, now: Timestamp, peer: PeerId) {
        if !self.shutdown.wants_master() {
            return;
        }
        match self.registration.search.on_asked_again(now, peer) {
            Some(Registered { terms, .. }) => {
                self.effects.note(Note::AskedToReconnect { master_url: terms.url });
                self.ask(peer, true);
            }
            // The registration is already on its way.
            None if self.registration.search.asked(peer).is_some() => {}
            None => self.effects.note(Note::NotMyMaster { peer, message: "ReconnectWorker" }),
        }
    }

    pub(super) fn send_due_heartbeat(&mut self, now: Timestamp) {
        if let Some(master) = self.registration.search.registered_mut()
            && master.terms.next_heartbeat <= now
        {
            master.terms.next_heartbeat = now + master.terms.heartbeat;
            let peer = master.peer;
            self.send_heartbeat(peer);
        }
    }

    fn send_heartbeat(&mut self, peer: PeerId) {
        let worker = self.config.description.id.clone();
        let last_order = self.registration.answer_to(peer);
        self.effects.push(send(peer, WorkerToMaster::Heartbeat { worker, last_order }));
    }
}
